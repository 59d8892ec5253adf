// Words that lead to the glossary: each is in it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { signName, signText } from "../../app/static/chips.js";
import { SIGNS } from "../../app/static/draw.js";
import { ANCHORS, STATES } from "../../app/static/words.js";

const root = new URL("../../", import.meta.url);
const terms = [...readFileSync(new URL("presets/lessons/glossary.toml", root), "utf8").matchAll(/^term = "(.+)"$/gm)];
const known = new Set(
  terms.map(([, term]) =>
    term
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  ),
);

test("every linked word has an entry, and every entry on the list is linked from somewhere", () => {
  assert.ok(known.size > 60);
  for (const anchor of ANCHORS) assert.ok(known.has(anchor), anchor);
  const sources = readdirSync(new URL("app/static/", root), { recursive: true })
    .filter((file) => file.endsWith(".js") && !file.startsWith("vendor") && file !== "words.js")
    .map((file) => readFileSync(new URL(`app/static/${file}`, root), "utf8"))
    .join("\n");
  const linked = new Set(Object.values(STATES));
  for (const anchor of ANCHORS) assert.ok(linked.has(anchor) || sources.includes(`"${anchor}"`), anchor);
});

test("every state of a draft token and origin of a token has a word", () => {
  for (const state of ["accepted", "relaxed", "rejected", "vetoed", "discarded", "correction", "bonus", "target"])
    assert.ok(ANCHORS.includes(STATES[state]), state);
});

test("a discarded token is called so, and not untested: those of a block were tested", () => {
  assert.equal(SIGNS.discarded.label, STATES.discarded);
  for (const said of [signName("discarded"), signText("discarded")]) assert.match(said, /^discarded/);
});
