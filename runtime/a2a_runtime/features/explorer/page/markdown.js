/* Markdown as elements: headings, lists, quotes, code, tables, emphasis, links of the web. HTML in it is text, images are links. */

import { codeBlock, el, link } from "./dom.js";

const INLINE = /(`+)(?<code>[\s\S]*?[^`])\1(?!`)|\*\*(?<strong>\S(?:[\s\S]*?\S)?)\*\*|(?<![\w*])[*_](?<em>[^\s*_](?:[^*_]*[^\s*_])?)[*_](?![\w*])|~~(?<del>[^~]+)~~|!?\[(?<label>[^\]]*)\]\((?<href>[^()\s]*(?:\([^()\s]*\))?)(?:\s+"[^"]*")?\)|(?<url>https?:\/\/[^\s<>"')\]]+)/g;
const MAX_DEPTH = 6;

/** Show Markdown. */
export function markdown(text) {
  return el("div", { class: "markdown agent-text" }, blocks(String(text).replace(/\r\n?/g, "\n").split("\n"), 0));
}

function blocks(lines, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const [element, next] = depth > MAX_DEPTH ? paragraph(lines, at, depth) : block(lines, at, depth);
    if (element) made.push(element);
    at = next;
  }
  return made;
}

function block(lines, at, depth) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  if (/^ {0,3}(```|~~~)/.test(line)) return fence(lines, at);
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  // Not a heading of the page: an agent has no say in its outline.
  if (heading) return [el("p", { class: `heading h-${heading[1].length}` }, inline(heading[2])), at + 1];
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [el("hr"), at + 1];
  if (/^ {0,3}>/.test(line)) return quote(lines, at, depth);
  if (itemOf(line)) return list(lines, at, depth);
  if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("|")) return table(lines, at);
  return paragraph(lines, at, depth);
}

function fence(lines, at) {
  const mark = lines[at].trim().slice(0, 3);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(mark)) end += 1;
  return [codeBlock(lines.slice(at + 1, end).join("\n")), end + 1];
}

function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
  return [el("blockquote", {}, blocks(lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, "")), depth + 1)), end];
}

const itemOf = (line) => /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line);

function list(lines, at, depth) {
  const first = itemOf(lines[at]);
  const isOrdered = /\d/.test(first[2]);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = itemOf(lines[end]);
    if (item && item[1].length <= first[1].length + 1) items.push([item[3]]);
    else if (lines[end].trim() && /^\s{2,}/.test(lines[end])) items.at(-1).push(lines[end].replace(/^\s{2,4}/, ""));
    else break;
    end += 1;
  }
  return [el(isOrdered ? "ol" : "ul", {}, items.map((each) => el("li", {}, inline(each[0]), blocks(each.slice(1), depth + 1)))), end];
}

function table(lines, at) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const head = el("thead", {}, el("tr", {}, cells(lines[at]).map((cell) => el("th", { scope: "col" }, cell))));
  const body = el("tbody", {}, lines.slice(at + 2, end).map((line) => el("tr", {}, cells(line).map((cell) => el("td", {}, cell)))));
  return [el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table" }, el("table", {}, head, body)), end];
}

function paragraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && (depth > MAX_DEPTH || !/^ {0,3}(#{1,6}\s|>|```|~~~)/.test(lines[end])) && !itemOf(lines[end])) end += 1;
  return [el("p", {}, inline(lines.slice(at, end).join("\n"))), end];
}

function inline(text) {
  const made = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) made.push(text.slice(from, match.index));
    made.push(span(match));
    from = match.index + match[0].length;
  }
  if (from < text.length) made.push(text.slice(from));
  return made;
}

function span({ 0: all, groups }) {
  if (groups.code !== undefined) return el("code", {}, groups.code);
  if (groups.strong !== undefined) return el("strong", {}, groups.strong);
  if (groups.em !== undefined) return el("em", {}, groups.em);
  if (groups.del !== undefined) return el("del", {}, groups.del);
  if (groups.href !== undefined) return link(groups.href, groups.label || groups.href);
  return link(groups.url ?? all);
}
