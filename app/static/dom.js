// @ts-check
// Small DOM and number helpers shared by the views. Text enters the page only through textContent.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {import("./types/dom.js").Attributes} Attributes
 * @typedef {import("./types/dom.js").Children} Children
 */

/**
 * An element: h("div.card", {title: "x", onclick: fn, hidden: true}, "text", child, ...).
 * @template {string} S
 * @param {S} spec tag and classes
 * @param {Attributes} [attrs]
 * @param {Children} children
 * @returns {import("./types/dom.js").HtmlOf<S>}
 */
export function h(spec, attrs = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag || "div");
  fill(element, classes, attrs, children);
  return /** @type {import("./types/dom.js").HtmlOf<S>} */ (element);
}

/**
 * The same for SVG elements.
 * @template {string} S
 * @param {S} spec
 * @param {Attributes} [attrs]
 * @param {Children} children
 * @returns {import("./types/dom.js").SvgOf<S>}
 */
export function s(spec, attrs = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElementNS(SVG, tag);
  fill(element, classes, attrs, children);
  return /** @type {import("./types/dom.js").SvgOf<S>} */ (element);
}

/** @param {Element} element @param {string[]} classes @param {Attributes} attrs @param {Children} children */
function fill(element, classes, attrs, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attrs)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "text") element.textContent = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child != null && child !== false) element.append(child);
}

/** An id as words, with a capital. @param {string} id */
export const cased = (id) => id.charAt(0).toUpperCase() + id.slice(1).replaceAll("_", " ");

/** Have an element say something; the same words again would have the page laid out for nothing.
 * @param {Element} element @param {string} words */
export function tell(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** Have an element say how far something is; it is read out where another step has begun, not for each number.
 * @param {HTMLElement} element @param {string} words @param {string} step */
export function tellSteps(element, words, step) {
  element.ariaLive = words && element.dataset.step === step ? "off" : "polite";
  element.dataset.step = step;
  tell(element, words);
}

/** Fill a part anew where it would show something else: what has the focus there keeps it, and
 * the same words are not read out again.
 * @param {HTMLElement} part @param {unknown} shown @param {() => readonly (string | Node)[]} make */
export function fresh(part, shown, make) {
  const stamp = JSON.stringify(shown);
  if (part.dataset.stamp === stamp && part.firstChild) return;
  part.dataset.stamp = stamp;
  part.replaceChildren(...make());
}

/**
 * 0.4137 -> "0.41"; tiny but not zero -> "<0.01"; unknown -> "–".
 * @param {number | null | undefined} value
 */
export function num(value, digits = 2) {
  if (value == null || Number.isNaN(value)) return "–";
  const small = 10 ** -digits;
  if (value !== 0 && Math.abs(value) < small / 2) return `<${small.toFixed(digits)}`;
  return value.toFixed(digits);
}

/**
 * 1234.5 ms -> "1.23 s"; 12.3 ms -> "12 ms"; 1.23 ms -> "1.2 ms".
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms == null) return "–";
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return `${ms >= 10 ? Math.round(ms) : ms.toFixed(1)} ms`;
}

const MARKS = new Map([
  [" ", "·"],
  ["\t", "→"],
  ["\n", "↵"],
  ["\r", "␍"],
  ["\u00a0", "⍽"],
  ["\ufffd", "◇"],
]);

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Zs}]/u;
const UNSEEN_IN_TEXT = /[^\P{C}\t\n\r\p{Join_Control}\u{e0020}-\u{e007f}]/gu; // not what shapes the letters beside it
const JOINERS = /[\p{Join_Control}\u{e0020}-\u{e007f}]/u; // within words and emoji
const TAGS = /[\u{e0020}-\u{e007f}]/u; // end the flags of some countries
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A character that prints nothing, or turns the order of others, as its number. @param {string} char */
const escaped = (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;

/** Text that is written from right to left, closed off from what is around it: numbers after it stay after it.
 * @param {string} text */
export const apart = (text) => (LEFTWARD.test(text) ? `\u2068${text}\u2069` : text);

/**
 * A piece with its blanks as marks, what prints nothing as its number, and a circle under an accent that has no letter.
 * As `marked` of engine/analysis/words.py.
 * @param {string} piece
 */
export function marks(piece) {
  if (piece === "") return "∅";
  const chars = [...piece];
  const joins = (/** @type {number} */ i) => i > 0 && (i < chars.length - 1 ? JOINERS : TAGS).test(chars[i]);
  const told = chars.map((char, i) => MARKS.get(char) ?? (UNSEEN.test(char) && !joins(i) ? escaped(char) : char));
  return (/^\p{M}/u.test(piece) ? "◌" : "") + told.join("");
}

/** A piece for labels, charts and trees, where a bare space would vanish. @param {string} piece */
export const visible = (piece) => apart(marks(piece));

/** A piece within running text: half characters and what prints nothing are seen, the rest stays as it is.
 * @param {string} piece */
export const inText = (piece) => piece.replace(UNSEEN_IN_TEXT, escaped).replaceAll("\ufffd", "◇");

/** @type {Map<string, string>} */
const inks = new Map();
let theme = ""; // the class of the body they are of

/**
 * The value of a CSS custom property, for canvases: ink("--draft"). Remembered while the page is light or dark or on
 * paper, since asking restyles the page.
 * @param {string} name
 */
export function ink(name) {
  const { className } = document.body;
  if (className !== theme) inks.clear();
  theme = className;
  const known = inks.get(name) ?? getComputedStyle(document.body).getPropertyValue(name).trim();
  if (known) inks.set(name, known);
  return known;
}

/** What an error says to the visitor. @param {unknown} error */
export const said = (error) => (error instanceof Error ? error.message : String(error));

/** 1, "prompt" -> "1 prompt"; 3, "prompt" -> "3 prompts". @param {number} n @param {string} noun */
export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
