// @ts-check
// Of a lane: its knobs in words, and where its text may be cut into stretches.

import { minus } from "../draw.js";

/** @typedef {import("../types/store.js").Run} Run */

const BARE = ["", "share", "probability"]; // units that are clear from the number

const MEANT = /; -1 (?:is|uses) (.+)$/; // what a help says of a number that stands for another

const FEW = 4; // knobs that a lane names, besides those that were set otherwise than they usually are

/** The knobs of a run that are worth naming, those first that were set by hand, and what each is about; one that was
 * calibrated for its models says so where it is set otherwise. @param {Run} run
 * @returns {{text: string, help: string}[]} */
export function knobParts(run) {
  const { trajectory } = run.head?.extras ?? {};
  const which = typeof trajectory === "number" ? [{ text: `trajectory ${trajectory + 1}`, help: "" }] : [];
  const knobs = new Map((run.card.knobs ?? []).map((knob) => [knob.name, knob]));
  const given = Object.entries((run.head ?? run.asked)?.knobs ?? {});
  const byHand = given.filter(([name, value]) => (knobs.get(name)?.default ?? value) !== value);
  const usual = given.filter((one) => !byHand.includes(one) && !knobs.get(one[0])?.advanced);
  const parts = [...byHand, ...usual.slice(0, Math.max(0, FEW - byHand.length))].map(([name, value]) => {
    const knob = knobs.get(name);
    const other = knob?.calibrated && knob.default !== value ? ` (by hand; calibrated: ${knob.default})` : "";
    const unit = knob?.unit === name ? "" : knob?.unit; // as in "iterations 10"
    const help = knob?.help ?? "";
    const meant = value === -1 ? MEANT.exec(help)?.[1] : "";
    const told = meant ? `${valueWord(value)} (${meant})` : valueText(value, unit);
    return { text: `${name} ${told}${other}`, help };
  });
  const none = run.card.guarantee === "reference" ? [{ text: "one token a call", help: "" }] : [];
  return which.length + parts.length ? which.concat(parts) : none;
}

/** A knob's value as it is written, as `word` in engine/analysis/labels.py. @param {unknown} value */
export function valueWord(value) {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value !== "number") return String(value);
  return minus(String(Number.isInteger(value) ? value : Number(value.toPrecision(6))));
}

/** A knob's value with its unit. @param {unknown} value @param {string} [unit] */
function valueText(value, unit = "") {
  return typeof value === "number" ? `${valueWord(value)}${unitAfter(value, unit)}` : valueWord(value);
}

/** What is said of a unit after its number, with the blank between them. @param {number} value @param {string} unit */
export const unitAfter = (value, unit) =>
  BARE.includes(unit) ? "" : ` ${value === 1 ? unit.replace(/s$/, "") : unit}`;

/** Of chips in order, those that start a line and come at least `least` after the one before. Only from there on the
 * browser is asked where they lie. @param {HTMLElement[]} chips @param {number} least */
export function lineStarts(chips, least) {
  /** @type {HTMLElement[]} */
  const starts = [];
  let from = 0;
  /** @type {number | null} */
  let above = null;
  for (let i = least - 1; i < chips.length; i++) {
    const boxes = chips[i].getClientRects(); // a blank or a newline before the word still lies on the line above
    const top = boxes[boxes.length - 1]?.top;
    const whole = boxes.length === 1 || /^[ \n]/.test(chips[i].textContent ?? "");
    if (above !== null && top > above + 2 && whole && i - from >= least) {
      starts.push(chips[i]);
      from = i;
      above = null;
      i += least - 2; // the next one that is asked is the one before the first that may start a stretch
    } else above = top ?? above;
  }
  return starts;
}

/** What separated the chip from the line above goes: the stretch does that now. @param {HTMLElement} chip */
export function trimStart(chip) {
  const text = chip.firstChild;
  if (!(text instanceof Text)) return;
  if (text.data.length > 1) text.data = text.data.replace(/^[ \n]/, "");
  else if (chip.childNodes.length > 1) text.data = "";
}
