// Small DOM and number helpers shared by the views. Text enters the page only through textContent.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("div.card", {title: "x", onclick: fn, hidden: true}, "text", child, ...). */
export function h(spec, attrs = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  return fill(document.createElement(tag || "div"), classes, attrs, children);
}

/** The same for SVG elements. */
export function s(spec, attrs = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  return fill(document.createElementNS(SVG, tag), classes, attrs, children);
}

function fill(element, classes, attrs, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attrs)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** 0.4137 -> "0.41"; tiny but not zero -> "<0.01"; unknown -> "–". */
export function num(value, digits = 2) {
  if (value == null || Number.isNaN(value)) return "–";
  const small = 10 ** -digits;
  if (value !== 0 && Math.abs(value) < small / 2) return `<${small.toFixed(digits)}`;
  return value.toFixed(digits);
}

/** 0.4137 -> "41 %". */
export const percent = (value) => (value == null ? "–" : `${Math.round(100 * value)} %`);

/** 1234.5 ms -> "1.23 s"; 12.3 ms -> "12 ms". */
export const duration = (ms) =>
  ms == null
    ? "–"
    : ms >= 1000
      ? `${(ms / 1000).toFixed(2)} s`
      : ms >= 10
        ? `${Math.round(ms)} ms`
        : `${ms.toFixed(1)} ms`;

const MARKS = new Map([
  [" ", "·"],
  ["\t", "→"],
  ["\n", "↵"],
  ["\r", "␍"],
  ["\u00a0", "⍽"],
  ["\ufffd", "◇"],
]);

/** A piece with its blanks made visible; for labels in charts and trees, where a bare space would vanish. */
export function visible(piece) {
  return piece === ""
    ? "∅"
    : [...piece]
        .map(
          (char) => MARKS.get(char) ?? (char < " " ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char),
        )
        .join("");
}

const inks = new Map();
new MutationObserver(() => inks.clear()).observe(document.body, { attributeFilter: ["class"] }); // light or dark

/** The value of a CSS custom property, for canvases: ink("--draft"). Remembered, since asking restyles the page. */
export function ink(name) {
  const known = inks.get(name) ?? getComputedStyle(document.body).getPropertyValue(name).trim();
  if (known) inks.set(name, known);
  return known;
}

/** 1, "prompt" -> "1 prompt"; 3, "prompt" -> "3 prompts". */
export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
