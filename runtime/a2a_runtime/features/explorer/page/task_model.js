/* Events of a task, and the task that they make. The same fold serves the live view and time travel. */

const INTERRUPTED = new Set(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"]);
const TERMINAL = new Set(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"]);

export const STATES = {
  TASK_STATE_SUBMITTED: ["Submitted", "info"],
  TASK_STATE_WORKING: ["Working", "info"],
  TASK_STATE_COMPLETED: ["Completed", "ok"],
  TASK_STATE_FAILED: ["Failed", "bad"],
  TASK_STATE_CANCELED: ["Canceled", "plain"],
  TASK_STATE_REJECTED: ["Rejected", "bad"],
  TASK_STATE_INPUT_REQUIRED: ["Needs your answer", "warn"],
  TASK_STATE_AUTH_REQUIRED: ["Needs authorization", "warn"],
};

/** Name a state, and the tone of its label. */
export const stateName = (name) => STATES[name] ?? [name ? String(name).replace(/^TASK_STATE_/, "").toLowerCase().replace(/_/g, " ") : "Unknown", "plain"];

/** Tell whether nothing leaves this state. */
export const isTerminal = (name) => TERMINAL.has(name);

/** Tell whether the task waits for its caller. */
export const isInterrupted = (name) => INTERRUPTED.has(name);

/** Begin a fold: a task of which nothing is known. */
export function emptyTask() {
  return { id: null, contextId: null, status: null, artifacts: new Map(), history: [], metadata: {}, message: null, progress: null, version: 0 };
}

/** Add an event to a task; the task is changed, and each of its artifacts counts its changes. */
export function applyEvent(task, event) {
  task.version += 1;
  if (event.task) applySnapshot(task, event.task);
  else if (event.statusUpdate) applyStatus(task, event.statusUpdate);
  else if (event.artifactUpdate) applyArtifact(task, event.artifactUpdate);
  else if (event.message) {
    task.message = event.message;
    task.contextId = event.message.contextId ?? task.contextId;
  }
  return task;
}

function applySnapshot(task, snapshot) {
  Object.assign(task, { id: snapshot.id, contextId: snapshot.contextId ?? task.contextId, status: snapshot.status ?? null, history: [...(snapshot.history ?? [])] });
  task.metadata = { ...snapshot.metadata };
  task.progress = readProgress(snapshot.status, snapshot.metadata) ?? task.progress;
  task.artifacts = new Map((snapshot.artifacts ?? []).map((each) => [each.artifactId, { ...each, parts: [...(each.parts ?? [])], changes: 1 }]));
  if (isTerminal(task.status?.state)) completeArtifacts(task);
}

function applyStatus(task, update) {
  task.id ??= update.taskId;
  task.contextId ??= update.contextId;
  task.status = update.status ?? task.status;
  Object.assign(task.metadata, update.metadata);
  task.progress = readProgress(update.status, update.metadata) ?? task.progress;
  if (isTerminal(task.status?.state)) completeArtifacts(task);
}

// Nothing follows the end of a task, so no artifact waits for another piece.
function completeArtifacts(task) {
  task.progress = null;
  for (const each of task.artifacts.values()) each.isComplete = true;
}

function applyArtifact(task, update) {
  const artifact = update.artifact ?? {};
  task.id ??= update.taskId;
  task.contextId ??= update.contextId;
  const known = task.artifacts.get(artifact.artifactId);
  if (update.append && known) {
    known.parts.push(...(artifact.parts ?? []));
    known.changes += 1;
    known.isComplete = Boolean(update.lastChunk);
    return;
  }
  task.artifacts.set(artifact.artifactId, { ...artifact, parts: [...(artifact.parts ?? [])], changes: (known?.changes ?? 0) + 1, isComplete: update.lastChunk !== false });
}

function readProgress(status, metadata) {
  const found = [metadata?.progress, status?.message?.metadata?.progress].find((each) => typeof each === "number");
  return found === undefined ? null : Math.min(1, Math.max(0, found > 1 && found <= 100 ? found / 100 : found));
}

/** Make the task as it was after the first `length` events. */
export function taskAfter(events, length) {
  const task = emptyTask();
  for (let at = 0; at < length; at += 1) applyEvent(task, events[at].event);
  return task;
}

/** Say in a word and a line what an event is. */
export function describeEvent(event) {
  if (event.task) return ["task", `Task ${stateName(event.task.status?.state)[0].toLowerCase()}`];
  if (event.message) return ["message", textOf(event.message.parts) || "A message"];
  if (event.statusUpdate) return ["status", describeStatus(event.statusUpdate)];
  if (event.artifactUpdate) return ["artifact", describeArtifact(event.artifactUpdate)];
  return ["other", "An event that this page does not know"];
}

function describeStatus({ status, metadata }) {
  const progress = readProgress(status, metadata);
  const text = textOf(status?.message?.parts);
  return [stateName(status?.state)[0], progress === null ? "" : `${Math.round(progress * 100)} %`, text].filter(Boolean).join(" · ");
}

function describeArtifact({ artifact, append, lastChunk }) {
  const name = artifact?.name || artifact?.artifactId || "artifact";
  const kind = append ? (lastChunk ? "last piece" : "piece") : "begins";
  return `${name} · ${kind}: ${describeParts(artifact?.parts)}`;
}

/** Say in a line what parts hold. */
export function describeParts(parts = []) {
  const first = parts[0];
  if (!first) return "nothing";
  if (first.text !== undefined) return textOf(parts);
  if (first.data !== undefined) return JSON.stringify(first.data)?.slice(0, 300) ?? "null";
  return first.filename || first.mediaType || "a file";
}

/** Join the texts of parts; long ones are cut, because this is for lines. */
export function textOf(parts = []) {
  return parts.filter((part) => part.text !== undefined).slice(0, 20).map((part) => part.text.slice(0, 500)).join(" ");
}

/** Make a task of the fold out of one of the wire. */
export const taskFromWire = (task) => applyEvent(emptyTask(), { task });
