"""What a visitor does, step by step. Every look at the page waits for it: on the store or an element, never the clock."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from engine.trace.events import RunStarted
from engine.trace.store import Trace
from tests.app.synthetic import events
from tests.browser.waits import freed

pytestmark = pytest.mark.browser
S = "draftscope.store"


def state(page, script: str):
    return page.evaluate(f"(() => {{ const s = {S}; return {script}; }})()")


def wait(page, script: str) -> None:
    page.wait_for_function(f"(() => {{ const s = {S}; return {script}; }})()")


def unfold(page) -> None:
    """Open the run bar, which every page opens folded."""
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.locator("#runform")).to_be_visible()


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
    expect(page.locator(".lane")).to_have_count(5)
    expect(page.locator(".lane .k")).to_have_count(600)
    expect(page.locator("[data-view=verdict]")).to_contain_text(re.compile("faster|slower"))
    expect(page.locator(".lane.reference .badge")).to_have_text("reference")
    wait(page, "s.status.recorded === 'apples'")
    assert server.lab.loads == loads


def test_two_methods_stream_side_by_side_and_stop_leaves_whole_traces(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    live(page)
    wait(page, "s.lanes.length === 2 && document.querySelectorAll('.lane[data-lane=plain] .k').length > 5")
    wait(page, "document.querySelectorAll('.lane .k').length > 20")
    page.get_by_role("button", name="Stop").click()
    wait(page, "s.status.phase === 'done'")
    runs = state(
        page, "[...s.runs.values()].map(({ end, tokens }) => [end.reason, end.text, tokens.map((t) => t.piece)])"
    )
    assert [reason for reason, *_ in runs] == ["stopped", "stopped"]
    assert all(text == "".join(pieces) for _, text, pieces in runs)
    freed(server, page)


def test_closing_the_page_mid_run_frees_the_engine(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    live(page)
    wait(page, "s.lanes.every((key) => s.runs.get(key).tokens.length > 3)")
    page.close()
    freed(server, visit())


def test_scrub_play_and_step(visit):
    page = visit()
    shown = page.locator(".lane .k").filter(visible=True)
    page.get_by_label("To the start").click()
    expect(shown).to_have_count(0)
    page.get_by_label("One step on").click()
    expect(page.locator(".lane.reference .k").filter(visible=True)).to_have_count(1)
    slider = page.get_by_role("slider", name="Time shown")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 10)
    wait(page, "s.time.at > 30 && s.time.at < 80")
    page.get_by_role("button", name="wall clock").click()
    wait(page, "s.time.mode === 'clock'")
    page.get_by_label("Speed").select_option("0.1")
    page.evaluate("document.activeElement.blur()")
    at = state(page, "s.time.at")
    page.keyboard.press(" ")
    wait(page, f"s.time.playing && s.time.at > {at}")
    page.keyboard.press(" ")
    wait(page, "!s.time.playing")
    page.get_by_label("To the end").click()
    wait(page, "s.time.at === Infinity")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, "s.options.ghosts && document.querySelectorAll('.lane .g').length > 10")


def test_hover_links_lanes_click_locks_escape_clears(visit):
    page = visit()
    chip = page.locator('[data-lane="chain"] .k[data-i="8"]')
    chip.hover()
    expect(chip).to_contain_class("hov")
    expect(page.locator('[data-lane="plain"] .k[data-i="8"]')).to_contain_class("twin")
    chip.click()
    page.mouse.move(5, 5)
    wait(page, "s.cursor?.pos === 8 && s.hover === null")
    expect(chip).to_contain_class("sel")
    expect(page.locator("[data-view=inspector] .v-sub")).to_contain_text("position 8")
    page.keyboard.press("Escape")
    wait(page, "s.cursor === null")


BESIDE = """(lead) => {
  const { store } = draftscope, { tokens } = store.runs.get(lead);
  const flow = (key) => document.querySelector(`[data-lane="${key}"] .flow`), top = (one) => one.getBoundingClientRect().top;
  const down = (key, pos) => top(flow(key).querySelector(`[data-i="${pos}"]`)) - top(flow(key));
  const shown = (_, pos) => flow(lead).querySelector(`[data-i="${pos}"]`).getBoundingClientRect().bottom > top(flow(lead));
  const pos = tokens.findIndex(shown);
  const others = store.lanes.filter((key) => key !== lead).map((key) => {
    const run = store.runs.get(key), box = flow(key);
    const parts = tokens.findIndex(({ token }, i) => token !== run.tokens[i]?.token);
    const at = parts < 0 || pos < parts ? pos : run.rounds[tokens[pos].round]?.start;
    const free = box.scrollTop > 1 && box.scrollTop + box.clientHeight < box.scrollHeight - 2;
    return { key, free, off: at === undefined ? 0 : down(key, at) - down(lead, pos) };
  });
  return { pos, others };
}"""


def test_lanes_scroll_together_to_the_same_token_and_where_texts_part_to_the_same_round(visit):
    page = visit(viewport={"width": 1000, "height": 640})
    page.locator("[data-lane=chain] .flow").hover()
    for _ in range(2):
        was = page.evaluate(f"({BESIDE})('chain').pos")
        page.mouse.wheel(0, 78)
        page.wait_for_function(
            f"""(was) => {{
              const {{ pos, others }} = ({BESIDE})('chain'), free = others.filter((one) => one.free);
              return pos > was && free.length > 1 && free.every(({{ off }}) => Math.abs(off) < 2);
            }}""",
            arg=was,
        )


def test_a_sign_filters_all_lanes(visit):
    page = visit()
    page.locator(".legend button", has_text="bonus").click()
    expect(page.locator('[data-lane="chain"] .k.draft:not(.dim)')).to_have_count(0)
    expect(page.locator('[data-lane="chain"] .k.bonus:not(.dim)').first).to_be_visible()
    page.get_by_label("Remove filter bonus").click()
    expect(page.locator(".dim")).to_have_count(0)


def test_a_link_restores_the_place_in_another_browser(visit):
    page = visit()
    page.locator('[data-lane="bush"] .k[data-i="12"]').click()
    page.locator(".legend button", has_text="correction").click()
    page.get_by_role("button", name="Ghosts").click()
    page.wait_for_function(
        "location.search.includes('at=') && location.search.includes('f=') && location.search.includes('show=')"
    )
    other = visit(page.url)
    wait(other, "s.cursor?.run === 'bush' && s.cursor.pos === 12 && s.options.ghosts")
    wait(other, "[...s.filters.keys()].join() === 'sign' && s.status.recorded === 'apples'")


def test_a_link_of_a_live_run_runs_again_with_the_same_tokens(visit):
    page = visit()
    live(page, 40)
    wait(page, "s.status.phase === 'done'")
    page.locator('[data-lane="wary"] .k[data-i="5"]').click()
    page.wait_for_function("location.search.includes('m=wary') && location.search.includes('at=wary')")
    other = visit(page.url)
    wait(other, "s.status.phase === 'done' && s.cursor?.pos === 5")
    tokens = "[...s.runs.values()].map((run) => run.tokens.map((t) => t.token))"
    assert state(page, tokens) == state(other, tokens)


def test_a_link_to_a_live_run_shows_it_as_it_was(visit):
    lanes = "&m=plain" + "&m=chain" * 7
    filtered = quote('{"kind":"range","range":[2,10]}')
    query = f"?models=made-up&prompt=abc{lanes}&n=20&at=chain~2~~&view=calls~5&v=text&fold=0&f={filtered}"
    for _ in range(2):
        page = visit(query)
        wait(page, "s.status.phase === 'done' && s.cursor?.round === 2 && s.time.at === 5")
        wait(page, "s.options.stage === 'text' && !s.options.folded && [...s.filters.keys()].join() === 'range'")
        page.wait_for_function("location.search.includes('at=chain%7E2%7E3')")
        query = page.evaluate("location.search")


def test_a_damaged_filter_in_a_link_is_left_out_and_told(visit):
    page = visit("?f=" + quote('{"kind":"range"}'))
    expect(page.locator("[data-view=notices]")).to_contain_text("cannot be read in full, and is left out")
    page.wait_for_function("!location.search.includes('f=')")


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
    assert Path(getting.value.path()).read_text().startswith("lane,label,method,round,node,token,piece,parent,depth")
    for view in ("Text", "Score", "Details", "Timeline"):
        with page.expect_download() as getting:
            page.locator(".drawer .row", has_text=view).get_by_role("button", name="SVG").click()
        assert Path(getting.value.path()).read_text().startswith("<svg")
    other = visit("?trace=apples")
    for bad, says in ((b"not a trace\nat all\n", "not JSON"), (b'{"kind":"run","schema":7}\n', "schema 7")):
        broken = tmp_path / "bad.jsonl"
        broken.write_bytes(bad)
        other.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(broken)
        other.locator(".notice", has_text=says).wait_for()
        expect(other.locator(".lane")).to_have_count(5)
    other.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    wait(other, "s.status.recorded === null && s.lanes.length === 5")
    tokens = "[...s.runs.values()].map((run) => run.tokens.map((t) => t.token))"
    assert state(page, tokens) == state(other, tokens)
    assert server.lab.loads == loads


def test_what_is_saved_and_shared_is_what_the_stage_shows_when_a_run_begins_under_the_open_drawer(visit):
    page = visit()
    drawer = page.locator("dialog.drawer")
    page.get_by_role("button", name="Save").click()
    page.evaluate("draftscope.session.choosePreset('live')")
    page.evaluate("draftscope.session.run()")
    drawer.get_by_role("button", name="All 2 lanes").wait_for()
    wait(page, "s.status.phase === 'done'")
    with page.expect_download() as getting:
        drawer.get_by_role("button", name="tokens as CSV").click()
    assert getting.value.suggested_filename == "draftscope-plain-wary-tokens.csv"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share").click()
    page.evaluate("draftscope.session.configure({ seed: 7 })")
    page.evaluate("draftscope.session.run()")
    expect(drawer.get_by_label("Link")).to_have_value(re.compile("&seed=7"))


def test_what_is_set_and_has_not_run_survives_a_reload_and_lost_files_are_told(visit, tmp_path: Path):
    """Gradio reloads the page by itself once a server that was gone is back."""
    page = visit()
    unfold(page)
    page.get_by_label("Prompt").fill("A long prompt that nobody wants to write again")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Seed").press("Tab")
    page.wait_for_function("location.search.includes('trace=apples')")
    page.reload()
    expect(page.locator(".stale")).to_have_text("Settings changed, press Run")
    assert state(page, "draftscope.session.config.prompt") == "A long prompt that nobody wants to write again"
    assert state(page, "draftscope.session.config.seed") == 7
    expect(page.locator("[data-view=notices] .notice")).to_have_count(0)
    file = tmp_path / "own.jsonl"
    Trace(events("chain", 20)).save(file)
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    wait(page, "s.status.opened")
    page.wait_for_function("history.state.unnamed === 'files'")
    page.reload()
    expect(page.locator("[data-view=notices]")).to_contain_text("came from files")
    wait(page, "s.status.recorded === 'apples'")
    expect(page.locator(".stale")).to_have_text("")


def test_keyboard_only(visit):
    page = visit()
    press = page.keyboard.press
    press("ArrowRight")
    press("ArrowRight")
    wait(page, "s.cursor?.pos === 1")
    run = state(page, "s.cursor.run")
    press("ArrowDown")
    wait(page, f"s.cursor.run !== '{run}'")
    press("]")
    wait(page, "s.cursor.round >= 1")
    for key, wanted in (("r", "rejected"), ("r", "rejected")):
        press(key)
        wait(page, f"s.node()?.state === '{wanted}'")
    page.evaluate(f"{S}.setCursor({{run: 'wary', pos: 0}})")
    press("v")
    wait(page, "s.node()?.state === 'vetoed'")
    press("d")
    wait(page, "(({ run, pos }) => s.divergence('plain', run) === pos)(s.cursor)")
    press("g")
    wait(page, "s.options.ghosts")
    press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    page.wait_for_function("!document.querySelector('dialog').open")
    press("n")
    page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Note'")
    run = state(page, "s.cursor.run")
    page.keyboard.type("odd r")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("odd r")
    wait(page, f"s.cursor.run === '{run}'")
    press("Escape")
    page.wait_for_function("!document.querySelector('dialog').open")
    unfold(page)
    page.get_by_label("Prompt", exact=True).focus()
    page.keyboard.type("g r [ ]")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(re.compile(re.escape("g r [ ]")))
    wait(page, "s.options.ghosts")


def test_a_key_that_finds_nothing_says_so_once(visit):
    page = visit("?prompt=abc&m=plain&n=20")
    wait(page, "s.status.phase === 'done'")
    for key, says in (("v", "vetoed in any lane"), ("r", "rejected in any lane"), ("i", "flagged as important")):
        page.keyboard.press(key)
        page.keyboard.press(key)
        expect(page.locator(".notice")).to_have_text([re.compile(says)])
    page.locator(".notice span").click()
    expect(page.locator(".notice")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".notice")).to_have_count(0)
    page.evaluate("draftscope.ui.notify('an error')")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("v")
    expect(page.locator(".notice")).to_have_text(["an error", re.compile("vetoed in any lane")])
    page.get_by_role("button", name="Dismiss").first.click()
    expect(page.locator(".notice")).to_have_count(0)


def test_a_key_that_finds_nothing_in_its_lane_goes_on_in_the_others(visit):
    page = visit()
    page.evaluate(f"{S}.setCursor({{run: 'plain', pos: 0}})")
    page.keyboard.press("v")
    wait(page, "s.cursor.run === 'wary' && s.node()?.state === 'vetoed'")
    for key in ("v", "d", "d", "d"):
        page.keyboard.press(key)
    expect(page.locator(".notice")).to_have_count(0)
    assert state(page, "s.cursor.run") is not None


def test_nothing_is_cut_in_the_run_bar_and_the_foot(visit_cases):
    page = visit_cases()
    cut = """(select) => {
      const [pen, style] = [document.createElement('canvas').getContext('2d'), getComputedStyle(select)];
      pen.font = style.font;
      const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return [...select.options].map((one) => one.text).filter((text) => pen.measureText(text).width > room);
    }"""
    assert page.get_by_label("Case", exact=True).evaluate(cut) == []
    foot = page.get_by_label("Gradio footer navigation")
    expect(foot).to_contain_text("Use via API")
    assert not foot.inner_text().rstrip().endswith("·")


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
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(re.compile(r"^My own words \$\{"))
    page.evaluate("draftscope.session.configure({lanes: [{method: 'chain', knobs: {}}]})")
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "s.status.phase === 'done' && s.lanes.length === 1")


def test_a_lane_that_cannot_start_tells_why_and_the_others_go_on(visit):
    """From a link that names no models, too: the first ones are chosen."""
    page = visit("?prompt=abc&m=plain&m=copycat&n=20")
    unfold(page)
    expect(page.get_by_label("Models")).to_have_value("made-up")
    page.get_by_role("button", name="Run", exact=True).click()
    wait(page, "s.status.phase === 'done' && s.runs.get('plain')?.tokens.length === 20")
    lane = page.locator("[data-lane=copycat]")
    expect(lane).to_contain_text("failed")
    expect(lane.locator(".fault")).to_contain_text("longer prompt")
    page.locator("[data-lane=plain] .k").nth(3).click()
    page.keyboard.press("ArrowRight")
    wait(page, "s.cursor?.pos === 4")
    expect(page.locator(".notice")).to_have_count(0)


def test_knobs_come_from_the_cards(visit):
    page = visit()
    unfold(page)
    page.get_by_role("button", name="Method settings").click()
    row = page.locator(".knobs", has_text="Chain of candidates").locator(".knob", has_text="gamma")
    expect(row).to_contain_text("paper's default")
    named = page.locator(".knobs .knob .name").evaluate_all("(all) => all.map((one) => one.firstChild.data)")
    own = "draftscope.session.catalogue.methods.flatMap((card) => card.knobs.map((knob) => knob.name))"
    assert any("_" in name for name in named) and set(named) <= set(page.evaluate(own))  # as lanes and links name them
    row.locator("input").fill("7")
    row.locator("input").press("Tab")
    page.wait_for_function("draftscope.session.config.lanes[1].knobs.gamma === 7")
    auto = row.get_by_role("button", name="gamma: auto")
    auto.click()
    expect(auto).to_have_attribute("aria-pressed", "true")
    expect(row.locator("input")).to_be_disabled()
    page.wait_for_function("draftscope.session.config.lanes[1].knobs.gamma === 'auto'")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("decodeURIComponent(location.search).includes('chain(gamma:auto)')")
    wait(page, "s.runs.get('chain')?.head?.knobs.gamma === 'auto' && s.status.phase === 'done'")
    unfold(page)
    auto.click()  # what was typed before is there again
    expect(row.locator("input")).to_be_enabled()
    page.wait_for_function("draftscope.session.config.lanes[1].knobs.gamma === 7")
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
        ...[s.textDecorationLine, s.textDecorationStyle], k.borderBottomStyle].join() }"""
    signs = f"[...document.querySelectorAll('.legend .k, .legend .g')].map({shapes})"
    page.wait_for_function(
        f"{signs}.length === 7 && new Set({signs}).size === 7"
    )  # the legend is drawn anew with the ghosts


def test_dark_is_kept(visit):
    page = visit()
    page.get_by_label("Light or dark").click()
    expect(page.locator("body")).to_contain_class("dark")
    page.reload()
    expect(page.locator("body")).to_contain_class("dark")


def test_a_narrow_screen_scrolls_lanes_sideways(visit):
    page = visit(viewport={"width": 390, "height": 844})
    lanes = page.locator("[data-view=lanes]")
    expect(lanes.locator(".lane")).to_have_count(5)
    page.wait_for_function("(e => e.scrollWidth > e.clientWidth * 3)(document.querySelector('[data-view=lanes]'))")
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.wait_for_function("document.querySelector('.top .rooms').lastChild.getBoundingClientRect().right <= 390")
    page.wait_for_function(
        "document.querySelector('.top .tools').offsetTop < document.querySelector('.brand').offsetTop + 12"
    )
    page.evaluate(f"{S}.setCursor({{run: 'wary', pos: 3}})")
    page.wait_for_function("document.querySelector('[data-view=lanes]').scrollLeft > 500")


def test_lanes_end_where_the_longest_text_does_also_where_it_is_out_of_view(visit_cases):
    page = visit_cases("?trace=first_look", viewport={"width": 390, "height": 844})
    expect(page.locator(".lane")).to_have_count(4)
    left = """[...document.querySelectorAll('.lane .flow')].map((flow) =>
      flow.getBoundingClientRect().bottom - flow.querySelector('.stretch:last-child').getBoundingClientRect().bottom)"""
    page.wait_for_function(f"Math.min(...{left}) < 30")
    assert page.evaluate("document.querySelector('[data-view=lanes]').scrollLeft") == 0


@pytest.mark.parametrize(
    ("query", "narrow"), [("", False), ("", True), ("?beside=target_call~0", True), ("?room=judge", True)]
)
def test_a_notice_covers_no_control_of_the_page(visit, query, narrow):
    page = visit(query, viewport={"width": 390 if narrow else 1400, "height": 844})
    page.evaluate("draftscope.ui.notify('The server did not answer: it may have stopped. Start it again.')")
    if "beside" in query:
        page.get_by_role("button", name="Next").wait_for()
    notice = page.locator(".notice")
    under = """(notice) => [...document.querySelectorAll(":is(.top, .runbar, .dock, .beside) :is(a, button)")]
      .map((one) => [one, one.getBoundingClientRect()])
      .filter(([, box]) => box.width && box.bottom > notice.getBoundingClientRect().top + 0.5)
      .filter(([, box]) => box.top < notice.getBoundingClientRect().bottom - 0.5).map(([one]) => one.textContent)"""
    assert notice.evaluate(under) == []
    assert notice.get_by_role("button").locator("svg").bounding_box()["width"] >= 12
    assert notice.evaluate("(one) => one.getBoundingClientRect().bottom <= innerHeight")


def test_on_a_phone_the_keys_stand_together_and_the_switches_below(visit):
    page = visit(viewport={"width": 390, "height": 844})
    top = "(at) => document.querySelector(at).getBoundingClientRect().top"
    page.evaluate("document.querySelector('.strip .keyspot').append('flags')")
    legend, key, toggles = (page.evaluate(top, f".strip .{name}") for name in ("legend", "keyspot", "toggles"))
    assert legend < key < toggles


def test_drawers_and_words(visit):
    page = visit()
    page.locator('[data-lane="lenient"]').get_by_role("button", name="Lenient judge", exact=True).click()
    expect(page.locator(".learn-page h1", has_text="Lenient judge")).to_be_visible()
    expect(page.locator(".learn-page")).to_contain_text("X-1")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_label("Link")).to_have_value(re.compile("^http"))
    room = page.get_by_role("button", name="Copy").evaluate("""(button) => {
      const words = document.createRange();
      words.selectNodeContents(button);
      return button.getBoundingClientRect().right - words.getBoundingClientRect().right;
    }""")
    assert room > 9  # beside a long field, too
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Blanks").click()
    expect(page.locator('[data-lane="chain"] .flow')).to_contain_text("·")
    names = page.locator("button").evaluate_all(
        "(all) => all.filter((b) => !b.innerText.trim() && !b.getAttribute('aria-label')).map((b) => b.outerHTML)"
    )
    assert [name for name in names if "v-" not in name] == []
    hosts = page.evaluate("performance.getEntriesByType('resource').map((e) => new URL(e.name).hostname)")
    assert set(hosts) == {"127.0.0.1"}
    expect(page.locator("[data-lab]")).not_to_contain_text(re.compile("undefined|NaN"))


def test_a_case_chosen_while_a_run_streams_stays_and_gets_none_of_it(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    live(page)
    wait(page, "s.lanes.every((key) => s.runs.get(key).tokens.length > 2)")
    page.get_by_label("Case", exact=True).select_option("apples")
    wait(page, "s.status.recorded === 'apples' && s.lanes.length === 5")
    freed(server, page)
    page.wait_for_timeout(300)  # for what the run still sends
    assert state(page, "[s.status.phase, s.runs.get('wary').tokens.length, s.lanes.length]") == ["done", 120, 5]
    expect(page.locator(".lane .k")).to_have_count(600)


def test_of_two_runs_asked_for_at_once_the_last_is_made(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.05)
    live(page)
    page.evaluate("""(() => { const { session } = draftscope;
      for (const seed of [41, 42]) { session.configure({ seed, max_new_tokens: 16 }); session.run(); } })()""")
    wait(page, "s.status.phase === 'done' && s.runs.get('wary')?.head?.seed === 42")
    assert page.evaluate("draftscope.session.ran.seed") == 42
    page.wait_for_function("location.search.includes('seed=42')")
    freed(server, page)


@pytest.mark.parametrize(("models", "linked"), [("made-up", True), ("not-here", False)])
def test_an_opened_run_has_a_link_where_its_models_are_here(visit, tmp_path: Path, models: str, linked: bool):
    head, *rest = events("chain", 20)
    assert isinstance(head, RunStarted)
    file = Trace([replace(head, preset=models), *rest]).save(tmp_path / "kept.jsonl")
    page = visit()
    page.wait_for_function("location.search.includes('trace=')")
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    wait(page, "s.status.opened && s.lanes.length === 1")
    page.wait_for_function("!location.search.includes('trace=')")
    assert ("m=chain" in page.url and "prompt=" in page.url) is linked


def test_a_page_that_is_slow_to_come_says_that_it_loads(visit):
    page, held = visit(wait=False), []
    through: list[bool] = []
    page.route("**/lab-static/**/verdict.js", lambda route: route.continue_() if through else held.append(route))
    page.reload(wait_until="commit")
    said = "/loading/.test(getComputedStyle(document.querySelector('header.top') ?? document.body, '::before').content)"
    page.wait_for_function(said)
    through.append(True)
    for route in held:
        route.continue_()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    assert not page.evaluate(said)


def test_the_dock_is_at_the_lower_edge_before_the_recording_has_come(visit):
    page, held = visit(wait=False, viewport={"width": 1920, "height": 1400}), []
    page.route("**/lab/trace*", lambda route: held.append(route))
    page.reload(wait_until="commit")
    bottom = "Math.round(document.querySelector('.dock')?.getBoundingClientRect().bottom)"
    page.wait_for_function("/Opening/.test(document.querySelector('.stage')?.textContent)")
    page.wait_for_timeout(300)
    assert page.evaluate(f"{bottom} === innerHeight && !document.documentElement.dataset.draftscope")
    held[0].continue_()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    assert page.evaluate(f"{bottom} === innerHeight")


def test_bars_of_what_scrolls_are_dark_on_a_dark_page(visit):
    colours = (
        "[...document.querySelectorAll('.score .scroller, .flow')].map((one) => getComputedStyle(one).scrollbarColor)"
    )
    dark = visit("?__theme=dark").evaluate(colours)
    assert dark and "auto" not in dark
    assert "auto" in visit("?__theme=light").evaluate(colours)
