// Written by `python -m app.typings write` from app/wire; do not edit.

import type { Interval } from "./analysis.js";
import type { KnobValue } from "./card.js";
import type { JsonObject } from "./trace.js";
import type { LaneRequest } from "./wire.js";

/** A figure of plotly.js; `layout.meta.colours` names the colours that the page puts in. */
export interface Plot {
  readonly data: readonly JsonObject[];
  readonly layout: JsonObject;
}

/** A figure and what it says. */
export interface Captioned {
  readonly figure: Plot;
  readonly caption: string;
}

/** Scores of labels that a judge had not seen in training, their truth, and the threshold that it has. */
export interface JudgeScores {
  readonly scores: readonly number[];
  /** 1: the label is important */
  readonly truth: readonly number[];
  readonly threshold: number;
}

/** One setting on all held-out problems. */
export interface JudgedSetting {
  readonly name: string;
  readonly group: string;
  readonly method: string;
  readonly knobs: Readonly<Record<string, KnobValue>>;
  readonly calls: number;
  readonly tokens: number;
  readonly tokens_per_call: number;
  readonly accepted_per_call: number;
  readonly tokens_per_call_by_problem: Interval | null;
  readonly accuracy: Interval | null;
  /** against speculative decoding, paired over problems */
  readonly accuracy_drop: Interval | null;
  /** of the corpus, where the task has one */
  readonly bleu?: Interval | null;
  /** against speculative decoding, paired over problems */
  readonly bleu_drop?: Interval | null;
  readonly same_text_as_sd: number;
  /** where times were taken */
  readonly tokens_per_s?: number;
  /** over the target alone */
  readonly speedup?: Interval | null;
}

/** What a judge is worth: docs/results/judge-TASK.json, with its figure. */
export interface JudgeResult {
  readonly task: string;
  readonly problems: number;
  /** tokens drafted a round */
  readonly window: number;
  readonly limit: number;
  readonly problem_seed: number;
  readonly threshold: number | null;
  readonly auc: number | null;
  /** what the groups of settings are called */
  readonly groups: Readonly<Record<string, string>>;
  readonly rows: readonly JudgedSetting[];
  /** share of the range that both curves have */
  readonly above_topk: Interval | null;
  /** accuracy, on average over that range */
  readonly gap_to_topk: Interval | null;
  readonly above_transfer: Interval | null;
  readonly gap_to_transfer: Interval | null;
  readonly models: JsonObject;
  readonly command: string;
  readonly figure: Plot;
  /** the judge beside the best math rule, in words; null where there is no rule */
  readonly rules?: string | null;
  /** by group: what its comparison rests on where it has few settings */
  readonly lines?: Readonly<Record<string, string | null>>;
  /** of all settings; the recorded ones were greedy, without a template */
  readonly decoding?: JsonObject;
  readonly shots?: number;
  readonly notes?: readonly string[];
}

/** A task; what was not measured is null, and `command` measures it. */
export interface Evaluation {
  readonly task: string;
  readonly command: string;
  readonly result: JudgeResult | null;
  readonly judge: JudgeScores | null;
}

/** All tasks: GET /lab/evaluations. */
export interface Evaluations {
  readonly tasks: readonly Evaluation[];
}

/** The curves of scored labels: POST /lab/judged. */
export interface Judged {
  readonly figures: readonly Captioned[];
}

/** What fits a method's task, see `engine.analysis.quality`; shares from 0 to 1, BLEU, chrF and ROUGE to 100. */
export interface Quality {
  readonly responses: number;
  readonly prompts: number;
  readonly repeats: number;
  readonly response_tokens?: Interval;
  readonly response_tokens_difference?: Interval;
  readonly same_as_ar?: Interval;
  readonly accuracy?: Interval;
  readonly accuracy_difference?: Interval;
  readonly majority?: Interval;
  readonly majority_difference?: Interval;
  readonly bleu?: Interval;
  readonly bleu_difference?: Interval;
  readonly bleu_relative?: Interval;
  readonly chrf?: Interval;
  readonly chrf_difference?: Interval;
  readonly rouge1?: Interval;
  readonly rouge1_difference?: Interval;
  readonly rouge2?: Interval;
  readonly rouge2_difference?: Interval;
  readonly rougeL?: Interval;
  readonly rougeL_difference?: Interval;
}

/** A method's counts, and intervals over prompts. */
export interface PoolMethod {
  readonly label: string;
  readonly method: string;
  readonly guarantee: string;
  readonly runs: number;
  readonly generated: number;
  readonly calls: number;
  /** of texts that are written in place; an index has none */
  readonly iterations?: number;
  /** given to the target, roots included */
  readonly tokens: number;
  readonly calls_each: Interval | null;
  readonly tokens_each: Interval | null;
  readonly tau: Interval | null;
  readonly speedup: Interval | null;
  readonly tokens_per_s: number | null;
  readonly draft_s: number;
  readonly verify_s: number;
  readonly other_s: number;
  /** older recordings have none */
  readonly quality?: Quality;
}

/** Share of the rounds whose last accepted token ranks within a part of N. */
export interface Quantiles {
  readonly quantile: readonly number[];
  readonly share: readonly number[];
}

/** Rounds and tokens a call by the rank of the last accepted token. */
export interface Ranks {
  readonly tcr: readonly number[];
  readonly tau: readonly number[];
  readonly rounds: readonly number[];
}

/** The same with the mean cumulative entropy, nats. */
export interface RankEntropies {
  readonly tcr: readonly number[];
  readonly tau: readonly number[];
  readonly rounds: readonly number[];
  readonly phi: readonly number[];
}

/** What was done in each bin of cumulative entropy. */
export interface Bins {
  readonly bin: readonly number[];
  readonly rounds: readonly number[];
  readonly share: readonly number[];
  readonly phi: readonly number[];
  readonly tau: readonly number[];
  readonly levels: readonly number[];
  readonly n_verify: readonly number[];
}

/** The ranks of a method that drafts trees. */
export interface PoolTree {
  /** the largest N, root included */
  readonly size: number;
  /** share of the rounds that have it */
  readonly steady: number;
  readonly rounds: number;
  readonly quantiles: Quantiles;
  /** those shares over prompts; older files have none */
  readonly within?: readonly (Interval | null)[];
  readonly ranks: Ranks;
  readonly entropy: RankEntropies;
  readonly bins: Bins;
}

/** A row of the ablation; savings are against the first row. */
export interface Mechanism {
  readonly method: string;
  readonly calls: number;
  readonly tokens: number;
  readonly tau: number;
  readonly calls_saved: number;
  readonly tokens_saved: number;
  readonly speedup: Interval | null;
}

/** How far regression trees of other depths call the same rounds low in entropy; `missing` says why not. */
export interface Granularity {
  readonly label: string;
  readonly samples: number;
  readonly full: number;
  readonly rounds?: string;
  readonly overlap?: Readonly<Record<string, number>>;
  readonly missing?: string;
}

/** The runs of a task, or of all. */
export interface PoolSection {
  readonly task: string;
  readonly prompts: number;
  /** the same prompts for all methods */
  readonly even: boolean;
  readonly methods: readonly PoolMethod[];
  readonly figures: Readonly<Record<string, PoolTree>>;
  readonly ablation: readonly Mechanism[];
  readonly granularity: readonly Granularity[];
}

/** The target of pooled runs. */
export interface PoolTarget {
  readonly id?: string;
  readonly revision?: string;
  readonly sha256?: string;
  readonly parameters?: number;
}

/** Figures of a section: of all methods, and of each that drafts trees. */
export interface SectionPlots {
  readonly methods: readonly Captioned[];
  readonly trees: Readonly<Record<string, readonly Captioned[]>>;
}

/** Figures by section; those that set tasks side by side, by method; reports of engines beside own runs. */
export interface PoolPlots {
  readonly sections: readonly SectionPlots[];
  readonly tasks: Readonly<Record<string, Plot>>;
  readonly served: readonly Captioned[];
}

/** Share of verify passes that accepted the draft up to each depth from 1, with 95 % where counts are told. */
export interface Depths {
  readonly depth: readonly number[];
  readonly marginal: readonly number[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** What an engine reports, or the same of own runs; null where it is not told, with its name in `lacks`. */
export interface Served {
  readonly label: string;
  readonly engine: string;
  readonly model: string;
  readonly reports: number;
  /** what the reports are: requests, counters, lines of a log */
  readonly of: string;
  readonly tokens: number | null;
  /** calls that verified a draft */
  readonly rounds: number | null;
  readonly drafted: number | null;
  readonly accepted: number | null;
  readonly tau: Interval | null;
  readonly accept_rate_drafted: Interval | null;
  readonly accept_by_depth: Depths | null;
  readonly accepted_histogram: readonly number[] | null;
  readonly tokens_per_s: number | null;
  readonly lacks: readonly string[];
}

/** A method with its settings and its forecast; `computed_from_gamma`: the longer draft that it was cut from. */
export interface AdviceOption {
  readonly label: string;
  readonly method: string;
  readonly title: string;
  readonly knobs: JsonObject;
  readonly speedup: Interval | null;
  readonly tau: number;
  readonly levels: number;
  readonly computed_from_gamma: number | null;
}

/** A rival whose speed these prompts do not tell from the best's; `prompts` would, null: choose either. */
export interface CloseCall {
  readonly label: string;
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly prompts: number | null;
}

/** What an engine takes; without text it has no such method, and `note` says so. */
export interface Configuration {
  readonly engine: string;
  readonly fields: JsonObject | null;
  readonly text: string;
  readonly note: string;
}

/** What to use for one kind of prompts; `pays` is null where the interval holds 1. */
export interface AdviceKind {
  readonly kind: string;
  readonly prompts: number;
  readonly best: AdviceOption;
  readonly pays: boolean | null;
  readonly close: readonly CloseCall[];
  readonly options: readonly AdviceOption[];
  readonly batches: readonly JsonObject[];
  readonly configurations: readonly Configuration[];
}

/** A run of an index by its file, which is opened on demand. */
export interface NamedRun {
  readonly file: string;
  readonly label: string;
  readonly task: string;
  readonly key: string;
  readonly prompt: string;
  readonly tokens: number;
  readonly calls: number;
  readonly tau: number;
}

/** Advice from the runs at hand, with what it was measured on; `missing` says why there is none. */
export interface Advice {
  readonly label?: string;
  readonly kinds?: readonly AdviceKind[];
  readonly missing?: string;
}

/** Many runs taken together: GET and POST /lab/pooled. */
export interface Pooled {
  readonly kind: string;
  readonly schema: number;
  readonly target: PoolTarget;
  readonly device: string;
  readonly dtype: string;
  readonly runs: number;
  /** runs that were cut off, which no number holds */
  readonly left_out?: number;
  readonly created: string;
  readonly commands: readonly string[];
  readonly sections: readonly PoolSection[];
  /** of an index */
  readonly named?: readonly NamedRun[];
  /** where files of engines were among them */
  readonly served?: readonly Served[];
  /** of a visitor's runs */
  readonly advice?: Advice;
  readonly plots: PoolPlots;
}

/** The majority so far. */
export interface Vote {
  readonly answer: string | null;
  readonly count: number;
  readonly n: number;
  readonly share: number;
  readonly right: boolean | null;
}

/** A finished trajectory. By position: length of the n-gram it ends, times it was seen, the trajectory it was in. */
export interface TrajectoryRow {
  readonly trajectory: number;
  readonly seed: number;
  readonly pieces: readonly string[];
  readonly tokens: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly tau: number | null;
  readonly reused: readonly number[];
  readonly times: readonly number[];
  readonly first: readonly number[];
  readonly answer: string | null;
  readonly right: boolean | null;
  readonly reason: string;
  readonly message: string;
  readonly vote: Vote | null;
}

/** A method that trajectories are drawn with. */
export interface TrajectoryMethod {
  readonly key: string;
  readonly method: string;
  readonly title: string;
  readonly knobs: Readonly<Record<string, KnobValue>>;
}

/** The same with what it drew. */
export interface TrajectoryLane {
  readonly key: string;
  readonly method: string;
  readonly title: string;
  readonly knobs: Readonly<Record<string, KnobValue>>;
  readonly rows: readonly TrajectoryRow[];
}

/** What is being drawn live. */
export interface TrajectoryHead {
  readonly prompt: string;
  /** by which an answer is read */
  readonly task: string;
  readonly answer: string | null;
  readonly n: number;
  readonly temperature: number;
  readonly max_new_tokens: number;
  readonly seed: number;
  readonly models: string;
  readonly methods: readonly TrajectoryMethod[];
}

/** The target of a recorded example. */
export interface TrajectoryTarget {
  readonly id: string;
  readonly revision: string;
  readonly parameters: number;
  readonly layers: number;
  readonly width: number;
  readonly vocab: number;
  readonly context: number;
  readonly lean: boolean;
}

/** A recorded problem. */
export interface TrajectoryExample {
  readonly kind: string;
  readonly name: string;
  readonly command: string;
  readonly created: string;
  readonly target: TrajectoryTarget;
  readonly device: string;
  readonly prompt: string;
  readonly task: string;
  readonly answer: string | null;
  readonly n: number;
  readonly temperature: number;
  readonly max_new_tokens: number;
  readonly seed: number;
  readonly methods: readonly TrajectoryLane[];
  readonly figure: Plot;
}

/** How a part of the results was measured. */
export interface Measured {
  readonly family: string;
  readonly split: string;
  readonly n: number;
  readonly temperature: number;
  readonly max_new_tokens: number;
  readonly seed: number;
  readonly target: string;
}

/** A method over the first k trajectories. */
export interface FirstK {
  readonly method: string;
  readonly k: number;
  readonly problems: number;
  readonly tau: Interval | null;
  readonly tau_pooled: number;
  readonly tokens_per_s: number;
  readonly verify_per_token: number;
}

/** A method's i-th trajectory alone. */
export interface OneTrajectory {
  readonly method: string;
  readonly trajectory: number;
  readonly problems: number;
  readonly tau: Interval | null;
}

/** One method less another, paired over problems. */
export interface Gap {
  readonly a: string;
  readonly b: string;
  readonly k: number;
  readonly problems: number;
  readonly difference: Interval | null;
}

/** Methods compared over many problems; `accuracy` by method and number of trajectories. */
export interface TrajectoryPart {
  readonly settings: Measured;
  readonly over_k: readonly FirstK[];
  readonly by_trajectory: readonly OneTrajectory[];
  readonly growth: readonly JsonObject[];
  readonly differences: readonly Gap[];
  readonly accuracy: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
}

/** Acceptance of the first draft token on the same texts: the most probable one, or one that is drawn. */
export interface Replayed {
  readonly n: number;
  readonly deterministic: Interval | null;
  readonly stochastic: Interval | null;
  readonly difference: Interval | null;
}

/** Shares of n-grams of one order over the first trajectories. */
export interface Overlap {
  readonly trajectories: number;
  readonly order: number;
  readonly problems: number;
  readonly repeated: number;
  readonly seen_before: number;
}

/** docs/results/trajectories.json with its figure and what the methods are called. */
export interface TrajectoryResults {
  readonly kind: string;
  readonly created: string;
  readonly commands: readonly string[];
  readonly compare: TrajectoryPart;
  readonly ablation?: TrajectoryPart | null;
  readonly trees?: TrajectoryPart | null;
  readonly others?: TrajectoryPart | null;
  readonly elsewhere?: TrajectoryPart | null;
  readonly overlap?: readonly Overlap[] | null;
  readonly acceptance?: Readonly<Record<string, Replayed>> | null;
  readonly names: Readonly<Record<string, string>>;
  readonly figure: Plot;
}

/** A problem to try. */
export interface OfferedProblem {
  readonly task: string;
  readonly prompt: string;
  /** of the models that can answer it */
  readonly family: "decoder-only" | "encoder-decoder";
}

/** What is on show without a model: GET /lab/trajectories. */
export interface Trajectories {
  readonly examples: readonly TrajectoryExample[];
  readonly results: TrajectoryResults | null;
  readonly problems: readonly OfferedProblem[];
  /** by task, how an answer that can be compared is read off a text */
  readonly reads: Readonly<Record<string, string>>;
  /** trajectories of one method */
  readonly most: number;
}

/** The tree that another was chosen from: rounds in which each node was accepted, and the nodes that stay. */
export interface InitialTree {
  readonly parents: readonly number[];
  readonly ranks: readonly number[];
  /** nodes at each depth */
  readonly profile: readonly number[];
  readonly counts: readonly number[];
  readonly kept: readonly number[];
}

/** How a tree was counted. */
export interface TreeSettings {
  readonly target: string;
  readonly prompts: string;
  readonly method: string;
  readonly knobs: Readonly<Record<string, KnobValue>>;
  readonly n: number;
  readonly temperature: number;
  readonly max_new_tokens: number;
  readonly seed: number;
  readonly nodes: number;
  readonly tree: string;
}

/** On which problems. */
export interface TreeCalibration {
  readonly task: string | null;
  readonly prompts: number;
  readonly sha256: string;
  readonly each: readonly string[];
}

/** A draft tree: its card, node by node parent and rank, and the tree that it was chosen from (null when grown). */
export interface DraftTree {
  readonly file: string;
  readonly name: string;
  readonly title: string;
  readonly made_by: string;
  readonly note?: string;
  readonly made: Readonly<Record<string, number>>;
  readonly settings?: TreeSettings;
  readonly calibration?: TreeCalibration;
  readonly usage?: JsonObject;
  readonly rounds?: number;
  readonly accepted_a_round?: number;
  readonly kind: string;
  readonly nodes: number;
  readonly depth: number;
  readonly profile: readonly number[];
  readonly parents: readonly number[];
  readonly ranks: readonly number[];
  readonly initial: InitialTree | null;
}

/** All draft trees, and figures of nodes by depth by the file of an optimised tree: GET /lab/trees. */
export interface Trees {
  readonly trees: readonly DraftTree[];
  readonly profiles: Readonly<Record<string, Plot>>;
}

/** A paper with its verdicts counted. */
export interface PaperCount {
  readonly name: string;
  readonly title: string;
  readonly method: string;
  readonly verdicts: Readonly<Record<string, number>>;
}

/** The papers: GET /lab/papers; last the page of all methods, which has no method of its own and no verdicts. */
export interface PaperList {
  readonly papers: readonly PaperCount[];
}

/** A row of a table: numbers as they are told, null where there is none. */
export interface PaperRow {
  readonly name: string;
  readonly cells: readonly (string | null)[];
}

/** A table of a paper, or ours in its form; no figure where it is shown as numbers alone. */
export interface PaperTable {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly columns: readonly string[];
  readonly rows: readonly PaperRow[];
  readonly figure: Plot | null;
}

/** A statement of a paper, how the numbers decide it, and the numbers. */
export interface PaperCheck {
  readonly says: string;
  readonly outcome: "holds" | "fails" | "open" | "missing";
  readonly evidence: string;
}

/** What the page may run at once: methods on one problem. */
export interface PaperLive {
  /** that the entry's runs are made with */
  readonly models: string;
  readonly lanes: readonly LaneRequest[];
  readonly task: string;
  readonly prompt: string;
  readonly answer: string;
  readonly temperature: number;
  readonly max_new_tokens: number;
}

/** A table or figure of a paper, what came of it here, and the verdict. */
export interface PaperItem {
  readonly id: string;
  readonly name: string;
  readonly shows: string;
  readonly claim: string;
  readonly setting: string;
  readonly here: string;
  readonly stated: string;
  readonly larger: string;
  readonly untestable: string;
  readonly illustration: boolean;
  readonly verdict: string;
  readonly command: string;
  readonly created: string;
  readonly prompts: Readonly<Record<string, number>>;
  readonly source: readonly string[];
  readonly printed: readonly PaperTable[];
  readonly ours: readonly PaperTable[];
  readonly checks: readonly PaperCheck[];
  readonly live: PaperLive | null;
  readonly cases: readonly string[];
}

/** One paper: GET /lab/paper; of the page of all methods, an item a recording. */
export interface PaperShown {
  readonly name: string;
  readonly title: string;
  readonly method: string;
  readonly setting: string;
  readonly note: string;
  readonly items: readonly PaperItem[];
}
