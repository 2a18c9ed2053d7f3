/* Try: a message to the agent, made with a form from the skill's schema or with a text, and the same request in languages to copy. */

import { button, el, foldout, replace } from "./dom.js";
import { showError } from "./errors.js";
import { messageComposer } from "./composer.js";
import { startRun } from "./runs.js";
import { snippetPanel } from "./snippets.js";
import { emit, findExtension, on, state } from "./state.js";
import { clip, newId } from "./text.js";

const SKILL_SELECTION = "urn:a2a-gen:ext:skill-selection:1";
const MODES = [
  ["streaming", "Streaming", "Events as they come"],
  ["blocking", "Blocking", "Wait for the result"],
  ["immediate", "Immediate", "Task now, then poll"],
];

/** Make the view with the form. */
export function tryView() {
  const skills = state.info.skills?.length ? state.info.skills : [{ id: null, name: "A message", description: "", typed: false }];
  const form = { skill: skills[0], mode: state.info.card.capabilities?.streaming ? "streaming" : "blocking", composer: null, contextId: null, taskId: null, run: null };
  const snippets = snippetPanel(() => (form.composer ? buildRequest(form) : null), () => operationOf(form));
  const place = el("div", { class: "composer-place" });
  const problem = el("div", { class: "problem" });
  const choose = (skill, values) => {
    form.skill = skill;
    form.composer = messageComposer(skill, snippets.update);
    if (values) form.composer.write(values);
    replace(place, form.composer.element);
    replace(problem);
    snippets.update();
  };
  const send = () => submit(form, problem);
  on("run", (run) => run === form.run && run.phase === "failed" && showFieldErrors(run, form, problem));
  const picker = skillPicker(skills, form, choose);
  const context = contextLine(form, snippets.update);
  on("try", (wanted) => {
    const skill = skills.find((each) => each.id === wanted.skill) ?? findFitting(skills, wanted.message) ?? form.skill;
    picker.set(skill);
    context.set(wanted.contextId ?? null, wanted.taskId ?? null);
    choose(skill, wanted.message);
    emit("tab", "try");
  });
  const element = el("form", { class: "panel try", novalidate: true, onsubmit: (event) => { event.preventDefault(); send(); } },
    el("h2", {}, "Send a message"), picker.element, place, context.element, modePicker(form, snippets.update), interfacePicker(snippets.update), problem,
    el("div", { class: "bar end" }, button("Send", () => {}, { kind: "primary", sign: "try", type: "submit" })),
    snippets.element);
  // Ctrl+Enter sends from any field.
  element.addEventListener("keydown", (event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && send());
  choose(form.skill);
  return element;
}

// A message whose skill is unknown goes to one whose fields can hold it.
function findFitting(skills, message) {
  if (!message) return null;
  const hasData = message.parts.some((part) => "data" in part);
  return skills.find((each) => Boolean(each.inputSchema) === hasData) ?? null;
}

const operationOf = (form) => (form.mode === "streaming" ? "SendStreamingMessage" : "SendMessage");

function submit(form, problem) {
  replace(problem);
  if (!form.composer.check()) {
    replace(problem, el("p", { class: "notice bad", role: "alert" }, "Some fields need another value; they say which."));
    form.composer.element.querySelector(".wrong :is(input, select, textarea)")?.focus();
    return;
  }
  const request = buildRequest(form);
  const run = startRun({ title: clip(form.skill.name || form.skill.id || "A message", 60), skill: form.skill.id, mode: form.mode, request });
  form.run = run;
  emit("sent", run);
}

function showFieldErrors(run, form, problem) {
  const fields = run.error.fields ?? [];
  const left = fields.filter(({ path, text }) => !form.composer.failAt(String(path ?? ""), text));
  if (run.events.length === 0) replace(problem, showError({ ...run.error, name: run.error.name, message: run.error.message, fields: left }));
}

function buildRequest(form) {
  const { parts, metadata } = form.composer.read();
  const message = { messageId: newId(), role: "ROLE_USER", parts };
  if (form.contextId) message.contextId = form.contextId;
  if (form.taskId) message.taskId = form.taskId;
  const request = { message };
  // Said in either case: some agents of 0.3 do not wait unless they are told to.
  if (form.mode !== "streaming") request.configuration = { returnImmediately: form.mode === "immediate" };
  const selection = findExtension(SKILL_SELECTION);
  const isNamed = form.skill.id !== null && (selection !== null || form.skill.typed);
  const all = { ...metadata, ...(isNamed ? { [selection?.params?.member ?? "skillId"]: form.skill.id } : {}) };
  if (Object.keys(all).length) request.metadata = all;
  return request;
}

/* --- choices ------------------------------------------------------------------------------------------------------------------------------------ */

function skillPicker(skills, form, choose) {
  const control = el("select", { id: "skill", onchange: () => choose(skills[Number(control.value)]) }, skills.map((each, at) => el("option", { value: String(at) }, each.name || each.id)));
  const about = el("p", { class: "field-hint agent-text", id: "skill-hint" });
  const describe = () => {
    const isChosenByAgent = skills.length > 1 && !findExtension(SKILL_SELECTION) && !skills[Number(control.value)].typed;
    replace(about, clip(skills[Number(control.value)].description ?? "", 300), isChosenByAgent ? " This agent has no place for the skill in a message, so it chooses by what you write." : "");
  };
  control.addEventListener("change", describe);
  describe();
  control.setAttribute("aria-describedby", "skill-hint");
  return {
    element: el("div", { class: "field" }, el("div", { class: "field-head" }, el("label", { for: "skill" }, "Skill")), control, about),
    set(skill) {
      control.value = String(skills.indexOf(skill));
      describe();
    },
  };
}

function modePicker(form, change) {
  const option = ([id, name, text]) => el("label", { class: "choice" },
    el("input", { type: "radio", name: "mode", value: id, checked: form.mode === id, onchange: () => { form.mode = id; change(); } }), el("span", {}, el("strong", {}, name), el("small", {}, text)));
  const offered = MODES.filter(([id]) => id !== "streaming" || state.info.card.capabilities?.streaming);
  return el("fieldset", { class: "modes" }, el("legend", {}, "Mode"), el("div", { class: "choices" }, offered.map(option)));
}

function interfacePicker(change) {
  const usable = (state.info.interfaces ?? []).filter((each) => each.usable !== false);
  if (usable.length < 2) return null;
  const control = el("select", { id: "interface", onchange: () => { state.interface = control.value || null; change(); } },
    el("option", { value: "" }, "The best one"), usable.map((each) => el("option", { value: each.id, selected: each.id === state.interface }, [each.binding, each.dialect, each.tenant].filter(Boolean).join(" · "))));
  return foldout("Interface", () => el("div", { class: "field" }, el("label", { for: "interface" }, "Called over"), control), { kind: "quiet" });
}

function contextLine(form, change) {
  const element = el("div", {});
  const set = (contextId, taskId) => {
    Object.assign(form, { contextId, taskId });
    const end = button("Start a new one", () => { set(null, null); change(); }, { kind: "quiet small" });
    replace(element, contextId || taskId ? el("p", { class: "notice info" }, taskId ? "This message goes to the task " : "This message continues the conversation ", el("code", {}, taskId ?? contextId), " ", end) : null);
  };
  on("continue", (run) => set(run.contextId, null));
  return { element, set };
}
