"""Words that lead to the glossary, formulae with a token's numbers, and tabs of rooms in the address."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from engine.files.places import PRESETS
from engine.files.presets import get_preset
from engine.trace.outcome import calls
from engine.trace.store import Trace
from tests.typed import some

pytestmark = pytest.mark.browser


def test_words_and_formulae_tell_what_they_mean_where_they_stand(visit_cases: Callable[..., Page]) -> None:
    page = visit_cases("?trace=sampled")
    trace = Trace.load(PRESETS / get_preset("sampled").traces[1])
    event = next(event for event in trace.rounds if event.drafted > event.accepted > 0)
    node = event.nodes[event.accepted]
    place = {"run": trace.head.method, "round": event.index, "node": event.accepted}
    page.wait_for_function("draftscope.store.status.phase === 'done'")
    page.evaluate("(place) => draftscope.store.setCursor(place)", place)
    rule = page.locator(".v-formula .v-rule").first
    expect(rule.locator("math")).to_have_count(2)
    expect(rule.locator("math").last).to_have_attribute("aria-label", re.compile(r"≥ min\(1,.*/.*\) = "))
    expect(rule.locator("math").last).to_have_attribute("aria-label", re.compile(f"^{some(node.u):.2f}"))
    expect(rule).to_contain_text("does not hold")

    word = page.locator(".v-numbers .word", has_text="P(accept)")
    word.focus()
    page.keyboard.press("Enter")
    entry = page.get_by_role("dialog", name="Acceptance probability")
    expect(entry).to_be_focused()
    expect(entry.locator("math").first).to_be_visible()
    expect(entry).to_contain_text("At the selected token of")
    page.keyboard.press("Escape")
    expect(entry).to_have_count(0)
    expect(word).to_be_focused()

    calls_of = page.locator(".lane .figures .word", has_text="calls")
    expect(calls_of.first).not_to_have_attribute("tabindex", "-1")
    expect(calls_of.nth(1)).to_have_attribute("tabindex", "-1")
    page.locator(".lane .badge").first.focus()
    page.keyboard.press("Tab")
    expect(page.locator(".v-tip")).to_contain_text("Emitted tokens a second of decoding")
    calls_of.first.click()
    page.get_by_role("dialog", name="Target call").get_by_role("link", name="In the glossary").click()
    expect(page.locator("#word-target-call.chosen")).to_be_visible()
    page.goto(page.url.split("?")[0] + "?trace=sampled&v=score&fold=0")
    label = page.locator(".score .labels .word", has_text="entropy, nats").first
    label.click()
    expect(page.get_by_role("dialog", name="Entropy")).to_be_visible()


def test_a_methods_page_has_the_numbers_on_the_stage_and_tabs_are_in_the_address(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&room=learn&tab=methods&name=sd")
    trace = Trace.load(PRESETS / get_preset("first_look").traces[1])
    now = page.get_by_role("region", name="On the stage now")
    expect(now.locator("div", has_text="target calls").last).to_contain_text(str(calls(trace.rounds)))
    expect(now).to_contain_text(f"{sum(event.drafted for event in trace.rounds)} tokens")
    page.evaluate("draftscope.store.setOption('name', 'pld')")
    expect(page.get_by_role("region", name="On the stage now")).to_contain_text("not among the runs")
    page.goto(page.url.split("?")[0] + "?room=judge&judge=table")
    expect(page.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Reviewers").click()
    page.wait_for_function("location.search.includes('judge=reviewers')")
    page.go_back()
    expect(page.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
