// Written by `python -m app.typings write` from engine/config.py; do not edit.

import type { Threshold } from "./threshold.js";

export type KnobValue = boolean | number | string;

/** One setting of a method: its type follows from `default`; numbers have an inclusive range. */
export interface Knob {
  readonly name: string;
  readonly default: KnobValue;
  /** one line, for the page and the command line */
  readonly help: string;
  readonly low: number | null;
  readonly high: number | null;
  readonly step: number | null;
  readonly unit: string;
  readonly choices: readonly string[];
  /** where the default comes from */
  readonly origin: "paper" | "code" | "ours";
  /** shown folded on the page */
  readonly advanced: boolean;
  /** values that void a lossless promise above temperature 0 */
  readonly lossy: readonly string[];
  /** a need of the card that this knob, once set, makes superfluous */
  readonly replaces: string;
  /** the command that made the default, where it is one for the loaded models */
  readonly calibrated: string;
  /** what it is elsewhere, then, or where a composed card was given another */
  readonly published: boolean | number | string | null;
  /** whether "auto" leaves it to what rounds cost here and what was accepted so far */
  readonly auto: boolean;
}

/** A method as data: the triple, its words, its knobs and what it promises. Page, CLI and docs are made from it. */
export interface Card {
  readonly name: string;
  readonly title: string;
  /** short citation, with the title of the paper */
  readonly paper: string;
  readonly drafter: string;
  readonly shape: string;
  readonly rule: string;
  readonly guarantee: "reference" | "lossless" | "lossy";
  /** what it does, two sentences */
  readonly summary: string;
  readonly helps: string;
  readonly hurts: string;
  /** what the paper leaves open, with ids of docs/methods/register.md */
  readonly contested: string;
  readonly formula: string;
  /** of the three parts together, defaults of this card applied */
  readonly knobs: readonly Knob[];
  /** chain | tree | lookup | judge | non-autoregressive | baseline: how the page groups it */
  readonly family: string;
  /** models besides the target: "draft", "eagle3", "judge:arithmetic", ... */
  readonly needs: readonly string[];
  /** the condition that the rule declares, if it has one */
  readonly threshold: Threshold | null;
  /** the model that checks and writes; one that writes unchecked is no speculation */
  readonly writer: "target" | "draft" | "nat";
}
