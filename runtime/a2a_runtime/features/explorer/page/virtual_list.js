/* A list of which only the visible rows exist: ten thousand of them cost as much as twenty. Rows have one height. */

import { el, replace } from "./dom.js";

const MARGIN_ROWS = 8;

/**
 * Make a scrolling list.
 *
 * `options`: `label` for screen readers, `rowHeight` in pixels, `renderRow(index)` which returns the content of a row.
 * The result has `element`, `redraw()`, `setLength(length)` and `reveal(index)`. It stays at its end while new rows come, unless the reader scrolled up;
 * a row that has the focus keeps it.
 */
export function virtualList({ label, rowHeight, renderRow }) {
  const rows = el("ol", { class: "virtual-rows" });
  const element = el("div", { class: "virtual-list", tabindex: "0", role: "region", "aria-label": label }, rows);
  const shown = { length: 0, from: 0, to: 0, isFollowing: true };

  const draw = () => {
    const height = element.clientHeight || 400;
    const from = Math.max(0, Math.floor(element.scrollTop / rowHeight) - MARGIN_ROWS);
    const to = Math.min(shown.length, Math.ceil((element.scrollTop + height) / rowHeight) + MARGIN_ROWS);
    if (from === shown.from && to === shown.to) return;
    Object.assign(shown, { from, to });
    const drawn = [];
    for (let index = from; index < to; index += 1) drawn.push(drawRow(index));
    const focused = findFocused(rows);
    replace(rows, drawn);
    if (focused !== null) (drawn[focused - from]?.querySelector("button") ?? element).focus({ preventScroll: true });
  };
  const drawRow = (index) => {
    const row = el("li", { "aria-setsize": shown.length, "aria-posinset": index + 1 }, renderRow(index));
    row.style.top = `${index * rowHeight}px`;
    row.style.height = `${rowHeight}px`;
    return row;
  };
  const redraw = () => {
    shown.from = -1;
    draw();
  };
  element.addEventListener("scroll", () => {
    shown.isFollowing = element.scrollTop + element.clientHeight > shown.length * rowHeight - 2 * rowHeight;
    draw();
  }, { passive: true });
  new ResizeObserver(draw).observe(element);

  return {
    element,
    redraw,
    setLength(length) {
      shown.length = length;
      rows.style.height = `${length * rowHeight}px`;
      if (shown.isFollowing) element.scrollTop = length * rowHeight;
      redraw();
    },
    reveal(index) {
      const top = index * rowHeight;
      if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = Math.max(0, top - 2 * rowHeight);
      redraw();
    },
  };
}

/** Find the index of the row that has the focus. */
function findFocused(rows) {
  const at = document.activeElement;
  return rows.contains(at) ? Number(at.closest("li").getAttribute("aria-posinset")) - 1 : null;
}
