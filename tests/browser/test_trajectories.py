"""The room of trajectories, the room of trees, and the passages that draft tokens were copied from."""

import re

import pytest
from playwright.sync_api import expect

from app.pagefiles import LOOKED
from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.trace.store import Trace
from tests.browser.legible import faults
from tests.browser.waits import freed

pytestmark = pytest.mark.browser
STATUS = ".ask [role=status]"


def room(page, name):
    page.get_by_role("link", name="Trajectories").click()
    if name != "Trajectories":
        page.get_by_role("tab", name=name).click()


def choose(page, *titles):
    page.locator(".ask details summary").wait_for()  # the form comes with the recorded example
    page.locator(".ask details").evaluate("(e) => (e.open = true)")
    for title in titles:
        page.locator(".ask").get_by_role("button", name=title, exact=True).click()


def test_a_recorded_example_is_on_show_without_a_model(visit, server):
    loads = server.lab.loads
    page = visit()
    room(page, "Trajectories")
    expect(page.locator(".trajectories .about")).to_contain_text("python -m engine trajectories show")
    page.wait_for_selector(".growth .plot .js-line")
    expect(page.locator(".growth .plot .legendtext")).to_have_count(5)
    expect(page.locator(".answers-list li")).to_have_count(8)
    expect(page.locator(".answers-list li").nth(0).locator(".n5")).to_have_count(0)
    expect(page.locator(".answers-list li").nth(1).locator(".n5").nth(20)).to_be_attached()
    expect(page.get_by_role("region", name="Answers and the majority")).to_contain_text("7 of 8 (88 %)")
    page.locator(".answers-list li").nth(1).locator(".n5").first.hover()
    expect(page.locator(".v-tip")).to_contain_text("5-gram seen")
    expect(page.locator(".v-tip")).to_contain_text("trajectory 1")
    page.locator(".rows").get_by_role("button", name="Token recycling").click()
    expect(page.locator(".rows [aria-pressed=true]")).to_have_text("Token recycling")
    page.wait_for_function("location.search.includes('method=')")
    linked = visit(page.url.split("/")[-1])
    expect(linked.locator(".rows [aria-pressed=true]")).to_have_text("Token recycling")
    page.locator(".growth summary").click()
    expect(page.locator(".growth tbody tr")).to_have_count(5)
    assert server.lab.loads == loads


def test_methods_draw_live_and_the_rows_grow(visit):
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of candidates", "Wary of entropy")
    page.locator(".ask").get_by_label("Trajectories", exact=True).fill("2")
    page.locator(".ask").get_by_label("Max tokens", exact=True).fill("12")
    page.locator(".ask").get_by_label("Max tokens", exact=True).press("Tab")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_function(f"document.querySelector('{STATUS}').textContent.startsWith('Done')")
    expect(page.locator(STATUS)).to_contain_text("4 of 4")
    expect(page.locator(".answers-list li")).to_have_count(2)
    expect(page.locator(".trajectories .about")).to_contain_text("Drawn on this page: 2 trajectories a method")
    page.get_by_role("button", name="Recorded example").click()
    expect(page.locator(".answers-list li")).to_have_count(8)


def test_a_method_that_other_models_cannot_run_is_not_asked_for(visit):
    page, asked = visit(), []
    page.get_by_role("link", name="Trajectories").click()
    page.locator(".ask").wait_for()
    gone, _ = (
        page.evaluate("""() => [...document.querySelectorAll('.ask .toggle[data-name]')].slice(0, 2).map((one) => {
      document.querySelector(`.ask [data-name="${one.dataset.name}"]`).click(); // drawn anew after each
      return one.dataset.name;
    })""")
    )
    page.get_by_role("link", name="Compare").click()
    page.evaluate(
        """(gone) => draftscope.session.takeMethods(draftscope.session.catalogue.methods.map(
             (card) => card.name === gone ? { ...card, unavailable: "It needs another head." } : card))""",
        gone,
    )
    page.route(
        "**/lab/trajectories/live",
        lambda route: (asked.append(route.request.post_data_json["lanes"]), route.fulfill(status=400, json={})),
    )
    page.get_by_role("link", name="Trajectories").click()
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".trajectories [role=alert]")).not_to_be_empty()
    assert asked and gone not in asked[0]


def test_a_draw_that_is_refused_leaves_what_is_shown(visit, server, monkeypatch):
    def refuse(*_args, **_options):
        raise ConfigError("The prompt has 12001 tokens.")

    page = visit()
    room(page, "Trajectories")
    expect(page.locator(".answers-list li")).to_have_count(8)
    monkeypatch.setattr(server.lab, "stream_trajectories", refuse)
    choose(page, "Chain of candidates")
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".trajectories")).to_contain_text("The prompt has 12001 tokens.")
    expect(page.locator(STATUS)).to_have_text("")
    expect(page.locator(".answers-list li")).to_have_count(8)


def test_a_server_that_is_gone_is_told_in_words_and_a_room_can_be_asked_for_again(visit, pages, monkeypatch):
    page = visit()
    expect(page.locator(".notice")).to_have_count(0)
    monkeypatch.setattr(LOOKED, "edition", lambda: f"e-{'0' * 16}")  # the server was updated meanwhile
    page.route("**/rooms/runs.js*", lambda route: route.abort())
    page.get_by_role("link", name="Many runs").click()
    section = page.locator("[data-room=runs]")
    expect(section).to_contain_text("This room could not be opened. The server does not answer.")
    expect(section.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator(".notice")).to_contain_text("This lab was updated after this page had been loaded")
    page.route("**/lab/trajectories/live", lambda route: route.abort())
    room(page, "Trajectories")
    choose(page, "Chain of candidates")
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".trajectories")).to_contain_text("The server does not answer. Try again when it is back.")
    assert pages.errors and all("net::ERR_FAILED" in text for text in pages.errors), "what the browser says by itself"
    pages.errors.clear()


@pytest.mark.parametrize("way", ["Stop", "Compare", "Static trees"])
def test_stop_and_leaving_end_the_work(visit, server, monkeypatch, way):
    monkeypatch.setattr(server.lab, "pause", 0.1)
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of candidates")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_function("document.querySelectorAll('.answers-list li').length === 1")
    assert server.lab.open_streams
    if way == "Stop":
        page.locator(".ask").get_by_role("button", name="Stop").click()
        page.wait_for_function(f"document.querySelector('{STATUS}').textContent.startsWith('Stopped')")
    else:
        page.get_by_role("link" if way == "Compare" else "tab", name=way).click()
        expect(page.locator(".notice")).to_have_text(re.compile("The draw was ended when it was left"))
    freed(server, page)


def test_escape_leaves_no_draw_that_goes_on(visit, server, monkeypatch):
    monkeypatch.setattr(server.lab, "pause", 0.1)
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of candidates")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_function("document.querySelectorAll('.answers-list li').length === 1")
    page.locator(".answers-list li").first.click()
    page.keyboard.press("Escape")
    expect(page.locator(".trajectories [role=alert]")).to_contain_text("goes on: Stop ends it")
    expect(page.locator("[data-room=trajectories]")).to_be_visible()
    assert server.lab.open_streams
    page.locator(".ask").get_by_role("button", name="Stop").click()
    expect(page.locator(STATUS)).to_contain_text("Stopped")
    expect(page.locator(".trajectories [role=alert]")).to_have_text("")
    freed(server, page)
    page.keyboard.press("Escape")
    expect(page.locator("[data-room=trajectories]")).to_be_hidden()
    expect(page.locator(".notice")).to_have_count(0)
    room(page, "Trajectories")
    expect(page.locator(".trajectories .about")).to_contain_text("Drawn on this page")


def test_a_bad_request_is_told_and_nothing_is_lost(visit):
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of candidates")
    page.get_by_label("Problem", exact=True).fill("  ")
    page.get_by_role("button", name="Draw").click()
    page.locator(".trajectories [role=alert]", has_text="empty").wait_for()
    expect(page.locator(".answers-list li")).to_have_count(8)
    page.keyboard.press("Escape")
    room(page, "Trajectories")
    expect(page.get_by_label("Problem", exact=True)).to_have_value("  ")


def test_trees_show_heat_and_what_stays(visit):
    page = visit()
    room(page, "Static trees")
    page.locator(".trees", has_text="heuristic").wait_for()
    if page.locator(".trees .chips button").count():
        expect(page.locator(".trees rect[data-node]")).to_have_count(625)
        expect(page.locator(".trees rect[data-stays=true]")).to_have_count(80)
        page.locator(".trees rect[data-stays=true]").first.hover()
        expect(page.locator(".v-tip")).to_contain_text("stays in the optimised tree")
    chosen = page.locator(".trees .chips button").last
    name = chosen.inner_text()
    assert chosen.get_attribute("aria-pressed") == "false"
    chosen.click()
    expect(page.locator(".trees .chips [aria-pressed=true]")).to_have_text(name)
    expect(chosen).to_be_focused()
    page.wait_for_function("location.search.includes('tree=')")
    expect(visit(page.url.split("/")[-1]).locator(".trees .chips [aria-pressed=true]")).to_have_text(name)
    unknown = visit("?room=trajectories&trajectories=trees&tree=oak")
    expect(unknown.locator(".notice")).to_contain_text('There is no "oak" here: a link\'s tree is one of ')


@pytest.mark.parametrize("problem", ["Held-out arithmetic problem 2", "The run bar's prompt", "Own text"])
def test_a_problem_is_still_called_what_it_is_when_the_room_is_opened_again(visit, problem):
    page = visit("?room=trajectories")
    source, text = page.get_by_label("Take the problem from"), page.get_by_label("Problem", exact=True)
    source.select_option(label=problem)
    if problem == "Own text":
        text.fill("What is 2 + 2?")
    chosen = text.input_value()
    page.get_by_role("link", name="Learn", exact=True).click()
    expect(source).to_have_count(0)
    page.get_by_role("link", name="Trajectories").click()
    expect(text).to_have_value(chosen)
    expect(source.locator("option:checked")).to_have_text(problem)


def test_the_open_tab_has_an_address_and_back_leads_to_the_other(visit):
    page = visit("?room=trajectories&trajectories=trees")
    tabs = page.get_by_role("tab")
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".room .trees")).to_be_visible()
    tabs.nth(0).click()
    expect(page).not_to_have_url(re.compile("trajectories=trees"))
    expect(page.locator(".room .trees")).to_have_count(0)
    page.go_back()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    tabs.nth(1).press("ArrowLeft")
    expect(tabs.nth(0)).to_be_focused()
    expect(page.locator(".room .trees")).to_have_count(0)


@pytest.mark.parametrize("name", ["Trajectories", "Static trees"])
def test_rooms_fit_a_narrow_screen(visit, name):
    page = visit(viewport={"width": 390, "height": 844})
    room(page, name)
    page.wait_for_timeout(200)
    page.wait_for_function("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('[data-room=trajectories]'))")
    expect(page.locator(".plot .main-svg").first).to_be_visible()
    expect(page.locator(".plotted").get_by_text("Drawing")).to_have_count(0)
    assert faults(page) == []


def test_a_problem_ends_with_a_whole_line_on_a_phone(visit):
    """A line that is cut in half looks broken, even where it can be scrolled to."""
    page = visit("?room=trajectories", viewport={"width": 390, "height": 844})
    problem = page.locator(".trajectories .problem")
    problem.wait_for()
    lines = problem.evaluate(
        "(e) => (e.clientHeight - 2 * parseFloat(getComputedStyle(e).paddingTop)) / parseFloat(getComputedStyle(e).lineHeight)"
    )
    assert abs(lines - round(lines)) < 0.1


def test_the_name_of_an_axis_stands_above_the_legend_on_a_phone(visit):
    page = visit("?room=trajectories", viewport={"width": 390, "height": 844})
    figure = page.locator(".growth .plot")
    expect(figure.locator(".legendtext")).to_have_count(5)
    name, legend = (figure.locator(part).first.bounding_box() for part in (".xtitle", ".legendtext"))
    assert name["y"] + name["height"] <= legend["y"]


def opened(visit, *files):
    page = visit()
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(
        [PRESETS / "traces" / file for file in files]
    )
    page.wait_for_function(
        f"draftscope.store.lanes.length === {len(files)} && draftscope.store.status.recorded === null"
    )
    return page


def test_a_copied_token_shows_its_passage_and_a_key_goes_there(visit):
    page = opened(visit, "copying-1-pld.jsonl.gz")
    run = Trace.load(PRESETS / "traces" / "copying-1-pld.jsonl.gz")
    kept = [node for r in run.rounds for node in r.nodes if node.state == "accepted"]
    seen = [
        bool(node.source and node.source["order"] == 3 and len(run.pieces[node.token].strip()) > 2) for node in kept
    ]
    chip = page.locator(".lane .k.draft").nth(seen.index(True))
    chip.hover()
    tip = page.locator(".v-tip")
    expect(tip).to_contain_text("3-gram seen once in this text")
    expect(tip.locator("mark")).to_have_count(1)
    chip.click()
    page.mouse.move(5, 5)
    expect(page.locator(".v-from")).to_contain_text("of the prompt")
    page.keyboard.press("s")
    box = page.locator(".passage-box")
    expect(box).to_contain_text("In the prompt")
    copied = chip.inner_text().strip()
    expect(box.locator(".copied")).to_contain_text(copied)
    page.keyboard.press("Escape")
    page.locator(".passage-box").wait_for(state="detached")


def test_a_passage_of_an_earlier_trajectory(visit):
    page = opened(visit, "fourth_try-0-stand.jsonl.gz", "fourth_try-1-stand.jsonl.gz")
    lane = page.locator(".lane").nth(1)
    expect(lane.locator(".lane-knobs")).to_contain_text("trajectory 4")
    wanted = """(() => { const s = draftscope.store, key = s.lanes[1], run = s.runs.get(key);
      for (const token of run.tokens) { const source = token.node == null ? null : run.rounds[token.round].nodes[token.node].source;
        if (source?.ago === %d && source.part === 'response') return token.pos; } return -1; })()"""
    first, third = page.evaluate(wanted % 3), page.evaluate(wanted % 1)
    assert third >= 0
    lane.locator(f'.k[data-i="{third}"]').click()
    page.locator(".v-from", has_text="in trajectory 3").wait_for()  # the inspector follows a frame later
    page.get_by_role("button", name="Go there").click()
    expect(page.locator(".passage-box")).to_contain_text("In trajectory 3")
    page.keyboard.press("Escape")
    if first >= 0:  # the first trajectory stands beside it as a lane: its tokens flash there
        lane.locator(f'.k[data-i="{first}"]').click()
        page.keyboard.press("s")
        expect(page.locator(".lane").nth(0).locator(".found").first).to_be_attached()
