/* Wire: every request to the agent and its answer, as they were sent, with secrets masked by the process that sent them. */

import { badge, button, codeBlock, coalesce, copyButton, el, facts, foldout, replace } from "./dom.js";
import { jsonTree } from "./json_tree.js";
import { emit, on, state } from "./state.js";
import { clip, formatBytes, formatDuration, formatTime, pretty } from "./text.js";
import { virtualList } from "./virtual_list.js";

const ROW_HEIGHT = 40;
const BORDERS = 2;
const MAX_BODY = 60_000;

/** Make the view of the exchanges. */
export function wireView() {
  const view = { chosen: null, filter: "", shown: [] };
  const detail = el("div", { class: "panel exchange" }, el("p", { class: "empty muted" }, "Choose a request to see it with its answer."));
  const list = virtualList({ label: "Requests", rowHeight: ROW_HEIGHT, renderRow: (at) => row(view.shown[at], view, choose) });
  const filter = el("input", { type: "search", id: "wire-filter", placeholder: "Address or method", oninput: () => { view.filter = filter.value.toLowerCase(); update(); } });
  const empty = el("p", { class: "empty muted" }, "Nothing was sent yet.");
  const update = coalesce(() => {
    view.shown = state.exchanges.filter((each) => `${each.method} ${each.url}`.toLowerCase().includes(view.filter));
    empty.hidden = view.shown.length > 0;
    list.element.hidden = view.shown.length === 0;
    list.element.style.height = `${Math.min(480, view.shown.length * ROW_HEIGHT + BORDERS)}px`;
    list.setLength(view.shown.length);
    const chosen = state.exchanges.find((each) => each.id === view.chosen?.id);
    if (chosen && chosen !== view.chosen) show(chosen);
  });
  const show = (exchange) => {
    view.chosen = exchange;
    replace(detail, exchangeDetail(exchange));
  };
  function choose(exchange) {
    show(exchange);
    list.redraw();
  }
  const clear = () => {
    state.exchanges.length = 0;
    view.chosen = null;
    replace(detail, el("p", { class: "empty muted" }, "Choose a request to see it with its answer."));
    emit("exchanges");
  };
  on("exchanges", update);
  on("tab", (tab) => tab === "wire" && update());
  update();
  return el("section", { class: "wire-view" }, el("div", { class: "panel" }, el("h2", {}, "Wire"),
    el("div", { class: "filters" }, el("label", { for: "wire-filter" }, "Filter"), filter, button("Clear", clear, { kind: "quiet", sign: "cross" })), empty, list.element), detail);
}

function tone(status) {
  if (!status) return "warn";
  return status < 300 ? "ok" : status < 400 ? "info" : "bad";
}

function row(exchange, view, choose) {
  const address = String(exchange.url).replace(/^[a-z]+:\/\/[^/]*/i, "") || "/";
  const called = readMethod(exchange.requestBody);
  return el("button", { type: "button", class: "wire-row", "aria-pressed": String(view.chosen?.id === exchange.id), onclick: () => choose(exchange) },
    badge(exchange.status ? String(exchange.status) : "…", tone(exchange.status)), el("strong", {}, exchange.method || exchange.protocol), el("span", { class: "wire-address agent-text" }, clip(called ? `${address}  ${called}` : address, 120)),
    el("span", { class: "muted" }, formatDuration(exchange.milliseconds)));
}

function readMethod(body) {
  if (body !== null && typeof body === "object") return body.method ?? null;
  return /"method"\s*:\s*"([^"]{1,60})"/.exec(String(body ?? "").slice(0, 2000))?.[1] ?? null;
}

function exchangeDetail(exchange) {
  return [
    el("h2", { class: "agent-text wire-title" }, `${exchange.method || ""} `, el("span", {}, exchange.url)),
    facts([["Status", badge(exchange.status ? String(exchange.status) : "no answer", tone(exchange.status))], ["Took", formatDuration(exchange.milliseconds)], ["At", formatTime(exchange.startedAt)], ["Over", exchange.protocol]]),
    side("Request", exchange.requestHeaders, exchange.requestBody),
    side("Answer", exchange.responseHeaders, exchange.responseBody),
    el("div", { class: "bar" }, copyButton(() => pretty(exchange), "Copy as JSON")),
  ];
}

function side(title, headers, body) {
  return el("section", { class: "wire-side", "aria-label": title }, el("h3", {}, title),
    headers?.length ? foldout(`${headers.length} headers`, () => el("dl", { class: "headers" }, headers.map(([name, value]) => el("div", {}, el("dt", { class: "agent-text" }, name), el("dd", { class: "agent-text" }, clip(value, 2000))))), { open: true, kind: "quiet" }) : null,
    showBody(body, title));
}

function showBody(body, title) {
  if (body === null || body === undefined || body === "") return el("p", { class: "muted" }, "No body.");
  if (typeof body === "object") return el("div", {}, el("div", { class: "bar" }, copyButton(() => pretty(body))), jsonTree(body, 3));
  try {
    if (/^\s*[[{]/.test(body)) return showBody(JSON.parse(body), title);
  } catch { /* not JSON: shown as it is */ }
  const cut = body.length > MAX_BODY ? el("p", { class: "muted" }, `The first ${formatBytes(MAX_BODY)} of ${formatBytes(body.length)} are shown; the copy has all.`) : null;
  return [cut, cut ? el("div", { class: "bar" }, copyButton(() => body, "Copy all")) : null, codeBlock(body.slice(0, MAX_BODY), `${title}, body`)];
}
