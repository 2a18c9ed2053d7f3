/* The parts of a message: a form or a text, files, and metadata. */

import { badge, button, el, foldout, replace } from "./dom.js";
import { jsonField, readBase64 } from "./scalar_fields.js";
import { schemaForm } from "./schema_form.js";
import { clip, formatBytes, newId, pretty } from "./text.js";

const MAX_FILE_BYTES = 20_000_000;

/**
 * Make the fields of a message for a skill; `change` is called with each change, and `title` stands over a form.
 *
 * The result has `element`, `read()` which returns `{parts, metadata}`, `write(message)`, `check()` and `failAt(path, text)`.
 */
export function messageComposer(skill, change, title = "Input") {
  const body = skill.inputSchema ? typedBody(skill.inputSchema, change, title) : textBody(skill, change);
  const files = filePicker(change);
  const metadata = jsonField("Metadata", { description: "A JSON object that goes with the request." }, false, change);
  const element = el("div", { class: "composer" }, body.element, files.element, foldout("Metadata", () => metadata.element, { kind: "quiet" }));
  return {
    element,
    read: () => ({ parts: [...body.parts(), ...files.parts()], metadata: asObject(metadata.read()) }),
    write(message) {
      body.write(message);
      files.write((message.parts ?? []).filter((part) => part.raw !== undefined || part.url !== undefined));
    },
    check: () => [body.check(files.parts().length > 0), metadata.check()].every(Boolean),
    failAt(path, text) {
      const match = /^(?:params\.|request\.)?message\.parts(?:\[\d+\]|\.\d+)\.(?:data|text)\.?(.*)$/.exec(path);
      return match !== null && body.failAt(stepsOf(match[1]), text);
    },
  };
}

const asObject = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
const stepsOf = (path) => path.split(/[.[\]]+/).filter(Boolean);

/* --- typed input -------------------------------------------------------------------------------------------------------------------------------- */

function typedBody(schema, change, title) {
  const form = schemaForm(schema, change);
  const text = el("textarea", { class: "mono json-input", rows: "12", spellcheck: "false", "aria-label": "Input as JSON", oninput: change });
  const error = el("p", { class: "field-error" });
  const place = el("div", {}, form.element);
  const shown = { isJson: false };
  const parse = () => {
    try {
      replace(error);
      return JSON.parse(text.value);
    } catch (problem) {
      replace(error, `Not JSON: ${problem.message}`);
      return undefined;
    }
  };
  const toggle = button("Edit as JSON", () => {
    if (shown.isJson) {
      const value = parse();
      if (value === undefined) return;
      form.write(value);
    } else text.value = pretty(form.read());
    shown.isJson = !shown.isJson;
    replace(place, shown.isJson ? [text, error] : form.element);
    replace(toggle, el("span", {}, shown.isJson ? "Edit as a form" : "Edit as JSON"));
  }, { kind: "quiet small" });
  return {
    element: el("div", { class: "input", role: "group", "aria-label": title }, el("div", { class: "bar input-head" }, el("h3", {}, title), toggle), place),
    parts: () => [{ data: (shown.isJson ? parse() : form.read()) ?? null, mediaType: "application/json" }],
    write(message) {
      const found = (message.parts ?? []).find((part) => "data" in part);
      if (found) form.write(found.data);
    },
    check: () => (shown.isJson ? parse() !== undefined : form.check()),
    failAt: (path, problem) => !shown.isJson && form.failAt(path, problem),
  };
}

/* --- text --------------------------------------------------------------------------------------------------------------------------------------- */

function textBody(skill, change) {
  const id = newId();
  const control = el("textarea", { id, rows: "4", placeholder: "Write to the agent…", oninput: change });
  const error = el("p", { class: "field-error" });
  const examples = (skill.examples ?? []).slice(0, 6).map((each) => button(clip(each, 70), () => { control.value = each; change(); control.focus(); }, { kind: "chip" }));
  return {
    element: el("div", { class: "field" }, el("div", { class: "field-head" }, el("label", { for: id }, "Message")), control, error, examples.length ? el("div", { class: "chips", role: "group", "aria-label": "Examples" }, examples) : null),
    parts: () => (control.value ? [{ text: control.value }] : []),
    write: (message) => (control.value = (message.parts ?? []).filter((part) => part.text !== undefined).map((part) => part.text).join("\n")),
    check(hasFiles) {
      const isMissing = !control.value && !hasFiles;
      replace(error, isMissing ? "Write something, or add a file" : "");
      control.setAttribute("aria-invalid", String(isMissing));
      control.closest(".field").classList.toggle("wrong", isMissing);
      return !isMissing;
    },
    failAt(path, problem) {
      replace(error, problem);
      return path.length === 0;
    },
  };
}

/* --- files -------------------------------------------------------------------------------------------------------------------------------------- */

function filePicker(change) {
  const id = newId();
  const chosen = [];
  const list = el("ul", { class: "files" });
  const draw = () => {
    replace(list, chosen.map((part, at) => el("li", {}, badge(part.mediaType || "file"), el("span", {}, part.filename || part.url || "file"), part.raw ? el("span", { class: "muted" }, formatBytes((part.raw.length / 4) * 3 - (/=*$/.exec(part.raw)[0].length))) : null,
      button("", () => { chosen.splice(at, 1); draw(); }, { kind: "quiet small", sign: "cross", "aria-label": `Remove ${part.filename || "the file"}` }))));
    change();
  };
  const add = async (files) => {
    for (const file of files) {
      if (file.size > MAX_FILE_BYTES) replace(note, `${file.name} has ${formatBytes(file.size)}; at most ${formatBytes(MAX_FILE_BYTES)} can be sent from here.`);
      else chosen.push({ raw: await readBase64(file), filename: file.name, mediaType: file.type || "application/octet-stream" });
    }
    draw();
  };
  const note = el("p", { class: "field-error", role: "status" });
  const input = el("input", { type: "file", multiple: true, id, class: "hidden-text", onchange: () => { add([...input.files]); input.value = ""; } });
  const zone = el("div", { class: "drop" }, input, el("label", { for: id }, "Drop files here, or ", el("span", { class: "as-link" }, "choose them")));
  for (const [name, isOver] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", isOver);
      if (name === "drop") add([...event.dataTransfer.files]);
    });
  }
  return {
    element: el("div", { class: "field" }, zone, list, note),
    parts: () => chosen.map((part) => ({ ...part })),
    write(parts) {
      chosen.splice(0, chosen.length, ...parts);
      draw();
    },
  };
}
