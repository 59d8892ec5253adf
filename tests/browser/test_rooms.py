"""Rooms: tabs with addresses, what a link restores, and what leaving one ends."""

import pytest
from playwright.sync_api import expect

from tests.browser.waits import sees

pytestmark = pytest.mark.browser


def test_a_room_has_an_address_and_back_leads_out(visit):
    page = visit()
    expect(page.get_by_role("link", name="Compare")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Many runs").click()
    page.locator("[data-room=runs] .pooled").wait_for()
    page.wait_for_function("location.search.includes('room=runs')")
    expect(page.locator("[data-room=compare]")).to_be_hidden()
    expect(page).to_have_title("Many runs · Draftscope")
    address = page.url
    page.go_back()
    page.locator("[data-room=compare]").wait_for()
    expect(page.locator("[data-room=runs]")).to_be_hidden()
    expect(page.locator("[data-room=runs] > *")).to_have_count(0)
    page.goto(address)
    page.locator("[data-room=runs] .pooled").wait_for()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("?room=judge&judge=tables", "a link's judge is one of mismatches, table,"),
        ("?room=trajectories&trajectories=tree", "a link's trajectories is one of trajectories, trees."),
        ("?figure=nowhere", "a link's figure is one of position,"),
    ],
)
def test_a_link_to_a_tab_that_no_room_has_is_told(visit, address, told):
    expect(visit(address).locator(".notice")).to_contain_text(told)


def test_a_link_to_a_room_waits_for_a_slow_catalogue(visit_cases):
    page, held = visit_cases(), []
    base = page.url.split("?")[0]
    page.route("**/lab/catalogue", lambda route: held.append(route))
    page.goto(f"{base}?room=trajectories")
    page.get_by_role("tab", name="Static trees").wait_for()
    held.pop().continue_()
    expect(page.get_by_label("Problem", exact=True)).to_be_visible()
    page.goto(f"{base}?room=papers")
    page.locator(".paper-item h3").wait_for()
    expect(page.locator(".paper-names a").first).to_contain_text("autojudge")
    held.pop().continue_()
    expect(page.locator(".paper-names a").first).to_contain_text("AutoJudge")
    expect(page.get_by_role("button", name="Case: A digit rejected")).to_be_visible()


def test_an_unknown_room_is_the_first(visit):
    page = visit("?room=attic")
    expect(page.locator("[data-room=compare]")).to_be_visible()


def test_keys_of_the_cursor_stay_in_their_room(visit):
    page = visit()
    page.evaluate("draftscope.store.setCursor({ run: draftscope.store.lanes[0], pos: 3 })")
    page.get_by_role("link", name="Judge").click()
    page.locator("[data-room=judge] > *").first.wait_for()
    page.keyboard.press("ArrowRight")
    sees(page, "draftscope.store.cursor.pos", 3)
    page.keyboard.press("Escape")
    page.locator("[data-room=compare]").wait_for()
    page.keyboard.press("ArrowRight")
    sees(page, "draftscope.store.cursor.pos", 4)


def test_the_skip_link_leads_to_the_first_token(visit):
    page = visit()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".lane .flow").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    sees(page, "draftscope.store.cursor.pos", 0)
    page.keyboard.press("2")
    expect(page.locator("#stage-score")).to_be_visible()
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("slider", name="Score: positions of all methods")).to_be_focused()
    page.get_by_role("link", name="Judge").click()
    page.locator("[data-room=judge] > *").first.wait_for()
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-room=judge]")).to_be_focused()


def test_a_title_is_told_to_the_keyboard_and_to_a_finger(visit):
    page = visit(has_touch=True)
    page.locator(".top .tools button").first.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    tip = page.locator(".v-tip")
    expect(tip).to_contain_text(page.locator(".room-link").first.get_attribute("title"))
    page.evaluate("draftscope.store.setCursor({ run: draftscope.store.lanes[0], pos: 3 })")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    sees(page, "draftscope.store.cursor.pos", 3)  # one thing at a time
    page.keyboard.press("Escape")
    sees(page, "draftscope.store.cursor", None)
    figure = page.locator(".lane .figures > div").first
    figure.tap()
    expect(tip).to_contain_text(figure.get_attribute("title"))


def test_back_shows_the_case_before_and_forward_the_live_run_again(visit):
    page = visit()
    case = page.get_by_label("Case", exact=True)
    page.locator('[data-lane="chain"] .k[data-i="8"]').click()
    page.wait_for_function("location.search.includes('at=chain')")
    page.evaluate("window.stays = true")  # lost when a page is loaded anew
    before = page.evaluate("history.length")
    case.select_option("live")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Tokens").fill("24")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("location.search.includes('m=wary') && draftscope.store.status.phase === 'done'")
    written = page.locator('[data-lane="wary"] .flow').inner_text()
    page.locator('[data-lane="wary"] .k[data-i="5"]').click()
    page.keyboard.press("2")
    page.wait_for_function("location.search.includes('at=wary') && location.search.includes('v=score')")
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    expect(page.locator(".lane")).to_have_count(5)
    expect(page.locator('[data-lane="chain"] .k[data-i="8"]')).to_contain_class("sel")
    sees(page, "[draftscope.store.status.recorded, draftscope.store.options.stage]", ["apples", "text"])
    expect(case).to_have_value("apples")
    page.go_forward()
    sees(page, "[draftscope.store.status.recorded, draftscope.store.options.stage]", [None, "score"])
    sees(page, "[draftscope.store.cursor?.run, draftscope.store.cursor?.pos]", ["wary", 5])
    page.keyboard.press("1")
    expect(page.locator('[data-lane="wary"] .flow')).to_have_text(written, use_inner_text=True)
    page.wait_for_timeout(300)  # for the address, which follows a moment later
    assert page.evaluate("[history.length, window.stays]") == [before + 1, True]


@pytest.mark.parametrize("width", [390, 768, 1007, 1024, 1366, 1440])  # a scroll bar of 17 pixels leaves 1007 of 1024
def test_the_head_of_the_page_is_as_high_in_every_room(visit_cases, width):
    page = visit_cases("", viewport={"width": width, "height": 768})
    heights = set()
    for room in ("compare", "runs", "judge", "papers", "learn"):
        page.evaluate("(room) => draftscope.store.setOption('room', room)", room)
        heights.add(page.evaluate("document.querySelector('.top').offsetHeight"))
    assert len(heights) == 1
    assert width < 1007 or heights.pop() < 60, "one row"
    told = page.evaluate("getComputedStyle(document.querySelector('.top .motto')).clipPath") == "none"
    assert told == (width in (768, 1366, 1440)), "the sentence, where a row has room for it"


FOCUSED = """() => {
  const [one, dock] = [document.activeElement, document.querySelector(".dock")];
  if (one === document.body || dock.contains(one)) return null;
  const { top, bottom, height } = one.getBoundingClientRect();
  const over = dock.getBoundingClientRect();
  const hidden = top < over.bottom && bottom > over.top + 1;
  return (hidden || top >= innerHeight) && height < 60 ? one.outerHTML.slice(0, 90) : null;
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (720, 450)])
def test_nothing_in_focus_lies_under_the_timeline(visit_cases, width, height):
    page = visit_cases("?trace=first_look", viewport={"width": width, "height": height})
    page.locator(".lane").first.wait_for()
    for _ in range(90):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) is None


def test_a_low_window_opens_a_room_at_its_top_and_gives_the_timeline_none_of_its_height(visit_cases):
    low = {"width": 720, "height": 450}
    page = visit_cases("?room=judge", viewport=low)
    page.locator(".mismatch").first.wait_for()
    assert page.evaluate("scrollY") == 0
    page = visit_cases("", viewport=low)
    assert page.locator(".dock").evaluate("(dock) => getComputedStyle(dock).position") == "static"


def test_a_link_to_a_case_that_is_not_here_says_so_and_shows_the_first(visit_cases, pages):
    page = visit_cases("?trace=nonexistent&v=score&view=calls~3")
    expect(page.locator(".notice")).to_contain_text('a case that this server does not have, "nonexistent".')
    expect(page.locator(".notice")).not_to_contain_text("first_look")
    page.wait_for_function("draftscope.store.status.recorded === 'first_look'")
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    stage, at = page.evaluate("[draftscope.store.options.stage, String(draftscope.store.time.at)]")
    assert (stage, at) == ("score", "Infinity")
    assert all("404 (Not Found)" in text for text in pages.errors), "the refusal, which the console notes"
    pages.errors.clear()


def test_a_link_to_a_case_without_recorded_runs_says_so_and_run_makes_them(visit, pages):
    page = visit("?trace=live&v=score&view=calls~3")
    expect(page.locator(".notice")).to_have_text(
        "No runs of “Not recorded” are recorded here. Its settings are in the run bar: press Run to make them."
    )
    assert page.evaluate("draftscope.session.config.preset") == "live" and all(
        "404 (Not Found)" in text for text in pages.errors
    )
    pages.errors.clear()
    expect(page.locator(".lanes .empty")).to_be_visible()
    page.locator(".go button.primary").click()
    page.wait_for_function("draftscope.store.status.phase === 'done'")
    expect(page.locator("[data-stage=text]")).to_be_hidden()
    assert page.evaluate("[draftscope.session.ran.preset, draftscope.store.options.stage]") == ["live", "score"]


@pytest.mark.parametrize(("room", "holds"), [("judge", ".workshop"), ("trajectories", ".trajectories .ask")])
def test_a_room_that_was_left_is_forgotten(visit, room, holds):
    """Whatever listens goes with it: many visits leave no more behind than one."""
    page = visit("?trace=apples")
    collector = page.context.new_cdp_session(page)
    page.evaluate(f"draftscope.store.setOption('room', '{room}')")
    page.locator(holds).wait_for()
    page.evaluate(f"void (window.left = new WeakRef(document.querySelector('{holds}')))")
    for other in ("compare", room, "compare"):
        page.evaluate(f"draftscope.store.setOption('room', '{other}')")
        expect(page.locator(holds)).to_have_count(int(other == room))
    for _ in range(20):
        collector.send("HeapProfiler.collectGarbage")
        if page.evaluate("left.deref() === undefined"):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the page still holds what {room} was")
