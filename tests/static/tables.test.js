import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf } from "../../app/static/columns.js";
import { csv, tableText } from "../../app/static/save.js";
import { tables } from "../../app/static/tables.js";
import { recordedStore } from "./storeofcase.js";

for (const [name, method] of [
  ["sampled", "sd"],
  ["drawn_guesses", "stand"],
])
  test(`every row of a table of ${name} says which of two lanes of one method it is of`, () => {
    const store = recordedStore(name);
    const known = new Map([...store.runs.values()].map((run) => [run.key, nameOf(store, run)]));
    assert.equal([...known.keys()].filter((key) => key.startsWith(method)).length, 2);
    for (const table of Object.keys(tables)) {
      const records = JSON.parse(tableText(store, table, "json"));
      const of = (key) => records.filter((one) => one.lane === key);
      const lanes = new Set(records.map((one) => one.lane));
      assert.ok(lanes.has(method) && lanes.has(`${method}.2`), table);
      for (const one of records) assert.equal(one.label, known.get(one.lane), table);
      assert.equal(of(method)[0].method, of(`${method}.2`)[0].method);
      const [head, first] = tableText(store, table, "csv").split("\r\n");
      assert.deepEqual(head.split(",").slice(0, 4), ["lane", "label", "method", table === "tokens" ? "pos" : "round"]);
      assert.ok(first.startsWith(`${records[0].lane},`), table);
      assert.equal(new Set(known.values()).size, known.size);
    }
  });

test("extras of rounds are columns of their own, as in engine.analysis.tables", () => {
  const store = recordedStore("first_look");
  const records = JSON.parse(tableText(store, "rounds", "json"));
  const rounds = [...store.runs.values()].flatMap((run) => run.rounds);
  assert.equal(records.length, rounds.length);
  const names = new Set(rounds.flatMap((round) => Object.keys(round.extras)));
  assert.ok(names.has("k"));
  for (const [i, { extras }] of rounds.entries())
    for (const name of names) assert.deepEqual(records[i][`x_${name}`], extras[name] ?? null);
  assert.ok(tableText(store, "rounds", "csv").split("\r\n")[0].includes("other_ms,x_"));
  assert.ok(!("extras" in records[0]));
});

test("cells of what is not known are empty, numbers stay numbers, and what is more than a word is JSON", () => {
  assert.equal(
    csv(
      ["a", "b"],
      [
        [null, undefined],
        [-1, "-x"],
        [[1, 2], 'a "b"'],
      ],
    ),
    'a,b\r\n,\r\n-1,\'-x\r\n"[1,2]","a ""b"""\r\n',
  );
});
