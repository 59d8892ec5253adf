// What the page decides about figures that the server built.

import assert from "node:assert/strict";
import { test } from "node:test";
import { telling, told } from "../../app/static/pooledchoice.js";
import { recoloured, shareFormat } from "../../app/static/recolour.js";
import { roundWords } from "../../app/static/tcr.js";
import { round } from "./runs.js";

test("a figure takes the page's colours by their names, and no other text changes", () => {
  const figure = {
    data: [{ marker: { color: ["#1467a8", "#000000"] }, text: ["#1467a8 is a colour"] }],
    layout: { meta: { colours: { "#1467a8": "draft" } } },
  };
  const found = recoloured(figure, (name) => `dark(${name})`);
  assert.deepEqual(found.data[0].marker.color, ["dark(--draft)", "#000000"]);
  assert.equal(found.data[0].text[0], "#1467a8 is a colour");
  assert.deepEqual(found.layout.meta.colours, { "#1467a8": "draft" }, "the names stay for the other theme");
  assert.deepEqual(figure.data[0].marker.color, ["#1467a8", "#000000"]);
});

const drawn = (/** @type {boolean} */ entropy, /** @type {number} */ steady) => ({
  entropy: { tcr: entropy ? [1] : [] },
  steady,
});

test("many runs open on a method with its usual knobs, not on an ablation", () => {
  const methods = [
    { method: "eagle3", label: "EAGLE-3" },
    { method: "heterospec", label: "HeteroSpec" },
    { method: "heterospec", label: "HeteroSpec, low_bins 0" },
  ];
  const figures = {
    "EAGLE-3": drawn(false, 1),
    HeteroSpec: drawn(true, 0.2),
    "HeteroSpec, low_bins 0": drawn(true, 1),
  };
  assert.equal(telling({ methods, figures }, Object.keys(figures)), "HeteroSpec");
  assert.equal(telling({ methods, figures }, []), "");
});

test("a number without an interval has no whisker, not even one of no length", () => {
  const bars = { array: [0.5, null], arrayminus: [0.25, null] };
  const [found] = recoloured(/** @type {any} */ ({ data: [{ error_x: bars }], layout: {} }), () => "").data;
  assert.deepEqual(found.error_x, { array: [0.5, Number.NaN], arrayminus: [0.25, Number.NaN] });
});

test("columns in which no row says anything are left out", () => {
  const table = {
    name: "",
    caption: "",
    columns: ["method", "a", "b"],
    rows: [
      ["x", "–", 1],
      ["y", "", "–"],
    ],
  };
  assert.deepEqual(told(table).columns, ["method", "b"]);
  assert.deepEqual(told(table).rows, [
    ["x", 1],
    ["y", "–"],
  ]);
});

test("shares in figures of the server have the blank that they have elsewhere on the page", () => {
  assert.equal(shareFormat(".0%"), "$.0%");
  assert.equal(shareFormat("%{y:.1%} of %{x:.2f} (95 % %{z:.0%})"), "%{y:$.1%} of %{x:.2f} (95 % %{z:$.0%})");
  const layout = { yaxis: { tickformat: ".0%" }, title: { text: "a:.0%" } };
  const found = recoloured(/** @type {any} */ ({ data: [{ hovertemplate: "%{y:.0%}" }], layout }), () => "");
  assert.deepEqual(found, {
    data: [{ hovertemplate: "%{y:$.0%}" }],
    layout: { yaxis: { tickformat: "$.0%" }, title: { text: "a:.0%" } },
  });
});

test("a dot of a round tells a rank only where something was accepted", () => {
  const [kept, lost] = [round({ drafted: 4, accepted: 2 }), round({ drafted: 4, accepted: 0 })];
  assert.equal(roundWords(kept, 3)[1], "2 of 4 accepted, the last of rank 3");
  assert.equal(roundWords(lost, 0)[1], "none of 4 accepted");
});
