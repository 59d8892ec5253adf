import assert from "node:assert/strict";
import { test } from "node:test";
import { linkWords } from "../../app/static/save.js";

/** @param {object} shown */
const words = ({ recorded = null, opened = false, lanes = ["sd"], continued = [], ran = null }) =>
  linkWords({ lanes, options: { continued }, status: { recorded, opened } }, { ran });

test("what is said of a link is what it does", () => {
  const ran = { prompt: "Once" };
  assert.match(words({ recorded: "first_look", ran }), /opens this recorded run .* No model is needed/);
  assert.match(words({ recorded: "first_look", ran, continued: [{}] }), /runs again what goes on/);
  assert.match(words({ ran }), /opening it runs them again/);
  assert.match(words({ opened: true, ran }), /opening it runs them again/, "of a file whose models are here");
  assert.match(words({ lanes: [] }), /opening it runs them again/, "what is set");
  assert.match(words({ opened: true }), /no link makes them again/);
  globalThis.draftscopeAnswers = {};
  assert.match(words({ opened: true, ran }), /opens the runs of this page .* No server is needed/);
  delete globalThis.draftscopeAnswers;
});
