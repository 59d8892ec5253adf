// Written by `python -m app.typings write` from engine/judge/events.py; do not edit.

import type { JsonObject } from "./trace.js";

/** One tested mismatch: the draft's token in place of the target's at response position `t` (from 0). The continuations are what follows position t; they stop at a stop id or at the length limit. */
export interface Label {
  /** id of the prompt */
  readonly prompt: string;
  readonly t: number;
  readonly target_token: number;
  readonly draft_token: number;
  readonly important: boolean;
  /** ids after the target's token, in the response so far */
  readonly target_rest: readonly number[];
  /** ids that the target writes after the draft's token */
  readonly draft_rest: readonly number[];
  readonly target_text: string;
  readonly draft_text: string;
  /** what the alternative is compared with */
  readonly target_answer: string | null;
  readonly draft_answer: string | null;
  /** a server's text gave other ids: dropped from training | anchored at the first difference */
  readonly retokenized?: string;
  readonly target_piece?: string;
  readonly draft_piece?: string;
  /** p(important) by a judge, where one was asked */
  readonly score?: number | null;
  readonly unlikely?: boolean;
}

/** Mining begins: `done` of `total` prompts were mined before. */
export interface Started {
  readonly kind: "started";
  readonly total: number;
  readonly done: number;
  readonly head: JsonObject;
}

/** The target's first response and where the draft would have written something else. */
export interface PromptStarted {
  readonly kind: "prompt_started";
  readonly prompt: string;
  readonly text: string;
  readonly prompt_ids: readonly number[];
  readonly response: readonly number[];
  readonly pieces: readonly string[];
  readonly answer: string | null;
  readonly mismatches: readonly number[];
}

/** The next position to test. */
export interface MismatchFound {
  readonly kind: "mismatch";
  readonly prompt: string;
  readonly t: number;
  readonly target_token: number;
  readonly draft_token: number;
  readonly target_piece: string;
  readonly draft_piece: string;
}

/** The target went on after the draft's token. */
export interface ForkGenerated {
  readonly kind: "fork";
  readonly prompt: string;
  readonly t: number;
  readonly rest: readonly number[];
  readonly pieces: readonly string[];
  readonly answer: string | null;
}

/** The mismatch has its label; `mismatches` are those left in the response as it now is. */
export interface Labelled {
  readonly kind: "labelled";
  readonly label: Label;
  readonly mismatches: readonly number[];
}

/** All mismatches of a prompt are labelled. This is one line of the mined file. */
export interface PromptFinished {
  readonly kind: "prompt";
  readonly prompt: string;
  readonly key: string;
  readonly prompt_ids: readonly number[];
  /** the target's own response */
  readonly first: readonly number[];
  /** the response whose prefixes the labels refer to */
  readonly final: readonly number[];
  readonly answer: string | null;
  readonly labels?: readonly Label[];
  /** why a prompt was left out */
  readonly skipped?: string;
  readonly seconds?: number;
  /** of the prompt */
  readonly text?: string;
  /** of `final` */
  readonly pieces?: readonly string[];
}

/** How far mining is, and how long it will take at this pace. */
export interface Progress {
  readonly kind: "progress";
  readonly done: number;
  readonly total: number;
  readonly labels: number;
  readonly important: number;
  readonly seconds: number;
  readonly left_s: number | null;
}

/** Mining is over: finished | stopped. */
export interface Ended {
  readonly kind: "ended";
  readonly reason: string;
  readonly done: number;
  readonly total: number;
}

export type MiningEvent =
  | Started
  | PromptStarted
  | MismatchFound
  | ForkGenerated
  | Labelled
  | PromptFinished
  | Progress
  | Ended;
