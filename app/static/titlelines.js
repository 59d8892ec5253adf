// @ts-check
// A figure's title in as many lines as it needs: the library writes one, and cuts what does not fit.

const LINE = 1.3; // height of a line, in sizes of the letters
const SIDES = 16; // pixels beside the title

/**
 * Words in lines that are no wider than `room`; a word alone may be.
 * @param {string} text @param {number} room @param {(text: string) => number} widthOf
 */
export function brokenAt(text, room, widthOf) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && widthOf(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Break the title of a figure that is so wide, and give it the height that the lines take; tells the title as it is
 * then.
 * @param {Record<string, any>} layout @param {number} width pixels @returns {string} */
export function inLines(layout, width) {
  const { title, font, margin } = layout;
  const pen = document.createElement("canvas").getContext("2d");
  if (!title?.text || !pen || !width) return title?.text ?? "";
  const size = title.font?.size ?? 14;
  pen.font = `${size}px ${font?.family ?? "sans-serif"}`;
  const lines = brokenAt(title.text, width - SIDES, (text) => pen.measureText(text).width);
  if (lines.length === 1) return title.text;
  const more = (lines.length - 1) * size * LINE;
  title.text = lines.join("<br>");
  layout.margin = { ...margin, t: (margin?.t ?? 40) + more };
  layout.height = (layout.height ?? 320) + more;
  return title.text;
}
