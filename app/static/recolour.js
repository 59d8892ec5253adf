// @ts-check
// A figure of the server in the colours of the page.

/** @typedef {{data: any[], layout: any}} Figure */

/**
 * A figure in the colours of the page: those that its `meta.colours` names, as they are in this theme.
 * @param {Figure} figure @param {(name: string) => string} colour of a property of the style sheet @returns {Figure}
 */
export function recoloured(figure, colour) {
  const names = figure.layout.meta?.colours ?? {};
  const text = JSON.stringify(figure).replace(/(?<!\\)"(#[0-9a-f]{6})"(?!:)/g, (whole, hex) =>
    names[hex] ? JSON.stringify(colour(`--${names[hex]}`)) : whole,
  );
  return JSON.parse(text);
}
