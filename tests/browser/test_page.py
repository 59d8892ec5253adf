"""What a visitor does, step by step. Waits are on the store's state, never on the clock."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
S = "draftscope.store"


def state(page, script: str):
    return page.evaluate(f"(() => {{ const s = {S}; return {script}; }})()")


def wait(page, script: str) -> None:
    page.wait_for_function(f"(() => {{ const s = {S}; return {script}; }})()")


def frame(page) -> None:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def unfold(page) -> None:
    if page.locator("#runform").is_hidden():
        page.get_by_role("button", name="Edit", exact=True).click()


def live(page, tokens: int = 500) -> None:
    """Start the preset without recordings."""
    page.get_by_label("Case", exact=True).select_option("live")
    unfold(page)
    page.get_by_label("Tokens").fill(str(tokens))
    page.get_by_label("Tokens").press("Tab")
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "s.status.phase === 'running'")


def test_first_paint_is_a_whole_recorded_run_without_any_model(visit, server):
    loads = server.lab.loads
    page = visit()
    assert page.locator(".lane").count() == 5
    assert page.locator(".lane .k").count() == 600
    assert (
        "faster" in page.locator("[data-view=verdict]").inner_text()
        or "slower" in page.locator("[data-view=verdict]").inner_text()
    )
    assert page.locator(".lane.reference .badge").inner_text() == "reference"
    assert server.lab.loads == loads
    assert "trace=apples" in page.url or page.evaluate(f"{S}.status.recorded") == "apples"


def test_two_methods_stream_side_by_side_and_stop_leaves_whole_traces(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    live(page)
    wait(page, "s.lanes.length === 2 && document.querySelectorAll('.lane[data-lane=plain] .k').length > 5")
    first = page.locator(".lane .k").count()
    page.wait_for_function(f"document.querySelectorAll('.lane .k').length > {first}")
    page.get_by_role("button", name="Stop").click()
    wait(page, "s.status.phase === 'done'")
    assert state(page, "[...s.runs.values()].map((run) => run.end.reason)") == ["stopped", "stopped"]
    assert all(
        state(page, "[...s.runs.values()].map((run) => run.end.text === run.tokens.map((t) => t.piece).join(''))")
    )
    assert server.lab.open_streams == []


def test_closing_the_page_mid_run_frees_the_engine(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    live(page)
    wait(page, "s.lanes.every((key) => s.runs.get(key).tokens.length > 3)")
    page.close()
    other = visit()
    for _ in range(100):
        if not server.lab.open_streams:
            break
        other.wait_for_timeout(100)
    assert server.lab.open_streams == []


def test_scrub_play_and_step(visit):
    page = visit()
    page.get_by_label("To the start").click()
    frame(page)
    assert page.locator(".lane .k:visible").count() == 0
    page.get_by_label("One step on").click()
    frame(page)
    assert page.locator(".lane.reference .k:visible").count() == 1
    slider = page.get_by_role("slider", name="Time shown")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 10)
    at = state(page, "s.time.at")
    assert 30 < at < 80
    page.get_by_role("button", name="wall clock").click()
    assert state(page, "s.time.mode") == "clock"
    page.get_by_label("Speed").select_option("0.1")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    wait(page, "s.time.playing")
    wait(page, f"s.time.at !== {state(page, 's.time.at')}")
    page.keyboard.press(" ")
    wait(page, "!s.time.playing")
    page.get_by_label("To the end").click()
    assert state(page, "s.time.at === Infinity")
    page.get_by_role("button", name="Step", exact=True).click()
    frame(page)
    assert state(page, "s.options.ghosts") and page.locator(".lane .g").count() > 10


def test_hover_links_lanes_click_locks_escape_clears(visit):
    page = visit()
    chip = page.locator('[data-lane="chain"] .k[data-i="8"]')
    chip.hover()
    frame(page)
    assert chip.evaluate("(e) => e.classList.contains('hov')")
    assert page.locator('[data-lane="plain"] .k[data-i="8"]').evaluate("(e) => e.classList.contains('twin')")
    chip.click()
    page.mouse.move(5, 5)
    assert state(page, "s.cursor.pos") == 8 and state(page, "s.hover") is None
    assert page.locator("[data-view=inspector]").inner_text().count("0.41")
    page.keyboard.press("Escape")
    assert state(page, "s.cursor") is None


def test_a_sign_filters_all_lanes(visit):
    page = visit()
    page.locator(".legend button", has_text="bonus").click()
    frame(page)
    assert page.locator('[data-lane="chain"] .k.draft:not(.dim)').count() == 0
    assert page.locator('[data-lane="chain"] .k.bonus:not(.dim)').count() > 0
    page.get_by_label("Remove filter bonus").click()
    frame(page)
    assert page.locator(".dim").count() == 0


def test_a_link_restores_the_place_in_another_browser(visit):
    page = visit()
    page.locator('[data-lane="bush"] .k[data-i="12"]').click()
    page.locator(".legend button", has_text="correction").click()
    page.get_by_role("button", name="Ghosts").click()
    page.wait_for_function(
        "location.search.includes('at=') && location.search.includes('f=') && location.search.includes('show=')"
    )
    other = visit(page.url)
    assert state(other, "[s.cursor.run, s.cursor.pos, s.options.ghosts, [...s.filters.keys()]]") == [
        "bush",
        12,
        True,
        ["sign"],
    ]
    assert state(other, "s.status.recorded") == "apples"


def test_a_link_of_a_live_run_runs_again_with_the_same_tokens(visit):
    page = visit()
    live(page, 40)
    wait(page, "s.status.phase === 'done'")
    page.locator('[data-lane="wary"] .k[data-i="5"]').click()
    page.wait_for_function("location.search.includes('m=wary') && location.search.includes('at=wary')")
    other = visit(page.url)
    wait(other, "s.status.phase === 'done' && s.cursor")
    assert state(other, "s.cursor.pos") == 5
    tokens = "[...s.runs.values()].map((run) => run.tokens.map((t) => t.token))"
    assert state(page, tokens) == state(other, tokens)


def test_save_and_open_a_trace(visit, server, tmp_path: Path):
    loads = server.lab.loads
    page = visit()
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as getting:
        page.get_by_role("button", name="All 5 lanes").click()
    file = tmp_path / "all.jsonl.gz"
    getting.value.save_as(file)
    with page.expect_download() as getting:
        page.locator(".drawer .row", has_text="nodes").get_by_role("button", name="CSV").click()
    assert Path(getting.value.path()).read_text().startswith("method,round,node,token,piece,parent,depth")
    for view in ("lanes", "score", "inspector"):
        with page.expect_download() as getting:
            page.locator(".drawer .row", has_text=view).get_by_role("button", name="SVG").click()
        assert Path(getting.value.path()).read_text().startswith("<svg")
    other = visit("?trace=apples")
    for bad, says in ((b"not a trace\nat all\n", "not JSON"), (b'{"kind":"run","schema":7}\n', "schema 7")):
        broken = tmp_path / "bad.jsonl"
        broken.write_bytes(bad)
        other.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(broken)
        other.locator(".notice", has_text=says).wait_for()
        assert other.locator(".lane").count() == 5
    other.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    wait(other, "s.status.recorded === null && s.lanes.length === 5")
    tokens = "[...s.runs.values()].map((run) => run.tokens.map((t) => t.token))"
    assert state(page, tokens) == state(other, tokens)
    assert server.lab.loads == loads


def test_keyboard_only(visit):
    page = visit()
    press = page.keyboard.press
    press("ArrowRight")
    press("ArrowRight")
    assert state(page, "s.cursor.pos") == 1
    run = state(page, "s.cursor.run")
    press("ArrowDown")
    assert state(page, "s.cursor.run") != run
    press("]")
    assert state(page, "s.cursor.round") >= 1
    for key, wanted in (("r", "rejected"), ("r", "rejected")):
        press(key)
        assert state(page, "s.node().state") == wanted
    page.evaluate(f"{S}.setCursor({{run: 'wary', pos: 0}})")
    press("v")
    assert state(page, "s.node().state") == "vetoed"
    press("d")
    run, pos = state(page, "[s.cursor.run, s.cursor.pos]")
    assert state(page, f"s.runs.get('{run}').tokens[{pos}].token !== s.runs.get('plain').tokens[{pos}].token")
    press("g")
    assert state(page, "s.options.ghosts") is True
    press("?")
    assert page.get_by_role("dialog").is_visible()
    press("Escape")
    page.wait_for_function("!document.querySelector('dialog').open")
    press("n")
    page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Note'")
    page.keyboard.type("odd r")
    assert state(page, "s.cursor.run") == run
    page.get_by_role("button", name="Add note").press("Enter")
    assert page.locator(".notes li").first.inner_text().count("odd r")
    press("Escape")
    unfold(page)
    page.get_by_label("Prompt", exact=True).focus()
    page.keyboard.type("g r [ ]")
    assert state(page, "s.options.ghosts") is True


def test_mistakes_are_told_and_nothing_typed_is_lost(visit):
    page = visit()
    unfold(page)
    page.get_by_label("Prompt", exact=True).fill("   ")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".notice", has_text="empty").wait_for()
    page.get_by_label("Prompt", exact=True).fill("My own words ${alert(1)} {{x}} <img src=x>")
    page.get_by_label("Tokens").fill("30")
    page.get_by_label("Tokens").press("Tab")
    page.evaluate("draftscope.session.configure({lanes: [{method: 'copycat', knobs: {}}]})")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".notice", has_text="longer prompt").wait_for()
    assert page.get_by_label("Prompt", exact=True).input_value().startswith("My own words ${")
    page.evaluate("draftscope.session.configure({lanes: [{method: 'chain', knobs: {}}]})")
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "s.status.phase === 'done' && s.lanes.length === 1")


def test_a_lane_that_cannot_start_tells_why_and_the_others_go_on(visit):
    """From a link that names no models, too: the first ones are chosen."""
    page = visit("?prompt=abc&m=plain&m=copycat&n=20")
    unfold(page)
    assert page.get_by_label("Models").input_value() == "made-up"
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "s.status.phase === 'done' && s.runs.get('plain')?.tokens.length === 20")
    lane = page.locator("[data-lane=copycat]")
    assert "failed" in lane.inner_text() and "longer prompt" in lane.locator(".fault").inner_text()
    page.locator("[data-lane=plain] .k").nth(3).click()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("draftscope.store.cursor.pos") == 4
    assert page.locator(".notice").count() == 0


def test_knobs_come_from_the_cards(visit):
    page = visit()
    unfold(page)
    page.get_by_role("button", name="Method settings").click()
    row = page.locator(".knobs", has_text="Chain of guesses").locator(".knob", has_text="gamma")
    assert "paper's default" in row.inner_text()
    row.locator("input").fill("7")
    row.locator("input").press("Tab")
    assert page.evaluate("draftscope.session.config.lanes[1].knobs") == {"gamma": 7}
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("decodeURIComponent(location.search).includes('chain(gamma:7)')")


@pytest.mark.parametrize("kind", ["deuteranopia", "achromatopsia"])
def test_signs_differ_without_colour(visit, kind):
    page = visit()
    page.get_by_role("button", name="Ghosts").click()
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
    shapes = """(e) => { const b = e.querySelector('b') ?? e, s = getComputedStyle(b), k = getComputedStyle(e);
      const before = getComputedStyle(b, '::before').content, after = getComputedStyle(e, '::after').content;
      return [s.boxShadow !== 'none' && !!e.querySelector('b'), k.boxShadow !== 'none', before, after,
        k.textDecorationLine, k.textDecorationStyle, k.borderBottomStyle].join() }"""
    signs = f"[...document.querySelectorAll('.legend .k, .legend .g')].map({shapes})"
    page.wait_for_function(
        f"{signs}.length === 7 && new Set({signs}).size === 7"
    )  # the legend is drawn anew with the ghosts


def test_dark_is_kept(visit):
    page = visit()
    page.get_by_label("Light or dark").click()
    assert page.evaluate("document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    assert page.evaluate("document.body.classList.contains('dark')")


def test_a_narrow_screen_scrolls_lanes_sideways(visit):
    page = visit(viewport={"width": 390, "height": 844})
    lanes = page.locator("[data-view=lanes]")
    assert lanes.evaluate("(e) => e.scrollWidth > e.clientWidth * 3")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.evaluate(f"{S}.setCursor({{run: 'wary', pos: 3}})")
    frame(page)
    assert lanes.evaluate("(e) => e.scrollLeft > 500")


def test_the_tour_drives_the_page(visit):
    page = visit()
    page.get_by_role("button", name="Tour").click()
    seen = []
    while page.locator(".tour").count():
        seen.append(page.locator(".tour h3").inner_text())
        page.locator(".tour .primary").click()
    assert len(seen) == 8
    assert page.locator(".spot").count() == 0


def test_drawers_and_words(visit):
    page = visit()
    page.locator('[data-lane="lenient"] .lane-title button').click()
    page.locator(".learn-page h1", has_text="Lenient judge").wait_for()
    assert "X-1" in page.locator(".learn-page").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share").click()
    assert page.get_by_label("Link").input_value().startswith("http")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Blanks").click()
    frame(page)
    assert "·" in page.locator('[data-lane="chain"] .flow').inner_text()
    names = page.locator("button").evaluate_all(
        "(all) => all.filter((b) => !b.innerText.trim() && !b.getAttribute('aria-label')).map((b) => b.outerHTML)"
    )
    assert [name for name in names if "v-" not in name] == []
    assert json.loads(
        page.evaluate("JSON.stringify(performance.getEntriesByType('resource').map((e) => new URL(e.name).host))")
    )
    assert not re.search("undefined|NaN", page.locator("[data-lab]").inner_text())
