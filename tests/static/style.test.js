// What every module of the page keeps to, beyond what Biome and tsc check.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../app/static", import.meta.url));
const MODULES = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".js") && !path.startsWith("vendor"))
  .map((path) => ({ path, lines: readFileSync(join(ROOT, path), "utf8").split("\n") }));
const SHEETS = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".css") && !path.startsWith("vendor"))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
const CONFIG = JSON.parse(readFileSync(fileURLToPath(new URL("../../tsconfig.json", import.meta.url)), "utf8"));

test("the modules are found", () => {
  assert.ok(MODULES.length > 100 && MODULES.some(({ path }) => path === join("stage", "score.js")));
});

test("every module begins with @ts-check, and tsc checks them all", () => {
  const without = MODULES.filter(({ lines }) => lines[0] !== "// @ts-check").map(({ path }) => path);
  assert.deepEqual(without, []);
  assert.equal(CONFIG.compilerOptions.checkJs, true);
  assert.deepEqual(CONFIG.exclude, ["app/static/vendor"]);
});

test("no module switches the type checker off for a line or a file", () => {
  const off = /@ts-(ignore|expect-error|nocheck)/;
  assert.deepEqual(
    MODULES.filter(({ lines }) => lines.some((line) => off.test(line))).map(({ path }) => path),
    [],
  );
});

test("no line is longer than 120 columns", () => {
  const long = MODULES.flatMap(({ path, lines }) =>
    lines.flatMap((line, i) => (line.length > 120 ? [`${path}:${i + 1}`] : [])),
  );
  assert.deepEqual(long, []);
});

test("text-decoration names a line alone: Safari drops the whole declaration when it names more", () => {
  const more = SHEETS.flatMap(({ path, text }) =>
    [...text.matchAll(/text-decoration:\s*([^;}]+)/g)].flatMap(([, value]) =>
      /^(none|underline|line-through)$/.test(value) ? [] : [`${path}: ${value}`],
    ),
  );
  assert.ok(SHEETS.length > 5);
  assert.deepEqual(more, []);
});
