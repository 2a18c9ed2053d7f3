/* Reading of JSON Schemas: references, merged `allOf`, alternatives, and what a schema asks, in words. */

const MAX_HOPS = 40;
// Their fields show what they are.
const PLAIN_FORMATS = new Set(["date", "date-time", "time", "email"]);

/** Resolve references and `allOf` of a schema; what cannot be resolved accepts anything. */
export function resolve(schema, root, hops = 0) {
  if (schema === true || schema === undefined || schema === null) return {};
  if (schema === false) return { not: {} };
  if (hops > MAX_HOPS) return {};
  const { $ref, $dynamicRef, allOf, ...own } = schema;
  const reference = $ref ?? $dynamicRef;
  if (reference !== undefined) return merge(resolve(findReference(reference, root), root, hops + 1), allOf ? { ...own, allOf } : own, root, hops);
  if (allOf === undefined) return own;
  return allOf.reduce((merged, part) => merge(merged, resolve(part, root, hops + 1), root, hops), own);
}

function merge(one, other, root, hops) {
  const merged = { ...one, ...resolve(other, root, hops + 1) };
  if (one.properties || merged.properties) merged.properties = { ...one.properties, ...other.properties };
  if (one.required || other.required) merged.required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
  return merged;
}

function findReference(reference, root) {
  if (reference === "#") return root;
  const [document, fragment = ""] = reference.split("#");
  const base = document && document !== root.$id ? findNamed(root, (each) => each.$id === document) : root;
  if (base === null) return {};
  if (!fragment.startsWith("/")) return fragment ? findNamed(base, (each) => each.$anchor === fragment || each.$dynamicAnchor === fragment) ?? {} : base;
  let found = base;
  for (const raw of fragment.slice(1).split("/")) found = found?.[decodeURIComponent(raw).replace(/~1/g, "/").replace(/~0/g, "~")];
  return found ?? {};
}

function findNamed(value, matches, depth = 0) {
  if (value === null || typeof value !== "object" || depth > MAX_HOPS) return null;
  if (matches(value)) return value;
  for (const each of Object.values(value)) {
    const found = findNamed(each, matches, depth + 1);
    if (found) return found;
  }
  return null;
}

/** Name the kind of a resolved schema: the field that is made for it. */
export function kindOf(schema) {
  if ("const" in schema) return "const";
  if (Array.isArray(schema.enum)) return "enum";
  if (alternativesOf(schema)) return "union";
  const type = schema.type ?? guessType(schema);
  return ["object", "array", "string", "integer", "number", "boolean", "null"].includes(type) ? type : "json";
}

function guessType(schema) {
  if (schema.properties || schema.additionalProperties || schema.required) return "object";
  if (schema.items || schema.prefixItems) return "array";
  if (schema.pattern || schema.format || schema.maxLength || schema.contentEncoding) return "string";
  return null;
}

/** List the alternatives of a union, or give null. */
export function alternativesOf(schema) {
  const { oneOf, anyOf, ...own } = schema;
  const listed = oneOf ?? anyOf;
  if (Array.isArray(listed) && listed.some((each) => each && (each.$ref || each.type || each.properties || each.const !== undefined || each.enum || each.oneOf || each.anyOf))) {
    return own.properties ? listed.map((each) => ({ allOf: [own, each] })) : listed;
  }
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type, title: undefined, default: undefined })) : null;
}

/** Name an alternative: its title, its tag, or its type. */
export function alternativeName(schema, root, index) {
  const resolved = resolve(schema, root);
  const tag = Object.entries(resolved.properties ?? {}).map(([name, each]) => [name, resolve(each, root)]).find(([, each]) => each.const !== undefined);
  if (tag) return String(tag[1].const);
  if (resolved.title) return resolved.title;
  const named = /([^/#]+)$/.exec(schema.$ref ?? "")?.[1];
  if (named) return named;
  if (resolved.const !== undefined) return String(resolved.const);
  const kind = kindOf(resolved);
  return { null: "Nothing (null)", string: "Text", integer: "Whole number", number: "Number", boolean: "Yes or no", array: "List" }[kind] ?? `Form ${index + 1}`;
}

/** Say what a schema asks, in short phrases. */
export function constraintsOf(schema) {
  const { minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, pattern, format, minItems, maxItems, uniqueItems } = schema;
  const said = [
    range("characters", minLength, maxLength),
    range("", minimum, maximum),
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
    multipleOf !== undefined && `a multiple of ${multipleOf}`,
    format && !PLAIN_FORMATS.has(format) && `format ${format}`,
    pattern && `matches ${pattern}`,
    range("items", minItems, maxItems),
    uniqueItems && "no item twice",
    schema.readOnly && "read only",
    schema.deprecated && "deprecated",
  ];
  return said.filter(Boolean);
}

function range(noun, least, most) {
  const unit = noun && ` ${noun}`;
  if (least !== undefined && most !== undefined) return least === most ? `exactly ${least}${unit}` : `${least} to ${most}${unit}`;
  if (least === 1 && noun && most === undefined) return "not empty";
  if (least !== undefined && !(noun && least === 0)) return `at least ${least}${unit}`;
  return most !== undefined && `at most ${most}${unit}`;
}

/** Name the type of a resolved schema for a reader. */
export function typeName(schema, root) {
  const kind = kindOf(schema);
  if (kind === "enum") return "one of";
  if (kind === "array") return schema.items ? `list of ${typeName(resolve(schema.items, root), root)}` : "list";
  if (kind === "union") return alternativesOf(schema).map((each, index) => alternativeName(each, root, index)).join(" or ");
  if (kind === "string" && schema.format) return schema.format;
  return { string: "text", integer: "whole number", number: "number", boolean: "yes or no", object: schema.title ?? "object", null: "null", const: "constant", json: "any JSON" }[kind];
}

/** Find what is wrong with a simple value; an empty text says that nothing is. */
export function checkScalar(value, schema) {
  if (typeof value === "string") return checkText(value, schema);
  if (typeof value !== "number") return "";
  if (Number.isNaN(value)) return "Enter a number";
  if (schema.type === "integer" && !Number.isInteger(value)) return "Enter a whole number";
  if (value < schema.minimum) return `Must be at least ${schema.minimum}`;
  if (value > schema.maximum) return `Must be at most ${schema.maximum}`;
  if (value <= schema.exclusiveMinimum) return `Must be more than ${schema.exclusiveMinimum}`;
  return value >= schema.exclusiveMaximum ? `Must be less than ${schema.exclusiveMaximum}` : "";
}

function checkText(value, schema) {
  const length = [...value].length;
  if (length < schema.minLength) return schema.minLength === 1 ? "Enter some text" : `Must have at least ${schema.minLength} characters; it has ${length}`;
  if (length > schema.maxLength) return `Must have at most ${schema.maxLength} characters; it has ${length}`;
  // A pattern of an agent could run for minutes: long values are left to the agent.
  if (!schema.pattern || schema.pattern.length > 200 || length > 200 || /[*+}][^|]*\)[*+{]/.test(schema.pattern)) return "";
  try {
    return new RegExp(schema.pattern, "u").test(value) ? "" : `Must match ${schema.pattern}`;
  } catch {
    return "";
  }
}
