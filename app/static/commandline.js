// @ts-check
// A command as it is shown: its lines end at blanks, and an option stays beside its value where a line holds both.

import { h } from "./dom.js";

/** A word: quotes hold blanks. */
const WORDS = /(?:"[^"]*"|'[^']*'|\S)+/g;

/** The words of a command, an option together with the value behind it. @param {string} text @returns {string[][]} */
export function grouped(text) {
  const words = text.match(WORDS) ?? [];
  /** @type {string[][]} */
  const groups = [];
  words.forEach((word, i) => {
    const before = words[i - 1] ?? "";
    const ofBefore = /^-[^=;]+$/.test(before) && !word.startsWith("-"); // the value of an option
    if (groups.length && (ofBefore || word === "-m")) groups[groups.length - 1].push(word);
    else groups.push([word]);
  });
  return groups;
}

/** Blanks between. @param {readonly (Node | string)[]} parts */
const spaced = (parts) => parts.flatMap((part, i) => (i ? [" ", part] : [part]));

/** @param {string} text */
const line = (text) =>
  spaced(grouped(text).map((words) => h("span", {}, ...spaced(words.map((word) => h("span", {}, word))))));

/** Commands within a sentence. @param {string} text */
export const commandline = (text) => h("code.commandline", {}, ...line(text));

/** Commands in a frame, a line each. @param {readonly string[]} commands */
export const commandlines = (commands) =>
  h("pre.formula.commandline", {}, ...commands.flatMap((one, i) => [...(i ? ["\n"] : []), ...line(one)]));
