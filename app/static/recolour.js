// @ts-check
// A figure of the server in the colours of the page.

/** @typedef {import("./types/measured.js").Plot} Figure */

/**
 * A figure in the colours of the page: those that its `meta.colours` names, as they are in this theme.
 * @param {Figure} figure @param {import("./types/pen.js").Ink} colour of a property of the style sheet
 * @returns {Figure}
 */
export function recoloured(figure, colour) {
  const meta = /** @type {{colours?: Record<string, string>} | undefined} */ (figure.layout.meta);
  const names = meta?.colours ?? {};
  const text = JSON.stringify(figure).replace(/(?<!\\)"(#[0-9a-f]{6})"(?!:)/g, (whole, hex) =>
    names[hex] ? JSON.stringify(colour(`--${names[hex]}`)) : whole,
  );
  return JSON.parse(text);
}
