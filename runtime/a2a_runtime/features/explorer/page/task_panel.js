/* A task as it is at some moment: its state, progress, the agent's words, artifacts. It is redrawn only where something changed. */

import { badge, button, copyButton, el, foldout, replace, webAddress } from "./dom.js";
import { joinTexts, showMessage, showParts } from "./parts.js";
import { jsonTree } from "./json_tree.js";
import { stateName, textOf } from "./task_model.js";
import { count, pretty, visible } from "./text.js";

const MAX_OPEN_ARTIFACTS = 50;

/** Make a panel of a task; `show(task)` draws it. */
export function taskPanel() {
  const head = el("div", { class: "task-head" });
  const progress = el("div", { class: "progress-place" });
  const words = el("div", { class: "task-words" });
  const outputs = el("div", { class: "artifacts" });
  const foot = el("div", {});
  const drawn = new Map();
  const last = {};
  return {
    element: el("div", { class: "task-panel" }, head, progress, words, outputs, foot),
    show(task) {
      drawIfChanged(last, "head", `${task.status?.state} ${task.id} ${task.message?.messageId}`, () => replace(head, headOf(task)));
      drawIfChanged(last, "progress", `${task.progress} ${task.status?.state}`, () => replace(progress, progressOf(task)));
      drawIfChanged(last, "words", task.status?.message ?? task.message, () => replace(words, wordsOf(task)));
      drawIfChanged(last, "foot", JSON.stringify(task.metadata).slice(0, 10_000) + task.history.length, () => replace(foot, footOf(task)));
      drawArtifacts(outputs, drawn, task);
    },
  };
}

function drawIfChanged(last, name, sign, draw) {
  if (last[name] === sign && name in last) return;
  last[name] = sign;
  draw();
}

function headOf(task) {
  if (task.message && !task.status) return [badge("Message", "ok"), el("span", { class: "muted" }, "The agent answered without a task")];
  if (!task.status) return el("span", { class: "muted" }, "Waiting for the first event…");
  const [text, tone] = stateName(task.status.state);
  return [el("span", { class: `state ${tone}` }, text), task.id ? el("code", { class: "task-id agent-text" }, task.id) : null, task.id ? copyButton(() => task.id, "Copy id") : null];
}

function progressOf(task) {
  if (task.progress === null) return null;
  const bar = el("progress", { max: "1", "aria-label": "Progress" });
  bar.value = task.progress;
  return el("div", { class: "progress" }, bar, el("span", {}, `${Math.round(task.progress * 100)} %`));
}

function wordsOf(task) {
  if (task.message) return showMessage(task.message);
  const message = task.status?.message;
  return message ? el("div", { class: "status-message" }, showParts(message.parts)) : null;
}

function footOf(task) {
  const hasMetadata = Object.keys(task.metadata ?? {}).length > 0;
  return [
    task.history.length ? foldout(count(task.history.length, "message"), () => el("div", { class: "conversation" }, task.history.slice(-200).map(showMessage)), { kind: "quiet" }) : null,
    hasMetadata ? foldout("Metadata of the task", () => jsonTree(task.metadata, 2), { kind: "quiet" }) : null,
  ];
}

/* --- artifacts ---------------------------------------------------------------------------------------------------------------------------------- */

function drawArtifacts(place, drawn, task) {
  for (const [id, each] of drawn) {
    if (task.artifacts.has(id)) continue;
    each.element.remove();
    drawn.delete(id);
  }
  for (const [id, artifact] of task.artifacts) {
    if (!drawn.has(id)) {
      drawn.set(id, artifactBox(artifact, drawn.size < MAX_OPEN_ARTIFACTS));
      place.append(drawn.get(id).element);
    }
    drawn.get(id).show(artifact);
  }
}

function artifactBox(artifact, isOpen) {
  const body = el("div", { class: "artifact-body" });
  const about = el("span", { class: "muted" });
  const current = { artifact, signature: null, live: null };
  const title = el("span", { class: "agent-text" }, artifact.name || artifact.artifactId || "Artifact");
  const element = el("details", { class: "artifact", open: isOpen }, el("summary", {}, el("strong", {}, title), " ", about), body);
  const draw = () => element.open && drawBody(body, current);
  element.addEventListener("toggle", draw);
  return {
    element,
    show(given) {
      const signature = `${given.changes} ${given.parts.length} ${given.isComplete}`;
      if (current.signature === signature && current.artifact === given) return;
      Object.assign(current, { artifact: given, signature });
      replace(about, given.parts.length > 1 ? count(given.parts.length, "part") : "", given.isComplete === false ? " · more to come" : "");
      draw();
    },
  };
}

/* A text that still grows is plain: its new pieces are appended, however many there are. When it is complete it is rendered. */
function drawBody(body, current) {
  const { artifact } = current;
  const isGrowing = artifact.isComplete === false && artifact.parts.every((part) => part.text !== undefined);
  if (!isGrowing) {
    current.live = null;
    const head = artifact.description ? el("p", { class: "muted agent-text" }, artifact.description) : null;
    replace(body, head, showAll(artifact), artifact.metadata ? foldout("Metadata", () => jsonTree(artifact.metadata, 2), { kind: "quiet" }) : null);
    return;
  }
  if (current.live === null || current.live.parts !== artifact.parts || current.live.drawn > artifact.parts.length) {
    current.live = { parts: artifact.parts, drawn: 0, length: 0, element: el("pre", { class: "plain-text growing agent-text", dir: "auto" }) };
    replace(body, current.live.element);
  }
  appendPieces(current.live, artifact.parts);
}

const MAX_LIVE = 60_000;

function appendPieces(live, parts) {
  const fresh = parts.slice(live.drawn).map((part) => part.text).join("");
  live.drawn = parts.length;
  live.length += fresh.length;
  if (live.length > MAX_LIVE) live.element.textContent = `… ${visible(parts.slice(-400).map((part) => part.text).join("").slice(-8_000))}`;
  else live.element.append(visible(fresh));
}

const MAX_PARTS = 100;

function showAll(artifact) {
  const joined = joinTexts(artifact.parts);
  if (joined.length <= MAX_PARTS) return showParts(joined);
  const place = el("div", {});
  let end = 0;
  const more = button("Show more parts", () => {
    place.append(...showParts(joined.slice(end, end + MAX_PARTS)));
    end += MAX_PARTS;
    more.hidden = end >= joined.length;
  }, { kind: "small" });
  more.click();
  return [place, el("div", { class: "bar" }, more, el("span", { class: "muted" }, count(joined.length, "part")), copyButton(() => pretty(artifact.parts), "Copy all"))];
}

/** Find the first web address that an authorization asks to open. */
export function findAddress(message) {
  for (const part of message?.parts ?? []) {
    const listed = [part.url, ...(typeof part.data === "object" && part.data !== null ? Object.values(part.data) : []), ...(part.text?.match(/https?:\/\/[^\s<>"')\]]+/g) ?? [])];
    const found = listed.find((each) => typeof each === "string" && webAddress(each));
    if (found) return found;
  }
  return textOf(message?.parts).match(/https?:\/\/\S+/)?.[0] ?? null;
}
