/* Building of elements. Text enters the page in one way: as a text node, after `visible`. No markup of an agent is ever parsed. */

import { visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const TEXT_ATTRIBUTES = new Set(["title", "aria-label", "placeholder", "alt", "download"]);

const ICONS = {
  card: "M4 5h16v14H4z M4 9h16 M8 14h5",
  try: "M5 4l14 8-14 8z",
  watch: "M3 12h4l3-7 4 14 3-7h4",
  tasks: "M9 6h11 M9 12h11 M9 18h11 M4 6h.01 M4 12h.01 M4 18h.01",
  wire: "M4 8h13l-3-3 M20 16H7l3 3",
  key: "M14 10a4 4 0 1 0-4 4l1 .0L13 16h2v2h2v2h3v-3l-6-6z M8.5 8.500h.01",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z M12 2v2 M12 20v2 M2 12h2 M20 12h2 M5 5l1.500 1.500 M17.500 17.500L19 19 M5 19l1.500-1.500 M17.500 6.500L19 5",
  copy: "M9 9h11v11H9z M5 15H4V4h11v1",
  check: "M5 12l5 5 9-10",
  plus: "M12 5v14 M5 12h14",
  cross: "M6 6l12 12 M18 6L6 18",
  file: "M6 3h8l4 4v14H6z M14 3v4h4",
  download: "M12 4v11 M7 11l5 5 5-5 M5 20h14",
  again: "M4 12a8 8 0 1 0 3-6.200 M4 4v4h4",
  stop: "M7 7h10v10H7z",
  cut: "M4 12h5 M15 12h5 M10 7l-1-3 M14 17l1 3",
  external: "M14 4h6v6 M20 4l-9 9 M18 14v6H4V6h6",
  warn: "M12 4l9 16H3z M12 10v4 M12 17h.01",
};

/** Make an element: properties that begin with `on` are listeners, others attributes; text is made visible. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) setProperty(made, name, value);
  made.append(...toNodes(children));
  return made;
}

function setProperty(element, name, value) {
  if (value == null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
  else if (name === "class") element.className = value;
  else element.setAttribute(name, value === true ? "" : TEXT_ATTRIBUTES.has(name) ? visible(value) : String(value));
}

function toNodes(children) {
  const present = children.flat(Infinity).filter((child) => child != null && child !== false && child !== "");
  return present.map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))));
}

/** Put other children into an element. */
export function replace(element, ...children) {
  element.replaceChildren(...toNodes(children));
  return element;
}

/** Draw an icon; it says nothing to screen readers. */
export function icon(name) {
  const drawn = document.createElementNS(SVG, "svg");
  for (const [key, value] of [["viewBox", "0 0 24 24"], ["aria-hidden", "true"], ["class", "icon"], ["focusable", "false"]]) drawn.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  drawn.append(path);
  return drawn;
}

/** Make a button; `kind` is a class: primary, quiet, danger. */
export function button(label, onclick, { kind = "", sign, title, ...rest } = {}) {
  return el("button", { type: "button", class: `button ${kind}`, onclick, title, ...rest }, sign && icon(sign), label && el("span", {}, label));
}

/** Make a button that copies what a function returns. */
export function copyButton(read, label = "Copy") {
  const made = button(label, async () => {
    await copyText(read());
    replace(made, icon("check"), el("span", {}, "Copied"));
    announce("Copied");
    setTimeout(() => replace(made, icon("copy"), el("span", {}, label)), 1500);
  }, { kind: "quiet small", sign: "copy" });
  return made;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard is closed to pages without a secure origin; the old command is not.
    const field = el("textarea", { class: "hidden-text", value: text, "aria-hidden": "true" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** Read an address if it may be a link: http and https only. */
export function webAddress(address) {
  try {
    const parsed = new URL(String(address));
    return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : null;
  } catch {
    return null;
  }
}

/** Make a link to a page of the web; any other address is only text. */
export function link(address, label = address) {
  const href = webAddress(address);
  if (href === null) return el("span", { class: "agent-text" }, label);
  return el("a", { href, rel: "noopener noreferrer nofollow", target: "_blank", class: "agent-text" }, label);
}

/** Make a small label; `tone` is one of ok, warn, bad, info, plain. */
export function badge(text, tone = "plain") {
  return el("span", { class: `badge ${tone}` }, text);
}

/** Make a box with a summary that opens; what it holds is made when it is opened first. */
export function foldout(summary, make, { open = false, kind = "" } = {}) {
  const body = el("div", { class: "foldout-body" });
  const made = el("details", { class: `foldout ${kind}`, open }, el("summary", {}, summary), body);
  const fill = () => made.open && !body.hasChildNodes() && body.append(...toNodes([make()]));
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

/** Make a list of terms with what is said of each; entries without a value are left out. */
export function facts(entries) {
  const shown = entries.filter(([, value]) => value != null && value !== "" && value !== false);
  return el("dl", { class: "facts" }, shown.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: "agent-text" }, value))));
}

/** Show text of code, with a button that copies it. */
export function codeBlock(text, label = "Code") {
  return el("div", { class: "code" }, copyButton(() => text), el("pre", { tabindex: "0", role: "region", "aria-label": label }, text));
}

/** Say something to screen readers. */
export function announce(text) {
  replace(document.getElementById("announcer"), text);
}

/** Make a function that runs once for any number of calls within a short time. */
export function coalesce(action, milliseconds = 40) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      action();
    }, milliseconds);
  };
}

/** Make a link that downloads some bytes; they are never opened in this page's origin. */
export function downloadLink(make, name, label) {
  return button(label, () => {
    const address = URL.createObjectURL(new Blob([make()], { type: "application/octet-stream" }));
    el("a", { href: address, download: name.replace(/[/\\:\u0000-\u001F]/g, "_").slice(0, 120) || "file" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }, { kind: "quiet small", sign: "download" });
}
