// What carries meaning, and the edge of what can be typed in, stands out from its ground by 3 to 1 (WCAG 1.4.11).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../app/static/", import.meta.url);
const read = (name) => readFileSync(new URL(name, STATIC), "utf8");

/** The colours of both themes by name. */
const themes = read("tokens.css")
  .split(".dark {")
  .map((part) => new Map([...part.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, colour]) => [name, colour])));

/** WCAG's relative luminance. @param {string} colour */
function luminance(colour) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} a @param {string} b */
function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

test("black on white is 21 to 1", () => assert.equal(Math.round(contrast("#000000", "#ffffff")), 21));

for (const [i, theme] of ["light", "dark"].entries())
  test(`signs and the edges of fields are seen in the ${theme} theme`, () => {
    for (const name of ["draft", "draft-2", "target", "target-2", "judge", "neutral", "overlap", "edge"]) {
      const got = contrast(themes[i].get(name), themes[i].get("panel"));
      assert.ok(got >= 3, `--${name} on --panel: ${got.toFixed(2)}`);
    }
    const accept = contrast(themes[i].get("panel"), themes[i].get("draft")); // the draw's words
    assert.ok(accept >= 4.5, `words on --draft: ${accept.toFixed(2)}`);
  });

test("fields have that edge", () => {
  const [, rule] = read("lab.css").match(/\[type="range"\]\), select, textarea\) \{([^}]*)\}/) ?? [];
  assert.match(rule, /border: 1px solid var\(--edge\)/);
});
