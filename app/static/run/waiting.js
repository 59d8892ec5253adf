// @ts-check
// Where a run waits, in words.

/** "2nd in line, about 12 s" @param {import("../types/wire.js").InLine} line */
export function waitingWords({ place, seconds }) {
  const where = place === 1 ? "Next in line" : `${place}${ending(place)} in line`;
  return seconds === null ? where : `${where}, ${about(seconds)}`;
}

/** @param {number} place */
function ending(place) {
  const teens = place % 100 >= 11 && place % 100 <= 13;
  return teens ? "th" : (["th", "st", "nd", "rd"][place % 10] ?? "th");
}

/** @param {number} seconds */
function about(seconds) {
  if (seconds < 1) return "any moment";
  return seconds < 90 ? `about ${Math.round(seconds)} s` : `about ${Math.round(seconds / 60)} min`;
}
