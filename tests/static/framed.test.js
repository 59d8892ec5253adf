import assert from "node:assert/strict";
import test from "node:test";
import { unseen } from "../../app/static/framed.js";

test("of a tall frame that is told where it is, what lies outside the window is known", () => {
  const around = (scrollTop) => unseen({ scrollTop, offsetTop: 60, clientHeight: 900 }, 2000);
  assert.deepEqual(around(0), { above: 0, below: 1160 });
  assert.deepEqual(around(300), { above: 240, below: 860 });
  assert.deepEqual(around(1160), { above: 1100, below: 0 });
});

test("of a frame that is hardly seen nothing moves", () => {
  assert.deepEqual(unseen({ scrollTop: 1900, offsetTop: 60, clientHeight: 900 }, 2000), { above: 0, below: 0 });
  assert.deepEqual(unseen({ scrollTop: 0, offsetTop: 800, clientHeight: 900 }, 2000), { above: 0, below: 0 });
});
