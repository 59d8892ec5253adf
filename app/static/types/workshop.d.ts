// The Judge room, written by hand: mined sets and their items, reviews, and what the tabs of the workshop share.

import type { Lab } from "./lab.js";
import type { JudgeScores } from "./measured.js";
import type { Label, MiningEvent, PromptFinished } from "./mining.js";
import type { Store } from "./store.js";
import type { InLine, MinedAbout, MineRequest } from "./wire.js";

/** A model as heads of traces and of mined files name it; what its weights are, where that is known. */
export interface NamedModel {
  readonly id?: string;
  readonly revision?: string;
}
/** First line of a mined file: what was mined, and with which models. */
export interface MinedHead {
  readonly kind: "mining";
  readonly schema: number;
  readonly task: string;
  /** each mismatch by itself, no swap kept */
  readonly naive?: boolean;
  readonly models?: Readonly<Record<string, NamedModel>>;
  /** the judge that scored the labels */
  readonly judge?: { readonly threshold?: number } | null;
}
/** A line of a mined file: a prompt with its labels. */
export type MinedPrompt = PromptFinished & { readonly labels: readonly Label[] };

/** One mismatch of a set. */
export interface Item {
  readonly key: string;
  /** name of the set */
  readonly set: string;
  readonly task: string;
  readonly naive: boolean;
  readonly prompt: MinedPrompt;
  readonly label: Label;
  /** place in the set */
  readonly index: number;
}
/** A mined file; it grows while it is mined. */
export interface MinedSet {
  readonly name: string;
  readonly head: MinedHead;
  prompts: readonly MinedPrompt[];
  items: readonly Item[];
}

/** `mined.js`: the sets that the server has, and those that are loaded. */
export interface Mined {
  /** what the server has; null until it has said so */
  readonly list: readonly MinedAbout[] | null;
  readonly sets: ReadonlyMap<string, MinedSet>;
  /** name of the set on show */
  shown: string;
  /** Listen for changes; the answer ends it. */
  on(hear: () => void): () => void;
  emit(): void;
  /** Ask for the list, once. */
  recorded(): Promise<readonly MinedAbout[]>;
  /** A recorded set by name. */
  open(name: string): Promise<MinedSet>;
  put(set: MinedSet): void;
  /** What is known of a prompt and a target, as a run's head names it: a list of items for each set that holds them. */
  of(text: string, target: NamedModel | undefined): (readonly Item[])[];
}

export type Opinion = "agree" | "disagree" | "unsure";
export interface Review {
  readonly verdict: Opinion | "";
  readonly note: string;
  readonly star: boolean;
  /** when, ISO 8601 */
  readonly made: string;
  /** of a review of a run: what it is of, enough to be read without the trace and to find the place again */
  readonly of?: ReviewedPlace;
}
/** A token, a round or the whole of a run; numbers that the place has not are null, texts empty. */
export interface ReviewedPlace {
  readonly place: "token" | "round" | "run";
  /** what was asked for (`review/identity.js`) */
  readonly run: string;
  /** id of the trace */
  readonly trace: string;
  readonly method: string;
  /** as JSON, `sampling` too */
  readonly knobs: string;
  readonly models: string;
  readonly prompt: string;
  readonly sampling: string;
  readonly seed: number | null;
  /** name of the recorded case */
  readonly recorded: string;
  readonly round: number | null;
  readonly position: number | null;
  /** the draft token's index in its round */
  readonly node: number | null;
  /** text that was written there */
  readonly piece: string;
  /** the draft token's text */
  readonly draft: string;
  readonly state: string;
  readonly why: string;
  /** query of the address that shows the place; empty where no address can */
  readonly view: string;
}
/** A reviewer's reviews by key of the item. */
export interface Reviews {
  reviewer: string;
  items: Record<string, Review>;
}
/** Those of this browser; `last` is the item that was open. */
export interface OwnReviews extends Reviews {
  last: string;
}

/** Which mismatches are listed; what is missing lets all pass. */
export interface MinedFilter {
  readonly task?: string;
  readonly label?: string;
  readonly token?: string;
  /** of the judge's score */
  readonly low?: number | null;
  readonly high?: number | null;
  readonly reviewed?: string;
}

/** The form of live mining. */
export type MineForm = {
  -readonly [K in "task" | "source" | "n" | "naive"]: MineRequest[K];
};

/** What of the workshop outlives its being closed. */
export interface Kept {
  tab: string;
  /** key of the item that is open */
  selected: string | null;
  /** of the slider; null while it stands where the judge has it */
  threshold: number | null;
  /** name of the labels that the curves are of */
  curves?: string;
  judges?: readonly { readonly task: string; readonly judge: JudgeScores }[];
  readonly form: MineForm;
}

/** What a tab of the workshop is given. */
export interface Workshop {
  readonly store: Store;
  readonly lab: Lab;
  readonly kept: Kept;
  readonly reviews: OwnReviews;
  /** items of the set on show */
  readonly all: readonly Item[];
  /** those that pass the filter */
  readonly items: readonly Item[];
  readonly filter: MinedFilter;
  /** List those that pass another filter; numbers may be as they were typed. */
  pass(filter: { readonly [name in keyof MinedFilter]: unknown }): void;
  head(): MinedHead | null;
  select(key: string, how?: { readonly tab?: string }): void;
  /** Change a review; `quiet` draws nothing. */
  review(key: string, given: Partial<Review>, quiet?: boolean): void;
  save(): void;
  draw(): void;
}

/** What a list of reviews and reviewers needs of it. */
export type Reviewing = Pick<Workshop, "lab" | "store" | "reviews" | "all" | "save" | "draw" | "select">;

/** A mismatch that is being tried, or was. */
export interface Trying {
  readonly t: number;
  readonly target_piece: string;
  readonly draft_piece: string;
  readonly important?: boolean;
  readonly target_answer?: string | null;
  readonly draft_answer?: string | null;
}
/** What POST /lab/mine answers, one a line. */
export type MiningMessage =
  | MiningEvent
  | { readonly kind: "queued"; readonly line?: InLine }
  | { readonly kind: "error"; readonly error: string };

/** How far live mining is. Seconds. */
export interface MiningProgress {
  readonly done: number;
  readonly total: number;
  readonly labels: number;
  readonly important: number;
  readonly seconds: number;
  readonly left_s: number | null;
}
export interface MinerState {
  readonly running: boolean;
  readonly phase: string;
  readonly progress: MiningProgress | null;
  /** of the prompt */
  readonly text: string;
  readonly error: string;
  /** mismatches left in it */
  readonly left?: number;
  readonly feed: readonly Trying[];
}
/** `judge/miner.js`: live mining, one job at a time. */
export interface Miner {
  readonly state: MinerState;
  start(job: Omit<MineRequest, "key">): Promise<void>;
  /** What was mined before with these settings. */
  kept(job: Omit<MineRequest, "key">): Promise<MinedSet | null>;
  stop(): void;
  on(hear: () => void): () => void;
}
