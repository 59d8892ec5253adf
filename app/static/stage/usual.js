// @ts-check
// The tracks of a band before anybody chooses; apart, so that the store needs no drawing code.

export const USUAL = ["spans", "iterations", "entropy", "overlap", "keep", "steps", "tree", "tcr", "importance"];
