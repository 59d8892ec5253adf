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


MARKS = """() => [...document.querySelectorAll('.flow[data-key=beam] .round')].filter((one) => !one.querySelector('.k'))
  .map((one) => [one.title, getComputedStyle(one).display !== 'none', one.dataset.silent ?? ''])"""


def test_rounds_in_a_row_without_tokens_share_a_mark_that_counts_those_shown(visit_cases: Callable[..., Page]) -> None:
    """As they come, as time is moved back and on, and when the text is laid out anew; the rest is left alone."""
    page = visit_cases("?trace=all_methods&v=text")
    silent = page.evaluate("draftscope.store.runs.get('beam').rounds.map((round) => !round.tokens.length)")
    parts = "".join(".s"[one] for one in silent).split(".")
    counts = [len(part) for part in parts if part]
    assert len(counts) > 1 and sum(counts) > 50 and counts[0] > 6

    def told(*shown: int) -> list[list[object]]:
        words = [f"{n} round{'s' if n > 1 else ''} without a token" if n else "" for n in shown]
        return [[word, n > 0, str(n) if n > 1 else ""] for word, n in zip(words, shown, strict=True)]

    def at(call: int) -> object:
        page.evaluate("(at) => draftscope.store.setTime({ mode: 'calls', at: at || Infinity })", call)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.evaluate(MARKS)

    rest = [0] * (len(counts) - 1)
    every = page.evaluate(MARKS)
    assert every == told(*counts)
    assert at(4) == told(4, *rest) and at(1) == told(1, *rest) and at(6) == told(6, *rest)
    assert at(counts[0] + 2) == told(counts[0], 1, *rest[1:]) and at(0) == every
    at(5)
    page.evaluate("draftscope.store.setOption('whitespace', true)")
    assert at(5) == told(5, *rest) and at(0) == every
    page.evaluate(f"window.marks = {MARKS}")
    changed = page.evaluate(
        """async () => {
          const { store } = draftscope, frame = () => new Promise((done) => requestAnimationFrame(done));
          const { card, head, rounds } = store.runs.get("beam"), found = [];
          store.begin([{ key: "beam", card }]);
          store.push("beam", [head, rounds[0]]);
          for (let i = 0; i < 20; i++) await frame();
          const flow = document.querySelector(".flow[data-key=beam]"), seen = [];
          const watch = new MutationObserver((records) => seen.push(...records.map((one) => one.target)));
          watch.observe(flow, { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "title"] });
          for (let i = 1; i < 6; i++) {
            store.push("beam", [rounds[i]]);
            for (let j = 0; j < 20; j++) await frame();
            found.push(marks());
          }
          return [found, seen.every((one) => one === flow.querySelector(".round"))];
        }"""
    )
    assert changed == [[told(n) for n in range(2, 7)], True]


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
