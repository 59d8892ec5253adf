// @ts-check
// The timeline as a picture: a stripe a lane, their names, the axis and the playhead; on a canvas, or on the recorder
// that writes SVG.

import { duration } from "./dom.js";
import { drafted, draftMs } from "./numbers.js";
import { inPlace, isIteration } from "./run/canvas.js";

/**
 * @typedef {import("./types/store.js").Store} Store
 * @typedef {import("./types/store.js").Run} Run
 * @typedef {import("./types/pen.js").Pen} Pen
 * @typedef {import("./types/pen.js").Ink} Ink
 * @typedef {object} Sheet
 * @property {number} width
 * @property {number} height with the axis
 * @property {number} row pixels of a lane
 * @property {number} gap pixels below it
 * @property {number} left pixels that the names take; 0 leaves them out
 * @property {readonly Run[]} rows
 * @property {readonly string[]} names as long as there is room for
 * @property {number} over the place of the lane that is pointed at, or -1
 * @property {number | null} head where the playhead is, in rounds or milliseconds
 */

export const AXIS = 15;
export const HEAD = 3; // pixels above the first row, whose name is taller than it
export const KEY = 18; // pixels of the key below a saved timeline
const END = 10; // pixels behind the axis
const SWATCH = 10;

/** @param {Ink} ink */
export const fontOf = (ink) => `11px ${ink("--sans") || "sans-serif"}`;

/** @param {Pen} c @param {Store} store @param {Sheet} sheet @param {Ink} ink */
export function paintTimeline(c, store, sheet, ink) {
  const { width, height, row, gap, left, rows, names, over, head } = sheet;
  const span = store.span() || 1;
  const x = (/** @type {number} */ value) => left + 1 + ((width - left - END) * value) / span;
  c.font = fontOf(ink);
  c.textBaseline = "middle";
  if (over >= 0) {
    c.fillStyle = ink("--line-2");
    c.fillRect(left, HEAD + over * (row + gap) - gap, width - left, row + 2 * gap);
  }
  rows.forEach((run, i) => {
    const top = HEAD + i * (row + gap);
    if (left) {
      c.fillStyle = ink("--ink-2");
      c.fillText(names[i], 0, top + row / 2 + 0.5);
    }
    paintRow(c, store, run, { top, tall: row, x }, ink);
  });
  paintAxis(c, store, { span, room: width - left, y: height - 6, x }, ink);
  if (head !== null) paintHead(c, x(head), height - AXIS, ink);
}

/** @param {Pen} c @param {Store} store @param {Run} run
 * @param {{top: number, tall: number, x: (at: number) => number}} at @param {Ink} ink */
function paintRow(c, store, run, { top, tall, x }, ink) {
  const clock = store.time.mode === "clock";
  const shown = store.visibleRounds(run);
  const reference = run.card.guarantee === "reference";
  const [whole, draft, target] = [ink(reference ? "--neutral" : "--draft"), ink("--draft-2"), ink("--target-2")];
  const placed = ink("--overlap");
  const gap = x(1) - x(0) > 4 && !clock ? 1 : 0;
  for (let i = 0; i < run.rounds.length; i++) {
    const round = run.rounds[i];
    const [a, b] = clock ? [x(run.sums.clock[i]), x(run.sums.clock[i + 1])] : [x(i), x(i + 1)];
    c.globalAlpha = (i < shown ? 1 : 0.22) * (reference ? 0.55 : 0.35 + 0.65 * Math.min(1, round.emitted / 5));
    c.fillStyle = whole;
    if (clock && !reference) {
      const split = a + ((b - a) * draftMs(run, round)) / (run.sums.clock[i + 1] - run.sums.clock[i] || 1);
      c.globalAlpha = i < shown ? 1 : 0.22;
      c.fillStyle = draft;
      if (split > a) c.fillRect(a, top, Math.max(0.6, split - a), tall);
      c.fillStyle = isIteration(round) ? placed : target;
      c.fillRect(split, top, Math.max(0.6, b - split - (b - a > 4 ? 1 : 0)), tall);
    } else c.fillRect(a, top, Math.max(0.6, b - a - gap - (clock && b - a > 4 ? 1 : 0)), tall);
  }
  c.globalAlpha = 1;
  const focus = store.focus();
  if (focus?.run === run.key && focus.round != null) {
    const [a, b] = clock
      ? [run.sums.clock[focus.round], run.sums.clock[focus.round + 1]]
      : [focus.round, focus.round + 1];
    if (b === undefined) return;
    c.strokeStyle = ink("--select");
    c.lineWidth = 1.5;
    c.strokeRect(x(a) - 0.5, top - 0.5, Math.max(3, x(b) - x(a)), tall + 1);
  }
}

/** @param {Pen} c @param {Store} store
 * @param {{span: number, room: number, y: number, x: (at: number) => number}} at @param {Ink} ink */
function paintAxis(c, store, { span, room, y, x }, ink) {
  const clock = store.time.mode === "clock";
  const raw = span / Math.max(2, room / 90);
  const power = 10 ** Math.floor(Math.log10(raw));
  const size = Math.max(clock ? 0.1 : 1, [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw) ?? raw);
  c.fillStyle = ink("--ink-3");
  c.textAlign = "center";
  for (let value = size; value < span * 0.985; value += size)
    c.fillText(clock ? duration(value).replace(".00", "") : String(Math.round(value)), x(value), y);
  c.textAlign = "left";
}

/** @param {Pen} c @param {number} at @param {number} bottom @param {Ink} ink */
function paintHead(c, at, bottom, ink) {
  c.fillStyle = ink("--select");
  c.fillRect(at - 0.75, 0, 1.5, bottom);
  c.beginPath();
  c.arc(at, bottom + 2, 4, 0, 7);
  c.fill();
}

/** What the buttons and the key beside the timeline say: its axis, and on the clock its colours. @param {Pen} c
 * @param {Store} store @param {Pick<Sheet, "left" | "rows">} sheet @param {Ink} ink */
export function paintKey(c, store, { left, rows }, ink) {
  const clock = store.time.mode === "clock";
  const y = KEY / 2;
  let at = left + 1;
  const say = (/** @type {string} */ text) => {
    c.fillStyle = ink("--ink-2");
    c.fillText(text, at, y);
    at += 7 * text.length + 12; // no narrower than its letters
  };
  say(clock ? "wall clock" : "target calls");
  if (!clock) return;
  for (const [colour, text] of clockParts(rows)) {
    c.fillStyle = ink(colour);
    c.fillRect(at, y - SWATCH / 2, SWATCH, SWATCH);
    at += SWATCH + 4;
    say(text);
  }
}

/** The colours of rounds on the clock, where some lane has a draft or writes in place: colour and words.
 * @param {readonly Run[]} rows @returns {[string, string][]} */
export function clockParts(rows) {
  /** @type {[string, string][]} */
  const parts = [];
  if (rows.some((run) => drafted(run.rounds))) parts.push(["--draft-2", "drafting"], ["--target-2", "target call"]);
  if (rows.some((run) => run.rounds.length && inPlace(run))) parts.push(["--overlap", "network"]);
  return parts;
}

/** Names cut to the room they have; those that would be cut to the same words keep the word in which they differ.
 * @param {readonly string[]} names @param {(text: string) => number} widthOf @param {number} room */
export function fitted(names, widthOf, room) {
  /** @param {string} head @param {string} [tail] */
  const fit = (head, tail = "") => {
    if (widthOf(head + tail) <= room) return head + tail;
    let cut = head;
    while (cut.length > 1 && widthOf(`${cut}…${tail}`) > room) cut = cut.slice(0, -1);
    return `${cut}…${tail}`;
  };
  const ends = names.map((name) => fit(name));
  return names.map((name, i) => {
    const like = names.filter((other, j) => other !== name && ends[j] === ends[i]);
    if (!like.length) return ends[i];
    const same = Math.min(...like.map((other) => [...name].findIndex((letter, at) => letter !== other[at])));
    return same < 0 ? ends[i] : fit(name.slice(0, same), name.slice(name.lastIndexOf(" ", same) + 1));
  });
}
