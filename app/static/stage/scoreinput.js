// @ts-check
// The score under the pointer and the keys: hover, selection, brush, pan, zoom.

import { columnSelection, nodeSelection } from "../columns.js";
import { makeFilter } from "../filters.js";
import { cellAt, iterations } from "../run/canvas.js";
import { placeAt } from "./layout.js";

/**
 * @typedef {import("../types/store.js").Run} Run
 * @typedef {import("../columns.js").Column} Column
 *
 * @typedef {object} Plot what the score is now
 * @property {number} px a position
 * @property {number} room of the plot, without the heads
 * @property {number} left where it begins
 * @property {number} top
 * @property {import("./scorecontent.js").Content} content
 *
 * @typedef {object} Act
 * @property {(by: number, anchor?: number) => void} zoom
 * @property {(range: [number, number] | null) => void} brush
 * @property {() => void} pan nobody follows the end of the text any more
 * @property {(key: string) => void} turn fold a band, or open it
 */

/** What a click on a column selects: the draft token that was rejected there, else the token.
 * @param {Run} run @param {Column} column */
const choose = (run, column) =>
  column.ghost && column.index !== null ? nodeSelection(run, column.round, column.index) : columnSelection(run, column);

/** The positions between two ends of a drag over `count` of them; null where both ends lie beyond the last.
 * @param {number} from @param {number} to @param {number} count @returns {[number, number] | null} */
export function rangeOf(from, to, count) {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  return low < count && high >= 0 ? [Math.max(0, low), Math.min(count - 1, high)] : null;
}

/** The iteration whose row lies at a height of a band, as its place among several at this position; null elsewhere.
 * @param {import("./layout.js").Place} place @param {Run} run @param {number} y @param {number} pos
 * @returns {import("../types/store.js").Selection | null} */
export function iterationAt(place, run, y, pos) {
  const track = place.tracks.find(({ id }) => id === "iterations");
  if (!track || y < track.y || y >= track.y + track.height) return null;
  const round = Math.floor(((y - track.y) / track.height) * iterations(run));
  return cellAt(run.rounds[round], pos) ? { run: run.key, round, pos, node: null } : null;
}

/**
 * @param {HTMLElement} scroll
 * @param {HTMLElement} over what has the focus
 * @param {import("../types/store.js").Store} store
 * @param {() => Plot} plot
 * @param {Act} act
 */
export function listen(scroll, over, store, plot, act) {
  /** The place under a pointer. @param {MouseEvent} event */
  function under(event) {
    const { px, left, top, content } = plot();
    const box = scroll.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - left, event.clientY - box.top - top];
    const pos = Math.floor((x + scroll.scrollLeft) / px);
    const place = y < 0 || x < 0 ? null : placeAt(content.places, y + scroll.scrollTop);
    const lane = place ? content.lanes.get(place.key) : null;
    const column = lane?.list[pos - lane.shift] ?? null;
    const row = place && lane && column && iterationAt(place, lane.run, y + scroll.scrollTop, column.pos);
    return { x, y, pos, lane, column, row };
  }

  /** @type {{x: number, pos: number, pan: boolean, from: number, range: [number, number] | null} | null} */
  let down = null;
  const release = () => {
    down = null;
    act.brush(null);
  };
  scroll.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || /** @type {Element} */ (event.target).closest("button")) return;
    const { x, y, pos } = under(event);
    const { room, top } = plot();
    if (x < 0 || x > room || y > scroll.clientHeight - top) return;
    over.focus({ preventScroll: true });
    down = { x: event.clientX, pos, pan: y < 0 || event.shiftKey, from: scroll.scrollLeft, range: null };
  });
  scroll.addEventListener("mousedown", (event) => {
    if (down) event.preventDefault(); // which would take the focus to the whole stage
  });
  scroll.addEventListener("pointermove", (event) => {
    const at = under(event);
    if (down && Math.abs(event.clientX - down.x) > 4) {
      scroll.setPointerCapture(event.pointerId);
      store.setHover(null);
      if (down.pan) {
        act.pan();
        scroll.scrollLeft = down.from + down.x - event.clientX;
      } else {
        down.range = rangeOf(down.pos, at.pos, plot().content.count);
        act.brush(down.range);
      }
      return;
    }
    scroll.classList.toggle("panning", at.y < 0 && at.x >= 0);
    store.setHover(at.row ?? (at.column && at.lane ? columnSelection(at.lane.run, at.column) : null));
  });
  scroll.addEventListener("pointerup", (event) => {
    const { lane, column, row } = under(event);
    if (down?.range) store.setFilter("range", makeFilter({ kind: "range", range: down.range }));
    else if (down && !down.pan && column && lane) store.setCursor(row ?? choose(lane.run, column));
    release();
  });
  scroll.addEventListener("pointercancel", release);
  scroll.addEventListener("pointerleave", () => down || store.setHover(null));
  scroll.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      act.zoom(event.deltaY > 0 ? -1 : 1, Math.max(0, under(event).x));
    },
    { passive: false },
  );

  /** Up or down a band, as they are here. @param {number} by */
  function band(by) {
    const { order, lanes } = plot().content;
    const at = order.indexOf(store.cursor?.run ?? "");
    const lane = lanes.get(order[Math.max(0, Math.min(order.length - 1, at + by))]);
    const place = (store.cursor?.pos ?? 0) + (lanes.get(store.cursor?.run ?? "")?.shift ?? 0);
    const column = lane?.list[Math.max(0, Math.min(place - lane.shift, lane.list.length - 1))];
    if (lane && column) store.setCursor(choose(lane.run, column));
  }
  const pan = (/** @type {number} */ by) => {
    scroll.scrollLeft += by * plot().room * 0.25;
  };
  /** @type {Partial<Record<string, () => void>>} */
  const moves = {
    w: () => act.zoom(1),
    s: () => act.zoom(-1),
    a: () => pan(-1),
    d: () => pan(1),
    ArrowUp: () => band(-1),
    ArrowDown: () => band(1),
    Enter: () => act.turn(store.cursor?.run ?? ""),
  };
  scroll.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== over) return;
    const move = moves[event.key];
    if (!move) return;
    move();
    event.preventDefault();
    event.stopPropagation();
  });
}
