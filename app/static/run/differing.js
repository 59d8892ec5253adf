// @ts-check
// The words in which a text differs from another, paired in order.

const SHOWN = 2; // places that are told with their words
const LONG = 4; // words of a place that are told
const CELLS = 250_000; // of the table of common words; larger ones would keep a page waiting

/** Where they differ: "1 of 9 words differs: Auto → Bett"; nothing where they do not. @param {string[]} ours
 * @param {string[]} theirs @returns {string} */
export function differing(ours, theirs) {
  const places = placesOf(ours, theirs);
  if (!places.length) return "";
  const n = places.reduce((sum, [mine, other]) => sum + Math.max(mine.length, other.length), 0);
  const told = places.slice(0, SHOWN).map((place) => place.map(said).join(" → "));
  const rest = places.length > SHOWN ? ", …" : "";
  const of = Math.max(ours.length, theirs.length, n);
  return `${n} of ${of} words ${n === 1 ? "differs" : "differ"}: ${told.join(", ")}${rest}`;
}

/** @param {string[]} words */
const said = (words) => (words.length ? `${words.slice(0, LONG).join(" ")}${words.length > LONG ? " …" : ""}` : "–");

/** The stretches between words that both have in order. @param {string[]} ours @param {string[]} theirs
 * @returns {[string[], string[]][]} */
function placesOf(ours, theirs) {
  let start = 0;
  while (start < Math.min(ours.length, theirs.length) && ours[start] === theirs[start]) start++;
  let [i, j] = [ours.length, theirs.length];
  while (i > start && j > start && ours[i - 1] === theirs[j - 1]) [i, j] = [i - 1, j - 1];
  const [mine, other] = [ours.slice(start, i), theirs.slice(start, j)];
  if (mine.length * other.length > CELLS) return [[mine, other]];
  return mine.length || other.length ? parted(mine, other) : [];
}

/** By their longest common words. @param {string[]} mine @param {string[]} other @returns {[string[], string[]][]} */
function parted(mine, other) {
  const common = Array.from({ length: mine.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = mine.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      common[i][j] = mine[i] === other[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  /** @type {[string[], string[]][]} */
  const places = [];
  let open = false;
  for (let i = 0, j = 0; i < mine.length || j < other.length; ) {
    if (i < mine.length && j < other.length && mine[i] === other[j]) {
      [i, j, open] = [i + 1, j + 1, false];
      continue;
    }
    if (!open) places.push([[], []]);
    open = true;
    const [ours, theirs] = places[places.length - 1];
    if (j === other.length || (i < mine.length && common[i + 1][j] >= common[i][j + 1])) ours.push(mine[i++]);
    else theirs.push(other[j++]);
  }
  return places;
}
