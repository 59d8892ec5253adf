// The names of lanes beside the timeline, in the room that there is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted } from "../../app/static/timelinepaint.js";

const cut = (names, room) => fitted(names, (text) => text.length, room);

test("names are cut at their end where they do not fit", () => {
  assert.deepEqual(cut(["Autoregressive", "SD"], 20), ["Autoregressive", "SD"]);
  assert.deepEqual(cut(["Autoregressive", "SD"], 8), ["Autoreg…", "SD"]);
});

test("lanes whose names begin alike are told apart however they are cut", () => {
  const names = [
    "Autoregressive",
    "Speculative decoding (correction residual)",
    "Speculative decoding (correction target)",
  ];
  assert.deepEqual(cut(names, 26), ["Autoregressive", "Speculative deco…residual)", "Speculative decodi…target)"]);
  const twice = ["Chain of some length", "Chain of some length"];
  assert.deepEqual(cut(twice, 8), ["Chain o…", "Chain o…"]);
  assert.deepEqual(cut(["Chain of some length", "Chain of some length (2)"], 12), ["Chain of so…", "Chain of…(2)"]);
});
