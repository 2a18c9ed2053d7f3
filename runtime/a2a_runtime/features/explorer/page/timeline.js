/* The timeline of a run: each event with its time, one of them opened, and a slider that shows the task as it was after it. */

import { button, el, facts, replace } from "./dom.js";
import { jsonTree } from "./json_tree.js";
import { describeEvent } from "./task_model.js";
import { clip, formatDuration } from "./text.js";
import { virtualList } from "./virtual_list.js";

const ROW_HEIGHT = 36;
const BORDERS = 2;
let sliders = 0;
const MARKS = { task: "●", status: "◆", artifact: "■", message: "✉", other: "?" };

/**
 * Make a timeline; `onTravel(length)` is called when the reader moves in time, with null for now.
 *
 * The result has `element` and `update(events)`.
 */
export function timeline(onTravel) {
  const shown = { events: [], chosen: null, travel: null };
  const detail = el("div", { class: "event-detail" });
  const list = virtualList({ label: "Events", rowHeight: ROW_HEIGHT, renderRow: (at) => row(shown, at, choose) });
  const slider = travelSlider((length) => {
    shown.travel = length === shown.events.length ? null : length;
    onTravel(shown.travel);
    if (length > 0) list.reveal(length - 1);
    list.redraw();
  });
  function choose(at) {
    shown.chosen = shown.chosen === at ? null : at;
    replace(detail, shown.chosen === null ? null : eventDetail(shown.events[at], at));
    list.redraw();
  }
  return {
    element: el("div", { class: "timeline" }, slider.element, list.element, detail),
    update(events) {
      const isOther = events !== shown.events;
      if (isOther) {
        Object.assign(shown, { chosen: null, travel: null });
        replace(detail);
      }
      shown.events = events;
      list.element.style.height = `${Math.min(360, Math.max(1, events.length) * ROW_HEIGHT + BORDERS)}px`;
      list.setLength(events.length);
      slider.update(events.length, shown.travel);
    },
  };
}

function row(shown, at, choose) {
  const { event, at: time, cursor } = shown.events[at];
  const [kind] = kindOfEvent(event);
  const isFuture = shown.travel !== null && at >= shown.travel;
  return el("button", { type: "button", class: `event kind-${kind}${isFuture ? " future" : ""}`, "aria-expanded": String(shown.chosen === at), "data-at": at, onclick: () => choose(at) },
    el("span", { class: "event-time" }, `+${formatDuration(time)}`),
    el("span", { class: "event-mark", "aria-hidden": "true" }, MARKS[kind]),
    el("span", { class: "event-text agent-text" }, clip(describeEvent(event)[1], 140)),
    cursor ? el("span", { class: "event-cursor", title: "Cursor" }, `#${clip(cursor, 14)}`) : null);
}

const kindOfEvent = (event) => describeEvent(event);

function eventDetail({ event, at: time, cursor, receivedAt }, at) {
  return el("section", { "aria-label": `Event ${at + 1}` }, facts([["Event", String(at + 1)], ["After", formatDuration(time)], ["Cursor", cursor], ["Received", receivedAt]]), jsonTree(event, 3));
}

function travelSlider(onMove) {
  sliders += 1;
  const id = `time-travel-${sliders}`;
  const input = el("input", { type: "range", min: "0", max: "0", id, step: "1" });
  const text = el("output", { for: id });
  const now = button("Now", () => { input.value = input.max; move(); }, { kind: "quiet small" });
  const tell = () => {
    const isNow = input.value === input.max;
    replace(text, isNow ? `now, after ${input.max} of ${input.max} events` : `after ${input.value} of ${input.max} events`);
    input.setAttribute("aria-valuetext", text.textContent);
    now.disabled = isNow;
  };
  const move = () => {
    tell();
    onMove(Number(input.value));
  };
  input.addEventListener("input", move);
  const element = el("div", { class: "travel" }, el("label", { for: id }, "The task as it was"), input, text, now);
  return {
    element,
    update(length, travel) {
      element.hidden = length < 2;
      input.max = String(length);
      input.value = String(travel ?? length);
      tell();
    },
  };
}
