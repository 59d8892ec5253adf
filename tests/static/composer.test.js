import assert from "node:assert/strict";
import { test } from "node:test";
import { composedCards } from "../../app/static/run/composer.js";

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
  assert.equal(cards.get("a+b+c").title, "on tiny");
  session.config = { models: "second" };
  assert.equal(cards.get("a+b+c"), undefined);
  assert.equal(await cards.learn(["a+b+c"]), true);
  assert.deepEqual([cards.get("a+b+c").title, cards.of(["a+b+c"])[0].title], ["on second", "on second"]);
  assert.deepEqual(
    asked.map(([, { models }]) => models),
    ["tiny", "second"],
  );
});
