/* One task: as the agent keeps it, as a conversation, and as it was after each event that is known. */

import { operate } from "./api.js";
import { button, coalesce, el, facts, foldout, replace } from "./dom.js";
import { showError } from "./errors.js";
import { jsonTree } from "./json_tree.js";
import { showMessage } from "./parts.js";
import { questionForm } from "./question.js";
import { eventsOf, isResumable, watchTask } from "./runs.js";
import { emit, on, state } from "./state.js";
import { isInterrupted, isTerminal, taskAfter, taskFromWire } from "./task_model.js";
import { taskPanel } from "./task_panel.js";
import { formatTime } from "./text.js";
import { timeline } from "./timeline.js";

const current = { draw: null };

/** Redraw the task that is shown with each event of it. */
export const followEvents = () => on("event", () => current.draw?.());

/** Show a task by its id; `changed` is called when it was changed from here. */
export function taskDetail(id, changed) {
  const place = el("div", { class: "task-detail" }, el("p", { class: "muted", role: "status" }, "Reading the task…"));
  const load = async () => {
    try {
      const { result } = await operate("GetTask", { id });
      draw(place, result, () => { load(); changed(); });
    } catch (error) {
      replace(place, showError(error));
    }
  };
  load();
  return place;
}

function draw(place, wire, reload) {
  const task = taskFromWire(wire);
  const panel = taskPanel();
  panel.show({ ...task, history: [] });
  const problem = el("div", {});
  replace(place,
    el("h2", {}, "Task"), el("div", { class: "bar" }, actions(wire, reload, problem)), problem, panel.element,
    isInterrupted(wire.status?.state) ? questionForm(task) : null,
    facts([["Conversation", wire.contextId], ["Last change", formatTime(wire.status?.timestamp)]]),
    wire.history?.length ? [el("h3", {}, "History"), el("div", { class: "conversation" }, wire.history.slice(-200).map(showMessage))] : null,
    travel(wire, panel, task),
    foldout("Task as JSON", () => jsonTree(wire, 2), { kind: "quiet" }));
}

function actions(wire, reload, problem) {
  const isOver = isTerminal(wire.status?.state);
  const first = wire.history?.find((message) => message.role === "ROLE_USER");
  const cancel = async () => {
    try {
      await operate("CancelTask", { id: wire.id });
      reload();
    } catch (error) {
      replace(problem, showError(error));
    }
  };
  return [
    button("Refresh", reload, { kind: "quiet", sign: "again" }),
    isOver ? null : button("Watch it", () => { watchTask(wire, null); emit("tab", "watch"); }, { sign: "watch" }),
    isOver ? null : button("Cancel the task", cancel, { kind: "danger", sign: "stop" }),
    first ? button("Run again", () => emit("try", { message: first, skill: skillOf(wire, first) }), { sign: "again" }) : null,
    wire.contextId ? button("Continue the conversation", () => { emit("continue", wire); emit("tab", "try"); }, { kind: "quiet" }) : null,
  ];
}

// The task does not say its skill; a run of this page or its first message may.
const skillOf = (wire, first) => state.runs.find((run) => run.taskId === wire.id && run.skill)?.skill ?? first.metadata?.skillId ?? null;

/* --- time travel -------------------------------------------------------------------------------------------------------------------------------- */

function travel(wire, panel, task) {
  const box = el("div", {});
  const now = { events: [], length: null };
  const show = () => panel.show(now.length === null ? { ...task, history: [] } : { ...taskAfter(now.events, now.length), history: [] });
  const line = timeline((length) => { now.length = length; show(); });
  const update = coalesce(() => {
    const known = eventsOf(wire.id);
    if (known.length === 0) return;
    now.events = known;
    line.update(known);
    if (!line.element.isConnected) replace(box, line.element);
  });
  current.draw = update;
  const replay = isResumable() ? button("Read all events from the first", () => watchTask(wire, 0), { sign: "again" }) : null;
  const hint = replay ? "This page has not seen the events of this task." : "This page has not seen the events of this task, and the agent has no cursors to read them again.";
  replace(box, el("p", { class: "muted" }, hint), replay);
  update();
  return el("section", { "aria-label": "Time travel" }, el("h3", {}, "Time travel"), box);
}
