/* Tasks: what the agent keeps, with filters and pages, alone or as conversations. */

import { operate } from "./api.js";
import { badge, button, el, replace } from "./dom.js";
import { showError } from "./errors.js";
import { on } from "./state.js";
import { followEvents, taskDetail } from "./task_detail.js";
import { STATES, describeParts, stateName } from "./task_model.js";
import { clip, count, formatTime } from "./text.js";

const PAGE_SIZE = 20;

/** Make the view of the agent's tasks. */
export function tasksView() {
  const view = { tokens: [""], page: 0, next: "", tasks: [], chosen: null, isGrouped: false, asked: 0 };
  const list = el("div", { class: "task-list" });
  const pager = el("div", { class: "bar end" });
  const detail = el("div", { class: "task-place" }, el("p", { class: "empty muted" }, "Choose a task to see it."));
  const places = { list, pager, detail };
  const filters = filterBar(() => { Object.assign(view, { tokens: [""], page: 0 }); load(); }, (isGrouped) => { view.isGrouped = isGrouped; drawList(view, places, open); });
  const open = (id) => {
    view.chosen = id;
    drawList(view, places, open);
    replace(detail, taskDetail(id, load));
  };
  const load = async () => {
    view.asked += 1;
    const asked = view.asked;
    try {
      const { result } = await operate("ListTasks", { ...filters.read(), pageSize: PAGE_SIZE, pageToken: view.tokens[view.page] || undefined });
      if (asked !== view.asked) return;
      Object.assign(view, { tasks: result.tasks ?? [], next: result.nextPageToken ?? "", total: result.totalSize ?? null });
      drawList(view, places, open);
      drawPager(view, pager, load);
    } catch (error) {
      if (asked === view.asked) replace(list, showError(error), openById(open));
    }
  };
  on("tab", (tab) => tab === "tasks" && load());
  on("open-task", open);
  followEvents();
  return el("section", { class: "tasks-view" }, el("div", { class: "panel" }, el("h2", {}, "Tasks"), filters.element, list, pager), el("div", { class: "panel" }, detail));
}

function filterBar(change, group) {
  const state = el("select", { id: "task-state", onchange: change }, el("option", { value: "" }, "Any state"), Object.entries(STATES).map(([value, [name]]) => el("option", { value }, name)));
  const context = el("input", { id: "task-context", type: "search", placeholder: "Any conversation", onchange: change });
  const grouped = el("input", { type: "checkbox", onchange: () => group(grouped.checked) });
  return {
    element: el("div", { class: "filters", role: "search", "aria-label": "Tasks" },
      el("label", { for: "task-state" }, "State"), state, el("label", { for: "task-context" }, "Conversation"), context,
      el("label", { class: "check" }, grouped, "Group by conversation"), button("Refresh", change, { kind: "quiet", sign: "again" })),
    read: () => ({ status: state.value || undefined, contextId: context.value.trim() || undefined }),
  };
}

function openById(open) {
  const input = el("input", { id: "task-id" });
  return el("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); if (input.value.trim()) open(input.value.trim()); } }, el("label", { for: "task-id" }, "Task by its id"), input, button("Open", () => {}, { type: "submit" }));
}

function drawList(view, { list }, open) {
  if (view.tasks.length === 0) return replace(list, el("p", { class: "empty muted" }, "No tasks here. Send a message, or change the filters."));
  if (!view.isGrouped) return replace(list, el("ul", { class: "plain rows" }, view.tasks.map((task) => row(task, view, open))));
  const groups = Map.groupBy ? Map.groupBy(view.tasks, (task) => task.contextId) : groupTasks(view.tasks);
  return replace(list, [...groups].map(([context, tasks]) => el("section", { class: "group" },
    el("h3", {}, "Conversation ", el("code", { class: "agent-text" }, context ?? "unknown"), el("span", { class: "number" }, tasks.length)), el("ul", { class: "plain rows" }, tasks.map((task) => row(task, view, open))))));
}

function groupTasks(tasks) {
  const groups = new Map();
  for (const task of tasks) groups.set(task.contextId, [...(groups.get(task.contextId) ?? []), task]);
  return groups;
}

function row(task, view, open) {
  const [text, tone] = stateName(task.status?.state);
  const said = describeParts(task.history?.[0]?.parts ?? task.status?.message?.parts ?? []);
  return el("li", {}, el("button", { type: "button", class: "task-row", "aria-pressed": String(view.chosen === task.id), onclick: () => open(task.id) },
    badge(text, tone), el("span", { class: "task-said agent-text" }, said === "nothing" ? clip(task.id, 40) : clip(said, 80)), el("span", { class: "muted" }, formatTime(task.status?.timestamp))));
}

function drawPager(view, pager, load) {
  const go = (step) => {
    if (step > 0) view.tokens[view.page + 1] = view.next;
    view.page += step;
    load();
  };
  replace(pager, view.total === null ? null : el("span", { class: "muted" }, count(view.total, "task")),
    view.page > 0 ? button("Previous page", () => go(-1), {}) : null, view.next ? button("Next page", () => go(1), {}) : null);
}
