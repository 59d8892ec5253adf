import assert from "node:assert/strict";
import { test } from "node:test";
import { presetConfig, readConfig, writeConfig } from "../../app/static/config.js";
import { answerOf } from "../../app/static/run/answer.js";
import { isOutside } from "../../app/static/run/intro.js";
import { traceText } from "../../app/static/save.js";
import { card } from "./runs.js";

test("right and wrong are told with both answers; nothing is told where nothing was checked", () => {
  assert.equal(answerOf(null), null);
  assert.equal(answerOf({ reason: "eos" }), null);
  const told = (right, answer) => answerOf({ checked: { right, answer, reference: "38" } });
  assert.deepEqual(told(true, "38"), { right: true, sign: "✓", words: "✓ answer 38: right" });
  assert.equal(told(false, "12").words, "✗ answer 12: wrong, it is 38");
  assert.equal(told(false, null).words, "✗ no answer found: wrong, it is 38");
});

test("what the server added to an end stays out of a saved trace", () => {
  const end = { kind: "end", reason: "eos", text: "", checked: { right: true, answer: "1", reference: "1" } };
  assert.deepEqual(JSON.parse(traceText({ head: null, rounds: [], end })), { kind: "end", reason: "eos", text: "" });
});

test("a prompt is outside only for models of few kinds, where it opens or ends otherwise or has other words", () => {
  const catalogue = {
    taught: ["tiny", "cross"],
    families: { tiny: "decoder-only", cross: "encoder-decoder" },
    kinds: [
      { opening: "Question: ", cue: "Answer:", family: "decoder-only", words: ["question", "answer", "plus"] },
      { opening: "Translate:", cue: "", family: "encoder-decoder", words: ["translate", "once"] },
    ],
  };
  const outside = (models, prompt) => isOutside(catalogue, { models, prompt });
  assert.equal(outside("tiny", "Question: 1 + 1?\nAnswer:\n"), false);
  assert.equal(outside("tiny", "Question: 1 + 1?"), true);
  assert.equal(outside("tiny", "Question: 1 PLUS 1?\nAnswer:"), false);
  assert.equal(outside("tiny", "Question: 1 and 1?\nAnswer:"), true, "a word that no prompt of the kind has");
  assert.equal(outside("tiny", "Question: 'and' plus \"x\"?\nAnswer:"), false, "but for what is quoted");
  assert.equal(outside("tiny", "Once upon a time Answer:"), true);
  assert.equal(outside("tiny", "  "), false);
  assert.equal(outside("large", "Once"), false);
  assert.equal(outside("cross", "Translate: Once."), false);
  assert.equal(outside("cross", "Question: 1 + 1?\nAnswer:\n"), true);
});

test("a link keeps task and reference answer, so that whoever opens it is told right from wrong too", () => {
  const preset = {
    name: "p",
    models: "tiny",
    prompt: "x",
    seed: 0,
    chat: false,
    max_new_tokens: 8,
    lanes: [],
    sampling: {},
  };
  const config = presetConfig({ ...preset, task: "arithmetic", answer: "38" });
  const lanes = [{ method: "chain", knobs: {} }];
  const query = new URLSearchParams(writeConfig({ ...config, lanes }));
  const again = readConfig(query, [card("chain")]);
  assert.deepEqual([again.task, again.answer], ["arithmetic", "38"]);
  assert.equal("task" in presetConfig({ ...preset, task: "", answer: "" }), false);
});
