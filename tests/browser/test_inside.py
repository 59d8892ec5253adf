"""Inside a round, and beside it: event by event, and other texts that the page has the engine continue."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.waits import freed, sees

pytestmark = pytest.mark.browser


def test_events_of_a_round_show_what_is_known_after_each(visit):
    page = visit()
    lane, inspector = page.locator(".lane[data-lane=chain]"), page.locator(".v-inspector")
    page.evaluate("draftscope.store.setCursor({run: 'chain', round: 0})")
    page.keyboard.press(">")
    expect(lane.locator(".half")).to_contain_text("round 0: drafted")
    expect(lane.locator(".half .g.drafted").first).to_be_visible()
    expect(inspector).to_contain_text("the target has not seen it yet")
    expect(inspector.locator(".v-numbers")).not_to_contain_text("H target")
    expect(page.locator(".readout")).to_contain_text("drafted, not yet verified")
    expect(page.locator(".lane[data-lane=plain] .half")).to_contain_text("no draft")
    page.get_by_role("button", name="One event on").click()
    expect(lane.locator(".half .g.verified").first).to_be_visible()
    expect(inspector).to_contain_text("the rule has not decided yet")
    expect(inspector.locator(".v-numbers")).to_contain_text("H target")
    page.keyboard.press(">")
    expect(lane.locator(".half")).to_have_count(0)
    expect(page.locator(".readout")).to_contain_text("call 1 of")
    page.keyboard.press("<")
    expect(lane.locator(".half")).to_contain_text("round 0: verified")
    page.keyboard.press("3")
    expect(page.locator("[data-tree=chain]")).to_contain_text("verified, not yet decided")
    page.keyboard.press(".")
    expect(page.locator("[data-tree=chain]")).to_contain_text("accepted")


def test_the_buttons_for_events_are_there_on_a_phone(visit):
    page = visit(viewport={"width": 390, "height": 844})
    for name in ("One event back", "One event on", "Play (space)"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert (
            box["width"] >= 24 and box["x"] + box["width"] <= page.get_by_role("group", name="Axis").bounding_box()["x"]
        )


def test_another_token_makes_a_lane_that_goes_on_from_it(visit, server):
    page = visit()
    page.evaluate("draftscope.store.setCursor({run: 'chain', pos: 4})")
    others = page.get_by_role("group", name="What if it had written another token")
    others.get_by_role("button").first.click()
    lane = page.locator(".lane[data-lane='chain~1']")
    expect(lane.locator(".forced")).to_contain_text(
        "Its first 5 tokens were forced: those of Chain of candidates before position 4"
    )
    expect(lane.locator(".flow .k").first).to_be_visible()
    expect(lane.locator(".state")).not_to_have_text("decoding", timeout=30_000)
    expect(page.locator(".lane")).to_have_count(6)
    sees(page, "[draftscope.store.lanes.length, draftscope.store.status.phase]", [6, "done"])
    freed(server, page)
    expect(page).to_have_url(re.compile("go="))
    page.go_back()
    expect(page.locator(".lane")).to_have_count(5)
    page.go_forward()
    expect(page.locator(".lane")).to_have_count(6)
    expect(lane.locator(".flow .k").first).to_be_visible()
    lane.get_by_role("button", name="Take this lane away").press("Enter")
    expect(page.locator(".lane[data-lane=chain] .flow")).to_be_focused()  # that it went on from
    expect(page.locator(".lane")).to_have_count(5)
    expect(page).not_to_have_url(re.compile("go="))


def test_a_draft_that_is_not_decided_stays_when_the_text_is_drawn_anew(visit):
    page = visit()
    half = page.locator(".lane[data-lane=chain] .half")
    page.evaluate("draftscope.store.setCursor({run: 'chain', round: 0})")
    page.keyboard.press(">")
    expect(half).to_contain_text("round 0: drafted")
    page.keyboard.press("w")
    page.wait_for_function("draftscope.store.options.whitespace")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(half).to_contain_text("round 0: drafted")
    page.keyboard.press("3")
    page.keyboard.press(">")
    page.keyboard.press("1")
    expect(half).to_contain_text("round 0: verified")


def test_a_lane_that_comes_after_a_stepped_run_leaves_the_time_alone(visit):
    page = visit()
    page.evaluate("draftscope.store.status = { ...draftscope.store.status, step: true }")
    page.evaluate("draftscope.store.emit('runs')")
    assert page.evaluate("draftscope.store.time.at === Infinity")


def test_a_step_after_a_pause_shows_the_next_call(visit):
    page = visit()
    page.evaluate("draftscope.store.setTime({mode: 'calls', at: 1.7})")
    page.keyboard.press(".")
    assert page.evaluate("draftscope.store.time.at") == 2
    page.evaluate("draftscope.store.setTime({mode: 'calls', at: 2.7})")
    page.keyboard.press(",")
    assert page.evaluate("draftscope.store.time.at") == 1
