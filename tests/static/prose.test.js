import assert from "node:assert/strict";
import { test } from "node:test";
import { found, numbersOf } from "../../app/static/learn/glossary.js";
import { placeIn, placePairs } from "../../app/static/learn/places.js";
import { adopt, attributeOf, fateOf } from "../../app/static/learn/prose.js";
import { recordedRun } from "./recorded.js";

const HTML = "http://www.w3.org/1999/xhtml";
const MATH = "http://www.w3.org/1998/Math/MathML";
const SVG = "http://www.w3.org/2000/svg";

/** As much of a document as `adopt` needs. */
const text = (value) => ({ nodeType: 3, nodeValue: value, childNodes: [] });
function element(localName, attributes = {}, children = [], namespaceURI = HTML) {
  const own = Object.entries(attributes).map(([name, value]) => ({ name, value }));
  return {
    nodeType: 1,
    namespaceURI,
    localName,
    attributes: own,
    childNodes: [...children],
    appendChild(child) {
      this.childNodes.push(child);
    },
    setAttribute(name, value) {
      own.push({ name, value });
    },
    getAttribute: (name) => own.findLast((one) => one.name === name)?.value ?? null,
  };
}
const PAGE = { createTextNode: text, createElementNS: (namespace, name) => element(name, {}, [], namespace) };
const markup = (node) =>
  node.nodeType === 3
    ? node.nodeValue
    : `<${node.localName}${node.attributes.map(({ name, value }) => ` ${name}=${value}`).join("")}>${node.childNodes.map(markup).join("")}`;
/** What comes over of some nodes. */
function adopted(...nodes) {
  const into = element("div");
  adopt(element("body", {}, nodes), into, PAGE);
  return into.childNodes.map(markup).join("");
}

test("texts, formulae and tables come over", () => {
  assert.equal(adopted(element("p", {}, [text("a"), element("em", {}, [text("b")])])), "<p>a<em>b");
  const math = element("math", { display: "block" }, [element("mi", {}, [text("p")], MATH)], MATH);
  assert.equal(adopted(math), "<math display=block><mi>p");
  assert.equal(adopted(element("td", { colspan: "2" })), "<td colspan=2>");
});

test("scripts, styles and frames are dropped with what is in them, other elements leave their text", () => {
  for (const name of ["script", "style", "iframe", "object", "template"])
    assert.equal(adopted(element(name, {}, [text("alert(1)")])), "", name);
  assert.equal(adopted(element("svg", {}, [element("script", {}, [text("x")], SVG)], SVG)), "");
  assert.equal(adopted(element("form", {}, [element("b", {}, [text("kept")])])), "kept");
  assert.equal(fateOf(SVG, "a"), "open");
  assert.equal(fateOf(MATH, "annotation-xml"), "open");
});

test("no attribute can act", () => {
  assert.equal(adopted(element("a", { onclick: "x()", style: "x", href: "javascript:x()" })), "<a>");
  for (const address of ["javascript:x()", " javascript:x()", "data:text/html,x", "//elsewhere", "/path", "vbscript:x"])
    assert.equal(attributeOf(HTML, "href", address), null, address);
  assert.equal(attributeOf(HTML, "href", "?room=learn#e2"), "?room=learn#e2");
  assert.equal(attributeOf(MATH, "href", "https://example.org"), null);
  assert.equal(attributeOf(HTML, "id", "stage"), "text-stage");
});

test("a link out opens beside the page", () => {
  const shown = adopted(element("a", { href: "https://example.org/" }));
  assert.equal(shown, "<a href=https://example.org/ target=_blank rel=noreferrer>");
});

test("a search finds words by name before words by text", () => {
  const word = (term, html, names = []) => ({ term, text: html, names });
  const words = [word("Bonus", "<p>after a veto</p>"), word("Veto", "<p>a rule</p>", ["vetoes"]), word("Nat", "unit")];
  assert.deepEqual(
    found(words, " VETO ").map(({ term }) => term),
    ["Veto", "Bonus"],
  );
  assert.equal(found(words, "").length, 3);
  assert.equal(found(words, "<p>").length, 0);
});

test("a place in the room is an address, and a damaged one is the first tab", () => {
  const place = { room: "learn", tab: "glossary", name: "tau", beside: "" };
  assert.deepEqual(placeIn(new URLSearchParams(placePairs(place))), { tab: "glossary", name: "tau", beside: "" });
  const damaged = new URLSearchParams({ tab: "attic", name: "../x", beside: "a~b" });
  assert.deepEqual(placeIn(damaged), { tab: "lessons", name: "", beside: "" });
  assert.deepEqual(placePairs({ room: "compare", tab: "lessons", name: "tau", beside: "entropy~2" }), [
    ["beside", "entropy~2"],
  ]);
  assert.deepEqual(placePairs({ room: "papers", tab: "lessons", name: "table-1", beside: "" }), [["name", "table-1"]]);
});

test("a word has the selected token's numbers, and no draw of a greedy run, where it decides nothing", () => {
  const word = { symbols: ["p", "q", "u"].map((field) => ({ symbol: `$${field}$`, field })) };
  for (const [name, signs] of /** @type {const} */ ([
    ["first_look-1-sd", ["$p$", "$q$"]],
    ["sampled-1-sd", ["$p$", "$q$", "$u$"]],
  ])) {
    const run = recordedRun(name);
    const told = numbersOf(word, run, run.rounds[0].nodes[0]);
    assert.deepEqual(
      told.map(([symbol]) => symbol),
      signs,
    );
  }
  const sampled = recordedRun("sampled-1-sd");
  assert.deepEqual(numbersOf(word, sampled, sampled.rounds[0].nodes[0])[2], ["$u$", "0.08"]);
  const fields = ["p", "q", "h_draft", "judge"].map((field) => ({ symbol: field, field }));
  const near = { p: 0.99999, q: 0.00001, h_draft: 1.234, judge: 0.9999 };
  assert.deepEqual(
    numbersOf({ symbols: fields }, sampled, near).map(([, told]) => told),
    [">0.999", "<0.001", "1.23", ">0.999"],
  );
});
