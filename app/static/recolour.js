// @ts-check
// A figure of the server in the colours of the page, with its form of shares.

/** @typedef {import("./types/measured.js").Plot} Figure */

const FORMATS = new Set(["tickformat", "hovertemplate", "texttemplate", "hoverformat"]);

/**
 * A figure in the page's form of shares and its colours: those that its `meta.colours` names, as in this theme.
 * @param {Figure} figure @param {import("./types/pen.js").Ink} colour of a property of the style sheet
 * @returns {Figure}
 */
export function recoloured(figure, colour) {
  const meta = /** @type {{colours?: Record<string, string>} | undefined} */ (figure.layout.meta);
  const names = meta?.colours ?? {};
  const text = JSON.stringify(figure).replace(/(?<!\\)"(#[0-9a-f]{6})"(?!:)/g, (whole, hex) =>
    names[hex] ? JSON.stringify(colour(`--${names[hex]}`)) : whole,
  );
  return bare(spaced(JSON.parse(text)));
}

/** @typedef {Partial<Record<"array" | "arrayminus", (number | null)[]>>} Bars lengths of whiskers */

/** A number without an interval has no whisker: of null the library would make one of no length.
 * @param {Figure} figure */
function bare(figure) {
  const traces = /** @type {{error_x?: Bars, error_y?: Bars}[]} */ (/** @type {unknown} */ (figure.data));
  for (const bars of traces.flatMap(({ error_x, error_y }) => [error_x ?? [], error_y ?? []].flat()))
    for (const end of /** @type {const} */ (["array", "arrayminus"]))
      bars[end] = bars[end]?.map((length) => length ?? Number.NaN);
  return figure;
}

/** How Plotly writes a share in the page's form: "$" is the sign of `LOCALE` in place of its own "%" without a blank.
 * @param {string} format a format of d3, or a template that holds some */
export const shareFormat = (format) => format.replace(/(^|:)(\.\d%)(?=$|\})/g, "$1$$$2");

/** What shares end with, for the library's settings; its formats let only a currency's sign be chosen. */
export const LOCALE = { "en-US": { format: { currency: ["", "\u00a0%"] } } };

/** @param {Figure} figure @returns {Figure} */
function spaced(figure) {
  const text = JSON.stringify(figure, (key, value) =>
    typeof value === "string" && FORMATS.has(key) ? shareFormat(value) : value,
  );
  return JSON.parse(text);
}
