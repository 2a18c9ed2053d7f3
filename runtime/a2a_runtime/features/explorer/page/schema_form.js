/* Forms from JSON Schemas: objects, lists, maps and unions of the fields of `scalar_fields`. What is optional is built when it is added,
   so that a schema that refers to itself ends. */

import { button, el, replace } from "./dom.js";
import { fieldTitle, hintOf, jsonField, labelled, scalarField } from "./scalar_fields.js";
import { alternativeName, alternativesOf, kindOf, resolve } from "./schema.js";
import { words } from "./text.js";

const MAX_DEPTH = 24;

/**
 * Make a form for a schema; `onChange` is called with each change.
 *
 * The result has `element`, `read()`, `write(value)`, `check()`, and `failAt(path, text)`, which shows an error of the agent at a field, or tells that there is none.
 */
export function schemaForm(schema, onChange) {
  const context = { root: schema, change: () => onChange(), depth: 0 };
  const field = makeField("", schema, true, context);
  const failAt = (path, text) => {
    const found = path.reduce((at, step) => at?.member?.(step), field);
    found?.fail?.(text);
    found?.focus?.();
    return Boolean(found?.fail);
  };
  return { element: el("div", { class: "schema-form" }, field.element), read: field.read, write: field.write, check: field.check, failAt };
}

function makeField(name, raw, isRequired, context) {
  const schema = resolve(raw, context.root);
  const kind = context.depth > MAX_DEPTH ? "json" : kindOf(schema);
  const inner = { ...context, depth: context.depth + 1 };
  if (kind === "union") return unionField(name, schema, isRequired, inner);
  if (kind === "object") return !schema.properties && !schema.additionalProperties && !schema.patternProperties ? jsonField(name, schema, isRequired, context.change) : objectField(name, schema, isRequired, inner);
  if (kind === "array") return listField(name, schema, isRequired, inner);
  return scalarField(kind, name, schema, isRequired, context.change);
}

/* --- objects ------------------------------------------------------------------------------------------------------------------------------------ */

function objectField(name, schema, isRequired, context) {
  if (!isRequired && name !== "") return optionalField(name, schema, context, () => objectField(name, schema, true, context));
  const required = new Set(schema.required ?? []);
  const members = new Map(Object.entries(schema.properties ?? {}).map(([key, each]) => [key, makeField(key, each, required.has(key), context)]));
  const others = schema.additionalProperties && typeof schema.additionalProperties === "object" ? mapField(schema.additionalProperties, context) : null;
  const content = [[...members.values()].map((each) => each.element), others?.element];
  const element = name === "" ? el("div", { class: "members" }, content) : group(name, schema, content);
  return {
    element,
    read() {
      const value = others?.read() ?? {};
      for (const [key, each] of members) {
        const read = each.read();
        if (read !== undefined) value[key] = read;
      }
      return value;
    },
    write(value) {
      const given = value !== null && typeof value === "object" ? value : {};
      for (const [key, each] of members) each.write(given[key]);
      others?.write(Object.fromEntries(Object.entries(given).filter(([key]) => !members.has(key))));
    },
    check: () => [...members.values(), ...(others ? [others] : [])].map((each) => each.check()).every(Boolean),
    member: (key) => members.get(String(key)) ?? others?.member(key),
    focus: () => members.values().next().value?.focus?.(),
  };
}

function group(name, schema, content, actions = null) {
  return el("fieldset", {}, el("legend", {}, fieldTitle(name, schema)), actions, schema.description ? hintOf({ description: schema.description }) : null, el("div", { class: "members" }, content));
}

function optionalField(name, schema, context, make) {
  let field = null;
  const place = el("div", { class: "optional" });
  const show = (made) => {
    field = made;
    const title = fieldTitle(name, schema);
    const add = () => button(`Add ${title.toLowerCase()}`, () => { show(make()); field.focus?.(); context.change(); }, { kind: "quiet small", sign: "plus" });
    const remove = () => button(`Remove ${title.toLowerCase()}`, () => { show(null); context.change(); }, { kind: "quiet small", sign: "cross" });
    replace(place, made ? [made.element, remove()] : add());
  };
  show(null);
  return {
    element: place,
    read: () => field?.read(),
    write(value) {
      show(value === undefined ? null : make());
      field?.write(value);
    },
    check: () => field?.check() ?? true,
    member: (key) => field?.member?.(key),
    fail: (text) => field?.fail?.(text),
    focus: () => field?.focus?.(),
  };
}

function mapField(schema, context) {
  const rows = [];
  const place = el("div", { class: "items" });
  const add = (key, value) => {
    const control = el("input", { value: key, oninput: context.change });
    const name = labelled({ name: "Name", schema: {}, isRequired: true, control });
    const field = makeField("Value", schema, true, context);
    const row = { key: () => control.value, field };
    const element = el("div", { class: "item" }, name.element, field.element, remover("entry", () => { rows.splice(rows.indexOf(row), 1); element.remove(); context.change(); }));
    if (value !== undefined) field.write(value);
    rows.push(row);
    place.append(element);
  };
  const adder = button("Add entry", () => { add("", undefined); context.change(); }, { kind: "quiet small", sign: "plus" });
  return {
    element: el("div", { class: "map" }, place, adder),
    read: () => Object.fromEntries(rows.filter((row) => row.key()).map((row) => [row.key(), row.field.read()])),
    write(value) {
      rows.length = 0;
      replace(place);
      for (const [key, each] of Object.entries(value ?? {})) add(key, each);
    },
    check: () => rows.map((row) => row.field.check()).every(Boolean),
    member: (key) => rows.find((row) => row.key() === String(key))?.field,
  };
}

const remover = (noun, onclick) => button("", onclick, { kind: "quiet small remove", sign: "cross", title: `Remove this ${noun}`, "aria-label": `Remove this ${noun}` });

/* --- lists -------------------------------------------------------------------------------------------------------------------------------------- */

function listField(name, schema, isRequired, context) {
  if (!isRequired && name !== "") return optionalField(name, schema, context, () => listField(name, schema, true, context));
  const fixed = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  const rows = [];
  const place = el("div", { class: "items" });
  const error = el("p", { class: "field-error" });
  const single = words(name || "item").replace(/ies$/, "y").replace(/([^s])s$/, "$1");
  const add = (value) => {
    const at = rows.length;
    const row = { field: makeField(`${single} ${at + 1}`, fixed[at] ?? rest ?? {}, true, context) };
    const element = el("div", { class: "item" }, row.field.element, at < fixed.length ? null : remover("item", () => { rows.splice(rows.indexOf(row), 1); element.remove(); context.change(); }));
    if (value !== undefined) row.field.write(value);
    rows.push(row);
    place.append(element);
    return row;
  };
  const fill = () => { while (rows.length < Math.min(20, Math.max(fixed.length, schema.minItems ?? 0))) add(undefined); };
  const adder = rest === false ? null : button(`Add ${single.toLowerCase()}`, () => { add(undefined).field.focus?.(); context.change(); }, { kind: "quiet small", sign: "plus" });
  const write = (value) => {
    rows.length = 0;
    replace(place);
    for (const each of Array.isArray(value) ? value : []) add(each);
    fill();
  };
  write(schema.default);
  const fail = (text) => replace(error, text);
  return {
    element: group(name || schema.title || "Items", schema, [place, adder, error]),
    read: () => rows.map((row) => row.field.read() ?? null),
    write,
    fail,
    check() {
      const text = rows.length > schema.maxItems ? `At most ${schema.maxItems} items` : rows.length < schema.minItems ? `At least ${schema.minItems} items` : "";
      fail(text);
      return rows.map((row) => row.field.check()).every(Boolean) && !text;
    },
    member: (at) => rows[Number(at)]?.field,
  };
}

/* --- unions ------------------------------------------------------------------------------------------------------------------------------------- */

function unionField(name, schema, isRequired, context) {
  const listed = alternativesOf(schema);
  const nullAt = listed.findIndex((each) => resolve(each, context.root).type === "null");
  const real = listed.filter((_, at) => at !== nullAt);
  if (real.length === 1 && nullAt >= 0 && !isRequired) {
    const { oneOf, anyOf, type, default: preset, ...own } = schema;
    return makeField(name, { ...resolve(real[0], context.root), ...own, ...(preset === null ? {} : { default: preset }) }, false, context);
  }
  const names = listed.map((each, at) => alternativeName(each, context.root, at));
  const control = el("select", { onchange: () => { choose(Number(control.value)); context.change(); } }, isRequired ? null : el("option", { value: "-1" }, "Not set"), names.map((each, at) => el("option", { value: String(at) }, each)));
  const { element, fail } = labelled({ name: name || schema.title || "Form", schema: { title: schema.title, description: schema.description }, isRequired, control, kind: "union" });
  const place = el("div", { class: "alternative" });
  let field = null;
  const choose = (at) => {
    control.value = String(at);
    const chosen = at < 0 ? null : resolve(listed[at], context.root);
    field = chosen === null ? null : kindOf(chosen) === "object" ? objectField("", chosen, true, context) : makeField(names[at], chosen, true, context);
    replace(place, field?.element);
  };
  choose(isRequired ? 0 : -1);
  element.append(place);
  return {
    element,
    read: () => field?.read(),
    write(value) {
      choose(value === undefined ? (isRequired ? 0 : -1) : Math.max(0, listed.findIndex((each) => fits(value, resolve(each, context.root), context.root))));
      if (value !== undefined) field?.write(value);
    },
    check: () => field?.check() ?? true,
    fail: (text) => (field?.fail ?? fail)(text),
    member: (key) => field?.member?.(key),
    focus: () => control.focus(),
  };
}

function fits(value, schema, root) {
  if ("const" in schema) return JSON.stringify(schema.const) === JSON.stringify(value);
  if (schema.enum) return schema.enum.some((each) => JSON.stringify(each) === JSON.stringify(value));
  const kind = kindOf(schema);
  if (kind === "null") return value === null;
  if (kind === "array") return Array.isArray(value);
  if (kind === "integer") return Number.isInteger(value);
  if (kind !== "object") return kind === "json" || kind === "union" || typeof value === kind;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const isTagged = Object.entries(schema.properties ?? {}).every(([key, each]) => !("const" in resolve(each, root)) || resolve(each, root).const === value[key]);
  return isTagged && (schema.required ?? []).every((key) => key in value);
}
