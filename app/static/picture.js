// @ts-check
// A part of the page as a figure: its boxes, words and drawings at their places, as SVG whose words stay words.

import { s } from "./dom.js";
import { svgText } from "./figure.js";

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{root: SVGElement, left: number, top: number}} Sheet  what is drawn on, and its corner on the page */

const SKIPPED =
  "button:has(svg.icon), input, select, textarea, script, style, [aria-hidden=true]:not(svg, canvas), " +
  ".v-alternatives, .v-tools"; // questions and tools, whose buttons are left out too
const SIDES = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);
const NEARLY = 4; // pixels between the tops of two pieces of one line

/** An SVG document of what an element shows, as far as its own scrolling boxes show it; controls are left out.
 * @param {Element} element @param {string} caption what was run
 * @param {boolean} whole all that it holds, also what it shows only once it is scrolled */
export function pictureOf(element, caption, whole = false) {
  const { left: x, top: y, width, height } = element.getBoundingClientRect();
  const [left, top] = whole ? [x - element.scrollLeft, y - element.scrollTop] : [x, y];
  const [wide, high] = whole ? [element.scrollWidth, element.scrollHeight] : [width, height];
  const root = s("svg", {
    viewBox: `0 0 ${Math.ceil(wide) || 1} ${Math.ceil(high) || 1}`,
    "font-family": "system-ui, 'DejaVu Sans', sans-serif",
  });
  const clip = { left, top, right: left + wide, bottom: top + high };
  for (const one of whole ? element.children : [element]) draw(one, { root, left, top }, clip, 1);
  return svgText(root, element, caption);
}

/** @param {Element} element @param {Sheet} sheet @param {Box} clip on the page @param {number} opacity */
function draw(element, sheet, clip, opacity) {
  if (element.matches(SKIPPED)) return;
  const style = getComputedStyle(element);
  const seen = opacity * Number(style.opacity);
  if (style.display === "none" || style.visibility === "hidden" || !seen) return;
  if (element.matches("button:not(.badge, :has(svg:not(.icon)))") && bordered(style)) return;
  if (element instanceof SVGSVGElement) drawing(element, style, sheet, clip, seen);
  else if (element instanceof HTMLCanvasElement) pixels(element, sheet, clip, seen);
  else {
    for (const box of element.getClientRects()) if (meets(box, clip)) boxed(box, style, sheet, seen);
    const inner = style.overflow === "visible" ? clip : overlap(clip, element.getBoundingClientRect());
    before(element, style, sheet, inner, seen);
    for (const child of element.childNodes)
      if (child instanceof Element) draw(child, sheet, inner, seen);
      else if (child instanceof Text) words(child, element, style, sheet, inner, seen);
  }
}

/** Its ground, its borders, and the shadows within it that are used for lines. @param {DOMRect} box
 * @param {CSSStyleDeclaration} style @param {Sheet} sheet @param {number} opacity */
function boxed(box, style, { root, left, top }, opacity) {
  if (!box.width || !box.height) return;
  const [x, y] = [box.left - left, box.top - top];
  const frame = {
    x,
    y,
    width: box.width,
    height: box.height,
    rx: Number.parseFloat(style.borderTopLeftRadius) || null,
  };
  if (painted(style.backgroundColor)) root.append(s("rect", { ...frame, fill: style.backgroundColor, opacity }));
  const [, colour, dy, spread] = style.boxShadow.match(/^(.*\)) 0px (-?[\d.]+)px 0px ([\d.]+)px inset/) ?? [];
  if (colour && Number(spread)) root.append(s("rect", { ...frame, fill: "none", stroke: colour, opacity }));
  else if (colour) {
    const at = y + box.height + Number(dy) / 2;
    line(root, [x, at, x + box.width, at], colour, -Number(dy), "solid", opacity);
  }
  const sides = SIDES.map((side) => ({
    width: Number.parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
    kind: style[`border${side}Style`],
  })).map((one) => (one.kind === "none" || !painted(one.colour) ? { ...one, width: 0 } : one));
  const [first] = sides;
  if (first.width && sides.every((one) => one.width === first.width && one.colour === first.colour)) {
    const half = first.width / 2;
    const within = { x: x + half, y: y + half, width: box.width - first.width, height: box.height - first.width };
    const stroke = { stroke: first.colour, "stroke-width": first.width, "stroke-dasharray": dashes(first.kind) };
    root.append(s("rect", { ...frame, ...within, ...stroke, fill: "none", opacity }));
    return;
  }
  const [x2, y2] = [x + box.width, y + box.height];
  const ends = [
    [x, y, x2, y],
    [x2, y, x2, y2],
    [x, y2, x2, y2],
    [x, y, x, y2],
  ];
  sides.forEach((one, i) => one.width && line(root, ends[i], one.colour, one.width, one.kind, opacity));
}

/** @param {SVGElement} root @param {readonly number[]} ends @param {string} stroke @param {number} width
 * @param {string} kind @param {number} opacity */
function line(root, [x1, y1, x2, y2], stroke, width, kind, opacity) {
  const how = { stroke, "stroke-width": width, "stroke-dasharray": dashes(kind), opacity };
  root.append(s("line", { x1, y1, x2, y2, ...how }));
}

/** @param {string} kind */
const dashes = (kind) => ({ dotted: "1.5 2.5", dashed: "4 3" })[kind] ?? null;

/** Whether a border is seen: one that is transparent only keeps its room. @param {CSSStyleDeclaration} style */
const bordered = ({ borderTopStyle, borderTopWidth, borderTopColor }) =>
  borderTopStyle !== "none" && borderTopWidth !== "0px" && painted(borderTopColor);

/** @param {string} colour as computed */
const painted = (colour) => colour !== "transparent" && !/, 0\)$|\/ 0\)$/.test(colour);

/** @param {Box} a @param {Box} b */
const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** @param {Box} a @param {Box} b @returns {Box} */
const overlap = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});

/** A drawing of the page's own, cut where its place is. @param {SVGSVGElement} element
 * @param {CSSStyleDeclaration} style @param {Sheet} sheet @param {Box} clip @param {number} opacity */
function drawing(element, style, { root, left, top }, clip, opacity) {
  const box = element.getBoundingClientRect();
  const shown = overlap(clip, box);
  if (!(shown.right > shown.left && shown.bottom > shown.top)) return;
  const copy = /** @type {SVGSVGElement} */ (element.cloneNode(true));
  const own = element.viewBox.baseVal;
  if (!own?.width) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  for (const [name, value] of Object.entries({ x: box.left - shown.left, y: box.top - shown.top, ...size(box) }))
    copy.setAttribute(name, String(value));
  if (element.matches(".icon") && !copy.hasAttribute("stroke")) copy.setAttribute("fill", "currentColor");
  const place = { x: shown.left - left, y: shown.top - top, opacity, color: style.color };
  root.append(s("svg", { ...place, width: shown.right - shown.left, height: shown.bottom - shown.top }, copy));
}

/** @param {DOMRect} box */
const size = ({ width, height }) => ({ width, height });

/** @param {HTMLCanvasElement} canvas @param {Sheet} sheet @param {Box} clip @param {number} opacity */
function pixels(canvas, { root, left, top }, clip, opacity) {
  const box = canvas.getBoundingClientRect();
  if (!canvas.width || !canvas.height || !meets(box, clip)) return;
  const place = { x: box.left - left, y: box.top - top, ...size(box) };
  root.append(s("image", { href: canvas.toDataURL(), ...place, opacity }));
}

const pen = () => document.createElement("canvas").getContext("2d");
/** @type {CanvasRenderingContext2D | null} */
let measure = null;

/** From the bottom of a line's box to its baseline. @param {CSSStyleDeclaration} style */
function descent(style) {
  measure ??= pen();
  if (!measure) return 0.22 * Number.parseFloat(style.fontSize);
  measure.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return measure.measureText("x").fontBoundingBoxDescent;
}

/** @param {Text} node @param {Element} element @param {CSSStyleDeclaration} style @param {Sheet} sheet
 * @param {Box} clip @param {number} opacity */
function words(node, element, style, { root, left, top }, clip, opacity) {
  if (!node.data.trim()) return;
  const down = descent(style);
  for (const { text, spot, leftward } of pieces(node)) {
    const middle = (spot.top + spot.bottom) / 2;
    if (middle < clip.top || middle > clip.bottom || spot.left >= clip.right || spot.right <= clip.left) continue;
    const [x, y, width] = [spot.left - left, spot.bottom - top - down, spot.right - spot.left];
    const said = cased(text, style.textTransform);
    const how = { textLength: width, lengthAdjust: "spacingAndGlyphs", "xml:space": "preserve" };
    const from = leftward ? { x: x + width, direction: "rtl" } : { x };
    root.append(s("text", { ...from, y, text: said, ...font(style), ...how, opacity }));
    ruled(element, root, [x, y, x + width], style, opacity);
  }
}

/** @param {string} text @param {string} how */
const cased = (text, how) =>
  how === "uppercase" ? text.toUpperCase() : how === "lowercase" ? text.toLowerCase() : text;

/** @param {CSSStyleDeclaration} style */
const font = (style) => ({
  "font-size": style.fontSize,
  "font-weight": style.fontWeight === "400" ? null : style.fontWeight,
  "font-style": style.fontStyle === "normal" ? null : style.fontStyle,
  "font-family": style.fontFamily.includes("mono") ? "ui-monospace, 'DejaVu Sans Mono', monospace" : null,
  fill: style.color,
});

/** The lines under and through a word, which may be those of the element around it. @param {Element} element
 * @param {SVGElement} root @param {readonly number[]} ends @param {CSSStyleDeclaration} own @param {number} opacity */
function ruled(element, root, [x, y, x2], own, opacity) {
  const outer = element.parentElement && own.display === "inline" ? getComputedStyle(element.parentElement) : own;
  const style = own.textDecorationLine === "none" ? outer : own;
  const [kinds, em] = [style.textDecorationLine, Number.parseFloat(own.fontSize)];
  const draw = (/** @type {number} */ at) =>
    line(root, [x, y + at, x2, y + at], style.textDecorationColor, 1.2, style.textDecorationStyle, opacity);
  if (kinds.includes("line-through")) draw(-0.3 * em);
  if (kinds.includes("underline")) draw(Number.parseFloat(style.textUnderlineOffset) || 2);
  if (kinds.includes("underline") && style.textDecorationStyle === "double") draw(6.5);
}

/** What CSS writes or draws before the content, at the start of the element: words, or a small block of one colour.
 * @param {Element} element @param {CSSStyleDeclaration} style @param {Sheet} sheet
 * @param {Box} clip @param {number} opacity */
function before(element, style, { root, left, top }, clip, opacity) {
  const made = getComputedStyle(element, "::before");
  const text = made.content.match(/^"(.*)"$/)?.[1];
  const box = element.getClientRects()[0];
  if (text === undefined || !box || made.display === "none" || !meets(box, clip)) return;
  const raised = Number.parseFloat(made.verticalAlign) || 0;
  const y = box.bottom - Number.parseFloat(style.paddingBottom) - top - descent(style) - raised;
  const x = box.left + Number.parseFloat(style.paddingLeft) + (Number.parseFloat(made.marginLeft) || 0) - left;
  if (text) {
    root.append(s("text", { x, y, text, ...font(made), opacity }));
    return;
  }
  const [width, height] = [made.width, made.height].map(Number.parseFloat);
  if (made.display === "inline-block" && width && height)
    root.append(s("rect", { x, y: y - height, width, height, fill: made.backgroundColor, opacity }));
}

/** The pieces of a text node, one a line of the page; `leftward`: written from right to left. @param {Text} node */
function pieces(node) {
  const range = document.createRange();
  /** @type {{text: string, spot: Box, leftward: boolean}[]} */
  const out = [];
  for (let i = 0; i < node.length; i++) {
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    const spot = range.getClientRects()[0];
    if (!spot?.width) continue;
    const last = out.at(-1);
    if (last && Math.abs(last.spot.top - spot.top) < NEARLY) {
      last.text += node.data[i];
      last.leftward = spot.right <= last.spot.left + 1;
      last.spot.left = Math.min(last.spot.left, spot.left);
      last.spot.right = Math.max(last.spot.right, spot.right);
    } else {
      const { left, top, right, bottom } = spot;
      out.push({ text: node.data[i], spot: { left, top, right, bottom }, leftward: false });
    }
  }
  return out;
}
