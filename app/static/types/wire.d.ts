// Written by `python -m app.typings write` from app/wire; do not edit.

import type { Compared, Repeated, Told } from "./analysis.js";
import type { Card, Knob, KnobValue } from "./card.js";
import type { Event, HeadExtras } from "./trace.js";

/** One method of a comparison; knobs that are left out have their defaults. */
export interface LaneRequest {
  readonly method: string;
  readonly knobs: Readonly<Record<string, KnobValue>>;
}

/** A comparison as the page asks for it: one prompt, sampling and seed for every lane (`app.request` checks it). */
export interface RunRequest {
  readonly models: string;
  readonly prompt: string;
  readonly lanes: readonly LaneRequest[];
  readonly max_new_tokens: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly seed: number;
  readonly chat: boolean;
  /** family of the prompt, where it is a problem of one */
  readonly task?: string;
  /** its reference answer */
  readonly answer?: string;
  /** the case that the settings come from, empty when none */
  readonly preset?: string;
  /** 32 hexadecimal digits, made by the page */
  readonly id?: string;
  /** 32 hexadecimal digits, the same for all tabs of a browser */
  readonly visitor?: string;
  readonly stop?: readonly string[];
}

/** A comparison that is to run n times: POST /lab/repeat, answered by `RepeatMessage`s (`app.repeats` checks it). */
export interface RepeatRequest {
  readonly models: string;
  readonly prompt: string;
  readonly lanes: readonly LaneRequest[];
  readonly max_new_tokens: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly seed: number;
  readonly chat: boolean;
  readonly task?: string;
  readonly answer?: string;
  readonly preset?: string;
  readonly id?: string;
  readonly visitor?: string;
  readonly stop?: readonly string[];
  readonly n: number;
}

/** A run of one method that goes on from a forced beginning: POST /lab/continue (`app.continuing` checks it). */
export interface ContinueRequest {
  readonly models: string;
  readonly prompt: string;
  readonly lanes: readonly LaneRequest[];
  readonly max_new_tokens: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly seed: number;
  readonly chat: boolean;
  readonly task?: string;
  readonly answer?: string;
  readonly preset?: string;
  readonly id?: string;
  readonly visitor?: string;
  readonly stop?: readonly string[];
  readonly prompt_ids: readonly number[];
  /** token ids that the response begins with */
  readonly forced: readonly number[];
}

/** What is to be mined: POST /lab/mine, /lab/mine/kept (`app.miningjob` checks it). */
export interface MineRequest {
  readonly key: string;
  readonly models: string;
  readonly task: string;
  readonly source: "heldout" | "train" | "prompt";
  readonly n: number;
  readonly naive: boolean;
  readonly prompt?: string;
}

/** A knob with the control it needs. */
export interface PageKnob extends Knob {
  readonly kind: "choice" | "switch" | "text" | "number";
  /** a number without decimals */
  readonly whole: boolean;
  /** where the default comes from, in words */
  readonly origin_text: string;
}

/** A card of the catalogue. */
export interface PageCard extends Omit<Card, "knobs"> {
  readonly knobs: readonly PageKnob[];
  /** why it cannot run with the models that are loaded; empty when it can, or nobody knows yet */
  readonly unavailable: string;
  /** how it runs otherwise with the models that are loaded, in sentences */
  readonly here: string;
}

/** Sampling of a case; what is left out has its default. */
export interface PresetSampling {
  readonly temperature?: number;
  readonly top_k?: number;
  readonly top_p?: number;
}

/** A case; names of settings are those of a request. */
export interface PagePreset {
  readonly name: string;
  readonly title: string;
  readonly story: string;
  /** one sentence: what to see */
  readonly point: string;
  readonly models: string;
  readonly prompt: string;
  /** family of the prompt, empty when it is of none */
  readonly task: string;
  /** the reference answer, empty when there is none */
  readonly answer: string;
  readonly lanes: readonly LaneRequest[];
  readonly sampling: PresetSampling;
  readonly seed: number;
  readonly max_new_tokens: number;
  readonly chat: boolean;
  /** traces come with it */
  readonly recorded: boolean;
}

/** What a visitor may ask for. */
export interface PageLimits {
  readonly tokens: number;
  readonly lanes: number;
  /** bytes */
  readonly upload: number;
  /** of all runs in an upload */
  readonly nodes: number;
}

/** Several methods that are chosen at once. */
export interface Pick {
  readonly title: string;
  readonly methods: readonly string[];
}

/** A kind of problem that the embedded models know. */
export interface Kind {
  readonly task: string;
  /** one sentence */
  readonly about: string;
  /** how a prompt of this kind begins */
  readonly opening: string;
  /** and ends */
  readonly cue: string;
  /** of the models that know it */
  readonly family: "decoder-only" | "encoder-decoder";
  /** whether its answers are right or wrong, so that draft tokens can be told important */
  readonly judged: boolean;
  /** of its prompts, in small letters, but for what stands in quotes */
  readonly words: readonly string[];
}

/** Everything the run bar needs: GET /lab/catalogue?models=NAME. */
export interface Catalogue {
  readonly methods: readonly PageCard[];
  readonly presets: readonly PagePreset[];
  readonly models: readonly string[];
  /** of the models; a pair that is not loaded may not be known yet */
  readonly families: Readonly<Record<string, "decoder-only" | "encoder-decoder">>;
  readonly picks: readonly Pick[];
  readonly kinds: readonly Kind[];
  /** those of the models that know these kinds of problem, and little else */
  readonly taught: readonly string[];
  /** the preset that the page opens with, empty when there is none */
  readonly first: string;
  readonly limits: PageLimits;
  /** where several answers to one prompt are drawn, until another is asked for */
  readonly trajectory_temperature: number;
  /** what the numbers are called elsewhere */
  readonly names: readonly Told[];
  /** why visitors cannot load models of their own here; empty where they can */
  readonly closed: string;
}

/** A fresh problem that no model was trained on: GET /lab/problem?task=&seed=. */
export interface Problem {
  readonly task: string;
  readonly seed: number;
  readonly prompt: string;
  /** the reference; empty where answers are run, not compared */
  readonly answer: string;
}

/** A part in a menu of the composer. */
export interface Entry {
  readonly name: string;
  /** what composed methods call it */
  readonly title: string;
  /** why it does not fit beside the other two; empty when it does */
  readonly against: string;
}

/** All parts. */
export interface Menus {
  readonly drafter: readonly Entry[];
  readonly shape: readonly Entry[];
  readonly rule: readonly Entry[];
}

/** What three parts give: GET /lab/compose?drafter=&shape=&rule=&models=. */
export interface Composed {
  readonly menus: Menus;
  /** what they are called together */
  readonly title: string;
  /** why they do not fit; empty when they do */
  readonly reason: string;
  readonly card: PageCard | null;
}

/** A model or head that is being fetched or read, the `step`-th `of` so many; sizes in bytes, null where unknown. */
export interface BeingLoaded {
  /** role and name */
  readonly what: string;
  readonly step: number;
  readonly of: number;
  readonly size: number | null;
  /** bytes of those before it */
  readonly done: number;
  /** bytes of it so far */
  readonly read: number;
  /** Loading | Downloading */
  readonly doing: string;
  /** since it began */
  readonly seconds: number;
}

/** GET /lab/loading: what the server is loading, null while it loads nothing. */
export interface LoadingNow {
  readonly loading: BeingLoaded | null;
}

/** A whole run, each candidate and token with its sentence. */
export interface Lane {
  readonly key: string;
  readonly card: Card;
  readonly events: readonly Event[];
  /** of several that were opened, the one that it comes from */
  readonly file?: string;
}

/** The runs in a visitor's files: POST /lab/open. */
export interface Opened {
  readonly lanes: readonly Lane[];
  readonly compared: Compared;
}

/** The recorded runs of a preset: GET /lab/trace?name=NAME. */
export interface Recorded {
  readonly recorded: string;
  readonly lanes: readonly Lane[];
  readonly compared: Compared;
}

/** A lane whose run begins, and what its head is going to tell of it. */
export interface StartedLane {
  readonly key: string;
  readonly card: Card;
  readonly knobs: Readonly<Record<string, KnobValue>>;
  readonly extras: HeadExtras;
}

/** Where a run waits: place 1 is next; `seconds` until its turn are an estimate, null while the one before it takes longer than all that have ended. */
export interface InLine {
  readonly place: number;
  readonly seconds: number | null;
}

/** A message of a running comparison; `seq` counts the events before it, so that a page notices what it missed. */
export interface RunMessage {
  readonly id: string;
  readonly seq: number;
  readonly phase?: "queued" | "loading";
  /** where it waits */
  readonly line?: InLine;
  readonly lanes?: readonly StartedLane[];
  readonly methods?: readonly PageCard[];
  readonly ev?: readonly (readonly [string, Event])[];
  /** what went wrong */
  readonly notice?: string;
  readonly done?: boolean;
  /** with the last message, once all lanes have ended */
  readonly compared?: Compared | null;
}

/** A line about repetitions. */
export interface RepeatMessage {
  readonly kind: "queued" | "running" | "repeated" | "error";
  readonly n?: number;
  /** the repetition, from 0, that is running or has ended */
  readonly run?: number;
  /** of it so far, all lanes together */
  readonly rounds?: number;
  /** where the repetition waits */
  readonly line?: InLine;
  /** with "repeated": all lanes over all repetitions so far */
  readonly lanes?: Readonly<Record<string, Repeated>>;
  readonly error?: string;
}

/** A line about a continuation: its card, then its events. */
export interface ContinueMessage {
  readonly kind: "queued" | "begin" | "events" | "error";
  readonly card?: Card;
  readonly events?: readonly Event[];
  readonly error?: string;
}

/** A recorded mined set in the list. */
export interface MinedAbout {
  readonly name: string;
  readonly task: string;
  readonly naive: boolean;
  readonly prompts: number;
  readonly command: string;
}

/** The recorded mined sets: GET /lab/mined. */
export interface MinedList {
  readonly sets: readonly MinedAbout[];
}

/** Two models, each a folder of the server or a hub id: POST /lab/preflight, /lab/load (`app.opening` checks it). */
export interface PairRequest {
  readonly target: string;
  /** empty for none */
  readonly draft: string;
  /** SOURCE:TARGET in the models' own codes, of models of several */
  readonly languages?: string;
  /** 32 hexadecimal digits, the same for all tabs of a browser */
  readonly visitor?: string;
}

/** What would become of a pair: POST /lab/preflight. */
export interface Preflown {
  /** of the pair, once it is loaded */
  readonly name: string;
  readonly found: Preflight;
}

/** A line about models that are being loaded: POST /lab/load. The pair before them stays until they are "loaded". */
export interface OpeningMessage {
  readonly kind: "waiting" | "loading" | "loaded" | "error";
  /** where they wait for the device */
  readonly line?: InLine;
  readonly loading?: BeingLoaded;
  /** the name of the pair, with "loaded" */
  readonly models?: string;
  readonly error?: string;
}

/** A place of a recorded run; `lane` counts the runs of the case, `node` is null for a token not drafted. */
export interface LearnPlace {
  readonly lane: number;
  readonly round: number;
  readonly node: number | null;
  readonly pos: number;
}

/** An answer to choose; `text` and `why` are HTML. */
export interface TaskOption {
  readonly text: string;
  readonly why: string;
  readonly right: boolean;
}

/** What a learner is asked (docs/design/0013-learn.md); `ask`, `after` and `hint` are HTML. */
export interface PageTask {
  readonly kind: "choice" | "predict" | "select" | "set";
  readonly ask: string;
  /** told once it is done */
  readonly after: string;
  readonly hint: string;
  /** of a choice */
  readonly options?: readonly TaskOption[];
  /** of a prediction */
  readonly answer?: number;
  readonly tolerance?: number;
  readonly unit?: string;
  /** of a selection or a setting */
  readonly lane?: number;
  /** of a selection */
  readonly answers?: readonly LearnPlace[];
  /** of a setting: the knob, and the state that is counted */
  readonly knob?: string;
  readonly state?: string;
  readonly want?: number;
  /** value of the knob and count, rising */
  readonly counts?: readonly (readonly [number, number])[];
}

/** A step of a lesson; `text` is HTML. */
export interface PageStep {
  readonly title: string;
  readonly text: string;
  readonly case: string;
  readonly room: "compare" | "many" | "trajectories" | "judge" | "papers" | "learn";
  readonly view: "text" | "score" | "trees" | "shares";
  readonly lane: number | null;
  readonly at: LearnPlace | null;
  readonly task: PageTask | null;
}

/** A lesson; `text` is HTML, `links` are methods/NAME, cases/NAME and lessons/NAME. */
export interface PageLesson {
  readonly name: string;
  readonly title: string;
  readonly teaches: string;
  readonly text: string;
  readonly order: number;
  readonly minutes: number;
  readonly links: readonly string[];
  readonly cases: readonly string[];
  readonly steps: readonly PageStep[];
}

/** All lessons in order: GET /lab/lessons. */
export interface Lessons {
  readonly lessons: readonly PageLesson[];
}

/** A symbol of a formula as MathML, and the recorded field that gives its value for a selected token. */
export interface WordSymbol {
  readonly symbol: string;
  readonly field: string;
}

/** Where to read on: the anchor of another word or methods/NAME, and what it is called. */
export interface WordLink {
  readonly name: string;
  readonly title: string;
}

/** A word of the glossary; `text` is HTML, `formula` MathML or empty. */
export interface Word {
  readonly term: string;
  readonly anchor: string;
  readonly text: string;
  readonly formula: string;
  readonly symbols: readonly WordSymbol[];
  readonly see: readonly WordLink[];
  /** numbers of a run that it explains */
  readonly names: readonly string[];
}

/** The words of the page in alphabetical order: GET /lab/glossary. */
export interface Glossary {
  readonly words: readonly Word[];
}

/** A page in the list. */
export interface PageTitle {
  readonly name: string;
  readonly title: string;
}

/** The pages of docs/methods: GET /lab/pages. */
export interface PageIndex {
  readonly pages: readonly PageTitle[];
}

/** A page of docs/methods: GET /lab/page?name=NAME. */
export interface DocPage {
  readonly name: string;
  readonly title: string;
  readonly html: string;
}

/** A run in small: `spans` are origin and number of tokens in order. */
export interface GalleryLane {
  readonly title: string;
  readonly spans: readonly (readonly [string, number])[];
  readonly calls: number;
  /** of a text that is written in place */
  readonly iterations: number;
  readonly tokens: number;
}

/** A recorded case at a glance. */
export interface GalleryCase {
  readonly name: string;
  readonly title: string;
  readonly point: string;
  readonly group: string;
  readonly lanes: readonly GalleryLane[];
  /** what goes wrong in it */
  readonly losses: readonly string[];
  /** of the stage */
  readonly view: "text" | "score" | "trees" | "shares";
  /** shown in the score beside the usual ones, empty where none is */
  readonly track: string;
  /** the token that it is about */
  readonly at: LearnPlace | null;
}

/** All recorded cases: GET /lab/gallery. */
export interface Gallery {
  readonly cases: readonly GalleryCase[];
}

/** One thing that speaks for a pair or against it, or that should be known of it. */
export interface Finding {
  /** target | draft | tokenizers | memory */
  readonly about: string;
  readonly verdict: "good" | "note" | "against";
  readonly words: string;
}

/** A model as its configuration and its list of files tell. */
export interface Side {
  readonly role: string;
  readonly id: string;
  /** of architecture, as transformers calls it */
  readonly type: string;
  readonly parameters: number;
  readonly layers: number;
  readonly width: number;
  readonly vocab: number;
  /** positions */
  readonly context: number;
  readonly dtype: string;
  /** whether the engine's own forward runs it */
  readonly lean: boolean;
  /** bytes of memory */
  readonly weights: number;
  /** bytes that are still to be fetched */
  readonly download: number;
}

/** A method, with why it could not run on this pair (else nothing), and what is otherwise there (else nothing). */
export interface Offered {
  readonly name: string;
  readonly title: string;
  readonly against: string;
  readonly here: string;
}

/** All that is known of a pair before its weights are read. It `fits` where nothing speaks against it; a trial when it is loaded has the last word. */
export interface Preflight {
  readonly fits: boolean;
  readonly models: readonly Side[];
  readonly findings: readonly Finding[];
  /** bytes of memory: weights, and keys and values of a text */
  readonly needed: number;
  /** bytes of memory now */
  readonly available: number;
  /** bytes */
  readonly download: number;
  /** none where a model does not fit */
  readonly methods: readonly Offered[];
  /** codes of the target, where it reads and writes several */
  readonly languages: readonly string[];
}
