import assert from "node:assert/strict";
import { test } from "node:test";
import { composedCards, composer } from "../../app/static/run/composer.js";
import { page } from "./page.js";

test("the card of a composed method is that on the models that are chosen", async () => {
  const asked = [];
  const session = { config: { models: "tiny" } };
  const get = async (path, query) => {
    asked.push([path, query]);
    return { card: { name: "a+b+c", title: `on ${query.models}` } };
  };
  const cards = composedCards({ api: { get }, session });
  assert.equal(await cards.learn(["a+b+c", "plain", "a+b+c"]), true);
  assert.equal(await cards.learn(["a+b+c"]), false);
  const titles = () => cards.of(["a+b+c"]).map(({ title }) => title);
  assert.deepEqual(titles(), ["on tiny"]);
  session.config = { models: "second" };
  assert.deepEqual(titles(), []);
  assert.equal(await cards.learn(["a+b+c"]), true);
  assert.deepEqual(titles(), ["on second"]);
  assert.deepEqual(
    asked.map(([, { models }]) => models),
    ["tiny", "second"],
  );
});

test("parts that do not fit are called by their titles, with the reason", async () => {
  const reason = "Drafter 'Prompt lookup' cannot fill shape 'Dynamic tree'.";
  const title = "Prompt lookup + dynamic tree + exact rule";
  const get = async (_path, { drafter }) => (drafter === "pld" ? { card: null, title, reason } : { card: {}, title });
  const cards = composedCards({ api: { get }, session: { config: { models: "tiny" } } });
  assert.equal(cards.misfit("pld+dynamic_tree+exact"), undefined);
  await cards.learn(["pld+dynamic_tree+exact", "a+b+c"]);
  assert.deepEqual(cards.misfit("pld+dynamic_tree+exact"), { title, guarantee: "", unavailable: reason });
  assert.deepEqual([cards.of(["pld+dynamic_tree+exact"]), cards.misfit("a+b+c")], [[], undefined]);
});

test("a card that did not come is asked for again; one that is refused is not, and it is told why", async () => {
  const answers = [null, { card: { name: "a+b+c" } }, { card: null }];
  const get = async (_path, { drafter }) => {
    if (drafter === "x") throw new Error("Unknown drafter 'x'.", { cause: 400 });
    return answers.shift() ?? Promise.reject(new Error("away"));
  };
  const told = [];
  const ui = { notify: (text) => told.push(text) };
  const cards = composedCards({ api: { get }, session: { config: { models: "tiny" } }, ui });
  await cards.learn(["a+b+c"]);
  assert.deepEqual(cards.of(["a+b+c"]), []);
  assert.equal(await cards.learn(["a+b+c"]), true);
  assert.equal(cards.of(["a+b+c"]).length, 1);
  assert.deepEqual(told, []);
  for (const name of ["d+e+f", "x+b+c"]) {
    assert.equal(await cards.learn([name]), true);
    assert.equal(await cards.learn([name]), false);
  }
  assert.deepEqual(told, ["Unknown drafter 'x'."]);
});

/** The form, with what it asked for and what it added; `answers` are given by hand. */
function form() {
  page();
  const asked = [];
  const added = [];
  const session = { config: { models: "tiny" } };
  const get = (_path, query) => new Promise((give, fail) => asked.push({ query, give, fail }));
  const { element, update } = composer({ api: { get }, session }, ({ name }) => added.push(name));
  const named = (name) => element.all().find((one) => one.attrs["aria-label"] === name || one.name === name);
  const menu = named("Drafter: who drafts");
  const said = () => element.all().find((one) => one.attrs.class === "composesaid").textContent;
  const button = named("button");
  const tell = (spot, topic, event = {}) => spot.heard[topic].map((hear) => hear(event));
  globalThis.HTMLSelectElement = Object;
  return {
    ...{ asked, added, session, said, button, update },
    open() {
      element.open = true;
      tell(element, "toggle");
    },
    choose: (value) => tell(menu, "change", { target: { value } }),
    press: () => button.disabled || tell(button, "click"),
  };
}
const MENUS = { drafter: [], shape: [], rule: [] };
const fitting = (name) => ({ menus: MENUS, reason: "", card: { name, guarantee: "lossless", unavailable: "" } });
const settled = () => new Promise((done) => setImmediate(done));

test("what is added is what the menus say, also where the answer is late or does not come", async () => {
  const { asked, added, said, open, choose, press } = form();
  open();
  asked[0].give(fitting("model+chain+exact"));
  await settled();
  choose("mtp");
  press();
  asked[1].fail(new Error("away"));
  await settled();
  press();
  assert.deepEqual([added, said()], [[], "away"]);
  choose("eagle3");
  choose("lookup");
  asked[3].give(fitting("lookup+chain+exact"));
  asked[2].fail(new Error("too late"));
  await settled();
  press();
  assert.match(said(), /^Lossless/);
  assert.deepEqual(added, ["lookup+chain+exact"]);
});

test("what fits is asked for again on other models, and where the answer did not come", async () => {
  const { asked, session, button, open, update } = form();
  update(false);
  assert.equal(asked.length, 0, "while it is closed nothing is");
  open();
  asked[0].fail(new Error("away"));
  await settled();
  update(false);
  asked[1].give(fitting("model+chain+exact"));
  await settled();
  update(false);
  assert.equal(asked.length, 2);
  session.config = { models: "second" };
  update(false);
  assert.equal(button.disabled, true);
  assert.deepEqual(
    asked.map(({ query }) => query.models),
    ["tiny", "tiny", "second"],
  );
  asked[2].fail(new Error("No such part.", { cause: 400 }));
  await settled();
  update(false);
  assert.equal(asked.length, 3, "one that was refused is not");
});
