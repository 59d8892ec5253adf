import assert from "node:assert/strict";
import { test } from "node:test";
import { AWAY, createApi, linesOf, RENEWED } from "../../app/static/api.js";

const BASE = "http://127.0.0.1/lab/";
/** An api over answers by address; `asked` gets what was fetched. */
const over = (answer, asked = []) =>
  createApi(BASE, async (url, options) => {
    asked.push([url.href, options?.method ?? "GET", options?.body]);
    return answer;
  });

test("a query is escaped, a body is JSON unless it is a file", async () => {
  const asked = [];
  const file = new Blob(["{}"]);
  await over(Response.json({ a: 1 }), asked).get("trace", { name: "a b&c" });
  await over(Response.json({ a: 1 }), asked).get("catalogue");
  await over(Response.json({ lanes: [] }), asked).post("open", file);
  await over(Response.json({}), asked).post("pooled", { a: [1] });
  assert.deepEqual(asked, [
    [`${BASE}trace?name=a+b%26c`, "GET", undefined],
    [`${BASE}catalogue`, "GET", undefined],
    [`${BASE}open`, "POST", file],
    [`${BASE}pooled`, "POST", '{"a":[1]}'],
  ]);
});

test("the server's words are the error; without any, its status is", async () => {
  const refused = Response.json({ error: "No preset 'aple'; did you mean 'apple'?" }, { status: 404 });
  const words = { message: "No preset 'aple'; did you mean 'apple'?", cause: 404 };
  await assert.rejects(over(refused).get("trace"), words);
  await assert.rejects(over(new Response("oops", { status: 500 })).get("trace"), {
    message: "The server answered 500.",
  });
  await assert.rejects(over(new Response("<html>")).get("trace"), { message: "The server answered 200 without JSON." });
});

test("a page that was loaded before an update is told so, once for each", async () => {
  const [mine, next, later] = ["1", "2", "3"].map((one) => `e-${one.repeat(16)}`);
  const of = async (editions, own = mine) => {
    const told = [];
    const answer = (edition) => Response.json({}, { headers: { "Draftscope-Edition": edition } });
    const api = createApi(
      BASE,
      async () => (editions[0] ? answer(editions.shift()) : Response.json({})),
      (words) => told.push(words),
      own,
    );
    while (editions.length) await api.get("loading");
    return told;
  };
  assert.deepEqual(await of([mine, mine]), []);
  assert.deepEqual(await of([mine, next, next, later, later]), [RENEWED, RENEWED]);
  assert.deepEqual(await of([next, mine, next]), [RENEWED, RENEWED]);
  assert.deepEqual(await of([next], ""), []); // a page that stands alone has none
});

test("an answer that breaks off is one that did not come", async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError("network error")) });
  await assert.rejects(over(new Response(broken)).get("trace"), { message: AWAY });
});

const stream = (...parts) =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
async function all(lines) {
  const out = [];
  for await (const line of lines) out.push(line);
  return out;
}

test("lines come whole however they were cut, also inside a character", async () => {
  const bytes = new TextEncoder().encode('{"a":"ü"}\n\n{"b":2}\n{"c":');
  const cut = bytes.indexOf(0xc3) + 1;
  assert.deepEqual(await all(linesOf(stream(bytes.slice(0, cut), bytes.slice(cut)))), [{ a: "ü" }, { b: 2 }]);
});

test("lines are asked for with a body, and with what ends them", async () => {
  const { signal } = new AbortController();
  let given;
  const api = createApi(BASE, async (url, options) => {
    given = [url.href, options.method, options.body, options.signal === signal];
    return new Response('{"a":1}\n');
  });
  assert.deepEqual(await all(api.lines("repeat", { n: 2 }, signal)), [{ a: 1 }]);
  assert.deepEqual(given, [`${BASE}repeat`, "POST", '{"n":2}', true]);
  await assert.rejects(all(over(Response.json({ error: "No." }, { status: 400 })).lines("repeat", {}, signal)), {
    message: "No.",
  });
});

test("a reader who leaves ends the stream", async () => {
  let ended = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("1\n")),
    cancel: () => {
      ended = true;
    },
  });
  for await (const line of linesOf(endless)) if (line) break;
  assert.equal(ended, true);
});

test("what a server answers alike is asked for once, and again where the answer did not come", async () => {
  /** @type {string[]} */
  const asked = [];
  let away = true;
  const api = createApi("http://x/lab/", async (url) => {
    asked.push(String(url).slice("http://x/lab/".length));
    if (away) throw new TypeError("Failed to fetch");
    return Response.json({ words: [asked.length] });
  });
  await assert.rejects(api.get("glossary"), { message: AWAY });
  away = false;
  const both = await Promise.all([api.get("glossary"), api.get("glossary")]);
  assert.deepEqual(both, [{ words: [2] }, { words: [2] }]);
  assert.deepEqual(await api.get("glossary"), { words: [2] });
  await api.get("page", { name: "sd" });
  await api.get("page", { name: "pld" });
  await api.get("page", { name: "sd" });
  await api.get("gallery");
  await api.get("gallery");
  assert.deepEqual(asked, ["glossary", "glossary", "page?name=sd", "page?name=pld", "gallery", "gallery"]);
});
