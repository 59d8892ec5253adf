// @ts-check
// Where bands and their tracks lie, in pixels from the top. No DOM here.

/** @typedef {{id: string, height: number}} Sized
 * @typedef {{key: string, top: number, height: number, folded: boolean,
 *   tracks: {id: string, y: number, height: number}[]}} Place */

export const FOLDED = 26;
const PAD = 8;
const GAP = 5;
const LEAST = 132; // an open band holds its head

/** @param {string[]} keys in order @param {(key: string) => Sized[]} tracksOf @param {(key: string) => boolean} folded
 * @param {{head: number}} room `head`: pixels above the tracks, for a title of its own line
 * @returns {{places: Place[], height: number}} */
export function layoutBands(keys, tracksOf, folded, { head }) {
  let top = 0;
  const places = keys.map((key) => {
    const shut = folded(key);
    const list = shut ? tracksOf(key).slice(0, 1) : tracksOf(key);
    let y = top + head + (shut ? 5 : PAD);
    const tracks = list.map(({ id, height }) => {
      const track = { id, y, height };
      y += height + GAP;
      return track;
    });
    const height = shut ? FOLDED + head : Math.max(head ? 0 : LEAST, y - GAP + PAD - top);
    const place = { key, top, height, folded: shut, tracks };
    top += height;
    return place;
  });
  return { places, height: top };
}

/** The band at a height, or null. @param {Place[]} places @param {number} y @returns {Place|null} */
export const placeAt = (places, y) => places.find((place) => y >= place.top && y < place.top + place.height) ?? null;
