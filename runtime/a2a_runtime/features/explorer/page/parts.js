/* Parts of messages and artifacts: text, Markdown, JSON, images, files. Large ones are shown piece by piece. */

import { badge, button, copyButton, downloadLink, el, link, replace, webAddress } from "./dom.js";
import { jsonTree } from "./json_tree.js";
import { markdown } from "./markdown.js";
import { count, formatBytes, pretty, visible } from "./text.js";

const PIECE = 60_000;
const MAX_MARKDOWN = 120_000;
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"]);
const MARKDOWN_SIGNS = /^ {0,3}#{1,6} \S|^ {0,3}(```|> )|^\s*([-*+]|\d+\.) \S|\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\(https?:|^\|.*\|\s*$/m;

/** Show parts in their order; texts that follow each other are one text. */
export function showParts(parts = []) {
  return joinTexts(parts).map((part) => el("div", { class: "part" }, showPart(part)));
}

/** Join texts that follow each other and have one media type. */
export function joinTexts(parts) {
  const joined = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.text !== undefined && last?.pieces && last.mediaType === part.mediaType) last.pieces.push(part.text);
    else joined.push(part.text === undefined ? part : { ...part, pieces: [part.text] });
  }
  return joined.map((part) => (part.pieces ? { ...part, text: part.pieces.join("") } : part));
}

function showPart(part) {
  if (part.text !== undefined) return showText(part.text, part.mediaType);
  if ("data" in part) return showData(part.data, part.mediaType);
  if (part.raw !== undefined) return showFile(part);
  if (part.url !== undefined) return showAddress(part);
  return jsonTree(part);
}

/* --- text --------------------------------------------------------------------------------------------------------------------------------------- */

/** Show a text by its media type: JSON as a tree, Markdown formatted, anything else as it is. */
export function showText(text, mediaType) {
  if (mediaType === "application/json" || mediaType?.endsWith("+json")) return tryJson(text) ?? plainText(text);
  const canBeMarkdown = text.length <= MAX_MARKDOWN && (!mediaType || mediaType === "text/plain" || mediaType === "text/markdown");
  if (!canBeMarkdown || (mediaType !== "text/markdown" && !MARKDOWN_SIGNS.test(text))) return plainText(text);
  return eitherWay(() => markdown(text), "Formatted", () => plainText(text), "As written");
}

function tryJson(text) {
  try {
    return jsonTree(JSON.parse(text));
  } catch {
    return null;
  }
}

function eitherWay(makeFirst, first, makeSecond, second) {
  const place = el("div", {}, makeFirst());
  const toggle = button(second, () => {
    const isFirst = toggle.textContent === second;
    replace(place, isFirst ? makeSecond() : makeFirst());
    replace(toggle, el("span", {}, isFirst ? first : second));
  }, { kind: "quiet small" });
  return el("div", { class: "either-way" }, place, toggle);
}

function plainText(text) {
  const shown = el("pre", { class: "plain-text agent-text", dir: "auto" }, text.slice(0, PIECE));
  if (text.length <= PIECE) return shown;
  let end = PIECE;
  const left = el("span", { class: "muted" });
  const more = button("Show more", () => {
    shown.append(visible(text.slice(end, end + PIECE)));
    end = Math.min(text.length, end + PIECE);
    update();
  }, { kind: "small" });
  const bar = el("div", { class: "bar" }, left, more, downloadLink(() => text, "artifact.txt", "Download all"));
  const update = () => {
    replace(left, `${count(end, "character")} of ${text.length.toLocaleString("en")} shown`);
    more.hidden = end === text.length;
  };
  update();
  return el("div", {}, shown, bar);
}

/* --- data and files ----------------------------------------------------------------------------------------------------------------------------- */

function showData(data, mediaType) {
  const size = JSON.stringify(data)?.length ?? 0;
  const head = el("div", { class: "bar" }, badge(mediaType && mediaType !== "application/json" ? mediaType : "JSON"), el("span", { class: "muted" }, formatBytes(size)), copyButton(() => pretty(data)), size > PIECE ? downloadLink(() => pretty(data), "data.json", "Download") : null);
  return el("div", { class: "data-part" }, head, jsonTree(data, size > PIECE ? 1 : 2));
}

/** Decode base64, of either alphabet; null if it is none. */
export function decodeBase64(raw) {
  try {
    const binary = atob(raw.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}

function showFile({ raw, filename, mediaType }) {
  const bytes = decodeBase64(raw);
  const name = filename || "file";
  if (bytes === null) return el("p", { class: "notice bad" }, `The file ${name} is not base64, so it cannot be shown.`);
  const head = el("div", { class: "bar file" }, badge(mediaType || "file"), el("span", { class: "agent-text" }, name), el("span", { class: "muted" }, formatBytes(bytes.length)), downloadLink(() => bytes, name, "Download"));
  return [head, preview(bytes, mediaType, name)];
}

function preview(bytes, mediaType, name) {
  const type = (mediaType ?? "").split(";")[0].trim().toLowerCase();
  if (IMAGES.has(type)) return picture(bytes, type, name);
  if ((type.startsWith("text/") && type !== "text/html") || type === "application/json") return showText(new TextDecoder().decode(bytes.subarray(0, 2_000_000)), type);
  return null;
}

function picture(bytes, type, name) {
  // In an <img>, scripts of an SVG do not run and nothing is loaded.
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const shown = el("img", { src: address, alt: `Image ${name}`, class: "picture" });
  shown.addEventListener("load", () => URL.revokeObjectURL(address));
  shown.addEventListener("error", () => shown.replaceWith(el("p", { class: "muted" }, "This image cannot be shown.")));
  return shown;
}

function showAddress({ url, filename, mediaType }) {
  const isWeb = webAddress(url) !== null;
  return el("div", { class: "bar file" }, badge(mediaType || "link"), link(url, filename || String(url).slice(0, 300)), isWeb ? el("span", { class: "muted" }, new URL(url).host) : badge("not a web address", "warn"));
}

/** Show a message as a bubble of a conversation. */
export function showMessage(message) {
  const isUser = message.role === "ROLE_USER" || message.role === "user";
  return el("article", { class: `bubble ${isUser ? "user" : "agent"}` }, el("header", {}, isUser ? "You" : "Agent"), showParts(message.parts));
}
