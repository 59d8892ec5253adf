// Written by `python -m app.types write` from engine/trace/events.py; do not edit.

/** Any JSON value: what the engine leaves free. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export type NodeState = "accepted" | "rejected" | "discarded" | "relaxed" | "vetoed";

export type Origin = "draft" | "relaxed" | "correction" | "bonus" | "target";

/** [token id, probability], most probable first. */
export type TopN = readonly (readonly [number, number])[];

/** One guess of a draft. Entropies in nats over the full vocabulary at temperature 1. */
export interface Node {
  readonly token: number;
  /** index in this round's nodes; -1 is the round's root */
  readonly parent: number;
  /** 1 for children of the root */
  readonly depth: number;
  readonly state: NodeState;
  /** 1-based, by cumulative draft log-probability within the round */
  readonly rank?: number;
  /** cumulative draft log-probability */
  readonly score?: number;
  /** probability under the distribution the guess was drawn from */
  readonly q?: number;
  readonly h_draft?: number;
  readonly top_draft?: TopN;
  /** the distribution sampled from, when it is not the raw one */
  readonly law_draft?: TopN;
  readonly source?: JsonObject;
  /** the target's probability: sampled distribution, or the raw distribution when greedy */
  readonly p?: number;
  readonly h_target?: number;
  readonly top_target?: TopN;
  readonly law_target?: TopN;
  /** |top-n draft and top-n target| / n */
  readonly overlap?: number;
  readonly accept_prob?: number;
  /** the uniform compared with accept_prob */
  readonly u?: number;
  /** importance given by a judge */
  readonly judge?: number;
  readonly confidence?: number;
  /** log p(target's first) - log p(token), nats */
  readonly margin?: number;
  readonly rule?: string;
  /** inputs of the rule's decision */
  readonly reason?: JsonObject;
  /** The sentence that the server adds. */
  readonly why?: string;
}

/** One emitted token of the response; `pos` counts from 0. */
export interface Token {
  readonly pos: number;
  readonly token: number;
  readonly piece: string;
  readonly origin: Origin;
  readonly round: number;
  readonly node?: number;
  readonly h_draft?: number;
  readonly h_target?: number;
  /** kept for tokens without a node, and for the one after a rejection */
  readonly top_target?: TopN;
  /** The sentence that the server adds. */
  readonly why?: string;
}

/** An answer held against its reference. */
export interface Checked {
  readonly right: boolean;
  /** as extracted from the text; None when the text holds none */
  readonly answer: string | null;
  readonly reference: string;
}

/** Head of a trace: everything needed to understand and repeat the run. */
export interface RunStarted {
  readonly kind: "run";
  readonly id: string;
  readonly method: string;
  readonly title: string;
  readonly drafter: string;
  readonly shape: string;
  readonly rule: string;
  readonly guarantee: string;
  readonly knobs: JsonObject;
  /** role -> id and revision; of models also parameters, layers, ... */
  readonly models: Readonly<Record<string, JsonObject>>;
  readonly prompt: string;
  readonly prompt_ids: readonly number[];
  readonly prompt_pieces: readonly string[];
  readonly sampling: JsonObject;
  readonly seed: number;
  readonly max_new_tokens: number;
  readonly vocab: number;
  readonly dtype: string;
  readonly device: string;
  readonly record: string;
  /** stop strings */
  readonly stop: readonly string[];
  /** whether the prompt went through the target's chat template */
  readonly chat: boolean;
  /** entries kept of each distribution */
  readonly top_n: number;
  readonly preset?: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly created: string;
  /** e.g. trajectory number, task, problem key, process */
  readonly extras: JsonObject;
}

/** One cycle: a draft, one target call, a decision. Times in milliseconds; they sum to the round. */
export interface Round {
  readonly kind: "round";
  readonly index: number;
  /** response tokens committed before this round */
  readonly start: number;
  /** nodes, root excluded */
  readonly drafted: number;
  /** tokens given to the target, root included */
  readonly fed: number;
  /** depth of the draft */
  readonly levels: number;
  readonly accepted: number;
  readonly emitted: number;
  readonly path: readonly number[];
  readonly draft_ms: number;
  readonly verify_ms: number;
  readonly other_ms: number;
  readonly tcr?: number;
  readonly extras: JsonObject;
  /** empty when recorded lightly */
  readonly nodes: readonly Node[];
  /** candidates left out: token, parent, score, cause */
  readonly pruned: readonly JsonObject[];
  readonly tokens: readonly Token[];
  /** token id -> text, each id once per trace */
  readonly pieces: Readonly<Record<string, string>>;
}

/** Tail of a trace. `reason`: eos | stop | limit | context | stopped | error. A time not measured is None. */
export interface RunEnded {
  readonly kind: "end";
  readonly reason: string;
  readonly prefill_ms?: number;
  /** decode only, prefill excluded */
  readonly total_ms?: number;
  readonly text: string;
  readonly message: string;
  /** Its answer against the reference, which the server adds where the run's head has one. */
  readonly checked?: Checked;
}

export type Event = RunStarted | Round | RunEnded;
