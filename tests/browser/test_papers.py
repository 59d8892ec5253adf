"""The Papers room: an item has an address, its verdict and both sides' figures; it can be run, and saved as CSV."""

import pytest
from playwright.sync_api import expect

from tests.browser.legible import faults

pytestmark = pytest.mark.browser


def test_an_item_is_found_opened_saved_and_run(visit_cases):
    page = visit_cases("?room=papers&name=stand-T1")
    item = page.locator(".paper-item")
    expect(item.locator("h3")).to_contain_text("Table 1. Throughput")
    expect(item.locator(".verdict-pill")).to_contain_text("mixed")
    expect(item.locator(".decided li[data-outcome=fails]")).to_have_count(2)
    expect(item.locator(".paper-beside .plot .main-svg").first).to_be_visible()
    expect(item.locator(".paper-beside > section")).to_have_count(2)
    with page.expect_download() as saved:
        item.get_by_role("button", name="CSV").click()
    text = saved.value.path().read_text()
    assert text.startswith("whose,table,measure") and "STAND,16,69.15" in text and 'here,"Embedded pair' in text
    page.get_by_role("link", name="CM-ASD").click()
    page.wait_for_function("location.search.includes('name=cm_asd')")
    expect(item.locator("h3")).to_contain_text("Table I.")
    page.go_back()
    expect(item.locator("h3")).to_contain_text("Table 1. Throughput")
    page.get_by_role("link", name="Table 3").click()
    expect(item.locator("h3")).to_contain_text("Gumbel")
    item.get_by_role("button", name="Run it here").click()
    page.locator("[data-room=compare]").wait_for()
    page.wait_for_function("draftscope.session.config.lanes[1].knobs.drafting === 'stochastic'")
    expect(page.get_by_label("Case", exact=True)).to_have_value("")  # these settings are no case's


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 700)])
def test_what_is_chosen_at_the_end_of_the_list_is_in_sight(visit_cases, width, height):
    page = visit_cases("?room=papers&name=autojudge-F1", viewport={"width": width, "height": height})
    page.locator(".paper-items").get_by_role("link", name="Figure 15").click()
    head = page.locator(".paper-item h3")
    expect(head).to_contain_text("Figure 15.")
    expect(head).to_be_in_viewport()
    current = ".paper-items [aria-current]"
    assert page.evaluate(f"document.querySelector('{current}') === document.activeElement")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.locator(".paper-items").get_by_role("link", name="Figure 12").click()
    expect(head).to_contain_text("Figure 12.")
    expect(head).to_be_in_viewport()


def test_numbers_below_zero_have_the_minus_of_the_page(visit_cases):
    page = visit_cases("?room=papers&name=methods-arithmetic")
    cells = page.locator(".paper-numbers td")
    expect(cells.get_by_text("0.0 (−0.9 to 0.9)").first).to_be_attached()
    assert not [text for text in cells.all_text_contents() if text.startswith("-") or "(-" in text]


def test_numbers_below_zero_are_saved_as_numbers(visit_cases):
    page = visit_cases("?room=papers&name=easd-T1")
    item = page.locator(".paper-item")
    expect(item.locator(".paper-numbers td").get_by_text("(−0.9 to 0.9)").first).to_be_attached()
    with page.expect_download() as saved:
        item.get_by_role("button", name="CSV").click()
    text = saved.value.path().read_text()
    assert ",0,-0.9,0.9" in text and "NaN" not in text


def test_the_list_opens_at_the_item_that_an_address_names(visit_cases):
    page = visit_cases("?room=papers&name=autojudge-F11")
    expect(page.locator(".paper-items [aria-current]")).to_be_in_viewport()


def test_every_entry_of_the_list_opens_itself(visit_cases):
    page = visit_cases("?room=papers&name=methods")
    entries = page.locator(".paper-items a")
    entries.first.wait_for()
    for entry in entries.all():
        name = entry.locator("b").inner_text()
        entry.click()
        expect(page.locator(".paper-item h3")).to_contain_text(f"{name}. ")
        expect(page.locator(".paper-items [aria-current] b")).to_have_text(name)


def test_figures_that_were_left_are_let_go(visit_cases):
    page = visit_cases("?room=papers&name=autojudge-T1")
    page.locator(".paper-item .plot .main-svg").first.wait_for()
    page.evaluate("""() => {
      window.hearing = 0; // each figure hears when the window is resized
      for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
        const own = window[name].bind(window);
        window[name] = (type, ...rest) => {
          if (type === "resize") window.hearing += by;
          return own(type, ...rest);
        };
      }
    }""")
    counts = []
    for name in ("Table 2", "Figure 3", "Table 2", "Figure 3", "Table 2"):
        page.locator(".paper-items").get_by_role("link", name=name).first.click()
        expect(page.locator(".paper-item h3")).to_contain_text(f"{name}.")
        expect(page.locator(".paper-item .plotted [role=status]")).to_have_count(0)
        counts.append(page.evaluate("window.hearing"))
    assert counts[4] == counts[2] == counts[0]


def test_the_room_says_what_it_is_and_both_sides_begin_at_one_height(visit_cases):
    page = visit_cases("?room=papers&name=autojudge-T1", viewport={"width": 1440, "height": 900})
    expect(page.locator(".paper-opening")).to_contain_text("What five papers claim")
    expect(page.locator(".paper-names a", has_text="AutoJudge").locator(".counts")).to_contain_text("∅")
    expect(page.locator(".paper-signs")).to_contain_text("∅ not testable here")
    sides = page.locator(".paper-beside > section")
    expect(sides).to_have_count(2)
    tops = [side.locator(".paper-plots").bounding_box()["y"] for side in sides.all()]
    assert tops[0] == tops[1]


@pytest.mark.parametrize("name", ["methods-arithmetic-majority", "methods-sentences", "autojudge-T1"])
def test_every_column_of_a_table_of_many_is_in_sight(visit_cases, name):
    page = visit_cases(f"?room=papers&name={name}", viewport={"width": 1440, "height": 900})
    page.locator(".paper-numbers").evaluate("one => { one.open = true; }")
    page.locator(".paper-numbers .wide").first.wait_for()
    for scroll in page.locator(".paper-numbers .scroll").all():
        assert scroll.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [1024, 390, 320])
def test_a_wide_table_scrolls_in_itself(visit_cases, width):
    page = visit_cases("?room=papers&name=methods", viewport={"width": width, "height": 900})
    scroll = page.locator(".paper-numbers .scroll").first
    scroll.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert scroll.evaluate("one => one.scrollWidth > one.clientWidth")
    scroll.evaluate("one => one.scrollTo(1e4, 0)")
    left = "one => one.getBoundingClientRect().left"
    assert scroll.locator("tbody th").first.evaluate(left) == scroll.evaluate(left)  # its name stays


def test_a_slow_list_says_that_it_is_read(visit_cases):
    page, held = visit_cases(), []
    page.route("**/lab/papers*", lambda route: held.append(route))
    page.get_by_role("link", name="Papers").click()
    about = page.locator(".paper-about")
    expect(about).to_have_text("Reading the papers…")
    held.pop().continue_()
    expect(about).to_contain_text("AutoJudge: Judge Decoding")


def test_a_paper_that_does_not_come_is_told_until_another_is_chosen(visit_cases):
    page, held = visit_cases("?room=papers&name=autojudge-T1"), []
    wrong = page.locator("[data-room=papers] [role=alert]")
    easd, autojudge = (page.locator(".paper-names a", has_text=name) for name in ("EASD", "AutoJudge"))
    page.route("**/lab/paper?name=easd", lambda route: route.fulfill(status=400, json={"error": "No such paper."}))
    easd.click()
    expect(wrong).to_have_text("No such paper.")
    autojudge.click()
    expect(wrong).to_be_hidden()
    page.unroute_all()
    page.route("**/lab/paper?name=easd", lambda route: held.append(route))
    easd.click()
    autojudge.click()
    with page.expect_response("**/lab/paper?name=easd"):
        held.pop().fulfill(status=400, json={"error": "No such paper."})
    page.wait_for_timeout(200)
    expect(wrong).to_be_hidden()  # nobody waits for it any more


@pytest.mark.parametrize("name", ["cm_asd-F2b", "methods-arithmetic"])
def test_words_of_figures_are_whole_on_a_phone(visit_cases, name):
    page = visit_cases(f"?room=papers&name={name}", viewport={"width": 390, "height": 844})
    expect(page.locator(".paper-item .plot .main-svg").first).to_be_visible()
    expect(page.locator(".plotted").get_by_text("Drawing")).to_have_count(0)
    assert faults(page) == []
