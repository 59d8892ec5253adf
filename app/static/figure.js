// @ts-check
// Saving figures: SVG with its colours resolved, PNG drawn from it, and a canvas-like recorder that writes SVG.

import { s } from "./dom.js";
import { brokenAt } from "./titlelines.js";

/**
 * @typedef {import("./types/pen.js").Pen} Pen
 * @typedef {[x: number, y: number, scale: number]} Shift
 */

/** @type {Record<CanvasTextAlign, "start" | "middle" | "end">} */
const ANCHORS = { start: "start", left: "start", center: "middle", right: "end", end: "end" };

const MARGIN = 16; // pixels around a saved figure
const GAP = 10; // between it and its caption
const LINE = 15; // of the caption, which is this small
const SMALL = 11;
const FAMILY = "system-ui, 'DejaVu Sans', sans-serif";
const LEAST = 360; // a caption may be as wide as that where the figure is narrower

/** The value of each colour variable at an element, for canvases.
 * @param {Element} element @returns {import("./types/pen.js").Ink} */
export function palette(element) {
  const style = getComputedStyle(element);
  /** @type {Map<string, string>} */
  const seen = new Map();
  return (name) => {
    const value = seen.get(name) ?? (style.getPropertyValue(name).trim() || "#888");
    seen.set(name, value);
    return value;
  };
}

/** A figure as a self-contained SVG string, with a margin and, at its foot, what was run: variables resolved,
 * background painted. @param {SVGSVGElement} figure @param {Element} element where the variables are defined
 * @param {string} [caption] @returns {string} */
export function svgText(figure, element, caption = "") {
  const copy = /** @type {SVGSVGElement} */ (figure.cloneNode(true));
  const box = figure.viewBox?.baseVal;
  const width = box?.width || figure.clientWidth || 600;
  const height = box?.height || figure.clientHeight || 300;
  if (!box?.width) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const [name, value] of Object.entries({ x: MARGIN, y: MARGIN, width, height }))
    copy.setAttribute(name, String(value));
  const foot = captionLines(caption, Math.max(width, LEAST));
  const wide = Math.max(width, ...foot.map((line) => Math.ceil(line.width))) + 2 * MARGIN;
  const high = height + 2 * MARGIN + (foot.length ? GAP + foot.length * LINE : 0);
  const sheet = s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high },
    s("rect", { width: wide, height: high, fill: "var(--panel)" }),
    copy,
    foot.map(({ text, width: textLength }, i) =>
      s("text.caption", {
        x: MARGIN,
        y: MARGIN + height + GAP + (i + 1) * LINE - 3,
        text,
        textLength,
        lengthAdjust: "spacingAndGlyphs",
        fill: "var(--ink-3)",
        "font-size": SMALL,
        "font-family": FAMILY,
      }),
    ),
  );
  const colour = palette(element);
  return new XMLSerializer().serializeToString(sheet).replace(/var\((--[\w-]+)\)/g, (_, name) => colour(name));
}

/** A caption in lines that are no wider than a figure, with their widths. @param {string} caption
 * @param {number} room @returns {{text: string, width: number}[]} */
function captionLines(caption, room) {
  const pen = caption ? document.createElement("canvas").getContext("2d") : null;
  if (!pen) return [];
  pen.font = `${SMALL}px ${FAMILY}`;
  const widthOf = (/** @type {string} */ text) => pen.measureText(text).width;
  return brokenAt(caption, room, widthOf).map((text) => ({ text, width: widthOf(text) }));
}

/** A figure as a file. @param {string} text an SVG document @param {"svg"|"png"} kind @returns {Promise<Blob>} */
export async function figureBlob(text, kind) {
  const blob = new Blob([text], { type: "image/svg+xml" });
  if (kind !== "png") return blob;
  const url = URL.createObjectURL(blob);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (made) => (made ? resolve(made) : reject(new Error("the browser made no PNG of the figure"))),
        "image/png",
      ),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** @typedef {{exportFigure?: (kind: "svg" | "png") => Promise<Blob | null>}} Saved what the console and tests may ask
 * of a view */

/** Lets the page save a view: `element.exportFigure("svg" | "png")` gives a Blob, and the lab's table of figures its
 * SVG. @param {HTMLElement & Saved} element @param {import("./types/lab.js").Lab | undefined} lab
 * @param {() => string|null} text the SVG document, null when nothing is drawn */
export function offer(element, lab, text) {
  element.exportFigure = async (kind) => {
    const drawn = text();
    return drawn === null ? null : figureBlob(drawn, kind);
  };
  const name = element.dataset.view;
  if (name) lab?.ui.figures.set(name, text);
}

/** Offers a blob as a download. @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

/** The part of CanvasRenderingContext2D that score and timeline use, writing SVG instead of pixels.
 * @implements {Pen} */
export class SvgContext {
  fillStyle = /** @type {Pen["fillStyle"]} */ ("#000");
  strokeStyle = /** @type {Pen["strokeStyle"]} */ ("#000");
  lineWidth = 1;
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign = /** @type {CanvasTextAlign} */ ("start");
  textBaseline = /** @type {CanvasTextBaseline} */ ("alphabetic");
  dash = /** @type {number[]} */ ([]);
  parts = /** @type {string[]} */ ([]);
  shift = /** @type {Shift} */ ([0, 0, 1]);
  saved = /** @type {[Shift, number[], number, number][]} */ ([]);

  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.figure = s("svg", { viewBox: `0 0 ${width} ${height}` });
  }

  save() {
    this.saved.push([this.shift, this.dash, this.globalAlpha, this.lineWidth]);
  }
  restore() {
    const saved = this.saved.pop();
    if (saved) [this.shift, this.dash, this.globalAlpha, this.lineWidth] = saved;
  }
  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.shift = [this.shift[0] + x, this.shift[1] + y, this.shift[2]];
  }
  /** @param {number} k */
  scale(k) {
    this.shift = [this.shift[0], this.shift[1], this.shift[2] * k];
  }
  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }
  beginPath() {
    this.parts = [];
  }
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.parts.push(`M${x.toFixed(2)} ${y.toFixed(2)}`);
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.parts.push(`L${x.toFixed(2)} ${y.toFixed(2)}`);
  }
  closePath() {
    this.parts.push("Z");
  }
  /** A whole circle; no other arc is drawn. @param {number} x @param {number} y @param {number} radius */
  arc(x, y, radius) {
    const half = (/** @type {number} */ dx) => `a${radius} ${radius} 0 1 1 ${dx} 0`;
    this.parts.push(`M${(x - radius).toFixed(2)} ${y.toFixed(2)}${half(2 * radius)}${half(-2 * radius)}Z`);
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {number} radius */
  roundRect(x, y, width, height, radius) {
    const [w, t] = [Math.max(0, width), Math.max(0, height)];
    const r = Math.min(radius, w / 2, t / 2);
    const arc = (/** @type {number} */ dx, /** @type {number} */ dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
    const side = (/** @type {string} */ name, /** @type {number} */ length) => `${name}${length.toFixed(2)}`;
    this.parts.push(
      `M${(x + r).toFixed(2)} ${y.toFixed(2)}${side("h", w - 2 * r)}${arc(r, r)}${side("v", t - 2 * r)}${arc(-r, r)}`,
      `${side("h", 2 * r - w)}${arc(-r, -r)}${side("v", 2 * r - t)}${arc(r, -r)}Z`,
    );
  }

  /** @param {string} tag @param {import("./types/dom.js").Attributes} attrs */
  add(tag, attrs) {
    const [x, y, k] = this.shift;
    this.figure.append(
      s(tag, {
        ...attrs,
        opacity: this.globalAlpha < 1 ? this.globalAlpha : null,
        transform: x || y || k !== 1 ? `translate(${x} ${y}) scale(${k})` : null,
      }),
    );
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.add("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill: this.fillStyle });
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.add("rect", { x, y, width, height, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth });
  }
  /** @param {Path2D & {d?: string}} [path] one that remembers its text, else what was built */
  fill(path) {
    this.add("path", { d: path?.d ?? this.parts.join(""), fill: this.fillStyle });
  }
  /** @param {Path2D & {d?: string}} [path] */
  stroke(path) {
    this.add("path", {
      d: path?.d ?? this.parts.join(""),
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": this.lineWidth,
      "stroke-dasharray": this.dash.join(" ") || null,
    });
  }
  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    this.add("text", {
      x,
      y: this.textBaseline === "middle" ? y + 4 : y,
      text,
      fill: this.fillStyle,
      "font-size": parseFloat(this.font),
      "font-family": this.font.replace(/^[^a-z]*\d+px\s*/, ""),
      "text-anchor": ANCHORS[this.textAlign],
    });
  }
}
