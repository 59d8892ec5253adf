// @ts-check
// Where a run waits and what it waits for, in words.

const UNITS = /** @type {const} */ ([
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
]);

/** "2nd in line, about 12 s" @param {import("../types/wire.js").InLine} line */
export function waitingWords({ place, seconds }) {
  const where = place === 1 ? "Next in line" : `${place}${ending(place)} in line`;
  return seconds === null ? where : `${where}, ${about(seconds)}`;
}

/** "Loading target Qwen/Qwen3-0.6B, 1 of 2, 0.4 GB of 1.2 GB, 4 s"
 * @param {import("../types/wire.js").BeingLoaded} loading */
export function loadingWords({ what, step, of, size, done, read, doing, seconds }) {
  const parts = [`${doing} ${what}`];
  if (of > 1) parts.push(`${step} of ${of}`);
  if (size !== null) {
    const whole = read ? `${bytes(read)} of ${bytes(size)}` : bytes(size);
    parts.push(done ? `${whole} after ${bytes(done)}` : whole);
  }
  if (seconds >= 1) parts.push(`${Math.round(seconds)} s`);
  return parts.join(", ");
}

/** What of it is read out: without the numbers that grow. @param {import("../types/wire.js").BeingLoaded} loading */
export const loadingStep = ({ what, step, doing }) => `${doing} ${what} ${step}`;

/** 1200000 -> "1.2 MB" @param {number} n */
export function bytes(n) {
  const [size, unit] = UNITS.find(([least]) => n >= least) ?? [1, "bytes"];
  return `${size === 1 ? n : (n / size).toFixed(1)} ${unit}`;
}

/** @param {number} place */
function ending(place) {
  const teens = place % 100 >= 11 && place % 100 <= 13;
  return teens ? "th" : (["th", "st", "nd", "rd"][place % 10] ?? "th");
}

/** @param {number} seconds */
function about(seconds) {
  if (seconds < 1) return "any moment";
  return seconds < 90 ? `about ${Math.round(seconds)} s` : `about ${Math.round(seconds / 60)} min`;
}

const GOING = ["queued", "loading", "running"];

/** Whether runs of this phase are still to come or to go on. @param {string} phase */
export const going = (phase) => GOING.includes(phase);
