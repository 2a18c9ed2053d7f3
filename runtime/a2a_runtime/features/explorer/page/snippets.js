/* The same request as code to copy: curl, Python, the command line, and the wire forms of each dialect. */

import { readSnippets } from "./api.js";
import { codeBlock, coalesce, el, foldout, replace } from "./dom.js";
import { pretty } from "./text.js";

const PAUSE_MILLISECONDS = 350;

/** Make the panel; `readRequest` returns the request as it would be sent now. */
export function snippetPanel(readRequest, readOperation) {
  const shown = { id: null, snippets: [], asked: 0 };
  const tabs = el("div", { class: "tabs small", role: "tablist", "aria-label": "Languages" });
  const code = el("div", { id: "snippet", role: "tabpanel", "aria-label": "The request as code" });
  const draw = () => {
    const chosen = shown.snippets.find((each) => each.id === shown.id) ?? shown.snippets[0];
    shown.id = chosen?.id ?? null;
    replace(tabs, shown.snippets.map((each) => tab(each, each === chosen, () => { shown.id = each.id; draw(); tabs.querySelector("[aria-selected=true]").focus(); })));
    replace(code, chosen ? codeBlock(chosen.text, chosen.title) : null);
  };
  const load = async () => {
    const request = readRequest();
    if (request === null || !panel.open) return;
    shown.asked += 1;
    const asked = shown.asked;
    const found = await readAll(readOperation(), request);
    if (asked !== shown.asked) return;
    shown.snippets = found;
    draw();
  };
  const update = coalesce(load, PAUSE_MILLISECONDS);
  const panel = foldout("As code", () => [tabs, code], { kind: "snippets" });
  panel.addEventListener("toggle", load);
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = shown.snippets.findIndex((each) => each.id === shown.id);
    shown.id = shown.snippets[(at + step + shown.snippets.length) % shown.snippets.length].id;
    draw();
    tabs.querySelector("[aria-selected=true]").focus();
  });
  return { element: panel, update };
}

function tab(snippet, isChosen, onclick) {
  return el("button", { type: "button", role: "tab", "aria-selected": String(isChosen), "aria-controls": "snippet", tabindex: isChosen ? "0" : "-1", onclick }, snippet.title);
}

async function readAll(operation, request) {
  try {
    const { shortened, restore } = shorten(request);
    return (await readSnippets(operation, shortened)).snippets.map((each) => ({ ...each, text: restore(each.text) }));
  } catch (error) {
    return [{ id: "json", title: "JSON", text: pretty(request) }, { id: "why", title: "No code", text: `${error.message}. ${error.cure ?? ""}` }];
  }
}

// The bytes of a file would only fill the code: its beginning stands for it, and the code says so.
function shorten(request) {
  const beginnings = [];
  const parts = request.message.parts.map((part) => {
    if (!part.raw || part.raw.length <= 400) return part;
    beginnings.push(part.raw.slice(0, 40));
    return { ...part, raw: beginnings.at(-1) };
  });
  const restore = (text) => beginnings.reduce((code, each) => code.replaceAll(each, `${each}… (cut short here)`), text);
  return { shortened: { ...request, message: { ...request.message, parts } }, restore };
}
