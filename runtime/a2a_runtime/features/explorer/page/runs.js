/* Runs: each message that this page sends, with the events that answered it.

   Run = {id, title, skill, mode, request, taskId, contextId, phase: running | cut | ended | failed, error,
          startedAt, firstAt, endedAt, cuts, events: [{at, cursor, event}], task}
*/

import { CallError, follow, operate } from "./api.js";
import { emit, findExtension, state } from "./state.js";
import { applyEvent, emptyTask, isInterrupted, isTerminal } from "./task_model.js";
import { newId } from "./text.js";

const RESUMPTION = "urn:a2a-gen:ext:resumption:1";
const POLL_MILLISECONDS = 1000;

/** Tell whether the agent says that its streams continue after a cursor. */
export const isResumable = () => state.info?.resumable ?? findExtension(RESUMPTION) !== null;

/** Send a message and watch what becomes of it. */
export function startRun({ title, skill, mode, request }) {
  const run = addRun({ title, skill, mode, request });
  if (mode === "streaming") followRun(run, "SendStreamingMessage", { request });
  else sendRun(run, request);
  return run;
}

/** Send a message to the task of a run, whose events go on with those that answer it. */
export function continueRun(run, request, mode) {
  run.phase = "running";
  showRun(run);
  if (mode === "streaming") followRun(run, "SendStreamingMessage", { request });
  else sendRun(run, request);
  return run;
}

/** Watch a task that is there already; with an empty cursor, the agent sends a snapshot first. */
export function watchTask(task, cursor) {
  const run = addRun({ title: `Task ${task.id}`, skill: null, mode: "streaming", request: null });
  Object.assign(run, { taskId: task.id, contextId: task.contextId });
  followRun(run, "SubscribeToTask", subscription(run, cursor));
  return run;
}

function addRun(parts) {
  const run = {
    id: newId(), taskId: null, contextId: null, phase: "running", error: null, startedAt: performance.now(), began: Date.now(),
    firstAt: null, endedAt: null, cuts: 0, events: [], task: emptyTask(), controller: null, seen: new Set(), ...parts,
  };
  state.runs.unshift(run);
  showRun(run);
  return run;
}

/** Show a run in the watch. */
export function showRun(run) {
  state.run = run;
  emit("run", run);
  emit("runs");
}

const subscription = (run, cursor) => ({ request: { id: run.taskId }, ...(cursor == null ? {} : { cursor: String(cursor) }) });

async function sendRun(run, request) {
  try {
    const { result } = await operate("SendMessage", request);
    addEvent(run, result, null);
    if (run.mode === "immediate") await pollRun(run);
    finish(run);
  } catch (error) {
    fail(run, error);
  }
}

async function pollRun(run) {
  while (run.taskId && !isTerminal(run.task.status?.state) && !isInterrupted(run.task.status?.state)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    const { result } = await operate("GetTask", { id: run.taskId });
    if (result.status?.timestamp !== run.task.status?.timestamp || result.status?.state !== run.task.status?.state) addEvent(run, { task: result }, null);
  }
}

async function followRun(run, operation, body) {
  const controller = new AbortController();
  Object.assign(run, { controller, phase: "running", error: null });
  emit("run", run);
  try {
    await follow(operation, body, { signal: controller.signal, onEvent: (data, cursor) => addEvent(run, data, cursor) });
    finish(run);
  } catch (error) {
    if (error.name === "AbortError") cutOff(run);
    else fail(run, error);
  }
}

function addEvent(run, data, cursor) {
  const { receivedAt, ...event } = data;
  // After a resume an agent without cursors repeats nothing that could be known, so only numbered events are compared.
  if (cursor !== null && cursor !== "") {
    if (run.seen.has(cursor)) return;
    run.seen.add(cursor);
  }
  const at = performance.now() - run.startedAt;
  run.firstAt ??= at;
  run.events.push({ at, cursor: cursor || null, event, receivedAt: receivedAt ?? null });
  applyEvent(run.task, event);
  run.taskId = run.task.id ?? run.taskId;
  run.contextId = run.task.contextId ?? run.contextId;
  emit("event", run);
}

function finish(run) {
  Object.assign(run, { phase: "ended", endedAt: performance.now() - run.startedAt, controller: null });
  emit("run", run);
}

function fail(run, error) {
  const known = error instanceof CallError ? error : new CallError({ name: error.name, message: error.message }, 0);
  Object.assign(run, { phase: "failed", error: known, endedAt: performance.now() - run.startedAt, controller: null });
  emit("run", run);
}

function cutOff(run) {
  Object.assign(run, { phase: "cut", cuts: run.cuts + 1, endedAt: performance.now() - run.startedAt, controller: null });
  emit("run", run);
}

/** Cut the connection of a run, as a network would. */
export const cutRun = (run) => run.controller?.abort();

/** Return the cursor of the last event that has one. */
export const lastCursor = (run) => run.events.findLast((each) => each.cursor !== null)?.cursor ?? null;

/** Continue a run after its last event; without cursors the agent sends a snapshot, and the rest from there. */
export function resumeRun(run) {
  followRun(run, "SubscribeToTask", subscription(run, isResumable() ? lastCursor(run) : null));
}

/** Read a task that ended while nobody listened. */
export async function refreshRun(run) {
  try {
    const { result } = await operate("GetTask", { id: run.taskId });
    addEvent(run, { task: result }, null);
    finish(run);
  } catch (error) {
    fail(run, error);
  }
}

/** Cancel the task of a run. */
export async function cancelRun(run) {
  try {
    const { result } = await operate("CancelTask", { id: run.taskId });
    if (run.phase !== "running") addEvent(run, { task: result }, null);
  } catch (error) {
    run.error = error;
  }
  emit("run", run);
}

/** Find what this page has seen of a task, longest first. */
export function eventsOf(taskId) {
  const seen = state.runs.filter((run) => run.taskId === taskId).sort((one, other) => other.events.length - one.events.length);
  return seen[0]?.events ?? [];
}
