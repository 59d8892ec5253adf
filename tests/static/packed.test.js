import assert from "node:assert/strict";
import { test } from "node:test";
import { createApi } from "../../app/static/api.js";
import { embed, embedIn, embedPairs, PARTS } from "../../app/static/embed.js";
import { base, carries, fetchFrom, NEEDS } from "../../app/static/packed.js";
import { ROOMS, roomIn, roomOf, roomsHere } from "../../app/static/rooms/rooms.js";
import { createStore } from "../../app/static/store.js";

const ANSWERS = { catalogue: '{"a":1}', "trace?name=x": '{"b":2}', "trace?name=big": { file: "answers/1.json" } };

function packedApi() {
  globalThis.draftscopeAnswers = ANSWERS;
  const files = [];
  const fetchFile = async (file) => {
    files.push(file);
    return new Response('{"c":3}');
  };
  return { files, api: createApi(base("file:///page.html"), fetchFrom(ANSWERS, fetchFile)) };
}

test("a page that carries answers gives them, and fetches those that lie beside it", async () => {
  const { api, files } = packedApi();
  assert.deepEqual(await api.get("catalogue"), { a: 1 });
  assert.deepEqual(await api.get("trace", { name: "x" }), { b: 2 });
  assert.deepEqual([await api.get("trace", { name: "big" }), files], [{ c: 3 }, ["answers/1.json"]]);
});

test("what it does not carry, and whatever is sent, needs the lab", async () => {
  const { api } = packedApi();
  for (const ask of [() => api.get("trace", { name: "y" }), () => api.post("catalogue", {})])
    await assert.rejects(ask, { message: NEEDS });
});

test("a page has the rooms that its answers can fill", () => {
  packedApi();
  const ids = () => roomsHere().map(({ id }) => id);
  assert.deepEqual([carries("catalogue"), carries("papers"), carries("toString")], [true, false, false]);
  assert.deepEqual(ids(), ["compare", "judge", "learn"]);
  assert.deepEqual([roomIn(new URLSearchParams("room=papers")), roomOf("trees")], ["compare", null]);
  globalThis.draftscopeAnswers = { ...ANSWERS, papers: "{}" };
  assert.deepEqual(ids(), ["compare", "judge", "papers", "learn"]);
  delete globalThis.draftscopeAnswers;
  assert.deepEqual(roomsHere(), ROOMS);
  assert.equal(roomIn(new URLSearchParams("room=papers")), "papers");
});

test("with a server behind it, addresses are beside the page", () => {
  delete globalThis.draftscopeAnswers;
  assert.equal(base("http://here/space/?a=1").href, "http://here/space/lab/");
});

test("an address leaves out parts, or keeps some of them", () => {
  const asked = (query) => embedIn(new URLSearchParams(query));
  assert.deepEqual(asked(""), { gone: [], views: [] });
  assert.deepEqual(asked("chrome=none").gone, Object.keys(PARTS));
  assert.deepEqual(
    Object.keys(PARTS).filter((name) => !asked("chrome=verdict~time").gone.includes(name)),
    ["verdict", "time"],
  );
  assert.deepEqual(asked("views=score~nothing~trees").views, ["score", "trees"]);
});

test("an embedded page stays in the views that its address offers", () => {
  const store = createStore();
  const element = { querySelectorAll: () => [], querySelector: () => null };
  embed(element, store, new URLSearchParams("views=score~trees"));
  assert.equal(store.options.stage, "score");
  store.setOption("stage", "trees");
  store.setOption("stage", "text"); // key 1
  assert.equal(store.options.stage, "trees");
});

test("links keep what is embedded", () => {
  assert.deepEqual(embedPairs(new URLSearchParams("a=1&chrome=none&views=score")), [
    ["views", "score"],
    ["chrome", "none"],
  ]);
});
