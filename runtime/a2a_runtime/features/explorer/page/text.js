/* Text that is safe to show: agents decide what it holds, so nothing of it may hide, reorder or flood the page. */

// Controls but tab and newline, marks that reorder text, and characters without a width. A joiner stays: emoji and scripts need it.
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

const nameOf = (character) => `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;

/** Write a text so that each character of it can be seen. */
export function visible(text) {
  const lines = String(text).replace(/\r\n/g, "\n");
  return lines.replace(HIDDEN, nameOf).replace(LONE_SURROGATE, "\uFFFD");
}

/** Shorten a text to one line of some length. */
export function clip(text, length = 160) {
  const line = String(text).slice(0, length * 4).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Write a number of bytes. */
export function formatBytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

/** Write a duration that is given in milliseconds. */
export function formatDuration(milliseconds) {
  if (milliseconds == null || Number.isNaN(milliseconds)) return "–";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

/** Write a time of day, or a date with it when it is not today. */
export function formatTime(value) {
  const time = new Date(value);
  if (value == null || Number.isNaN(time.getTime())) return "–";
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

/** Write a count with its noun. */
export function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

/** Take one or two letters of a name, for a sign. */
export function initials(name) {
  const words = String(name).match(/[\p{L}\p{N}]+/gu) ?? ["?"];
  return words.slice(0, 2).map((word) => [...word][0].toUpperCase()).join("");
}

/** Write the name of a member as words: `approvedBy` as "Approved by". */
export function words(name) {
  const spaced = String(name).replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** Make an identifier. */
export function newId() {
  return crypto.randomUUID ? crypto.randomUUID() : [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Write a value as JSON with indents. */
export function pretty(value) {
  return JSON.stringify(value, null, 2) ?? "";
}
