/* Watch: a run as it happens, with its times, its task, its events, and what one can do to it. */

import { announce, badge, button, coalesce, el, facts, replace } from "./dom.js";
import { showError } from "./errors.js";
import { questionForm } from "./question.js";
import { cancelRun, cutRun, isResumable, lastCursor, refreshRun, resumeRun, showRun } from "./runs.js";
import { emit, on, state } from "./state.js";
import { isInterrupted, isTerminal, stateName, taskAfter } from "./task_model.js";
import { taskPanel } from "./task_panel.js";
import { count, formatDuration, formatTime } from "./text.js";
import { timeline } from "./timeline.js";

const TICK_MILLISECONDS = 100;
const MAX_RUNS = 30;

/** Make the view of the run that is watched. */
export function watchView() {
  const view = { run: null, travel: null, panel: null, question: null, asked: null };
  const title = el("h2", {}, "Watch");
  const actions = el("div", { class: "bar" });
  const times = el("div", { class: "times" });
  const trouble = el("div", {});
  const body = el("div", { class: "watch-body" });
  const questionPlace = el("div", {});
  const events = timeline((travel) => { view.travel = travel; draw(); });
  const picker = runPicker();
  const element = el("section", { class: "panel watch", "aria-label": "Watch" }, el("div", { class: "watch-head" }, title, picker.element), actions, times, trouble, body);
  const places = { title, actions, times, trouble, body, questionPlace };

  const draw = coalesce(() => {
    if (view.run === null) return;
    events.update(view.run.events);
    const task = view.travel === null ? view.run.task : taskAfter(view.run.events, view.travel);
    view.panel.show(task);
    element.classList.toggle("past", view.travel !== null);
    drawQuestion(view, questionPlace);
    drawTimes(times, view.run);
  });
  const switchTo = (run) => {
    Object.assign(view, { run, travel: null, panel: taskPanel(), asked: null });
    replace(title, run.title);
    replace(questionPlace);
    replace(body, questionPlace, view.panel.element, el("h3", {}, "Events"), events.element);
    picker.update();
  };
  const onRun = (run) => {
    if (run !== state.run) return;
    if (run !== view.run) switchTo(run);
    drawActions(places, run);
    draw();
  };
  on("run", onRun);
  on("event", (run) => { if (run === view.run) { draw(); if (run.taskId && actions.dataset.task !== run.taskId) drawActions(places, run); } });
  setInterval(() => view.run?.phase === "running" && drawTimes(times, view.run), TICK_MILLISECONDS);
  replace(body, emptyWatch());
  return element;
}

const emptyWatch = () => el("div", { class: "empty" }, el("p", {}, el("strong", {}, "Nothing to watch yet")), el("p", { class: "muted" }, "Send a message, and its events, its progress and its results appear here as they come."));

function runPicker() {
  const control = el("select", { "aria-label": "Messages sent from here", onchange: () => showRun(state.runs[Number(control.value)]) });
  const update = () => {
    control.hidden = state.runs.length < 2;
    replace(control, state.runs.slice(0, MAX_RUNS).map((run, at) => el("option", { value: String(at), selected: run === state.run }, `${run.title}, ${formatTime(run.began)}`)));
  };
  update();
  return { element: control, update };
}

/* --- the head ----------------------------------------------------------------------------------------------------------------------------------- */

function drawTimes(place, run) {
  const isRunning = run.phase === "running";
  const total = isRunning ? performance.now() - run.startedAt : run.endedAt;
  const [text, tone] = { running: ["live", "ok"], cut: ["connection cut", "warn"], ended: ["complete", "plain"], failed: ["failed", "bad"] }[run.phase];
  replace(place, badge(text, tone), facts([
    ["First event", formatDuration(run.firstAt)], ["Total", formatDuration(total)], ["Events", run.events.length.toLocaleString("en")],
    ["Cut", run.cuts ? count(run.cuts, "time") : null], ["Last cursor", lastCursor(run)],
  ]));
}

function drawActions({ actions, trouble }, run) {
  const name = run.task.status?.state;
  const isOver = isTerminal(name) || (run.task.message !== null && !run.task.status);
  actions.dataset.task = run.taskId ?? "";
  replace(actions,
    run.phase === "running" && run.mode === "streaming" && run.taskId ? button("Cut the connection", () => cutRun(run), { sign: "cut" }) : null,
    ["cut", "failed"].includes(run.phase) && run.taskId && !isOver ? button("Resume", () => resumeRun(run), { kind: "primary", sign: "again" }) : null,
    run.phase === "ended" && run.taskId && !isOver ? button("Follow it", () => resumeRun(run), { sign: "watch" }) : null,
    run.phase === "failed" && run.taskId ? button("Read the task", () => refreshRun(run), {}) : null,
    run.taskId && !isOver ? button("Cancel the task", () => cancelRun(run), { kind: "danger", sign: "stop" }) : null,
    run.request && run.phase !== "running" ? button("Run again", () => emit("try", { skill: run.skill, message: run.request.message }), { sign: "again" }) : null,
    run.contextId && run.phase !== "running" ? button("Continue the conversation", () => { emit("continue", run); emit("tab", "try"); }, {}) : null);
  replace(trouble, run.phase === "cut" ? cutNotice(run) : run.error ? showError(run.error) : null);
  if (run.phase !== "running" && name) announce(`Task ${stateName(name)[0].toLowerCase()}`);
}

function cutNotice(run) {
  const cursor = lastCursor(run);
  const text = isResumable() && cursor !== null
    ? `The connection is cut after event #${cursor}. The task goes on at the agent; resume, and the events since then follow.`
    : "The connection is cut. The task goes on at the agent; this agent has no cursors, so a resume begins with the task as it is then.";
  return el("p", { class: "notice warn", role: "status" }, text);
}

function drawQuestion(view, place) {
  const { run } = view;
  const isAsking = view.travel === null && run.phase !== "running" && isInterrupted(run.task.status?.state);
  const sign = isAsking ? `${run.id} ${run.events.length}` : null;
  if (sign === view.asked) return;
  view.asked = sign;
  replace(place, isAsking ? questionForm(run.task) : null);
  place.parentElement.classList.toggle("asking", isAsking);
}
