// The page's modules besides the store (docs/design/0008-page.md), written by hand: the server, what is set, the page itself.

import type { Evaluations, Judged, PaperList, PaperShown, Pooled, Trajectories, Trees } from "./measured.js";
import type { Emitter, FilterSpec, Options, Place, Store, Time } from "./store.js";
import type { Message as TrajectoryMessage } from "./trajectory.js";
import type {
  Catalogue,
  Composed,
  ContinueMessage,
  DocPage,
  Gallery,
  Glossary,
  Lessons,
  LoadingNow,
  MinedList,
  Opened,
  OpeningMessage,
  PageCard,
  PageIndex,
  Preflown,
  Problem,
  Recorded,
  RepeatMessage,
  RunRequest,
} from "./wire.js";
import type { Mined, MiningMessage } from "./workshop.js";

/** What is set in the run bar: a request without its id. */
export type Config = Omit<RunRequest, "id" | "stop" | "preset"> & { readonly preset: string };

/** What the server answers at a path under /lab/. */
export interface Answers {
  catalogue: Catalogue;
  loading: LoadingNow;
  trace: Recorded;
  /** runs that a page which stands alone carries (app/export.py) */
  opened: Opened;
  compose: Composed;
  problem: Problem;
  mined: MinedList;
  lessons: Lessons;
  glossary: Glossary;
  gallery: Gallery;
  pages: PageIndex;
  page: DocPage;
  evaluations: Evaluations;
  pooled: Pooled;
  trajectories: Trajectories;
  trees: Trees;
  papers: PaperList;
  paper: PaperShown;
}
/** What it answers to a body. */
export interface PostAnswers {
  open: Opened;
  pooled: Pooled;
  judged: Judged;
  preflight: Preflown;
}

/** What it answers to a body line by line. */
export interface LineAnswers {
  continue: ContinueMessage;
  load: OpeningMessage;
  mine: MiningMessage;
  repeat: RepeatMessage;
  "trajectories/live": TrajectoryMessage;
}

/** `api.js`: the server. Every method fails with an Error whose message is for the visitor; its cause is the status of
 * an answer that says no. */
export interface Api {
  answer(path: string, options?: RequestInit): Promise<Response>;
  get<P extends keyof Answers>(path: P, query?: Readonly<Record<string, string>>): Promise<Answers[P]>;
  post<P extends keyof PostAnswers>(path: P, body: unknown): Promise<PostAnswers[P]>;
  /** A stream with one JSON value a line; `signal` ends it. */
  lines<P extends keyof LineAnswers>(
    path: P,
    body: unknown,
    signal?: AbortSignal,
  ): AsyncGenerator<LineAnswers[P], void, undefined>;
}

export interface BusTopics {
  /** which methods the models of the run that began can run */
  methods: readonly PageCard[];
  /** the lanes of a run are on the page, still empty: those of these settings, whatever was asked for since */
  begun: Config;
}
/** `bus.js`: the way to the engine. It puts what comes back into the store and repairs gaps. */
export interface Bus extends Pick<Emitter<BusTopics>, "on"> {
  readonly busy: boolean;
  /** Start a comparison; whatever ran before in this page is stopped first. The answer is the run's id. */
  start(config: Config, how?: { step?: boolean }): Promise<string>;
  /** End the run after the round in progress. */
  stop(): Promise<void>;
  /** Called by the hidden component once it is on the page. */
  attach(
    props: { value?: unknown },
    trigger: (event: string, data: unknown) => void,
    server: Readonly<Record<string, (given: unknown) => Promise<unknown>>>,
    watch: (name: string, changed: () => void) => void,
  ): void;
  receive(text: string): void;
}

/** What was or is on the stage (`stages.js`). */
export interface Stage extends Pick<Store, "runs" | "lanes" | "status"> {
  /** by which an entry of the browser's history finds it, as long as the page lives */
  readonly id: string;
  /** `Session.ran` and the settings in the run bar when it was filled */
  readonly ran: Config | null;
  readonly config: Config | null;
}

export interface SessionTopics {
  /** the catalogue has come */
  catalogue: undefined;
  /** `config` changed; `by` names who did it, so that a view need not answer itself */
  config: { readonly by: string };
  /** the catalogue's methods changed: other models, or models that are now loaded */
  methods: undefined;
  /** the stage shows other runs: `ran` has changed, and nothing is stale */
  ran: undefined;
  /** a case is fetched for the stage, or has come, or others take the stage */
  opening: undefined;
}
/** `session.js`: what is set, and what becomes of it. */
export interface Session extends Emitter<SessionTopics> {
  readonly catalogue: Catalogue | null;
  readonly config: Config | null;
  /** the settings of the runs on the stage; null where no one request makes them. A link repeats these, never `config` */
  readonly ran: Config | null;
  /** the title of the case that is fetched for the stage; empty while none is */
  readonly opening: string;
  /** how often the stage was asked for */
  readonly turns: number;
  /** whether settings were edited and have not run yet */
  readonly stale: boolean;
  /** `models`: whose methods the catalogue holds, its first where none is named */
  take(catalogue: Catalogue, config: Config | null, models?: string): void;
  takeMethods(methods: readonly PageCard[]): void;
  /** Change settings. What is shown stays what it is, a recording too, until they run. */
  configure(partial: Partial<Config>, by?: string): void;
  choosePreset(name: string, by?: string): void;
  chooseModels(models: string, by?: string): Promise<void>;
  /** Choose models that the server has just loaded, and of the methods those that run on them. */
  openedModels(models: string): Promise<void>;
  /** Show the recorded runs of a preset; no model is involved. Tells whether they are there: of a case without any the
   * settings are chosen, for one that there is not the first comes onto an empty stage, and either is told. */
  openRecorded(name: string, early?: Promise<Recorded> | null): Promise<boolean>;
  /** Show a visitor's own files. */
  openFiles(files: readonly File[]): Promise<void>;
  /** Show runs that the server has read: of files, or those that came with the page. */
  openGiven(runs: Promise<Opened>): Promise<void>;
  /** Show runs that were on the stage before. */
  reopen(stage: Stage): Promise<void>;
  /** What was asked for and has not come does not take the stage. */
  stay(): void;
  /** Run what is set; false when there is no prompt. */
  run(how?: { step?: boolean }): Promise<boolean>;
  /** One more target call of what is shown; a new run when the settings have changed since. */
  step(): Promise<boolean>;
}

export interface UiTopics {
  /** a drawer is to open */
  open: { readonly name: string; readonly rest: readonly unknown[] };
  /** the open drawer is to close */
  close: undefined;
  /** whatever is being computed is to stop */
  halt: undefined;
  /** play or pause */
  play: undefined;
  /** run what is set, or a step of it */
  begin: "run" | "step";
  /** unfold the run bar, or fold it */
  edit: undefined;
  /** so many target calls on, or back */
  step: number;
  /** so many events of a round on, or back: draft, verify, decide */
  event: 1 | -1;
  /** a step wider or narrower of the score */
  zoom: 1 | -1;
  /** mark the positions `from` to `to` of a lane for a moment; who can, calls `found` */
  flash: { readonly key: string; readonly from: number; readonly to: number; readonly found: () => void };
}
/** `ui.js`: what views ask of the page without knowing who answers. */
export interface Ui extends Emitter<UiTopics> {
  /** `passes`: it goes with the next key or touch, not only when it is dismissed */
  notify(text: string, how?: { passes?: boolean }): void;
  clearNotices(): void;
  open(name: string, ...rest: unknown[]): void;
  close(): void;
  /** view -> its SVG document, null when nothing is drawn; for Save */
  readonly figures: Map<string, () => string | null>;
}

/** What a link says of the view. */
export interface LinkView {
  readonly options: Partial<Options>;
  /** null for one that cannot be read */
  readonly filters: readonly (FilterSpec | null)[];
  readonly time: Pick<Time, "mode" | "at" | "inside"> | null;
  readonly cursor: Place | null;
}
/** `link.js`: the address bar. */
export interface Link {
  read(): { readonly trace: string | null; readonly config: Config | null; readonly view: LinkView };
  restore(view: LinkView): void;
  /** Restore once the run with these settings is on the stage. */
  restoreInRun(view: LinkView, config: Config): void;
  url(): string;
  update(): void;
}

/** The page's modules, as a view's `mount` gets them. */
export interface Lab {
  readonly api: Api;
  readonly bus: Bus;
  readonly session: Session;
  readonly ui: Ui;
  readonly link: Link;
  readonly mined: Mined;
}

/** A view: a file that exports this as `mount`. Views that work without the rest of the page take `lab` as optional. */
export type Mount = (element: HTMLElement, store: Store, lab: Lab) => void;
