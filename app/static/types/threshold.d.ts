// The JSON form of engine/threshold/declare.py, by hand: its tags are not the fields of the dataclasses.

/** One of several parts, chosen by the value of a knob. */
export interface Switch<T> {
  readonly switch: string;
  readonly cases: readonly (readonly [boolean | number | string, T])[];
  readonly otherwise: T;
}
/** The value of a knob. */
export interface Setting {
  readonly knob: string;
}
/** A number of the tested node: what its reason says under this name, else the node's own field ("" where it has none). */
export interface Recorded {
  readonly number: string;
  readonly field: string | Switch<string>;
  readonly at: Expression | null;
}
export interface Op {
  readonly op: "add" | "sub" | "mul" | "min" | "max" | "exp" | "known" | "given";
  readonly of: readonly Expression[];
}
export type Expression = number | Setting | Recorded | Op | Switch<Expression>;

export interface Compare {
  readonly compare: "<" | "<=" | ">" | ">=";
  readonly left: Expression;
  readonly right: Expression;
  readonly tolerance: number;
}
export interface Absent {
  readonly absent: Recorded;
}
export interface All {
  readonly all: readonly Condition[];
}
export interface Any {
  readonly any: readonly Condition[];
}
export type Condition = Compare | Absent | All | Any | Switch<Condition>;
export type Bars = "proposed" | "first";

/** A rule's condition and what follows where it holds. */
export interface Threshold {
  readonly effect: "veto" | "override" | "decide";
  readonly condition: Condition;
  readonly says: string;
  readonly exact: Condition;
  readonly bars: Bars | Switch<Bars>;
  readonly sampled_only: boolean;
  readonly longest: boolean;
  readonly limits: readonly (readonly [string, string])[];
}
