// Written by `python -m app.typings write` from engine/analysis; do not edit.

/** The middle of n values and their ends: of runs on one prompt, which are no sample from which to infer more. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/** The sentence, its cause and what both rest on. Shares are of the rounds' time. */
export interface Verdict {
  /** what stands between double stars is to be stressed */
  readonly line: string;
  /** the dominant cause in a sentence, or why none is named */
  readonly why: string;
  /** why no ratio of speeds is told; empty where one is */
  readonly unsaid: string;
  readonly cause:
    | "too early"
    | "not timed"
    | "plain decoding"
    | "draft alone"
    | "written in place"
    | "searched"
    | "speculation inactive"
    | "overhead-bound"
    | "reward model too costly"
    | "draft too costly"
    | "target call too costly"
    | "acceptance falls"
    | "pays off";
  readonly speedup: number | null;
  readonly tau: number | null;
  readonly cost_ratio: number | null;
  readonly draft_share: number;
  /** in no model */
  readonly other_share: number;
  /** in a process reward model */
  readonly reward_share: number;
  /** in a network that writes in place */
  readonly network_share: number;
  /** share of the rounds that had a draft */
  readonly active: number;
  /** a target call of this run / one of the baseline */
  readonly call_ratio: number | null;
  /** leading draft positions that earn more than they cost */
  readonly worth: number;
  /** of the ratio, where it was measured several times; then `speedup` is its median */
  readonly spread: Spread | null;
}

/** One lane over its runs. A number that no run has is None. */
export interface Repeated {
  /** that ended by themselves */
  readonly runs: number;
  /** the others */
  readonly failed: number;
  /** different texts among them */
  readonly texts: number;
  /** tokens a target call */
  readonly tau: Spread | null;
  /** accepted / drafted */
  readonly accept_rate: Spread | null;
  readonly tokens_per_s: Spread | null;
  /** against the lane without a draft, run by run */
  readonly speedup: Spread | null;
  /** None while no run has ended */
  readonly verdict: Verdict | null;
}

/** One run's own evidence. */
export interface Proof {
  /** its text beside the reference's, in a sentence or two */
  readonly text: string;
  /** its decisions, in a sentence */
  readonly decisions: string;
  /** key of the lane that the text was compared with */
  readonly against: string | null;
  /** the first position where the two differ */
  readonly pos: number | null;
  /** tokens before that, or all that both have */
  readonly same: number | null;
  /** decisions that were recomputed; None where they were not recorded */
  readonly checked: number | null;
  /** of these, how many disagree with what the run did */
  readonly faults: number;
}

/** The first position with two tokens. Probabilities are the target's, raw softmax; None where not recorded. */
export interface Divergence {
  readonly pos: number;
  readonly tokens: readonly [number, number];
  readonly pieces: readonly [string, string];
  readonly p: readonly [number | null, number | null];
  /** |log p - log p|, nats */
  readonly gap: number | null;
  /** the gap below which the cause is a near-tie, for the less exact of the two dtypes */
  readonly near: number;
  readonly cause: "near-tie" | "lossy rule" | "draft alone" | "written in place" | "sampling draw" | "unexplained";
  readonly text: string;
}

/** Where two lanes, named by their keys, part. */
export interface Parting extends Divergence {
  readonly lanes: readonly [string, string];
}

/** A comparison that the condition cannot do without, and that cannot hold. */
export interface Idle {
  /** of the recorded number */
  readonly name: string;
  readonly sign: string;
  readonly limit: number;
  /** the knob that is the limit; empty where there is none */
  readonly knob: string;
  /** the number that comes closest: the largest for > and >=, else the smallest */
  readonly extreme: number;
  /** tested nodes that have the number; 0 where `extreme` is the end of what the number can be at all */
  readonly asked: number;
}

/** Verdicts and evidence by lane key, the pairs that part, and which thresholds cannot fire. Pairs of other prompts or targets have no place. */
export interface Compared {
  readonly verdicts: Readonly<Record<string, Verdict>>;
  readonly divergences: readonly Parting[];
  readonly proofs: Readonly<Record<string, Proof>>;
  /** lane key -> why its threshold cannot fire, for those of which that is known */
  readonly idle: Readonly<Record<string, string>>;
}

/** A number as the page tells it. */
export interface Told {
  readonly name: string;
  readonly unit: string;
  readonly formula: string;
  /** its names in other engines, and the note */
  readonly elsewhere: string;
}

/** An estimate from n values; `low` and `high` are None where n is too small to say. */
export interface Interval {
  readonly mean: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}
