"""The room of trajectories, the room of trees, and the passages that guesses were copied from."""

import pytest

from engine.files.places import PRESETS
from engine.trace.store import Trace

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
    assert "python -m engine trajectories show" in page.locator(".trajectories .about").inner_text()
    page.wait_for_selector(".growth .plot .js-line")
    assert page.locator(".growth .plot .legendtext").count() == 5
    assert page.locator(".answers-list li").count() == 8
    assert page.locator(".answers-list li").nth(0).locator(".n5").count() == 0
    assert page.locator(".answers-list li").nth(1).locator(".n5").count() > 20
    assert "7 of 8 (88 %)" in page.locator(".votes").inner_text()
    page.locator(".answers-list li").nth(1).locator(".n5").first.hover()
    assert (
        "5-gram seen" in page.locator(".v-tip").inner_text() and "trajectory 1" in page.locator(".v-tip").inner_text()
    )
    page.locator(".rows").get_by_role("button", name="Token recycling").click()
    assert page.locator(".rows [aria-pressed=true]").inner_text() == "Token recycling"
    page.locator(".growth summary").click()
    assert page.locator(".growth tbody tr").count() == 5
    assert server.lab.loads == loads


def test_methods_draw_live_and_the_rows_grow(visit):
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of guesses", "Wary of entropy")
    page.locator(".ask").get_by_label("Trajectories", exact=True).fill("2")
    page.locator(".ask").get_by_label("Tokens", exact=True).fill("12")
    page.locator(".ask").get_by_label("Tokens", exact=True).press("Tab")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_function(f"document.querySelector('{STATUS}').textContent.startsWith('Done')")
    assert "4 of 4" in page.locator(STATUS).inner_text()
    assert page.locator(".answers-list li").count() == 2
    assert "Drawn on this page: 2 trajectories a method" in page.locator(".trajectories .about").inner_text()
    page.get_by_role("button", name="Recorded example").click()
    assert page.locator(".answers-list li").count() == 8


@pytest.mark.parametrize("way", ["Stop", "Escape"])
def test_stop_and_closing_end_the_work(visit, server, monkeypatch, way):
    monkeypatch.setattr(server.lab, "pause", 0.1)
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of guesses")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_function("document.querySelectorAll('.answers-list li').length === 1")
    assert server.lab.open_streams
    if way == "Stop":
        page.locator(".ask").get_by_role("button", name="Stop").click()
        page.wait_for_function(f"document.querySelector('{STATUS}').textContent.startsWith('Stopped')")
    else:
        page.keyboard.press("Escape")
        page.locator("[data-room=trajectories]").wait_for(state="hidden")
    for _ in range(60):
        if not server.lab.open_streams:
            break
        page.wait_for_timeout(50)
    assert server.lab.open_streams == []


def test_a_bad_request_is_told_and_nothing_is_lost(visit):
    page = visit()
    room(page, "Trajectories")
    choose(page, "Chain of guesses")
    page.get_by_label("Problem", exact=True).fill("  ")
    page.get_by_role("button", name="Draw").click()
    page.locator(".trajectories [role=alert]", has_text="empty").wait_for()
    assert page.locator(".answers-list li").count() == 8
    page.keyboard.press("Escape")
    room(page, "Trajectories")
    assert page.get_by_label("Problem", exact=True).input_value() == "  "


def test_trees_show_heat_and_what_stays(visit):
    page = visit()
    room(page, "Static trees")
    page.locator(".trees", has_text="heuristic").wait_for()
    if page.locator(".trees .chips button").count():
        assert page.locator(".trees rect[data-node]").count() == 625
        assert page.locator(".trees rect[data-stays=true]").count() == 80
        page.locator(".trees rect[data-stays=true]").first.hover()
        assert "stays in the optimised tree" in page.locator(".v-tip").inner_text()


@pytest.mark.parametrize("name", ["Trajectories", "Static trees"])
def test_rooms_fit_a_narrow_screen(visit, name):
    page = visit(viewport={"width": 390, "height": 844})
    room(page, name)
    page.wait_for_timeout(200)
    assert page.locator("[data-room=trajectories]").evaluate("(e) => e.scrollWidth <= e.clientWidth")


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
    assert "3-gram seen once in this text" in tip.inner_text() and tip.locator("mark").count() == 1
    chip.click()
    page.mouse.move(5, 5)
    assert "of the prompt" in page.locator(".v-from").inner_text()
    page.keyboard.press("s")
    box = page.locator(".passage-box")
    assert "In the prompt" in box.inner_text()
    copied = chip.inner_text().strip()
    assert box.locator(".copied").inner_text().strip() == copied
    page.keyboard.press("Escape")
    page.locator(".passage-box").wait_for(state="detached")


def test_a_passage_of_an_earlier_trajectory(visit):
    page = opened(visit, "fourth_try-0-stand.jsonl.gz", "fourth_try-1-stand.jsonl.gz")
    lane = page.locator(".lane").nth(1)
    assert "trajectory 4" in lane.locator(".lane-knobs").inner_text()
    wanted = """(() => { const s = draftscope.store, key = s.lanes[1], run = s.runs.get(key);
      for (const token of run.tokens) { const source = token.node == null ? null : run.rounds[token.round].nodes[token.node].source;
        if (source?.ago === %d && source.part === 'response') return token.pos; } return -1; })()"""
    first, third = page.evaluate(wanted % 3), page.evaluate(wanted % 1)
    assert third >= 0
    lane.locator(f'.k[data-i="{third}"]').click()
    page.locator(".v-from", has_text="in trajectory 3").wait_for()  # the inspector follows a frame later
    page.get_by_role("button", name="Go there").click()
    assert "In trajectory 3" in page.locator(".passage-box").inner_text()
    page.keyboard.press("Escape")
    if first >= 0:  # the first trajectory stands beside it as a lane: its tokens flash there
        lane.locator(f'.k[data-i="{first}"]').click()
        page.keyboard.press("s")
        assert page.locator(".lane").nth(0).locator(".found").count() > 0
