"""A text that is written in place: its iterations in the lane, in the score and in the inspector."""

from functools import partial
from typing import Any

import pytest
from playwright.sync_api import expect

from app.recorded import lanes
from engine.analysis.explain import why
from engine.methods import CARDS
from engine.rules import THRESHOLDS
from engine.trace.store import Trace
from tests.app.placed import placed_events
from tests.app.synthetic import CARDS as MADE
from tests.app.synthetic import events

pytestmark = pytest.mark.browser


def test_iterations_are_looked_at_one_by_one(visit: Any) -> None:
    written = Trace(placed_events())
    last = written.rounds[-1].extras["written"]
    page = visit()
    shown = lanes([Trace(events("plain", 24)), written], [*MADE, *CARDS], partial(why, thresholds=THRESHOLDS))
    page.evaluate("(lanes) => draftscope.store.load(lanes)", shown)
    lane = page.locator(".lane[data-lane=cmlm]")
    expect(lane.locator(".canvas .k")).to_have_count(24)
    expect(lane.locator(".canvasbar .said")).to_have_text(f"iteration 4 of 4: {last} of 24 places written")
    expect(lane.locator(".canvasbar .scale .placed")).to_have_text(["1", "2", "3", "4"])
    expect(lane.locator(".figures dt")).to_have_text(["tok/s", "iterations"])
    expect(lane.locator(".canvas .fresh")).to_have_count(last)

    lane.get_by_role("button", name="The iteration before").click()
    lane.get_by_role("button", name="The iteration before").click()
    lane.get_by_role("button", name="The iteration before").click()
    expect(lane.locator(".canvasbar .said")).to_have_text("iteration 1 of 4: 22 of 24 places written, 2 open")
    expect(lane.locator(".canvas .open")).to_have_count(2)
    expect(lane.get_by_role("button", name="The iteration before")).to_be_disabled()
    lane.get_by_role("button", name="The next iteration").click()
    cells = written.rounds[1].canvas or []
    place = next(i for i, cell in enumerate(cells) if cell.before not in (None, cell.token))
    lane.locator('.canvas [data-p="0"]').hover()
    lane.locator(f'.canvas [data-p="{place}"]').hover()
    expect(page.locator(".v-tip")).to_contain_text("Rewritten in iteration 2")
    lane.locator(f'.canvas [data-p="{place}"]').click()
    expect(page.locator(".v-inspector .v-why")).to_contain_text("Rewritten in iteration 2")
    expect(page.locator(".v-inspector .v-head")).to_contain_text(f"iteration 2, position {place}")
    page.keyboard.press("]")
    expect(lane.locator(".canvasbar .said")).to_contain_text("iteration 3 of 4")

    page.evaluate("draftscope.store.clear(); draftscope.store.setTime({mode: 'calls', at: 2})")
    expect(lane.locator(".canvasbar .said")).to_contain_text("iteration 2 of 4")
    page.keyboard.press("2")
    head = page.locator('.score .head[data-band="cmlm"]')
    expect(head).to_contain_text("2 iterations")
    expect(head.locator(".labels")).to_contain_text("iterations")
    head.locator(".arrow").click()
    expect(head.locator(".figs > b").first).to_have_text("2")  # folded: its iterations, where it had 0 target calls
    expect(head.locator(".figs > b").first).to_have_attribute("title", "2 iterations")
    head.locator(".arrow").click()
    page.keyboard.press("3")
    expect(page.locator("[data-tree=cmlm]")).to_contain_text("Written in place, all places at once")

    page.evaluate("(lanes) => draftscope.store.load(lanes)", shown[1:])
    page.evaluate("draftscope.store.setOption('stage', 'score'); draftscope.store.setTime({mode: 'calls', at: 2})")
    expect(head).to_contain_text("2 iterations")
    painted = "[...document.querySelectorAll('.score .tiles canvas')].map((one) => one.toDataURL()).join()"
    page.wait_for_function(
        f"() => {{ const now = {painted}; const same = window.before === now; window.before = now; return same; }}"
    )
    page.evaluate("draftscope.store.setTime({mode: 'calls', at: 3})")
    page.wait_for_function(f"() => {painted} !== window.before")


def test_the_window_of_a_round_stands_in_the_inspector(visit_cases: Any) -> None:
    """A row for each pass ago below the text; folded it stays folded at the next token; a lane without one has none."""
    page = visit_cases("?trace=looking_ahead")
    page.evaluate("draftscope.store.setCursor({run: draftscope.store.lanes[2], pos: 33})")
    window = page.locator(".v-inspector .v-window")
    expect(window.locator("summary")).to_contain_text("59 tokens read beside the draft")
    expect(window.locator("tr")).to_have_count(5)
    expect(window.locator("tr").first.locator("td").first).to_have_text("·=")
    expect(window.locator("th")).to_have_text(["text", "4 passes ago", "3 passes ago", "2 passes ago", "last pass"])
    window.locator("[data-word=window]").click()
    expect(page.locator(".popover")).to_contain_text("No rule decides on them")
    page.keyboard.press("Escape")
    window.locator("summary").click()
    page.keyboard.press("ArrowRight")
    expect(window).to_have_count(1)
    expect(window).not_to_have_attribute("open", "")
    page.evaluate("draftscope.store.setCursor({run: draftscope.store.lanes[1], pos: 33})")
    expect(page.locator(".v-inspector .v-why")).to_contain_text("looked up")
    expect(window).to_have_count(0)
