// @ts-check
// Where bands and their tracks lie, in pixels from the top. No DOM here.

/** @typedef {{id: string, height: number}} Sized
 * @typedef {{key: string, top: number, height: number, head: number, folded: boolean,
 *   tracks: {id: string, y: number, height: number}[]}} Place `head`: pixels at its top that hold its title alone */

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
    const place = { key, top, height, head, folded: shut, tracks };
    top += height;
    return place;
  });
  return { places, height: top };
}

/** A band without the line of its title, which nothing may cross. @param {Place} place @returns {Place} */
export const belowTitle = (place) => ({ ...place, top: place.top + place.head, height: place.height - place.head });

/** The band at a height, or null. @param {Place[]} places @param {number} y @returns {Place|null} */
export const placeAt = (places, y) => places.find((place) => y >= place.top && y < place.top + place.height) ?? null;
