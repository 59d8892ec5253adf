"""The Learn room over the recorded cases: lessons that the page checks, the gallery, the glossary, method pages."""

import pytest
from playwright.sync_api import expect

from tests.browser.waits import sees

pytestmark = pytest.mark.browser
S = "draftscope.store"


def test_the_first_lesson_is_one_click_from_the_page(visit_cases):
    page = visit_cases("")
    page.get_by_role("button", name="Start here").click()
    expect(page.locator(".beside")).to_contain_text("One call, one token")
    sees(page, f"[{S}.options.beside, {S}.status.recorded]", ["target_call~0", "first_look"])
    page.keyboard.press("?")
    page.locator("dialog.drawer").get_by_role("link", name="Residual", exact=True).click()
    sees(page, f"[{S}.options.room, {S}.options.tab, {S}.options.name]", ["learn", "glossary", "residual"])


@pytest.mark.parametrize(("width", "least"), [(1000, 200), (1024, 200), (1240, 200), (1366, 200), (1440, 130)])
def test_beside_a_lesson_the_run_bar_holds_its_buttons_and_says_what_is_set(visit_cases, width, least):
    page = visit_cases("?beside=target_call~0", viewport={"width": width, "height": 768})
    bar, buttons, words = (page.locator(at).bounding_box() for at in (".runbar", ".runline .go", ".runline .summary"))
    assert buttons["x"] + buttons["width"] <= bar["x"] + bar["width"] - 8
    assert words["width"] > least


def test_escape_and_back_close_a_lesson(visit_cases):
    page = visit_cases("?trace=first_look")
    page.get_by_role("button", name="Start here").click()
    expect(page.locator(".beside h3")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".beside")).to_be_hidden()
    expect(page.locator("#stage")).to_be_focused()
    page.wait_for_function("!location.search.includes('beside')")
    page.get_by_role("button", name="Start here").click()
    page.wait_for_function("location.search.includes('beside=target_call')")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".beside header")).to_contain_text("2 of")
    page.go_back()
    expect(page.locator(".beside")).to_be_hidden()
    sees(page, f"{S}.status.recorded", "first_look")


def test_a_step_beside_other_runs_than_its_own_says_so(visit_cases):
    page = visit_cases("?trace=first_look&beside=entropy~0")
    said = page.get_by_text("This step is about other runs than those on the page.")
    expect(said).to_be_visible()
    page.locator(".lane .k").first.click()
    expect(page.locator(".lesson-after")).to_have_text("")
    page.get_by_role("button", name="Show me").click()
    page.wait_for_function(f"{S}.status.recorded === 'easd_helps'")
    expect(said).to_have_count(0)


def test_a_lesson_opens_by_link_and_checks_a_selection(visit_cases):
    page = visit_cases("?room=learn&tab=lessons&name=entropy")
    page.get_by_role("button", name="Start beside the runs").click()
    panel, told = page.locator(".beside"), page.locator(".lesson-after")
    page.wait_for_function(f"{S}.status.recorded === 'easd_helps' && {S}.options.stage === 'score'")
    expect(panel.locator("h3")).to_have_text("Find the veto")
    page.keyboard.press("1")
    lane = page.evaluate(f"{S}.lanes[2]")
    page.locator(f'[data-lane="{lane}"] .k[data-i="3"]').click()
    expect(told).to_contain_text("another token")
    other = page.evaluate(f"{S}.lanes[1]")
    page.locator(f'[data-lane="{other}"] .k[data-i="5"]').click()
    expect(told).to_contain_text("another lane; look in EASD")
    assert page.evaluate("localStorage.getItem('draftscope.lessons')") is None
    page.locator(f'[data-lane="{lane}"] .k[data-i="4"]').click()
    page.keyboard.press("v")
    expect(told).to_contain_text("Right.")
    sees(page, f"{S}.node({S}.cursor).state", "vetoed")
    sees(page, "JSON.parse(localStorage.getItem('draftscope.lessons'))", {"entropy": [0]})
    page.wait_for_function("location.search.includes('beside=entropy%7E0')")


SEEN = """() => {
  const spot = document.querySelector('.lane .sel')?.getClientRects()[0];
  const over = spot && document.elementFromPoint(spot.left + spot.width / 2, spot.top + spot.height / 2);
  return Boolean(over?.closest('.sel') || over?.querySelector('.sel'));
}"""


def test_show_me_brings_the_token_into_sight_and_done_leaves_the_focus_on_the_stage(visit_cases):
    page = visit_cases("?trace=easd_helps&beside=entropy~1", viewport={"width": 1280, "height": 520})
    expect(page.locator(".beside h3")).to_have_text("Three conditions")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert not page.evaluate(SEEN)
    page.get_by_role("button", name="Show me").click()
    page.wait_for_function(SEEN)
    sees(page, f"{S}.node({S}.cursor).state", "vetoed")
    for step in (3, 4, 5):
        page.get_by_role("button", name="Next", exact=True).click()
        expect(page.locator(".beside header")).to_contain_text(f"{step} of 5")
    page.get_by_role("button", name="Done", exact=True).click()
    expect(page.locator(".beside")).to_be_hidden()
    expect(page.locator("#stage")).to_be_focused()


def test_a_step_about_a_lane_brings_it_into_sight_and_its_key_finds_the_place(visit_cases):
    page = visit_cases("?trace=easd_helps&v=score&beside=entropy~0", viewport={"width": 1280, "height": 600})
    expect(page.locator(".beside h3")).to_have_text("Find the veto")
    page.get_by_role("button", name="Show me").click()
    band = page.locator(f"[data-band='{page.evaluate(f'{S}.lanes[2]')}']")
    page.wait_for_function(
        """(band) => {
          const { left, top } = band.getBoundingClientRect();
          return band.contains(document.elementFromPoint(left + 12, top + 12));
        }""",
        arg=band.element_handle(),
    )
    page.keyboard.press("v")
    expect(page.locator(".lesson-after")).to_contain_text("Right.")


def test_a_prediction_comes_before_what_it_reveals(visit_cases):
    page = visit_cases("?beside=target_call~0&trace=first_look")
    task = page.locator(".beside .task")
    task.locator("input").fill("1")
    expect(page.locator(".lesson-after")).to_have_text("")
    task.get_by_role("button", name="Reveal").click()
    calls = page.evaluate(f"{S}.runs.get({S}.lanes[0]).rounds.length")
    expect(page.locator(".lesson-after")).to_contain_text(f"You said 1; it is {calls}")
    expect(page.locator(".lesson-after")).to_contain_text("Not quite")
    task.locator("input").fill("-1.5")
    task.get_by_role("button", name="Reveal").click()
    expect(page.locator(".lesson-after")).to_contain_text("You said −1.5; it is")


def test_what_would_tell_a_prediction_is_covered_until_it_is_made(visit_cases):
    page = visit_cases("?trace=first_look&beside=target_call~1")
    told = [
        page.locator(".v-verdict-line"),
        page.locator(".lane .figures dd").first,
        page.locator(".dock canvas").first,
    ]
    expect(page.locator(".beside")).to_contain_text("Numbers on the page are covered")
    for one in told:
        expect(one).to_be_hidden()
    expect(page.locator(".lane").first.get_by_text("coins").first).to_be_visible()
    page.get_by_label("Your prediction").fill("10")
    page.get_by_role("button", name="Reveal").click()
    for one in told:
        expect(one).to_be_visible()
    page.get_by_role("button", name="Back", exact=True).click()
    for one in told:
        expect(one).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".beside")).to_be_hidden()
    for one in told:
        expect(one).to_be_visible()


def test_a_knob_is_set_under_what_if(visit_cases):
    page = visit_cases("?room=learn&tab=lessons&name=entropy")
    page.locator(".lesson-steps").get_by_role("button", name="Move the threshold").click()
    slider = page.locator("#v-whatif-tau_entropy")
    page.wait_for_function(f"{S}.cursor && {S}.status.recorded === 'easd_helps'")
    expect(page.locator(".v-whatif > header .v-sub")).to_contain_text("EASD")
    expect(slider).to_have_value("0.15")
    slider.press("ArrowLeft")
    expect(page.locator(".lesson-after")).to_contain_text("Not yet")
    slider.press("End")
    expect(page.locator(".lesson-after")).to_contain_text("Right. tau_entropy at")


def test_a_case_opens_on_its_point_with_its_story(visit_cases):
    page = visit_cases("?room=learn&tab=gallery")
    card = page.locator("#case-easd_hurts")
    expect(card.locator(".lost").first).to_contain_text("Loses:")
    expect(card.locator("svg rect").nth(20)).to_be_attached()
    held = []
    page.route("**/lab/trace*", lambda route: held.append(route))
    card.get_by_role("button").click()
    title = card.locator("h4").text_content()
    expect(page.locator(".notice")).to_have_text(f"Opening {title} …")
    held.pop().continue_()
    page.wait_for_function(f"{S}.cursor && {S}.status.recorded === 'easd_hurts'")
    expect(page.locator(".notice")).to_have_count(0)
    sees(page, f"{S}.node({S}.cursor).state", "vetoed")
    expect(page.locator(".beside")).to_contain_text("EASD")
    expect(page.locator("[data-room=compare]")).to_be_visible()


def test_a_case_that_names_its_view_and_token_opens_there_in_sight(visit_cases):
    page = visit_cases("?room=learn&tab=gallery", viewport={"width": 1440, "height": 900})
    page.locator("#case-crossed_verb").get_by_role("button").click()
    page.wait_for_function(f"{S}.cursor && {S}.status.recorded === 'crossed_verb'")
    sees(page, f"[{S}.options.stage, {S}.cursor.run, {S}.node({S}.cursor).state]", ["score", "cm_asd", "rejected"])
    expect(page.locator("[data-band=cm_asd]")).to_be_in_viewport()
    sees(page, f"{S}.options.tracks.at(-1)", "node.confidence")
    page.wait_for_function("/tracks=[^&]*node.confidence/.test(location.search)")
    page.wait_for_function(
        """() => { const band = document.querySelector("[data-band=cm_asd]").getBoundingClientRect();
                   return band.bottom <= document.querySelector(".details").getBoundingClientRect().top }"""
    )


def test_titles_of_cases_beside_each_other_stand_at_one_height(visit_cases):
    page = visit_cases("?room=learn&tab=gallery", viewport={"width": 1440, "height": 900})
    tall = page.locator("#case-all_methods .thumbnail").bounding_box()
    low = page.locator("#case-first_look .thumbnail").bounding_box()
    assert tall["height"] > low["height"] + 40
    tops = (
        page.locator(".gallery")
        .first.locator("h4")
        .evaluate_all("(all) => all.slice(0, 4).map((one) => Math.round(one.getBoundingClientRect().top))")
    )
    assert len(tops) == 4 and len(set(tops)) == 1, tops


@pytest.mark.parametrize("place", ["tab=gallery", "tab=methods&name=sd"])
def test_a_case_that_is_refused_leaves_the_page_as_it_is(visit_cases, place: str):
    page = visit_cases(f"?room=learn&{place}")
    page.route("**/lab/trace*", lambda route: route.fulfill(status=400, json={"error": "Not now."}))
    case = page.locator("#case-easd_hurts button" if "gallery" in place else "aside section .learn-links button").last
    case.click()
    expect(page.locator(".notice")).to_contain_text("Not now.")
    page.wait_for_timeout(300)
    expect(page.locator("[data-room=learn]")).to_be_visible()
    assert page.evaluate(f"[{S}.options.room, {S}.options.beside]") == ["learn", ""]


def test_the_glossary_is_searched_and_typeset(visit_cases):
    page = visit_cases("?room=learn&tab=glossary")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    search.fill("acceptance prob")
    words = page.locator(".glossary > div")
    expect(words).to_have_count(1)
    expect(words.locator("math mfrac")).to_have_count(1)
    words.locator(".see a", has_text="Residual").click()
    expect(page.locator(".glossary .chosen dt")).to_have_text("Residual")
    page.go_back()
    page.wait_for_function("!location.search.includes('name=')")


def test_letters_of_formulas_can_be_read(visit_cases):
    """Indices too, and those of an exponent."""
    page = visit_cases("?room=learn&tab=glossary")
    letters = page.locator(".glossary math mi")
    letters.first.wait_for()
    sizes = letters.evaluate_all("(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))")
    assert min(sizes) >= 9 and sum(size < 11 for size in sizes) <= 4


def test_a_method_has_a_page_and_only_what_is_allowed_comes_over(visit_cases):
    page = visit_cases("?room=learn&tab=methods&name=easd")
    page.locator(".doc h3", has_text="EASD").wait_for()
    expect(page.locator(".doc math").nth(3)).to_be_attached()
    page.locator(".doc a", has_text="E2").first.click()
    page.locator("#text-e2").wait_for()
    shown = page.evaluate(
        """async () => {
          const { prose } = await import(new URL('lab-static/learn/prose.js', document.baseURI));
          const box = document.createElement('div');
          box.append(prose('<img src=x onerror=alert(1)><svg><a href="javascript:x"><script>y</script></a></svg>'
            + '<p onclick=x style=y>a<script>b</script></p><math><mtext><style><img src=x></style></mtext></math>'));
          return box.innerHTML;
        }"""
    )
    assert shown == "<p>a</p><math><mtext></mtext></math>"


def test_a_page_leads_to_what_its_letters_mean(visit_cases):
    page = visit_cases("?room=learn&tab=methods&name=easd")
    page.locator(".learn-back a", has_text="Symbols").click()
    expect(page.locator(".doc td", has_text="sigmoid").first).to_be_visible()
    expect(page.locator(".learn-back a")).to_have_count(1)


def test_a_tab_that_does_not_come_can_be_asked_for_again(visit_cases):
    page = visit_cases("?room=learn")
    page.locator(".lessons").wait_for()
    page.route("**/lab/gallery*", lambda route: route.fulfill(status=400, json={"error": "Not now."}))
    page.get_by_role("link", name="Gallery of cases").click()
    wrong = page.locator(".learn-panel [role=alert]")
    expect(wrong).to_contain_text("Not now.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.locator(".gallery-case").first.wait_for()
    expect(wrong).to_have_count(0)


def test_pages_of_methods_that_were_left_hear_no_more(visit_cases):
    page = visit_cases("?room=learn&tab=methods")
    page.locator(".learn-index").wait_for()
    page.evaluate("""() => {
      const { store } = draftscope, { on } = store;
      window.hearing = 0;
      store.on = (topic, hear) => {
        const off = on(topic, hear);
        window.hearing += 1;
        return () => { off(); window.hearing -= 1; };
      };
    }""")
    for name in ("sd", "easd", "stand"):
        page.evaluate("name => draftscope.store.setOption('name', name)", name)
        title = page.evaluate("n => draftscope.session.catalogue.methods.find((one) => one.name === n).title", name)
        expect(page.locator(".learn-page h3").first).to_contain_text(title)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    page.evaluate("draftscope.store.setStatus({})")
    one = page.evaluate("window.hearing")
    assert 0 < one <= 4  # those of the page that is open
    page.get_by_role("link", name="Compare").click()
    page.locator("[data-room=compare]").wait_for()
    page.evaluate("draftscope.store.setStatus({})")
    sees(page, "window.hearing", 0)


def test_a_lesson_has_room_in_a_low_window(visit_cases):
    page = visit_cases("?room=learn&tab=lessons&name=entropy")
    page.set_viewport_size({"width": 720, "height": 450})  # 1440 x 900 at 200 %
    page.get_by_role("button", name="Start beside the runs").click()
    body = page.locator(".beside .lesson-body")
    expect(body).to_be_visible()
    box, whole = body.bounding_box(), page.locator(".beside").bounding_box()
    assert box and box["height"] > 190, "nine lines and more"
    assert whole and whole["y"] >= 60 and whole["y"] + whole["height"] <= 450


def test_a_button_keeps_its_height_where_a_step_scrolls(visit_cases):
    page = visit_cases("?trace=first_look&beside=target_call~0", viewport={"width": 1280, "height": 620})
    expect(page.locator(".lesson-show")).to_be_visible()
    body = page.locator(".lesson-body")
    assert body.evaluate("(one) => one.scrollHeight > one.clientHeight"), "the step is longer than its room"
    show, next_ = (page.locator(spot).bounding_box()["height"] for spot in (".lesson-show", ".lesson-foot .primary"))
    assert show == next_


def test_a_lesson_that_is_slow_to_come_says_so_and_one_that_does_not_come_can_be_closed(visit_cases):
    page = visit_cases("?trace=first_look")
    held = []
    page.route("**/lab/lessons", lambda route: held.append(route))
    page.evaluate("draftscope.store.setOption('beside', 'target_call~0')")
    expect(page.locator(".beside")).to_have_text("Opening …")
    held.pop().fulfill(body="not JSON")
    expect(page.locator(".beside")).to_contain_text("without JSON")
    page.get_by_role("button", name="Close the lesson").click()
    expect(page.locator(".beside")).to_be_hidden()
    start = page.get_by_role("button", name="Start here")
    start.click()
    expect(start).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    expect(page.locator(".lesson-body")).to_be_visible()
    expect(start).not_to_have_attribute("aria-busy", "true")
    assert not held, "what came is not asked for again"


@pytest.mark.parametrize(
    ("place", "known", "says"),
    [
        ("learn&tab=lessons", "entropy", "There is no lesson “nothing” here."),
        ("learn&tab=glossary", "tau", "There is no word “nothing” here."),
        ("learn&tab=gallery", "first_look", "There is no case “nothing” here."),
        ("papers", "easd", "There is no table or figure “nothing” here."),
    ],
)
def test_an_address_that_names_what_is_not_here_is_told_so(visit_cases, place, known, says):
    """It had shown the list, or the first of it, without a word."""
    page = visit_cases(f"?room={place}&name=nothing")
    expect(page.locator("main .warn:visible")).to_have_text(says)
    page = visit_cases(f"?room={place}&name={known}")
    expect(page.locator(".learn-panel > div > *, .paper-item > *").first).to_be_visible()
    expect(page.locator("main .warn:visible")).to_have_count(0)
