import assert from "node:assert/strict";
import { test } from "node:test";
import { presetConfig, readConfig, writeConfig } from "../../app/static/config.js";
import { answerOf } from "../../app/static/run/answer.js";
import { introduction, isOutside } from "../../app/static/run/intro.js";
import { traceText } from "../../app/static/save.js";
import { page } from "./page.js";
import { card } from "./runs.js";

test("right and wrong are told with both answers; nothing is told where nothing was checked", () => {
  assert.equal(answerOf(null), null);
  assert.equal(answerOf({ reason: "eos" }), null);
  const told = (right, answer) => answerOf({ checked: { right, answer, reference: "38" } });
  const words = "✓ answer 38: right";
  assert.deepEqual(told(true, "38"), { right: true, sign: "✓", words, whole: words });
  assert.equal(told(false, "12").words, "✗ answer 12: wrong, it is 38");
  assert.equal(told(false, null).words, "✗ no answer found: wrong, it is 38");
});

test("of two long answers the words that differ are told, and the whole beside", () => {
  const told = (answer, reference, right = false) => answerOf({ checked: { right, answer, reference } });
  const told1 = told(
    "Der Arzt verkauft heute das Auto in der Stadt.",
    "Der Arzt verkauft heute das Bett in der Stadt.",
  );
  assert.equal(told1.words, "✗ 1 of 9 words differs: Auto → Bett");
  assert.equal(
    told1.whole,
    "✗ answer Der Arzt verkauft heute das Auto in der Stadt.: wrong, it is Der Arzt verkauft heute das Bett in der Stadt.",
  );
  assert.equal(told("a b c d e", "a b x y z e").words, "✗ 3 of 6 words differ: c d → x y z");
  assert.equal(told("a b c d e f", "b c d e f").words, "✗ 1 of 6 words differs: a → –");
  assert.equal(told("a b c d e f g", "a 1 c 2 e 3 g").words, "✗ 3 of 7 words differ: b → 1, d → 2, …");
  assert.equal(told("1 2 3 4 5 6 x", "y y y y y y x").words, "✗ 6 of 7 words differ: 1 2 3 4 … → y y y y …");
  assert.equal(told("a b c d e", "a b c d e", true).words, "✓ right: all 5 words");
  assert.equal(told("a b c d e", "a b c d f", true).words, "✓ right, though 1 of 5 words differs: e → f");
  assert.equal(told("a b c d", "a b c e f").words, "✗ answer a b c d: wrong, it is a b c e f", "one is short");
  assert.equal(told(null, "a b c d e").words, "✗ no answer found: wrong, it is a b c d e");
  const long = Array.from({ length: 600 }, (_, i) => `w${i}`);
  const other = long.map((word) => `${word}'`);
  assert.match(told(long.join(" "), other.join(" ")).words, /^✗ 600 of 600 words differ: w0 w1 w2 w3 … → w0' /);
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

test("a fresh problem takes the place of what stood there, not of what was typed or chosen before it came", async () => {
  page();
  const kinds = ["sums", "words"].map((task) => ({ task, about: "", family: "own", words: [], opening: "", cue: "" }));
  const catalogue = { taught: ["tiny", "other"], kinds, families: { tiny: "own", other: "own" } };
  const session = { catalogue, config: { models: "tiny", prompt: "" } };
  const set = (partial) => (session.config = { ...session.config, ...partial });
  const asked = [];
  const get = (_path, { task }) => new Promise((give) => asked.push(() => give({ prompt: task, answer: "4", task })));
  const intro = introduction({ api: { get }, session, ui: {} }, set);
  intro.show();
  const [sums, words] = intro.element.all().filter(({ name }) => name === "button");
  const press = (button) => button.heard.click.map((hear) => hear());
  const come = async (...which) => {
    for (const at of which) {
      asked[at]();
      await new Promise((done) => setImmediate(done));
    }
    asked.splice(0);
    return session.config.prompt;
  };
  press(sums);
  set({ seed: 3 });
  assert.equal(await come(0), "sums");
  press(words);
  set({ prompt: "mine" });
  assert.equal(await come(0), "mine");
  press(words);
  set({ models: "other" });
  assert.equal(await come(0), "mine");
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    press(words);
    press(sums);
    assert.equal(await come(...order), "sums", "the last that was pressed");
    set({ prompt: "mine" });
  }
  assert.deepEqual([session.config.task, session.config.answer, session.config.seed], ["sums", "4", 3]);
});
