// The contract between views (docs/design/0008-page.md), written by hand: what the store holds and who hears of what.

import type { Compared, Repeated } from "./analysis.js";
import type { Card } from "./card.js";
import type { Event, Json, Node, Round, RunEnded, RunStarted, Token } from "./trace.js";
import type { BeingLoaded, InLine } from "./wire.js";

/** Prefix sums over rounds: entry n covers the first n. Times in milliseconds. */
export interface Sums {
  readonly clock: readonly number[];
  readonly calls: readonly number[];
  readonly iterations: readonly number[];
  readonly tokens: readonly number[];
  readonly drafted: readonly number[];
  readonly accepted: readonly number[];
  readonly draft: readonly number[];
  readonly verify: readonly number[];
  readonly other: readonly number[];
}

/** A lane: the trace's own events, recorded or live, and what every view needs of them. It grows; no view writes to it. */
export interface Run {
  readonly key: string;
  /** the method's card */
  readonly card: Card;
  /** of several that were opened, the one that it comes from */
  readonly file: string;
  /** what its head tells, known before it comes */
  readonly asked: Pick<RunStarted, "knobs" | "extras">;
  readonly head: RunStarted | null;
  readonly rounds: readonly Round[];
  /** all rounds' tokens; the index is the position in the response */
  readonly tokens: readonly Token[];
  readonly end: RunEnded | null;
  /** the text of every token id that the trace names */
  readonly pieces: ReadonlyMap<number, string>;
  readonly sums: Sums;
}

/** The numbers of a run's first rounds; a rate whose denominator is 0 is null. Times in milliseconds. */
export interface Stats {
  readonly rounds: number;
  /** rounds in which the target was called */
  readonly calls: number;
  /** of a text that is written in place */
  readonly iterations: number;
  readonly clock: number;
  readonly tokens: number;
  readonly drafted: number;
  readonly accepted: number;
  readonly draft: number;
  readonly verify: number;
  readonly other: number;
  /** tokens a target call */
  readonly tau: number | null;
  /** tokens a second */
  readonly perSecond: number | null;
  readonly acceptRate: number | null;
}

/** A place in a lane: a round, a response position, a node of the round's draft. */
export interface Selection {
  readonly run: string;
  readonly round: number | null;
  readonly pos: number | null;
  readonly node: number | null;
}
/** As much of a place as a view knows; the store fills in what it implies. */
export type Place = Partial<Selection>;

/** A point inside the round after those that are shown: the draft is there, or the target's probabilities too. */
export type Inside = "drafted" | "verified";

export interface Time {
  readonly mode: "calls" | "clock";
  /** rounds or milliseconds; Infinity is live */
  readonly at: number;
  /** with `calls`: how far the round after these has come; null while it has not begun */
  readonly inside: Inside | null;
  readonly playing: boolean;
  readonly speed: number;
}

/** A filter as data, so that a link can hold it; `filters.js` makes the filter. */
export interface FilterSpec {
  readonly kind: string;
  readonly name?: string;
  readonly [setting: string]: Json | undefined;
}
export interface Filter {
  readonly label: string;
  readonly spec?: FilterSpec;
  /** positions, for a filter that a view set without a spec */
  readonly range?: readonly [number, number];
  test(run: Run, round: Round, node?: Node | null, token?: Token | null): boolean;
}

export interface Options {
  /** room of the page: `ROOMS` of rooms/rooms.js */
  readonly room: string;
  /** in the Learn room: the tab, and the lesson, word or page that is open in it; in Papers: the table as PAPER-ITEM */
  readonly tab: string;
  readonly name: string;
  /** what stands beside the stage: a lesson as NAME~STEP with steps from 0, the story of a case as NAME, or nothing */
  readonly beside: string;
  /** the open tab of the Judge room, and the mismatch that was chosen there as SET~PROMPT~POSITION~TOKEN; the figure
   * below the stage; in Many runs tasks and method as TASK~METHOD; the open tab of the Trajectories room */
  readonly judge: string;
  readonly mismatch: string;
  readonly figure: string;
  readonly pool: string;
  readonly trajectories: string;
  /** what is chosen there: the method whose texts are shown, the static tree; empty while nothing was */
  readonly method: string;
  readonly tree: string;
  /** in Judge: the mined set that was chosen, the filters as a query (`judge/filters.js`), and the column that the table
   * goes by, with a minus before it where it falls */
  readonly set: string;
  readonly only: string;
  readonly by: string;
  readonly ghosts: boolean;
  readonly whitespace: boolean;
  readonly flags: boolean;
  readonly distribution: "raw" | "sampled";
  readonly order: "target" | "draft";
  readonly topN: number;
  /** view of the stage */
  readonly stage: "text" | "score" | "trees" | "shares";
  /** the score's bands show their spans alone */
  readonly folded: boolean;
  /** order of the bands: `SORTS` of stage/bands.js */
  readonly sort: string;
  /** ids of the score's tracks */
  readonly tracks: readonly string[];
  /** pixels a position in the score and the position at its left edge, as PIXELS~POSITION; empty while all fit */
  readonly zoom: string;
  /** where the details are */
  readonly details: "auto" | "right" | "bottom" | "hidden";
  /** lanes that go on from others with another token, those that are wanted and not there yet included */
  readonly continued: readonly Continued[];
  /** thresholds that a visitor moved, and what would follow; null while all stand as run */
  readonly whatif: WhatIf | null;
}

/** A lane that takes another lane's text before a position, another token there, and goes on. */
export interface Continued {
  /** the lane it makes */
  readonly lane: string;
  /** the lane it goes on from */
  readonly run: string;
  readonly pos: number;
  readonly token: number;
}

/** Moved knobs of a run, and what its recorded numbers say of them. */
export interface WhatIf {
  readonly run: string;
  readonly knobs: Readonly<Record<string, unknown>>;
  /** those that were moved */
  readonly moved: Readonly<Record<string, number>>;
  /** tested tokens that were looked at; `NOT_YET` (thresholds.js) where a link asks and nobody has looked */
  readonly upto: number;
  /** positions where the condition holds */
  readonly marks: ReadonlySet<number>;
  /** positions that the exact rule decides whatever the condition says */
  readonly settled: ReadonlySet<number>;
  /** position of the first decision that changes */
  readonly changed: number | null;
}

export interface Status {
  readonly phase: "empty" | "queued" | "loading" | "running" | "done";
  /** name of the preset whose recorded runs are shown */
  readonly recorded: string | null;
  /** the runs come from a visitor's files */
  readonly opened: boolean;
  /** what lanes that have ended say about each other */
  readonly compared: Compared | null;
  /** what further runs of the same lanes gave, by lane; null when there were none */
  readonly repeated: { readonly runs: number; readonly lanes: Readonly<Record<string, Repeated>> } | null;
  /** repetitions are under way: number `run` of n, from 0; -1 while they wait */
  readonly repeating: { readonly run: number; readonly n: number } | null;
  /** where the run waits, while its phase is "queued" */
  readonly line: InLine | null;
  /** what the server loads before the run can begin; null while it loads nothing */
  readonly loading: BeingLoaded | null;
  /** the run was started by Step */
  readonly step: boolean;
}

/** A topic's payload; `undefined` where there is none. Emission is synchronous. */
export interface Topics {
  /** lanes were replaced */
  runs: undefined;
  /** key of the run that rounds were appended to */
  data: string;
  cursor: Moved;
  hover: Moved;
  time: undefined;
  filters: undefined;
  /** name of the option that changed */
  options: keyof Options;
  status: undefined;
  /** light or dark */
  theme: undefined;
  /** flags above tokens changed (`flags.js`) */
  flags: undefined;
}
export interface Moved {
  readonly old: Selection | null;
  readonly now: Selection | null;
}

export interface Emitter<M> {
  /** Listen; the answer ends it. */
  on<T extends keyof M>(topic: T, hear: (detail: M[T]) => void): () => void;
  emit<T extends keyof M>(...given: M[T] extends undefined ? [topic: T] : [topic: T, detail: M[T]]): void;
}

export interface LaneStart {
  readonly key: string;
  readonly card: Card;
  /** of several that were opened, the one that it comes from */
  readonly file?: string;
  /** what the head of its run is going to tell, as far as it is known */
  readonly knobs?: RunStarted["knobs"];
  readonly extras?: RunStarted["extras"];
}
export interface LaneTrace extends LaneStart {
  readonly events: readonly Event[];
}

export interface Store extends Emitter<Topics> {
  readonly runs: ReadonlyMap<string, Run>;
  /** keys in display order */
  readonly lanes: readonly string[];
  readonly cursor: Selection | null;
  readonly hover: Selection | null;
  readonly time: Time;
  readonly filters: ReadonlyMap<string, Filter>;
  readonly options: Options;
  readonly status: Status;
  readonly CALLS_PER_SECOND: number;

  /** Draw in the next animation frame, once a key. */
  frame(key: string, draw: () => void): void;
  /** As `frame`, but at most once in `every` milliseconds: for what sums a run up while it streams. */
  seldom(key: string, draw: () => void, every?: number): void;

  begin(lanes: readonly LaneStart[], status?: Partial<Status>): void;
  /** One more lane beside those that are shown. */
  add(lane: LaneStart): void;
  /** A run that was removed stands beside the others again, last. */
  put(run: Run): void;
  /** Take one lane away from those that are shown; null where there is none of this key. */
  remove(key: string): Run | null;
  push(key: string, events: readonly Event[]): void;
  load(traces: readonly LaneTrace[], status?: Partial<Status>): void;
  /** Runs that were on the stage before take it again, as they were left. */
  bring(stage: Pick<Store, "runs" | "lanes" | "status">): void;
  setStatus(partial: Partial<Status>): void;

  /** The run of a key, by default of the focus, else of the first lane that drafts. */
  run(key?: string): Run | null;
  round(sel?: Place | null): Round | null;
  node(sel?: Place | null): Node | null;
  token(sel?: Place | null): Token | null;
  piece(run: Run, id: number): string;
  /** Of the visible rounds. */
  stats(run: Run): Stats;

  /** What is hovered, else what is selected. */
  focus(): Selection | null;
  setCursor(place: Place): void;
  setHover(place: Place | null): void;
  clear(): void;
  setTime(partial: Partial<Time>): void;
  /** How many rounds of the run the time cursor shows. */
  visibleRounds(run: Run): number;
  /** The round that has begun and is not decided yet, as far as it has come. */
  halfRound(run: Run): Round | null;
  /** The far end of the time axis: the most calls, or milliseconds, of any lane. */
  span(mode?: Time["mode"]): number;
  setFilter(name: string, filter: Filter | null): void;
  passes(run: Run, round: Round, node?: Node | null, token?: Token | null): boolean;
  setOption<K extends keyof Options>(name: K, value: Options[K]): void;
  /** First place where the texts of two lanes differ; positions of a lane with a forced beginning come after it. */
  divergence(a: string, b: string): number;
  /** The same place in another lane: {pos} up to the divergence, {round} after it. */
  twin(sel: Selection | null, key: string): Place | null;
}
