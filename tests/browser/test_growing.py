"""How much of the page a browser looks at anew when a lane grows or a token is pointed at, by the browser's own record.

On a long text a rule that makes it look at every token costs a frame, whatever the scripts do. So the numbers are of
elements, which no other work on the machine changes. Times are measured by `python -m tests.browser.measure`.
"""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.fixtures import traces
from tests.browser.harness import METHODS

pytestmark = pytest.mark.browser
TOKENS, STEPS = 600, 12
FILL = """async ([text, stage]) => {
  const { store } = draftscope;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const lanes = (window.growing = JSON.parse(text));
  store.setOption("stage", stage);
  store.begin(lanes.map(({ key, card }) => ({ key, card })));
  for (const lane of lanes) {
    lane.rounds = lane.events.filter((event) => event.kind === "round");
    lane.half = Math.floor(lane.rounds.length / 2);
    store.push(lane.key, [lane.events[0], ...lane.rounds.slice(0, lane.half)]);
  }
  for (let i = 0; i < 40; i++) await frame();
  return document.querySelectorAll("gradio-app *").length;
}"""
GROW = """async (steps) => {
  for (let step = 0; step < steps; step++) {
    for (const { key, rounds, half } of growing) draftscope.store.push(key, rounds.slice(half + step, half + step + 1));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)));
  }
}"""
POINT = """async (steps) => {
  const chips = [...document.querySelectorAll("[data-lane=chain] .k")].slice(0, steps);
  for (const chip of chips) {
    chip.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
  }
}"""


def styled(browser: Browser, page: Page, act: str) -> list[int]:
    """Elements whose style was looked at anew, each time that it was, while a script runs."""
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    page.evaluate(act, STEPS)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    found = [e["args"] for e in events if e["name"] == "UpdateLayoutTree" and e["ph"] in ("X", "E")]
    return [args["elementCount"] for args in found if "elementCount" in args]


@pytest.mark.parametrize(
    ("stage", "act"), [("text", GROW), ("text", POINT), ("score", GROW)], ids=["text", "pointed at", "score"]
)
def test_a_lane_that_grows_leaves_the_rest_of_the_page_alone(
    visit: Callable[..., Page], browser: Browser, stage: str, act: str
) -> None:
    page = visit()
    every = page.evaluate(FILL, [json.dumps(traces(METHODS, TOKENS)), stage])
    counts = styled(browser, page, act)
    assert counts, "nothing was recorded"
    assert max(counts) < every / 5, (sorted(counts)[-5:], every)
    assert sum(counts) < every, (sum(counts), every)


def test_a_long_text_is_laid_out_anew_by_moving_each_round_once(visit: Callable[..., Page]) -> None:
    page = visit()
    page.evaluate(FILL, [json.dumps(traces(("plain",), 2000)), "text"])
    rounds, moved, stretches = page.evaluate(
        """async () => {
          let moved = 0;
          const count = (records) => records.forEach((record) => (moved += record.addedNodes.length));
          const watch = new MutationObserver(count);
          watch.observe(document.querySelector("[data-view=lanes]"), { childList: true, subtree: true });
          draftscope.store.setOption("whitespace", !draftscope.store.options.whitespace);
          for (let i = 0; i < 10; i++) await new Promise((done) => requestAnimationFrame(done));
          count(watch.takeRecords());
          const all = (what) => document.querySelectorAll(`.lane ${what}`).length;
          return [all(".round"), moved, all(".stretch")];
        }"""
    )
    assert rounds >= 1000 and stretches > 10
    assert moved < 3 * rounds


def test_a_ruler_that_grew_is_one_that_was_drawn_anew(visit: Callable[..., Page]) -> None:
    """Only its end is painted while the text grows; numbers stand on another side of their ticks there."""
    page = visit()
    page.evaluate(FILL, [json.dumps(traces(METHODS, TOKENS)), "score"])
    drawn = """async (anew) => {
      if (anew) draftscope.store.setOption("flags", !draftscope.store.options.flags);
      for (let i = 0; i < 30; i++) await new Promise((done) => requestAnimationFrame(done));
      return [...document.querySelectorAll(".score .ruler canvas")].map((c) => c.style.left + c.toDataURL()).sort();
    }"""
    for turn in range(4):
        page.evaluate(GROW.replace("half + step", f"half + {7 * turn} + step"), 7)
        grown = page.evaluate(drawn, False)
        assert grown and grown == page.evaluate(drawn, True), turn
