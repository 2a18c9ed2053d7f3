/* What a suspended task waits for: an answer, by the schema of the question if it has one, or an authorization elsewhere. */

import { messageComposer } from "./composer.js";
import { button, el, link, replace } from "./dom.js";
import { showParts } from "./parts.js";
import { continueRun, startRun } from "./runs.js";
import { state } from "./state.js";
import { findAddress } from "./task_panel.js";
import { newId } from "./text.js";

const QUESTION = "a2a-gen/question";

/** Make the form that answers a task; null where it asks nothing. */
export function questionForm(task) {
  const kind = task.status?.state;
  if (kind === "TASK_STATE_INPUT_REQUIRED") return answerForm(task, "The agent asks", "Answer");
  return kind === "TASK_STATE_AUTH_REQUIRED" ? authorizationForm(task) : null;
}

function answerForm(task, title, label) {
  const asked = task.status.message;
  const schema = asked?.metadata?.[QUESTION]?.schema;
  const composer = messageComposer({ inputSchema: schema, examples: [] }, () => {}, "Your answer");
  const problem = el("div", {});
  const send = () => {
    if (!composer.check()) return replace(problem, el("p", { class: "notice bad", role: "alert" }, "Some fields need another value; they say which."));
    return answer(task, composer.read());
  };
  return el("form", { class: "question panel", "aria-label": title, novalidate: true, onsubmit: (event) => { event.preventDefault(); send(); } },
    el("h3", {}, title), asked ? el("div", { class: "asked" }, showParts(asked.parts)) : null, composer.element, problem,
    el("div", { class: "bar end" }, button(label, () => {}, { kind: "primary", type: "submit" })));
}

function authorizationForm(task) {
  const asked = task.status.message;
  const address = findAddress(asked);
  return el("section", { class: "question panel", "aria-label": "The agent needs an authorization" },
    el("h3", {}, "The agent needs an authorization"), asked ? el("div", { class: "asked" }, showParts(asked.parts)) : null,
    address ? el("p", {}, "Open ", link(address), ", authorize there, then continue.") : null,
    el("div", { class: "bar end" }, button("I have authorized it, continue", () => answer(task, { parts: [{ text: "done" }], metadata: {} }), { kind: "primary" })));
}

function answer(task, { parts, metadata }) {
  const message = { messageId: newId(), role: "ROLE_USER", taskId: task.id, parts };
  if (task.contextId) message.contextId = task.contextId;
  const mode = state.info.card.capabilities?.streaming ? "streaming" : "blocking";
  const request = Object.keys(metadata).length ? { message, metadata } : { message };
  // The events of the answer follow those of the question, so that time travel goes through both.
  const asking = state.runs.find((run) => run.taskId === task.id && run.phase !== "running");
  return asking ? continueRun(asking, request, mode) : startRun({ title: "Answer", skill: null, mode, request });
}
