"""The run bar: folded, choosing methods, and what is shown while settings are edited."""

import re

import pytest
from playwright.sync_api import expect

from app.rounds import Visitor
from tests.browser.waits import freed, sees

pytestmark = pytest.mark.browser


def bar(page, what):
    return page.locator(f"[data-view=runbar] {what}")


def open_picker(page):
    if bar(page, ".runform").is_hidden():
        page.keyboard.press("e")
    page.get_by_role("button", name="Choose methods").click()
    return page.get_by_role("listbox", name="Methods")


def test_the_first_paint_is_folded_and_the_stage_near_the_top(visit):
    page = visit(viewport={"width": 1440, "height": 900})
    expect(bar(page, ".runform")).to_be_hidden()
    line = bar(page, ".runline").inner_text()
    assert "A farmer has 48 apples." in line and "greedy" in line and "5 methods" in line and "made-up" in line
    assert page.locator(".stage").bounding_box()["y"] < 220
    expect(page.locator(".top")).to_contain_text("See how a large language model writes faster")
    page.keyboard.press("e")
    sees(page, "document.activeElement.getAttribute('aria-label')", "Prompt")
    bar(page, ".fold").click()
    expect(bar(page, ".runform")).to_be_hidden()


def test_editing_leaves_a_recording_and_its_link_as_they_are(visit):
    page = visit()
    page.wait_for_function("location.search.includes('trace=apples')")
    page.keyboard.press("e")
    said = bar(page, ".point").inner_text()
    page.get_by_label("Seed").fill("5")
    page.get_by_label("Seed").press("Tab")
    expect(bar(page, ".point")).to_have_text(f"Before your changes: {said}".strip())
    expect(bar(page, ".point")).to_be_visible()
    expect(bar(page, ".stale")).to_have_text("Settings changed, press Run")
    page.wait_for_timeout(300)
    assert "trace=apples" in page.url and "seed=5" not in page.url
    expect(page.locator(".verdict")).to_contain_text("Recorded")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("location.search.includes('seed=5')")
    expect(bar(page, ".stale")).to_have_text("")
    expect(bar(page, ".runform")).to_be_hidden()


@pytest.mark.parametrize("width", [1440, 390])
def test_what_a_case_is_about_is_said_once(visit_cases, width):
    page = visit_cases("?trace=first_look", viewport={"width": width, "height": 900})
    page.keyboard.press("e")
    expect(page.get_by_label("Prompt", exact=True)).to_be_visible()
    about = "Four methods on one problem"
    points = page.locator(".runbar .point, .v-verdict-point")
    expect(points.filter(has_text=about).filter(visible=True)).to_have_count(1)


def test_what_is_typed_is_what_runs_also_before_the_field_is_left(visit):
    page = visit()
    page.keyboard.press("e")
    for name, value in (("Max tokens", "20"), ("Seed", "77")):
        page.get_by_label(name, exact=True).fill(value)
        if name == "Max tokens":
            page.get_by_label(name, exact=True).press("Tab")
    page.get_by_label("Seed").press("Control+Enter")
    page.wait_for_function("draftscope.session.ran.seed === 77 && draftscope.store.status.recorded === null")
    sees(page, "[draftscope.session.ran.max_new_tokens, draftscope.session.stale]", [20, False])


def test_a_number_that_is_refused_is_named_and_nothing_runs(visit):
    page = visit()
    page.keyboard.press("e")
    tokens, notice = page.get_by_label("Max tokens", exact=True), page.locator("[data-view=notices]")
    tokens.fill("5000")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(notice).to_have_text("Max tokens must be a whole number from 1 to 512.")
    expect(tokens).to_be_focused()
    tokens.press("Control+Enter")
    expect(notice.locator("p")).to_have_count(1)
    bar(page, ".fold").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(tokens).to_be_focused()
    sees(page, "[draftscope.store.status.recorded, draftscope.session.config.max_new_tokens]", ["apples", 120])
    tokens.fill("30")
    page.get_by_role("button", name="Method settings").click()
    knob = bar(page, ".settings input[type=number]").first
    knob.fill("-3")
    knob.press("Control+Enter")
    expect(notice).to_have_text("Chain of candidates: gamma must be a whole number from 1 to 16.")
    expect(knob).to_be_focused()
    sees(page, "draftscope.store.status.recorded", "apples")
    knob.fill("9")
    knob.press("Control+Enter")
    page.wait_for_function("draftscope.store.status.recorded === null && draftscope.session.ran.max_new_tokens === 30")
    sees(page, "draftscope.session.ran.lanes.map((lane) => lane.knobs.gamma).filter(Boolean)", [9])


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_every_method_can_be_reached_and_nothing_overflows_sideways(visit, size):
    page = visit(viewport={"width": size[0], "height": size[1]})
    options = open_picker(page).get_by_role("option")
    expect(options).to_have_count(6)
    box = page.get_by_role("dialog", name="Methods to compare").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= size[0]
    page.wait_for_function("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.picklist'))")
    options.last.scroll_into_view_if_needed()
    low = options.last.bounding_box()
    assert low["height"] >= 24 and box["y"] <= low["y"] < box["y"] + box["height"]


def test_methods_are_chosen_by_keyboard_and_several_at_once(visit):
    page = visit()
    open_picker(page)
    page.keyboard.type("bush")
    page.keyboard.press("Enter")
    lanes = "draftscope.session.config.lanes.map((lane) => lane.method)"
    sees(page, lanes, ["plain", "chain", "lenient", "wary"])
    page.keyboard.press("Enter")
    sees(page, lanes, ["plain", "chain", "lenient", "wary", "bush"])
    expect(page.locator(".pick.active")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="None", exact=True).click()
    sees(page, lanes, [])
    page.get_by_role("button", name=re.compile(r"^All \d")).click()
    page.wait_for_function(f"['plain', 'chain', 'bush', 'lenient', 'wary'].every((one) => {lanes}.includes(one))")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox", name="Methods")).to_have_count(0)
    sees(page, "document.activeElement.textContent", "Choose methods")


def test_a_composed_lane_is_counted_and_listed_at_once(visit):
    page = visit()
    open_picker(page)
    said, listed = page.locator(".picksaid"), page.get_by_role("group", name="Composed").get_by_role("option")
    expect(said).to_have_text("5 chosen")
    page.get_by_text("Compose a method").click()
    drafters, shapes, rules = (page.get_by_label(re.compile(f"^{one}: ")) for one in ("Drafter", "Shape", "Rule"))
    expect(drafters.locator("option[value=mtp]")).to_have_text("Multi-token prediction")
    expect(drafters.locator("option[value=mtp]")).to_have_attribute("title", "mtp")
    expect(shapes.locator("option[value=entropy_stop]")).to_have_text("Entropy-stopped chain")
    expect(shapes.locator("option:checked")).to_have_text("Chain")
    expect(shapes).to_have_attribute("title", "chain")
    expect(rules.locator("option[value=gap]")).to_have_text("Top-beta and gap")
    page.get_by_role("button", name="Add this lane").click()
    expect(said).to_have_text("6 chosen")
    expect(listed).to_have_attribute("aria-selected", "true")


def test_a_composed_lane_keeps_its_title_and_settings_on_other_models(visit):
    page = visit()
    page.route(
        "**/lab/*models=others*", lambda route: route.continue_(url=route.request.url.replace("others", "made-up"))
    )
    page.keyboard.press("e")
    page.evaluate("""() => {
        const { session } = draftscope;
        const lanes = ["plain", "model+chain+exact"].map((method) => ({ method, knobs: {} }));
        session.take({ ...session.catalogue, models: [...session.catalogue.models, "others"] },
            { ...session.config, lanes });
        session.on("methods", () => (window.came = true));
    }""")
    page.get_by_role("button", name="Method settings").click()
    titles = (bar(page, ".chip .name").last, bar(page, ".settings h3").last)
    for title in titles:
        expect(title).to_have_text("Draft model + chain + exact rule")
    page.get_by_label("Models").select_option("others")
    page.wait_for_function("window.came")
    for title in titles:
        expect(title).to_have_text("Draft model + chain + exact rule")


def test_a_chosen_method_that_the_models_cannot_run_is_marked_with_its_reason(visit):
    page = visit("?prompt=abc&m=plain&m=copycat&n=20")  # a run loads the models, and what they cannot run is known
    page.wait_for_function("draftscope.store.status.phase === 'done'")
    page.get_by_role("button", name="Edit", exact=True).click()
    marked = page.locator(".runbar .chip.unable")
    expect(marked).to_have_text("Cannot run on these models: Copy from the prompt")
    expect(marked).to_have_attribute("title", re.compile("needs a longer prompt"))
    expect(page.locator(".runbar .chip")).to_have_count(2)


def test_repeat_gives_each_number_its_range_until_other_runs_are_shown(visit):
    page = visit()
    verdict, again = page.locator(".v-verdict"), bar(page, ".repeat button")
    expect(verdict).to_contain_text("(once", timeout=60_000)
    expect(page.locator(".lane[data-lane=chain] .ratio")).to_contain_text("once")
    expect(again).to_have_accessible_name("Repeat")
    expect(again).to_have_accessible_description(re.compile("^The shown methods again"))
    page.get_by_label("Runs of each method").fill("2")
    again.click()
    expect(verdict).to_contain_text("median of 2 runs a side", timeout=60_000)
    expect(verdict).to_contain_text("The lanes below are the recorded ones, with the figures of these runs.")
    expect(again).to_have_text("Repeat", timeout=60_000)
    expect(page.locator(".lane[data-lane=chain] .spread")).to_contain_text("2 runs")
    expect(page.locator(".lane[data-lane=chain] .ratio")).not_to_contain_text("once")
    page.evaluate("""() => {
        const { repeated } = draftscope.store.status;
        const faster = (lane) => ({ ...lane, tokens_per_s: { median: 4321, low: 4000, high: 5000, n: 2 } });
        const lanes = Object.entries(repeated.lanes).map(([key, lane]) => [key, faster(lane)]);
        draftscope.store.setStatus({ repeated: { ...repeated, lanes: Object.fromEntries(lanes) } });
    }""")
    for key in ("plain", "chain"):
        expect(page.locator(f".lane[data-lane={key}] .figures dd").first).to_contain_text("4321")
    expect(page.locator(".lane[data-lane=chain] .figures dt").nth(3)).to_have_text("accepted of drafted")
    page.keyboard.press("2")
    expect(page.locator(".head[data-band=chain]")).to_contain_text("2 runs")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(verdict).to_contain_text("(once", timeout=60_000)


def test_a_repetition_says_which_of_how_many_and_moves_no_button(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    run, again = page.get_by_role("button", name="Run", exact=True), bar(page, ".repeat button")
    page.get_by_label("Runs of each method").fill("20")
    before = run.bounding_box()
    again.click()
    expect(again).to_have_text("Run 1 of 20")
    expect(bar(page, ".repeat [role=status]")).to_have_text("Repeat: run 1 of 20")
    expect(page.get_by_label("Runs of each method")).to_be_hidden()
    assert run.bounding_box() == before
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(again).to_have_text("Repeat")
    expect(page.get_by_label("Runs of each method")).to_have_value("20")


def test_repetitions_can_be_stopped_and_keep_what_was_measured(visit, server):
    page = visit()
    page.get_by_label("Runs of each method").fill("20")
    bar(page, ".repeat button").click()
    expect(page.locator(".v-verdict")).to_contain_text("runs a side", timeout=60_000)
    page.get_by_role("button", name="Stop").click()
    expect(bar(page, ".repeat button")).to_have_text("Repeat")
    expect(page.locator(".v-verdict")).to_contain_text("runs a side", timeout=60_000)
    assert page.evaluate("draftscope.store.status.repeated.runs") < 20
    freed(server, page)


def test_a_run_that_waits_says_its_place_and_leaves_what_is_shown(visit, server):
    page = visit()
    expect(page.locator(".lane[data-lane=chain]")).to_be_visible()
    page.wait_for_function("draftscope.store.lanes.length > 1")
    shown = page.evaluate("draftscope.store.lanes.length")
    with server.service.line(Visitor("somebody")) as ticket:
        assert list(ticket.waits()) == []
        page.get_by_role("button", name="Run", exact=True).click()
        expect(bar(page, ".waits")).to_have_text(re.compile("^Next in line"))
        sees(page, "draftscope.store.lanes.length", shown)
        with server.service.line(Visitor("somebody else")) as second:
            second.enqueue()
            other = page.context.new_page()
            other.goto(page.url)
            other.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
            other.get_by_role("button", name="Run", exact=True).click()
            expect(bar(other, ".waits")).to_have_text(re.compile("^3rd in line"))
            other.get_by_role("button", name="Stop").click()
            expect(bar(other, ".waits")).to_have_text("")
            other.close()
    expect(bar(page, ".waits")).to_have_text("")
    page.wait_for_function("draftscope.store.status.phase === 'done'")


@pytest.mark.parametrize("seed", [0, 7])
def test_a_page_that_is_loaded_again_says_that_its_run_lost_its_place_in_line(visit, server, seed):
    first = visit()
    page = first.context.new_page()  # Gradio logs an error where a page goes that listens
    page.goto(first.url)
    ready = "document.documentElement.dataset.draftscope === 'ready'"
    page.wait_for_function(ready)
    notices = page.locator("[data-view=notices]")
    with server.service.line(Visitor("somebody")) as ticket:
        assert list(ticket.waits()) == []
        page.evaluate("(seed) => draftscope.session.configure({ seed })", seed)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(bar(page, ".waits")).to_have_text(re.compile("^Next in line"))
        page.reload()
        page.wait_for_function(ready)
        expect(notices).to_contain_text("had not begun, and lost its place in line")
        sees(page, "draftscope.session.config.seed", seed)
    page.get_by_role("button", name="Run", exact=True).click()
    done = "draftscope.store.status.phase === 'done' && !draftscope.store.status.recorded"
    page.wait_for_function(f"{done} && location.search.includes('m=')")
    page.reload()
    page.wait_for_function(f"{ready} && {done}")
    expect(notices).to_be_empty()


def test_letters_in_the_list_of_methods_search_it_and_are_no_keys_of_the_page(visit):
    page = visit()
    before = page.evaluate("JSON.stringify([draftscope.store.options, draftscope.store.cursor])")
    listed = open_picker(page)
    listed.focus()
    page.keyboard.press("w")
    search = page.get_by_role("combobox", name="Search methods")
    expect(search).to_be_focused()
    page.keyboard.type("ary")
    expect(search).to_have_value("wary")
    expect(listed.locator("[data-method]")).to_have_count(1)
    listed.focus()
    page.keyboard.press("3")
    expect(search).to_have_value("wary3")
    page.locator(".quick").get_by_role("button").last.focus()
    for key in "rdg2h":
        page.keyboard.press(key)
    assert page.evaluate("JSON.stringify([draftscope.store.options, draftscope.store.cursor])") == before
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    page.locator(".lane .flow").first.focus()  # a list too, of tokens: the page's keys are for these
    page.keyboard.press("g")
    sees(page, "draftscope.store.options.ghosts", True)


def test_while_a_case_is_fetched_it_is_said_and_nothing_asks_for_a_run(visit_cases):
    page = visit_cases("?trace=first_look")
    held = []
    page.route("**/lab/trace*", lambda route: held.append(route))
    page.get_by_label("Case", exact=True).select_option("sampled")
    status = page.locator(".runline .stale")
    expect(status).to_have_text("Opening the recording …")
    held.pop().continue_()
    sees(page, "draftscope.store.status.recorded", "sampled")
    expect(status).to_be_empty()
    page.wait_for_function("location.search.includes('sampled')")
    page.reload()
    expect(page.locator(".lanes .empty")).to_have_text(re.compile("^Opening .+ …$"))
    assert page.evaluate("draftscope.session.config.preset") == "sampled"
    held.pop().continue_()
    expect(page.locator(".lane").first).to_be_visible()
    page.evaluate("draftscope.store.setOption('stage', 'trees')")
    page.wait_for_function("location.search.includes('v=trees')")
    page.reload()
    expect(page.get_by_role("tab", name="Trees")).to_have_attribute("aria-selected", "true")
    page.wait_for_function("draftscope.session.opening")
    held.pop().continue_()
    expect(page.locator(".treegrid .box").first).to_be_visible()


def test_a_double_click_on_run_makes_one_run_and_no_fault(visit, server):
    page = visit()
    refused: list[str] = []
    page.on("response", lambda answer: refused.append(answer.url) if answer.status >= 400 else None)
    page.get_by_role("button", name="Run", exact=True).dblclick()
    page.wait_for_function("draftscope.store.status.phase === 'done' && !draftscope.store.status.recorded")
    assert refused == []


def test_other_models_are_said_at_once(visit):
    page = visit()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.evaluate("""() => {
        const { session } = draftscope;
        session.take({ ...session.catalogue, models: [...session.catalogue.models, 'others'] }, session.config);
    }""")
    page.get_by_label("Models").select_option("others")
    expect(page.locator(".runbar .summary")).to_contain_text("others")
    expect(page.locator(".runbar .stale")).to_have_text("Settings changed, press Run")
    expect(page.get_by_label("Models").locator("option:checked")).to_have_text("others, not here any more")


def test_models_that_another_page_had_opened_are_offered_when_settings_are_edited(visit):
    page = visit()
    models = page.get_by_label("Models").locator("option")
    own = models.all_text_contents()

    def renewed(route):
        body = route.fetch().json()
        route.fulfill(json={**body, "models": [*body["models"], "theirs"], "closed": ""})

    page.route("**/lab/catalogue*", renewed)
    page.evaluate("draftscope.session.take({ ...draftscope.session.catalogue, closed: '' }, draftscope.session.config)")
    expect(models).to_have_text(own)
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(models).to_have_text([*own, "theirs"])
    expect(page.locator(".runbar .stale")).to_be_empty()


SPOKEN = """() => {
    window.spoken = [];
    const LIVE = "[role=status], [role=alert], [aria-live], output";
    new MutationObserver((changes) => {
        const regions = changes.map(({ target }) => (target.closest ? target : target.parentElement)?.closest(LIVE));
        for (const one of new Set(regions))
            if (one?.checkVisibility() && one.ariaLive !== "off") spoken.push(one.textContent.trim());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def test_of_a_run_its_start_and_its_end_are_read_out_once(visit):
    page = visit()
    page.locator(".lane .k").first.click()
    page.get_by_role("button", name="Run", exact=True).focus()
    page.evaluate(SPOKEN)
    page.keyboard.press("Enter")
    page.wait_for_function("draftscope.store.status.phase === 'done' && !draftscope.store.status.recorded")
    expect(page.locator(".v-verdict-line")).to_contain_text("once")
    page.wait_for_timeout(600)  # what is drawn seldom
    said = [words for words in page.evaluate("spoken") if words]
    assert said[0] == "Running"
    assert sum("tokens a target call" in words for words in said) == 1, said
    assert len(said) == len(set(said)) <= 5, said


def test_what_is_typed_moved_or_stepped_is_told_once_and_nothing_beside_it(visit_cases):
    page = visit_cases("?trace=first_look")
    page.locator("[data-view=whatif] input").first.wait_for()
    page.evaluate(SPOKEN)

    def told() -> list[str]:
        page.wait_for_timeout(400)  # what is drawn seldom
        return [words for words in page.evaluate("spoken.splice(0)") if words]

    page.keyboard.press("e")
    told()
    page.keyboard.type("abc")
    said = told()
    assert "Settings changed, press Run" in said and len(said) == len(set(said)), said
    page.evaluate("draftscope.store.setCursor({ run: 'specdec', pos: 8 })")
    slider = page.locator("[data-view=whatif] input").first
    slider.focus()
    told()
    page.keyboard.press("ArrowLeft")
    (words,) = told()
    assert words.startswith("The condition holds at")
    assert page.evaluate("document.activeElement.ariaValueText") == page.locator(".v-value").first.inner_text()
    page.locator(".dock canvas").focus()
    page.keyboard.press("ArrowLeft")
    assert not any(words.startswith("call") for words in told())  # the slider tells its own value
    page.get_by_role("button", name="Play (space)").focus()
    page.keyboard.press(",")
    said = told()
    assert [words for words in said if words.startswith("call")] == [page.locator(".readout").inner_text()]
    assert not any("tokens a target call" in words or "condition holds" in words for words in said)


def test_letters_that_a_browser_makes_larger_keep_their_lines(visit):
    """As those of a least size of letters, or of a zoom of the text alone."""
    page = visit()
    page.add_style_tag(content=".lab :is(.runline, .lane > header) * { font-size: 22px !important; }")
    low = """() => [...document.querySelectorAll(".runline .summary > *, .lane-knobs, .lane-marks, .figures dt, .spread")]
      .filter((one) => one.offsetHeight && Number.parseFloat(getComputedStyle(one).lineHeight) < 25)
      .map((one) => one.className || one.tagName)"""
    assert page.evaluate(low) == []
    outside = """() => [...document.querySelectorAll(".lane")].flatMap((lane) => [...lane.querySelectorAll(".figures dt")]
      .filter((one) => one.getBoundingClientRect().right > lane.getBoundingClientRect().right)
      .map((one) => one.textContent))"""
    assert page.evaluate(outside) == []
