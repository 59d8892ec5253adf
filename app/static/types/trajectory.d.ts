// Trajectories on show, written by hand: a recorded example, or a live job that grows, and the messages of that job.

import type { Plot, TrajectoryExample, TrajectoryHead, TrajectoryMethod, TrajectoryRow } from "./measured.js";
import type { InLine } from "./wire.js";

/** A trajectory; until it has ended it has no answer, no reason and no vote. */
export type Row = Pick<TrajectoryRow, "trajectory" | "tokens" | "rounds" | "seconds"> & {
  readonly pieces: string[];
  readonly reused: number[];
  readonly times: number[];
  readonly first: number[];
  tau?: number | null;
} & Partial<Pick<TrajectoryRow, "answer" | "right" | "reason" | "message" | "vote">>;

export interface Shown extends Omit<TrajectoryHead, "methods" | "models"> {
  readonly methods: readonly (TrajectoryMethod & { readonly rows: Row[] })[];
  figure?: Plot;
  /** being drawn now */
  live?: boolean;
  /** of a job of this page */
  readonly models?: string;
  /** of a recorded example */
  readonly command?: string;
  readonly target?: TrajectoryExample["target"];
}

/** What POST /lab/trajectories/live answers, one a line. */
export type Message =
  | { readonly kind: "queued"; readonly line?: InLine }
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly error: string }
  | ({ readonly kind: "begin" } & TrajectoryHead)
  | { readonly kind: "figure"; readonly figure: Plot }
  | ({ readonly kind: "start"; readonly key: string } & Pick<
      TrajectoryRow,
      "trajectory" | "seed" | "pieces" | "tokens" | "rounds" | "seconds"
    >)
  | ({ readonly kind: "row"; readonly key: string } & TrajectoryRow)
  | ({
      readonly kind: "round";
      readonly key: string;
      /** position from which the marks are new */
      readonly from: number;
    } & Pick<TrajectoryRow, "trajectory" | "pieces" | "reused" | "times" | "first" | "tau">);

/** What the form asks for. */
export interface Job {
  readonly models: string;
  readonly prompt: string;
  readonly lanes: readonly string[];
  readonly n: number;
  readonly temperature: number;
  readonly max_new_tokens: number;
  readonly seed: number;
}
