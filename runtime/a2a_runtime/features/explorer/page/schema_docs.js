/* A schema as documentation: each member with its type, what it asks, and what it is for. */

import { badge, codeBlock, el, foldout } from "./dom.js";
import { alternativeName, alternativesOf, constraintsOf, kindOf, resolve, typeName } from "./schema.js";
import { pretty } from "./text.js";

const MAX_DEPTH = 8;

/** Show a schema for readers, with its JSON below. */
export function schemaDocs(schema) {
  return el("div", { class: "schema-docs" }, describe(schema, schema, 0), foldout("Schema as JSON", () => codeBlock(pretty(schema), "Schema"), { kind: "quiet" }));
}

function describe(raw, root, depth) {
  const schema = resolve(raw, root);
  const kind = kindOf(schema);
  const text = schema.description && depth === 0 ? el("p", { class: "agent-text" }, schema.description) : null;
  if (depth > MAX_DEPTH) return text;
  if (kind === "union") return [text, alternativesOf(schema).map((each, at) => foldout(alternativeName(each, root, at), () => describe(each, root, depth + 1) ?? line(resolve(each, root), root), { kind: "quiet" }))];
  if (kind === "object") return [text, members(schema, root, depth)];
  if (kind === "array" && schema.items) return [text, depth === 0 ? line(schema, root) : null, describe(schema.items, root, depth + 1)];
  return depth === 0 ? [text, line(schema, root)] : null;
}

function members(schema, root, depth) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, raw]) => member(name, raw, root, depth, required.has(name)));
  const others = schema.additionalProperties && typeof schema.additionalProperties === "object" ? member("any other name", schema.additionalProperties, root, depth, false) : null;
  if (rows.length === 0 && !others) return el("p", { class: "muted" }, "Any object.");
  return el("ul", { class: "schema-members" }, rows, others);
}

function member(name, raw, root, depth, isRequired) {
  const schema = resolve(raw, root);
  const isNested = ["object", "union"].includes(kindOf(schema)) || (kindOf(schema) === "array" && ["object", "union"].includes(kindOf(resolve(schema.items, root))));
  const head = el("div", { class: "schema-member" }, el("code", { class: "agent-text" }, name), el("span", { class: "type agent-text" }, typeName(schema, root)), isRequired ? badge("required", "info") : null, line(schema, root));
  const about = schema.description ? el("p", { class: "muted agent-text" }, schema.description) : null;
  return el("li", {}, head, about, isNested && depth < MAX_DEPTH ? foldout("Members", () => describe(raw, root, depth + 1), { kind: "quiet" }) : null);
}

function line(schema) {
  const values = schema.enum ? schema.enum.map((each) => el("code", {}, typeof each === "string" ? each : JSON.stringify(each))) : [];
  const said = constraintsOf(schema);
  if (schema.const !== undefined) said.unshift(`always ${JSON.stringify(schema.const)}`);
  if (schema.default !== undefined) said.push(`default ${JSON.stringify(schema.default)}`);
  return el("span", { class: "constraints agent-text" }, values, said.join(" · "));
}
