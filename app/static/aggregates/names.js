// @ts-check
// Formula of a number, and its name in other engines: engine/analysis/names.py, shipped with the catalogue.

/** @typedef {{name: string, formula: string, elsewhere: string}} Name */

/**
 * What is known of some numbers.
 * @param {readonly Name[] | undefined} names of the catalogue
 * @param {readonly string[]} wanted
 * @returns {Name[]}
 */
export const known = (names, wanted) => wanted.flatMap((name) => (names ?? []).filter((one) => one.name === name));
