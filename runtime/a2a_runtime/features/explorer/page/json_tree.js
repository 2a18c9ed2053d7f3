/* JSON as a tree that opens level by level and in pieces: a value of any size costs only what is looked at. */

import { button, el } from "./dom.js";
import { count, visible } from "./text.js";

const PIECE = 100;
const LONG_TEXT = 400;

/** Show a JSON value; the first `openLevels` levels are open. */
export function jsonTree(value, openLevels = 1) {
  return el("div", { class: "json-tree" }, node(value, null, openLevels));
}

function node(value, name, openLevels) {
  if (value !== null && typeof value === "object") return branch(value, name, openLevels);
  return el("div", { class: "json-leaf" }, keyOf(name), leaf(value));
}

const keyOf = (name) => (name === null ? null : [el("span", { class: "json-key" }, name), ": "]);

function leaf(value) {
  if (typeof value === "string") return longText(value);
  return el("span", { class: value === null ? "json-null" : `json-${typeof value}` }, String(value));
}

function longText(text) {
  if (text.length <= LONG_TEXT) return el("span", { class: "json-string" }, JSON.stringify(text));
  const shown = el("span", { class: "json-string" }, JSON.stringify(text.slice(0, LONG_TEXT)).slice(0, -1));
  let end = LONG_TEXT;
  const more = button(`… ${count(text.length - end, "more character")}`, () => {
    end = Math.min(text.length, end + 20_000);
    shown.textContent = visible(JSON.stringify(text.slice(0, end)));
    if (end === text.length) more.remove();
  }, { kind: "quiet small" });
  return [shown, more];
}

function branch(value, name, openLevels) {
  const isList = Array.isArray(value);
  const size = isList ? value.length : Object.keys(value).length;
  const summary = isList ? `[${count(size, "item")}]` : `{${count(size, "member")}}`;
  if (size === 0) return el("div", { class: "json-leaf" }, keyOf(name), el("span", { class: "json-null" }, isList ? "[]" : "{}"));
  const body = el("div", { class: "json-members" });
  const made = el("details", { class: "json-branch", open: openLevels > 0 }, el("summary", {}, keyOf(name), el("span", { class: "json-size" }, summary)), body);
  const fill = () => made.open && !body.hasChildNodes() && addPiece(body, Object.entries(value), 0, openLevels - 1);
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

function addPiece(body, entries, from, openLevels) {
  for (const [name, value] of entries.slice(from, from + PIECE)) body.append(node(value, name, openLevels));
  const left = entries.length - from - PIECE;
  if (left <= 0) return;
  const more = button(`Show ${Math.min(left, PIECE)} of ${left.toLocaleString("en")} more`, () => {
    more.remove();
    addPiece(body, entries, from + PIECE, openLevels);
  }, { kind: "quiet small" });
  body.append(more);
}
