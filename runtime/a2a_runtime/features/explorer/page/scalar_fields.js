/* Fields of a form for values without members. A field is {element, read(), write(value), check(), place(path), focus()}.

   `read` gives undefined for what is not set; `check` shows what is wrong at the field and tells whether all is well.
*/

import { button, el, replace } from "./dom.js";
import { checkScalar, constraintsOf } from "./schema.js";
import { formatBytes, pretty, words } from "./text.js";

let numbered = 0;

/** Put a control under its label, with its description, its constraints and the place of its error. */
export function labelled({ name, schema, isRequired, control, extra = null, kind = "" }) {
  numbered += 1;
  const id = `field-${numbered}`;
  const error = el("p", { class: "field-error", id: `${id}-error` });
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-hint ${id}-limits ${id}-error`);
  if (isRequired) control.setAttribute("aria-required", "true");
  const label = el("label", { for: id }, fieldTitle(name, schema), isRequired ? el("span", { class: "required", "aria-hidden": "true" }, "required") : null);
  const limits = el("span", { class: "limits", id: `${id}-limits` }, limitsOf(schema));
  const element = el("div", { class: `field ${kind}` }, el("div", { class: "field-head" }, label, limits, extra), hintOf(schema, `${id}-hint`), control, error);
  return {
    element,
    fail(text) {
      replace(error, text);
      element.classList.toggle("wrong", Boolean(text));
      control.setAttribute("aria-invalid", text ? "true" : "false");
    },
  };
}

/** Name a member for people: its title, or its name in words. */
export const fieldTitle = (name, schema) => schema.title && String(name).length > 0 && schema.title.length < 60 ? schema.title : words(name || schema.title || "Value");

/** Show what a schema says of a value. */
export const hintOf = (schema, id) => el("p", { class: "field-hint agent-text", id }, schema.description);

function limitsOf(schema) {
  const examples = Array.isArray(schema.examples) ? schema.examples.slice(0, 2).map((each) => (typeof each === "string" ? each : JSON.stringify(each))) : [];
  return [...constraintsOf(schema), examples.length ? `such as ${examples.join(", ")}` : null].filter(Boolean).join(" · ");
}

/** Make the field of a value without members. */
export function scalarField(kind, name, schema, isRequired, change) {
  const makers = { const: constField, enum: choiceField, boolean: booleanField, integer: numberField, number: numberField, string: textField, null: constField };
  return (makers[kind] ?? jsonField)(name, schema, isRequired, change);
}

// There is nothing to choose, so there is nothing to see.
function constField(name, schema, isRequired) {
  const value = "const" in schema ? schema.const : null;
  return { element: el("span", { hidden: true }), read: () => (isRequired || "const" in schema ? value : undefined), write: () => {}, check: () => true };
}

function choiceField(name, schema, isRequired, change, isAsked = false) {
  const values = schema.enum;
  const isSet = schema.default !== undefined || (isRequired && !isAsked);
  const none = isSet ? null : el("option", { value: "" }, isAsked ? "Choose" : "Not set");
  const control = el("select", { onchange: change }, none, values.map((each, at) => el("option", { value: String(at) }, optionName(each))));
  const { element, fail } = labelled({ name, schema, isRequired, control });
  const write = (value) => {
    const at = values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
    control.value = at >= 0 ? String(at) : isSet ? "0" : "";
  };
  write(schema.default);
  const check = () => {
    const isMissing = isRequired && control.value === "";
    fail(isMissing ? "Required" : "");
    return !isMissing;
  };
  return { element, read: () => (control.value === "" ? undefined : values[Number(control.value)]), write, check, fail, focus: () => control.focus() };
}

const optionName = (value) => (typeof value === "string" ? value : { true: "Yes", false: "No", null: "Nothing" }[value] ?? JSON.stringify(value));

// A required answer is chosen by the person: an approval that began with "No" was denied by whoever only sent it.
function booleanField(name, schema, isRequired, change) {
  const isAsked = isRequired && schema.default === undefined;
  return choiceField(name, { ...schema, enum: schema.default !== undefined ? [false, true] : [true, false] }, isRequired, change, isAsked);
}

function numberField(name, schema, isRequired, change) {
  const step = schema.multipleOf ?? (schema.type === "integer" ? 1 : "any");
  const control = el("input", { type: "number", step, min: schema.minimum, max: schema.maximum, oninput: change, inputmode: schema.type === "integer" ? "numeric" : "decimal" });
  const { element, fail } = labelled({ name, schema, isRequired, control, kind: "short" });
  const read = () => (control.value === "" ? undefined : Number(control.value));
  const write = (value) => (control.value = typeof value === "number" ? String(value) : "");
  write(schema.default);
  return { element, read, write, fail, focus: () => control.focus(), check: checker(read, schema, isRequired, fail, control) };
}

const INPUT_TYPES = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url", "idn-email": "email", iri: "url" };

function textField(name, schema, isRequired, change) {
  if (schema.contentEncoding || schema.format === "byte" || schema.format === "binary") return bytesField(name, schema, isRequired, change);
  const type = INPUT_TYPES[schema.format];
  const isLine = type || schema.format || schema.pattern || (schema.maxLength ?? 1000) <= 80;
  const control = isLine ? el("input", { type: type ?? "text", oninput: change, step: type === "time" || type === "datetime-local" ? "1" : null }) : el("textarea", { rows: "2", oninput: change });
  const generate = schema.format === "uuid" ? button("New", () => { write(crypto.randomUUID()); change(); }, { kind: "quiet small" }) : null;
  const { element, fail } = labelled({ name, schema, isRequired, control, extra: generate, kind: type && type !== "url" ? "short" : "" });
  const read = () => {
    const text = control.value;
    if (text === "" && (!isRequired || type || schema.pattern)) return undefined;
    if (type === "datetime-local") return new Date(text).toISOString();
    return type === "time" ? `${text.length === 5 ? `${text}:00` : text}Z` : text;
  };
  const write = (value) => (control.value = typeof value !== "string" ? "" : type === "datetime-local" ? localTime(value) : type === "time" ? value.replace(/(Z|[+-]\d\d:\d\d)$/, "") : value);
  write(schema.default);
  return { element, read, write, fail, focus: () => control.focus(), check: checker(read, schema, isRequired, fail, control) };
}

function localTime(value) {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function checker(read, schema, isRequired, fail, control) {
  return () => {
    const value = read();
    const missing = isRequired && value === undefined ? "Required" : "";
    const text = control.validity?.badInput ? "Enter a valid value" : missing || (value === undefined ? "" : checkScalar(value, schema));
    fail(text);
    return !text;
  };
}

function bytesField(name, schema, isRequired, change) {
  let value;
  const shown = el("span", { class: "field-hint" }, "No file chosen");
  const control = el("input", { type: "file", onchange: async () => {
    const [file] = control.files;
    value = file ? await readBase64(file) : undefined;
    replace(shown, file ? `${file.name}, ${formatBytes(file.size)}` : "No file chosen");
    change();
  } });
  const { element, fail } = labelled({ name, schema, isRequired, control, extra: shown });
  return { element, read: () => value, write: (given) => (value = given), fail, focus: () => control.focus(), check: checker(() => value, {}, isRequired, fail, control) };
}

/** Read a file as base64. */
export async function readBase64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(binary);
}

/** Make a field for JSON of any kind. */
export function jsonField(name, schema, isRequired, change) {
  const control = el("textarea", { rows: "4", class: "mono", spellcheck: "false", oninput: change });
  const { element, fail } = labelled({ name, schema, isRequired, control });
  const parse = () => (control.value.trim() === "" ? undefined : JSON.parse(control.value));
  const read = () => {
    try {
      return parse();
    } catch {
      return undefined;
    }
  };
  const write = (value) => (control.value = value === undefined ? "" : pretty(value));
  write(schema.default);
  return { element, read, write, fail, focus: () => control.focus(), check() {
    try {
      const isMissing = isRequired && parse() === undefined;
      fail(isMissing ? "Required" : "");
      return !isMissing;
    } catch (error) {
      fail(`Not JSON: ${error.message}`);
      return false;
    }
  } };
}
