// @ts-check
// What the chosen models know, where the prompt is typed: fresh problems by button, a note on other prompts.

import { h, tell } from "../dom.js";

/** @typedef {import("../types/wire.js").Catalogue} Catalogue */

/**
 * Whether these models were never taught such a prompt; false for models that know more than a few kinds of problem.
 * @param {Pick<Catalogue, "kinds" | "taught" | "families"> | null} catalogue
 * @param {{models: string, prompt: string}} asked
 */
export function isOutside(catalogue, { models, prompt }) {
  const text = prompt.trim();
  if (!text || !catalogue?.taught?.includes(models)) return false;
  const kind = kindOf(catalogue, models, text);
  return !kind || strange(kind, text).length > 0;
}

/** The kind of problem that a prompt looks like: it begins and ends so.
 * @param {Pick<Catalogue, "kinds" | "families">} catalogue @param {string} models @param {string} text */
const kindOf = (catalogue, models, text) =>
  kindsOf(catalogue, models).find(({ opening, cue }) => text.startsWith(opening) && text.endsWith(cue));

/** The words of a prompt, in small letters, but for what stands in quotes: those of app/fresh.py (tests/vectors).
 * @param {string} prompt */
export const wordsIn = (prompt) => [
  ...new Set(
    prompt
      .toLowerCase()
      .replace(/'[^'\n]*'|"[^"\n]*"/g, "")
      .match(/\p{L}+/gu) ?? [],
  ),
];

/** Words of a prompt that none of its kind has. @param {import("../types/wire.js").Kind} kind @param {string} text */
const strange = ({ words }, text) => wordsIn(text).filter((word) => !words.includes(word));

const NOISE =
  "It may run, but it is outside of what these models know: read the text as noise, the figures as they are.";

/** What is said of a prompt that is outside.
 * @param {Catalogue} catalogue @param {string} models @param {string} text */
function outsideSaid(catalogue, models, text) {
  const kind = kindOf(catalogue, models, text);
  const met = kind && strange(kind, text);
  const why = met
    ? `The prompts of ${kind.task} that these models learnt never had ${listed(met)}.`
    : "This prompt is none of these kinds.";
  return `${why} ${NOISE}`;
}

/** The first few of some words. @param {readonly string[]} words */
const listed = (words) =>
  words
    .slice(0, 3)
    .map((word) => `“${word}”`)
    .join(", ") + (words.length > 3 ? " and others" : "");

/** The kinds of problem that some of the models learnt.
 * @param {Pick<Catalogue, "kinds" | "families">} catalogue @param {string} models */
const kindsOf = ({ kinds, families }, models) => kinds.filter(({ family }) => family === families[models]);

/**
 * @param {import("../types/lab.js").Lab} lab
 * @param {(partial: Partial<import("../types/lab.js").Config>) => void} edit
 */
export function introduction(lab, edit) {
  const { session } = lab;
  let drawn = ""; // models whose kinds are shown
  let asked = 0;
  const note = h("p.outside", { role: "status" });
  const kinds = h("div.kinds", { role: "group", "aria-label": "Fresh problems" });
  const element = h("div.intro", { hidden: true }, kinds, note);

  /** A problem that no model was trained on; its reference answer goes into the run. What was typed or chosen before
   * it comes stays. @param {string} task */
  async function draw(task) {
    const mine = ++asked;
    const { config: was } = session;
    try {
      const { prompt, answer, task: family } = await lab.api.get("problem", { task });
      const { config: now } = session;
      if (mine !== asked || now?.prompt !== was?.prompt || now?.models !== was?.models) return;
      edit({ preset: "", prompt, task: family, answer: answer || undefined });
    } catch (error) {
      lab.ui.notify(error instanceof Error ? error.message : String(error));
    }
  }

  return {
    element,
    show() {
      const { catalogue, config } = session;
      const taught = Boolean(config && catalogue?.taught?.includes(config.models));
      element.hidden = !taught;
      if (!taught || !config || !catalogue) return;
      if (drawn !== config.models) {
        drawn = config.models;
        const known = kindsOf(catalogue, drawn);
        kinds.replaceChildren(
          h("span", {}, `These small models know ${known.length} kinds of problem. Draw a fresh one:`),
          ...known.map(({ task, about }) =>
            h("button.small", { "aria-description": about, onclick: () => draw(task) }, task),
          ),
        );
      }
      const { models, prompt } = config;
      tell(note, isOutside(catalogue, config) ? outsideSaid(catalogue, models, prompt.trim()) : "");
    },
  };
}
