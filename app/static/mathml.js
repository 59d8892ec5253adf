// @ts-check
// Formulae as elements of the page.

import { plainText } from "./inspector/formula.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** @typedef {import("./inspector/formula.js").Formula} Formula */

/** A formula as an element. @param {Formula} formula @returns {Element} */
export function math(formula) {
  const element = document.createElementNS(MATHML, "math");
  element.append(made(formula));
  element.setAttribute("aria-label", plainText(formula));
  return element;
}

/** @param {Formula} formula @returns {Element} */
function made({ tag, of }) {
  const element = document.createElementNS(MATHML, tag);
  if (typeof of === "string") element.textContent = of;
  else element.append(...of.map(made));
  return element;
}
