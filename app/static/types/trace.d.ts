// Written by `python -m app.typings write` from engine/trace/events.py; do not edit.

/** Any JSON value: what the engine leaves free. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export type NodeState = "accepted" | "rejected" | "discarded" | "relaxed" | "vetoed";

export type Origin = "draft" | "relaxed" | "correction" | "bonus" | "target" | "placed";

/** [token id, probability], most probable first. */
export type TopN = readonly (readonly [number, number])[];

/** Inputs of a decision. Composed: a veto's numbers come before those of the exact test, an override's after. */
export interface Reason {
  readonly id?: string;
  readonly choice?: number;
  readonly p?: number;
  readonly q?: number;
  readonly p_left?: number;
  readonly ratio?: number;
  readonly weight?: number;
  readonly u?: number;
  readonly correction?: string;
  readonly after?: number | null;
  readonly h_draft?: number;
  readonly h_target?: number;
  readonly overlap?: number;
  readonly tau_h?: number;
  readonly tau_h_draft?: number;
  readonly tau_o?: number;
  readonly n?: number;
  readonly remove?: number;
  readonly fired?: boolean;
  readonly strict?: number;
  readonly rank?: number;
  readonly gap?: number;
  readonly confidence?: number | null;
  readonly top_beta?: number;
  readonly tau?: number | null;
  readonly failed?: string;
  readonly k?: number;
  readonly score?: number | null;
  readonly threshold?: number | null;
  readonly reward?: number | null;
  readonly edge?: boolean;
  readonly h?: number;
  readonly found?: string | null;
  readonly pattern?: string;
  readonly best?: number;
  readonly last?: number;
}

/** Where a draft token comes from: a model or head (role, index, level), or a place in a text or a table. */
export interface Source {
  /** model | head | ngram | table | automaton | adjacency | ... */
  readonly kind?: string;
  readonly role?: string;
  /** of another tokenizer: share of its distribution that lies on pieces that the target knows */
  readonly common?: number;
  readonly index?: number;
  readonly level?: number;
  /** tokens that were looked up */
  readonly order?: number;
  /** tokens that matched */
  readonly match?: number;
  /** how far behind the match */
  readonly step?: number;
  readonly seen?: number;
  readonly times?: number;
  readonly count?: number;
  readonly q?: number;
  /** dynamic | static */
  readonly where?: string;
  /** of the fixed collection */
  readonly document?: number;
  readonly passage?: readonly number[];
  /** the token's place in the passage */
  readonly here?: number;
  /** prompt | response | window */
  readonly part?: string;
  readonly pos?: number;
  readonly trajectory?: number;
  /** trajectories before this one */
  readonly ago?: number;
  /** of the matrix of adjacent tokens */
  readonly row?: number;
  /** entry of the row, from 1 */
  readonly choice?: number;
  /** the row was learnt at a token that stayed */
  readonly kept?: boolean;
  /** in which a window gave it */
  readonly round?: number;
}

/** A candidate that was left out of a draft tree. */
export interface Pruned {
  readonly token?: number;
  /** index in the round's nodes, -1 for the root */
  readonly parent?: number;
  /** cumulative draft log-probability */
  readonly score?: number;
  readonly cause?: string;
}

/** Numbers that a drafter, a shape or a rule notes of a round; beside them `hits_1`, `hits_2`, ... of STAND. */
export interface RoundExtras {
  readonly lambda?: number;
  /** draft tokens that a chosen length leaves */
  readonly k?: number;
  /** and those that there were */
  readonly made?: number;
  readonly mean_confidence?: number;
  /** nats, where drafting stopped; None where it came to its end */
  readonly stop_entropy?: number | null;
  /** that the tree has grown */
  readonly levels?: number;
  /** cumulative entropy of the meta-path, nats */
  readonly phi?: number;
  readonly meta_path?: readonly number[];
  readonly bin?: number;
  /** levels that the bin adds */
  readonly d_extra?: number;
  /** tokens given to the target, root included */
  readonly n_verify?: number;
  /** nodes before reranking */
  readonly candidates?: number;
  readonly buffers_made?: number;
  readonly buffers_reused?: number;
  readonly table_entries?: number;
  /** tokens that were looked up and found; 0 for none */
  readonly hit_order?: number;
  readonly match?: number;
  /** the draft is from: dynamic | static | adjacency | model | this | earlier */
  readonly where?: string;
  /** draft tokens that counts expect to hold */
  readonly score?: number;
  /** of the drafter, where one wrote several levels of the draft */
  readonly passes?: number;
  /** of a model with a tokenizer of its own, that the draft was cut from */
  readonly draft_tokens?: number;
  /** tokens that the target read in the same pass, and no rule decided on */
  readonly beside?: number;
  /** these, by level: what it predicted of the coming tokens */
  readonly window?: readonly (readonly number[])[];
  /** live ones */
  readonly beams?: number;
  readonly ended?: number;
  /** of the best beam */
  readonly rating?: number;
  /** the judge's own */
  readonly judge_threshold?: number;
  /** of the drafted step, by a process reward model */
  readonly reward?: number | null;
  /** that it read for that */
  readonly reward_tokens?: number;
  /** of other_ms: what a network took that writes a text in place */
  readonly network_ms?: number;
  /** of other_ms: what the rule took before the target's call, where it decided then */
  readonly early_ms?: number;
  /** tokens of the round, by a length or size that was chosen */
  readonly expected?: number;
  /** and its time, by what was measured */
  readonly expected_ms?: number;
  /** chance from which on one more draft token, or level, would have been worth its time */
  readonly least?: number;
  /** and the one that it had; None where something else ended the draft */
  readonly following?: number | null;
  /** tokens a round that branches would bring, where a chain was chosen in place of a tree */
  readonly branches?: number;
  /** and what their time would have to bring */
  readonly branches_least?: number;
  /** of a text that is written in place, from 1 */
  readonly iteration?: number;
  /** that the text has after it */
  readonly places?: number;
  /** of these, how many it wrote */
  readonly written?: number;
  /** and how many hold nothing yet */
  readonly open?: number;
}

/** Milliseconds of the parts of a round on one device (engine/costs/curve.py). */
export interface CostsRecord {
  /** tokens that the target reads at once, and the time of that */
  readonly passes: TopN;
  /** of a draft, before its first token */
  readonly start: number;
  /** of each token of a chain, or each level of a tree after the first */
  readonly step: number;
  /** of each further node that goes on in a level */
  readonly row: number;
  /** of a round besides drafting and verifying */
  readonly other: number;
  /** of each level of a tree, more than of a chain */
  readonly fork?: number;
  /** of a pass over a tree, more than over a chain */
  readonly spread?: number;
}

/** What was noted of a run. */
export interface HeadExtras {
  /** family of the prompt */
  readonly task?: string;
  /** its reference answer */
  readonly answer?: string;
  /** judged before */
  readonly right?: boolean;
  readonly case?: string;
  /** of the problem */
  readonly key?: string;
  /** of a file of prompts */
  readonly category?: string;
  /** whose turn the prompt is: shared by all turns */
  readonly conversation?: string;
  /** of it, from 0 */
  readonly turn?: number;
  readonly name?: string;
  readonly command?: string;
  /** runs of one process may be compared in time */
  readonly process?: string;
  /** that took turns, a round each, itself included; none of a run that had the device alone */
  readonly lanes?: number;
  /** what of the shape the model made another, in words */
  readonly adapted?: string;
  readonly chat?: boolean;
  /** so many tokens of the prompt begin the response */
  readonly forced?: number;
  readonly trajectory?: number;
  readonly trajectories?: number;
  readonly repeat?: number;
  readonly repeats?: number;
  /** the texts of earlier trajectories */
  readonly earlier?: readonly (readonly string[])[];
  /** of a batch, from 0 */
  readonly row?: number;
  /** rows that were decoded together */
  readonly batch?: number;
  /** the engine that reported this run */
  readonly served?: string;
  /** what it did not tell, in words */
  readonly untold?: string;
  /** by which `auto` knobs choose */
  readonly costs?: CostsRecord;
  /** and how often a draft token holds by the drafter's probability, from there on */
  readonly forecast?: readonly (readonly [number, number])[];
  /** the same of tokens further on in a draft */
  readonly forecast_further?: readonly (readonly [number, number])[];
}

/** A draft token. Entropies in nats over the full vocabulary at temperature 1. */
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
  /** probability under the distribution the draft token was drawn from */
  readonly q?: number;
  readonly h_draft?: number;
  readonly top_draft?: TopN;
  /** the distribution sampled from, when it is not the raw one */
  readonly law_draft?: TopN;
  readonly source?: Source;
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
  readonly reason?: Reason;
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
  /** (place in the source, share of the attention), most looked at first */
  readonly looks?: TopN;
  /** The sentence that the server adds. */
  readonly why?: string;
}

/** One place of a text that is written in place, as an iteration left it. */
export interface Cell {
  /** a mask or a blank where nothing stands */
  readonly token: number;
  /** that last wrote it, from 1; 0 where nothing stands */
  readonly iteration: number;
  /** probability that the model gave the token */
  readonly q?: number;
  /** token that stood here, of a place that this iteration wrote anew */
  readonly before?: number;
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
  /** tokens of the prompt that an encoder read; 0 of a decoder-only model */
  readonly source: number;
  /** e.g. trajectory number, task, problem key, process */
  readonly extras: HeadExtras;
}

/** One cycle: a draft, one target call (none where a reward model accepts a step, or where the draft model writes alone), a decision. Or one iteration of a text that is written in place, which drafts nothing and asks no target; the last emits the text. Times in milliseconds; they sum to the round. */
export interface Round {
  readonly kind: "round";
  readonly index: number;
  /** response tokens committed before this round */
  readonly start: number;
  /** nodes, root excluded */
  readonly drafted: number;
  /** tokens given to the target, root included; 0: it was not called */
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
  readonly extras: RoundExtras;
  /** empty when recorded lightly */
  readonly nodes: readonly Node[];
  /** candidates left out: token, parent, score, cause */
  readonly pruned: readonly Pruned[];
  readonly tokens: readonly Token[];
  /** token id -> text, each id once per trace */
  readonly pieces: Readonly<Record<string, string>>;
  /** every place after an iteration; None of a draft, and when recorded lightly */
  readonly canvas?: readonly Cell[];
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
