"""The stage in a real browser, over the recorded cases of this repository: what it shows is compared with the traces themselves."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from engine.analysis.calibration import calibration, trials
from engine.analysis.explain import why
from engine.files.places import PRESETS
from engine.files.presets import get_preset
from engine.trace.outcome import calls
from engine.trace.store import Trace
from tests.browser.legible import FAULTS, faults

pytestmark = pytest.mark.browser
S = "draftscope.store"


@pytest.fixture
def visit(visit_cases: Callable[..., Page]) -> Callable[..., Page]:
    """Open the page: visit(query, width, height, **context options)."""

    def go(query: str = "", width: int = 1440, height: int = 1000, **options: Any) -> Page:
        return visit_cases(query, viewport={"width": width, "height": height}, **options)

    return go


def wait(page: Page, script: str) -> None:
    """Until a sentence about the store `s` holds."""
    page.wait_for_function(f"(() => {{ const s = {S}; return {script}; }})()")


def height(page: Page, key: str) -> str:
    """Of a band, in JavaScript."""
    return f"document.querySelector('.score .head[data-band=\"{key}\"]').offsetHeight"


def traces(case: str) -> list[Trace]:
    return [Trace.load(PRESETS / path) for path in get_preset(case).traces]


def scroller(page: Page) -> Any:
    return page.locator(".score .scroller")


def keyboard(page: Page) -> Any:
    """What has the score's keys: the slider of positions."""
    return page.get_by_role("slider", name="Score: positions of all methods")


def bands(page: Page, count: int | None = None) -> list[str]:
    """Keys of the bands from the top, once there are so many: as many as methods were recorded."""
    expect(page.locator(".score .head")).to_have_count(count or len(traces("all_methods")))
    return page.locator(".score .head").evaluate_all("(all) => all.map((one) => one.dataset.band)")


def place(page: Page, key: str, pos: float) -> tuple[float, float]:
    """The middle of a column of a band, in pixels of the window."""
    expect(page.locator(f'.score .head[data-band="{key}"] .title')).to_be_visible()
    page.wait_for_function("document.querySelector('.score .over').clientWidth > 400")
    head = page.locator(f'.score .head[data-band="{key}"]').bounding_box()
    plot = page.locator(".score .over").bounding_box()
    assert head and plot
    count = page.evaluate(f"Math.max(...[...{S}.runs.values()].map((run) => run.tokens.length))")
    # The score fits all positions: what is left of the plot at its right edge is the 12 pixels that the fit leaves free.
    each = min(28.0, (plot["width"] - 12) / count)
    return plot["x"] + (pos + 0.5) * each, head["y"] + min(16, head["height"] / 2)


def test_all_methods_are_one_click_from_first_paint(visit: Any) -> None:
    page = visit()
    page.get_by_role("button", name="All methods", exact=True).click()
    recorded = traces("all_methods")
    assert bands(page) == [trace.head.method for trace in recorded]
    for trace in recorded:
        head = page.locator(f'.score .head[data-band="{trace.head.method}"]')
        asked = calls(trace.rounds)
        told = f"{asked} target calls" if asked else f"{len(trace.tokens)} draft calls"
        expect(head).to_have_attribute("aria-label", re.compile(f": {told}, "))
    wait(page, "s.options.stage === 'score' && s.options.folded")


def test_the_score_tells_the_column_under_the_pointer(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    trace = traces("first_look")[2]
    page.mouse.move(*place(page, "specdec", 12))
    wait(page, "s.hover?.run === 'specdec' && s.hover.pos === 12")
    token = next(token for event in trace.rounds for token in event.tokens if token.pos == 12)
    card = page.locator(".v-tip")
    for words in (token.piece.strip(), "position 12", "entropy"):
        expect(card).to_contain_text(words)
    page.mouse.click(*place(page, "specdec", 12))
    wait(page, "s.cursor?.pos === 12")
    said = re.compile(f"position 12: .*{re.escape(token.piece.strip())}")
    expect(keyboard(page)).to_have_attribute("aria-valuetext", said)
    page.locator(".position summary").click()
    rows = page.locator(".position tbody tr")
    expect(rows).to_have_count(4)
    shown = rows.filter(has_text="Autoregressive").inner_text().split("\t")
    first = next(token for event in traces("first_look")[0].rounds for token in event.tokens if token.pos == 12)
    assert float(shown[4]) == pytest.approx(first.h_target, rel=0.01)


def test_the_inspector_says_the_sentence_of_the_engine(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    trace = traces("first_look")[1]
    event = next(event for event in trace.rounds if 0 < event.accepted < len(event.nodes))
    for index in (0, event.accepted):
        page.evaluate(f"{S}.setCursor({{ run: 'sd', round: {event.index}, node: {index} }})")
        sentence = why(trace.head, event, index, None, trace.pieces).replace("`", "")
        expect(page.locator(".v-why")).to_have_text(sentence)


def test_a_drag_brushes_a_range_and_escape_clears_it(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    page.mouse.move(*place(page, "sd", 10))
    page.mouse.down()
    page.mouse.move(*place(page, "sd", 20), steps=5)
    page.mouse.up()
    wait(page, "s.filters.get('range')?.range.join() === '10,20'")
    expect(page.locator(".filters .chip")).to_contain_text("positions 10 to 20")
    keyboard(page).focus()
    page.keyboard.press("Escape")
    wait(page, "s.filters.size === 0")


def test_zoom_by_wheel_keys_and_buttons_writes_the_tokens(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    wide = "document.querySelector('.score .spacer').clientWidth"
    page.mouse.move(*place(page, "sd", 30))
    start = page.evaluate(wide)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(f"{wide} > {start}")
    first = page.evaluate(wide)
    page.mouse.click(*place(page, "sd", 30))
    expect(keyboard(page)).to_be_focused()  # so that keys act where the mouse was
    for key in "+w":
        page.keyboard.press(key)
    page.wait_for_function(f"{wide} > {first}")
    left = "document.querySelector('.score .scroller').scrollLeft"
    before = page.evaluate(left)
    page.keyboard.press("d")
    page.wait_for_function(f"{left} > {before}")
    page.locator(".score .scroller").evaluate("(scroller) => scroller.scrollTo(scroller.scrollWidth, 0)")
    wait(page, "/^28~\\d+/.test(s.options.zoom)")
    page.wait_for_function("location.search.includes('zoom=28')")
    assert not page.evaluate(f"Math.floor({left} / 28) <= 30"), "the selection is out of sight"
    shown = page.evaluate(f"[{left}, {wide}]")
    page.reload()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    page.wait_for_function(f"Math.abs({left} - {shown[0]}) < 3 && {wide} === {shown[1]}")
    page.wait_for_timeout(400)
    assert abs(page.evaluate(left) - shown[0]) < 3
    keyboard(page).focus()
    page.keyboard.press("s")
    page.get_by_role("button", name="Fit").first.click()
    page.wait_for_function(f"{wide} === {start}")
    page.wait_for_function("!location.search.includes('zoom')")
    page.locator("body").press("+")
    page.wait_for_function(f"{wide} > {start}")
    page.locator("body").press("-")
    page.wait_for_function(f"{wide} === {start}")


def test_what_is_painted_as_a_run_grows_is_what_is_painted_at_once(visit: Any) -> None:
    """Only new columns are painted while runs grow, and only new tiles while they are panned: not one pixel may differ."""
    page = visit("?trace=first_look&v=score")
    result = page.evaluate(
        f"""async () => {{
          const store = {S}, frames = async (n) => {{ while (n--) await new Promise(requestAnimationFrame); }};
          const runs = [...store.runs.values()].map((run) => [run, [run.head, ...run.rounds, run.end]]);
          const tiles = () => [...document.querySelectorAll(".score :is(.tiles, .ruler) canvas")]
            .map((one) => [one.style.cssText, one.toDataURL()]).sort().map(String);
          store.begin(runs.map(([{{ key, card }}]) => ({{ key, card }})));
          const longest = Math.max(...runs.map(([, events]) => events.length));
          for (let i = 0; i < longest; i += 1) {{
            for (const [{{ key }}, events] of runs) if (i in events) store.push(key, [events[i]]);
            if (i % 5 === 0) await frames(2);
          }}
          for (const key of ["+", "+", "+", "d", "d"]) {{
            document.querySelector(".score .over").dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
            await frames(3);
          }}
          const grown = tiles();
          store.emit("theme");
          await frames(3);
          const whole = tiles();
          return [grown.length, grown.filter((one, i) => one !== whole[i]).length];
        }}"""
    )
    assert result[0] > 3 and result[1] == 0


def test_bands_sort(visit: Any) -> None:
    """Which order is whose is tested without a browser: here the choice reaches bands and link."""
    page = visit("?trace=all_methods")
    none = 10**6  # a draft model that writes alone calls no target: last
    needed = {trace.head.method: calls(trace.rounds) or none for trace in traces("all_methods")}
    page.get_by_label("Order of the bands").select_option("calls")
    page.wait_for_function("location.search.includes('sort=calls')")
    few = min(needed.values())
    page.wait_for_function(
        "([calls, few]) => calls[document.querySelector('.score .head').dataset.band] === few", arg=[needed, few]
    )
    order = [needed[key] for key in bands(page)]
    assert order == sorted(order)


def test_bands_fold_and_open_and_tracks_switch(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    labels = page.locator('.score .head[data-band="specdec"] .labels')
    expect(labels).to_contain_text("entropy, nats")
    expect(labels).to_contain_text("overlap@5")
    page.get_by_role("button", name="Overlap", exact=True).click()
    expect(labels).not_to_contain_text("overlap@5")
    page.wait_for_function("location.search.includes('tracks=')")
    tall = page.evaluate(height(page, "specdec"))
    page.get_by_role("button", name="Fold SpecDec to its spans").click()
    page.wait_for_function(f"{height(page, 'specdec')} < {tall} / 2 && {height(page, 'sd')} > {tall} / 2")
    page.get_by_role("button", name="Fold all").click()
    page.wait_for_function("[...document.querySelectorAll('.score .head')].every((one) => one.offsetHeight < 30)")
    page.wait_for_function("location.search.includes('fold=1')")
    tracks = page.get_by_role("group", name="Tracks")
    expect(tracks.get_by_text("open one to see its tracks")).to_be_visible()
    entropies = tracks.get_by_role("button", name="Entropies", exact=True)
    expect(entropies).to_be_disabled()  # a switch that changes nothing is none
    expect(tracks.get_by_role("button", name="More numbers")).to_be_disabled()
    other = visit(page.url.split("/")[-1])
    wait(other, "s.options.stage === 'score' && s.options.folded && !s.options.tracks.includes('overlap')")
    page.get_by_role("button", name="Open the tracks of SpecDec").click()
    expect(entropies).to_be_enabled()
    expect(tracks.get_by_text("open one to see its tracks")).to_be_hidden()


def test_a_recorded_number_becomes_a_track_by_name(visit: Any) -> None:
    page = visit("?trace=cm_modes&v=score")
    numbers = page.get_by_role("dialog", name="More numbers")
    page.get_by_role("button", name="More numbers").click()
    first = numbers.get_by_role("button", name="confidence").first
    first.press("Enter")
    expect(page.locator(".score .head").last.locator(".labels")).to_contain_text("confidence")
    expect(first).to_be_focused()  # it is drawn anew
    for leave in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_role("tab", name="Score").click()):
        leave()
        expect(numbers).to_have_count(0)
        page.get_by_role("button", name="More numbers").click()
        expect(numbers).to_be_visible()


def test_arrows_walk_bands_in_the_order_shown(visit: Any) -> None:
    page = visit("?trace=all_methods&sort=calls")
    order = bands(page)
    page.evaluate("(run) => draftscope.store.setCursor({ run, pos: 5 })", order[0])
    keyboard(page).focus()
    page.keyboard.press("ArrowDown")
    wait(page, f"s.cursor.run === '{order[1]}'")
    page.keyboard.press("ArrowRight")
    wait(page, "s.cursor.pos === 6")
    page.keyboard.press("Enter")
    page.wait_for_function(f"{height(page, order[1])} > 60")


def test_where_a_text_leaves_the_reference_is_told(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    reference, other = (traces("first_look")[i].token_ids for i in (0, 3))
    at = next(i for i, (a, b) in enumerate(zip(reference, other, strict=False)) if a != b)
    expect(page.locator('.score .head[data-band="cm_asd"]')).to_contain_text(f"another text from {at} on")
    expect(page.locator('.score .head[data-band="sd"]')).not_to_contain_text("another text")
    page.evaluate(f"{S}.setCursor({{ run: 'cm_asd', pos: {at + 2} }})")
    expect(page.locator(".others button", has_text="CM-ASD")).to_contain_text("another text")


def test_the_score_is_saved_as_svg_and_png(visit: Any) -> None:
    page = visit("?trace=all_methods")
    with page.expect_download() as getting:
        page.get_by_role("button", name="Save the score as SVG").click()
    text = Path(getting.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg") and "NaN" not in text and "var(" not in text
    for trace in traces("all_methods"):
        told = f"{n} calls" if (n := calls(trace.rounds)) else f"{len(trace.rounds)} draft calls"
        assert trace.head.title in text and told in text
    with page.expect_download() as getting:
        page.get_by_role("button", name="Save the score as PNG").click()
    assert Path(getting.value.path()).read_bytes().startswith(b"\x89PNG")


def test_trees_of_all_methods_at_the_cursor(visit: Any) -> None:
    page = visit("?trace=all_methods&v=trees")
    page.evaluate(f"{S}.setCursor({{ run: 'eagle3', pos: 20 }})")
    recorded = {trace.head.method: trace for trace in traces("all_methods")}
    expect(page.locator(".treegrid .card")).to_have_count(len(recorded))
    for name in ("sd", "eagle3", "medusa", "pld"):
        event = next(event for event in recorded[name].rounds if event.start <= 20 < event.start + event.emitted)
        words = page.locator(f'[data-tree="{name}"] header')
        expect(words).to_contain_text(f"{len(event.nodes)} draft token")
        expect(words).to_contain_text(f"{event.accepted} accepted")
    expect(page.locator('[data-tree="ar"]')).to_contain_text("Plain decoding")
    sizes = page.locator(".treegrid text, .treegrid tspan").evaluate_all(
        "(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert len(sizes) > 100 and min(sizes) >= 11
    name = page.locator(".treegrid .card", has=page.locator("[data-unfold]")).first.get_attribute("data-tree")
    card = page.locator(f'[data-tree="{name}"]')
    count = f"document.querySelectorAll('[data-tree={name}] [data-node]').length"
    before = page.evaluate(count)
    card.locator("[data-unfold]").first.click()
    page.wait_for_function(f"(n) => {count} > n", arg=before)
    expect(page.locator(".treegrid .v-keys")).to_be_visible()
    card.get_by_role("button", name="Maximise").click()
    expect(page.locator(".treegrid .v-keys")).to_be_hidden()  # the large tree has its own
    page.wait_for_function("(n) => document.querySelectorAll('[data-view=tree] [data-node]').length > n", arg=before)
    page.get_by_role("button", name="All trees", exact=True).click()
    expect(page.locator(".treegrid .card").first).to_be_visible()
    last = page.locator(".treegrid .card button:visible", has_text="Maximise").last
    last.click()
    expect(page.locator(".treegrid .v-tools button", has_text="All trees")).to_be_focused()
    top = page.locator(".treegrid").bounding_box()
    assert top is not None and 0 <= top["y"] < 200
    chosen = page.evaluate("draftscope.store.cursor")
    page.keyboard.press("Escape")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport(ratio=1)
    assert page.evaluate("draftscope.store.cursor") == chosen, "the grid first, the chosen token after it"
    page.keyboard.press("Escape")
    wait(page, "s.cursor === null")


@pytest.mark.parametrize("width", [1024, 1440])
def test_figures_of_narrow_lanes_keep_to_their_lines(visit: Any, width: int) -> None:
    page = visit("?trace=all_methods&v=text")
    page.set_viewport_size({"width": width, "height": 900})
    page.locator(".lane .figures").first.wait_for()
    odd = page.evaluate(
        """() => [...document.querySelectorAll(".lane")].flatMap((lane) => {
          const right = lane.getBoundingClientRect().right;
          return [...lane.querySelectorAll(".figures dt, .figures dd > span")].filter((one) => {
            const box = one.getBoundingClientRect();
            return one.textContent && (box.height > 24 || box.right > right - 8);
          }).map((one) => one.textContent);
        })"""
    )
    assert odd == []


def test_the_bar_of_many_lanes_stands_above_the_timeline(visit: Any) -> None:
    page = visit("?trace=all_methods&v=text")
    bar = page.locator(".lanesbar")
    expect(bar).to_be_visible()
    box, dock = bar.bounding_box(), page.locator(".dock").bounding_box()
    lanes = page.locator(".lanes").bounding_box()
    assert box and dock and lanes and lanes["y"] + lanes["height"] > dock["y"], "the lanes' own end is out of sight"
    assert box["y"] + box["height"] <= dock["y"] + 1.5
    bar.evaluate("(one) => { one.scrollLeft = 700; }")
    page.wait_for_function("Math.abs(document.querySelector('.lanes').scrollLeft - 700) < 2")
    page.locator(".lanes").evaluate("(one) => { one.scrollLeft = 200; }")
    page.wait_for_function("Math.abs(document.querySelector('.lanesbar').scrollLeft - 200) < 2")
    page = visit("?trace=first_look&v=text")
    page.locator(".lane .k").first.wait_for()
    expect(page.locator(".lanesbar")).to_be_hidden()


@pytest.mark.parametrize("case", ["all_methods", "first_look"])
def test_a_stripe_of_the_timeline_tells_its_lane_and_its_calls_at_the_pointer(visit: Any, case: str) -> None:
    """Thin stripes and those with names alike; of the calls shown, and no longer than the pointer is there."""
    page = visit(f"?trace={case}&v=text")
    canvas, label = page.get_by_role("slider", name="Time shown"), page.locator(".dock .stripename")
    box = canvas.bounding_box()
    lanes = page.evaluate("[...draftscope.store.runs.values()].map((run) => [run.card.title, run.rounds.length])")
    pitch, row = (3, 2) if len(lanes) > 8 else (14, 10)
    assert box and box["height"] > 3 + pitch * len(lanes)
    expect(label).to_be_hidden()
    for place, share in ((1, 0.3), (len(lanes) - 2, 0.95)):
        title, calls = lanes[place]
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 3 + place * pitch + row / 2)
        expect(label).to_have_text(re.compile(rf"^{re.escape(title)}.*: (\d+) (target call|draft call|iteration)s?$"))
        expect(label).to_contain_text(f": {calls} ")
        spot = label.bounding_box()
        assert spot and spot["x"] >= 0 and spot["x"] + spot["width"] <= 1440
        assert spot["y"] + spot["height"] <= box["y"] + 3 + place * pitch + 1, "it covers no stripe from there on"
    page.evaluate(f"{S}.setTime({{ mode: 'calls', at: 2 }})")
    expect(label).to_contain_text(": 2 ")
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] - 3)
    expect(label).to_be_hidden()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 4)
    expect(label).to_be_visible()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] - 300)
    expect(label).to_be_hidden()


def test_shares_have_a_tab_stop_a_lane_and_arrows_from_mark_to_mark(visit: Any) -> None:
    page = visit("?trace=first_look&v=shares")
    marks = page.locator('.share[data-run="sd"] svg [role=button]')
    stops = page.locator('.share[data-run="sd"] svg [tabindex="0"]')
    assert marks.count() > 20
    expect(stops).to_have_count(1)
    expect(page.locator(".v-aggregates .v-chart [tabindex='0']")).to_have_count(1)
    cursor = page.evaluate(f"{S}.cursor")
    stops.focus()
    for key, at in (("ArrowRight", 1), ("ArrowDown", 2), ("ArrowLeft", 1), ("End", marks.count() - 1), ("Home", 0)):
        page.keyboard.press(key)
        expect(marks.nth(at)).to_be_focused()
        expect(stops).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator('.share[data-run="sd"] svg [aria-pressed=true]')).to_have_count(1)
    assert page.evaluate(f"[{S}.filters.size, {S}.cursor]") == [1, cursor]
    expect(marks.nth(1)).to_be_focused()
    expect(stops).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    inside = "document.activeElement.closest('.share[data-run=sd]')"
    assert page.evaluate(f"!{inside}")
    page.keyboard.press("Shift+Tab")
    expect(marks.nth(1)).to_be_focused()


def test_shares_have_one_axis_and_name_their_denominators(visit: Any) -> None:
    page = visit("?trace=first_look&v=shares")
    for trace in traces("first_look"):
        cell = page.locator(f'.share[data-run="{trace.head.method}"][data-figure="accepted"]')
        if trace.head.method == "ar":
            expect(cell).to_have_count(0)
            expect(page.locator('.shares .method[data-run="ar"]')).to_contain_text("No draft tokens")
            continue
        expect(cell).to_contain_text(f"of {len(trace.rounds)} rounds")
        expect(cell).to_contain_text("share of rounds")
    ticks = """(all) => all.map((one) => [...one.querySelectorAll('text')].map((text) => text.textContent)
      .filter((t) => /^[0-9]+$/.test(t)).join())"""
    axes = page.locator('.share[data-figure="position"] svg').evaluate_all(ticks)
    assert len(axes) == 3 and len(set(axes)) == 1
    page.locator('[data-share="tcr"]').click()
    expect(page.locator(".share")).to_have_count(4)
    expect(page.locator(".share").nth(1)).to_contain_text("tested, rejected")

    page.locator('[data-share="probability"]').click()
    sd = next(trace for trace in traces("first_look") if trace.head.method == "sd")
    found = calibration(trials(sd.rounds))
    cell = page.locator('.share[data-run="sd"]')
    expect(cell).to_contain_text(f"of {found.n} tested draft tokens")
    expect(cell.locator(".says")).to_contain_text(
        f"{found.said:.0%} on average and {found.share:.0%} of {found.n} were accepted".replace("%", " %")
    )
    surest = cell.get_by_role("button", name="draft probability 90 % to 100 %")
    surest.click()
    expect(cell.locator("[aria-pressed=true]")).to_have_count(1)
    wait(page, "s.filters.get('probability').spec.low === 0.9")
    expect(page.locator(".shares > .v-caption")).to_contain_text("these figures count all rounds")
    expect(page.locator(".v-forecast")).to_have_count(0)

    page = visit("?trace=left_to_device&v=shares")
    page.locator('[data-share="probability"]').click()
    begun = [trace.head for trace in traces("left_to_device") if "forecast" in trace.head.extras]
    assert begun
    expect(page.locator(".v-forecast")).to_have_count(len(begun))
    expect(page.locator(".share svg", has=page.locator(".v-forecast"))).to_have_count(len(begun))

    page = visit("?trace=all_methods&v=shares")
    alone = page.locator('.share[data-run="beam"]')  # what its beams hold is no draft
    expect(alone).to_contain_text("No draft tokens.")
    expect(alone.locator("svg")).to_have_count(0)
    expect(page.locator(".shares .goeson")).to_have_count(0)


WHOLE = """() => [...document.querySelectorAll(".lab *")].flatMap((one) => {
  const { display, whiteSpace, boxShadow, boxDecorationBreak } = getComputedStyle(one);
  if (whiteSpace === "pre") return []; // it has one line
  const drawn = display === "inline" && boxShadow.includes("inset") && boxDecorationBreak !== "clone";
  return drawn ? [one.className || one.localName] : [];
})"""
"""Inline boxes with an inset shadow that Firefox draws past the end of a line, as it belongs to the parts on both."""


@pytest.mark.parametrize(
    "query", ["?trace=first_look", "?trace=all_methods&v=text", "?trace=all_methods", "?trace=first_look&v=score"]
)
def test_nothing_overprints_and_the_page_does_not_scroll_sideways(visit: Any, query: str) -> None:
    """At every width, each reached from the one before; the layout has a second to come to rest."""
    page = visit(query, 390, 900)
    for width in (320, 390, 768, 1024, 1280, 1440, 1920, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        fits = f"innerWidth === {width} && document.documentElement.scrollWidth <= {width}"
        try:
            page.wait_for_function(f"{fits} && ({FAULTS})().length === 0", timeout=5_000)
        except PlaywrightTimeout:
            found = page.evaluate("document.documentElement.scrollWidth"), faults(page)
            pytest.fail(f"at {width} pixels: {found}")
    assert page.evaluate(WHOLE) == []


def test_a_name_beside_a_long_badge_stands_in_two_lines(visit: Any) -> None:
    page = visit("?trace=all_methods")
    head = '.score .head[data-band="sam_recycle"]'
    page.evaluate("""() => {
      const { store } = draftscope;
      store.runs.get("sam_recycle").sums.drafted.fill(0);
      store.setOption("sort", "name");
    }""")
    expect(page.locator(f"{head} .kind")).to_have_text("drafted nothing")
    ends = f"[...document.querySelectorAll('{head} :is(.title, .kind)')].map((e) => e.getBoundingClientRect())"
    assert page.evaluate(f"(([title, kind]) => title.right <= kind.left + 1)({ends})")
    assert page.evaluate(f"(e => e.scrollWidth <= e.clientWidth)(document.querySelector('{head} .title'))")


def test_names_of_tracks_are_whole_on_a_phone(visit: Any) -> None:
    page = visit("?trace=easd_helps&v=score", 390, 844)
    heads = ".score .head.narrow .labels span:not(.none)"
    expect(page.locator(heads, has_text="limit 0.15")).to_be_visible()
    cut = f"[...document.querySelectorAll('{heads}')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)"
    assert page.evaluate(cut) == []


def test_keys_and_links_lead_to_the_views(visit: Any) -> None:
    page = visit("?trace=first_look")
    for key, view in (("2", "score"), ("3", "trees"), ("4", "shares"), ("1", "text")):
        page.keyboard.press(key)
        expect(page.locator(f"#stage-{view}")).to_be_visible()
        expect(page.locator("[data-stage]").filter(visible=True)).to_have_count(1)
    page.keyboard.press("h")
    expect(page.locator(".details")).to_be_hidden()
    page.wait_for_function("location.search.includes('dock=hidden')")
    page.get_by_role("button", name="Details", exact=True).click()
    expect(page.locator(".details")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_what_brings_hidden_details_back_covers_no_other_button(visit: Any, width: int) -> None:
    page = visit("?trace=first_look&dock=hidden", width, 844)
    expect(page.get_by_role("button", name="Details", exact=True)).to_be_visible()
    covered = """[...document.querySelectorAll(".strip .toggles button, .stagebar button")].filter((button) => {
      const box = button.getBoundingClientRect();
      const top = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
      return box.height && !button.contains(top);
    }).map((button) => button.textContent)"""
    assert page.evaluate(covered) == []


def test_more_than_six_methods_run_and_open(visit: Any, tmp_path: Path) -> None:
    page = visit("?trace=all_methods")
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(_lines(PRESETS / path) for path in get_preset("all_methods").traces[:9]))
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    wait(page, "s.lanes.length === 9 && s.status.recorded === null && s.options.folded")
    assert len(bands(page, 9)) == 9


def _lines(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_the_badge_tells_the_class_the_reason_and_what_this_run_shows(visit):
    page = visit()
    badge = page.locator(".lane[data-lane=sd] .badge")
    badge.click()
    proof = page.get_by_role("dialog", name="Guarantee of Speculative decoding")
    expect(proof).to_contain_text("Exact: the target's own distribution")
    expect(proof).to_contain_text("min(1, p/q)")
    expect(proof).to_contain_text("Checked: this run's text is")
    page.keyboard.press("Escape")
    expect(proof).to_have_count(0)
    expect(badge).to_be_focused()
    page.keyboard.press("2")
    page.locator(".head[data-band=specdec] .kind").click()
    proof = page.get_by_role("dialog", name="Guarantee of")
    expect(proof).to_contain_text("Changes the output")
    expect(proof).to_contain_text("In place of the exact rule, a draft token is accepted")
    proof.get_by_role("link", name="proofs").click()
    expect(proof).to_have_count(0)
    page.wait_for_function("draftscope.store.options.room === 'learn' && draftscope.store.options.name === 'kernels'")


def test_a_badge_is_drawn_as_it_says_where_a_knob_voids_what_its_card_promises(visit_cases: Any) -> None:
    page = visit_cases("?trace=sampled")
    signs = (
        "(at) => [...document.querySelectorAll(at)].map((one) => [one.textContent, one.classList.contains('lossy')])"
    )
    kinds = [["reference", False], ["lossless", False], ["lossy", True]]
    assert page.evaluate(signs, ".lane .badge") == kinds
    page.keyboard.press("2")
    expect(page.locator(".head[data-band] .kind")).to_have_count(3)
    assert page.evaluate(signs, ".head[data-band] .kind") == kinds


@pytest.mark.parametrize("width", [1440, 1024])
def test_figures_of_shares_beside_each_other_stand_at_one_height(visit_cases: Any, width: int) -> None:
    page = visit_cases("?trace=all_methods&v=shares", viewport={"width": width, "height": 900})
    page.wait_for_function("""() => {
      const rows = new Map(), top = (one) => Math.round(one.getBoundingClientRect().top);
      for (const one of document.querySelectorAll(".share > figcaption + :not(.v-empty)"))
        rows.set(top(one.parentElement), (rows.get(top(one.parentElement)) ?? new Set()).add(top(one)));
      return rows.size > 8 && [...rows.values()].every((tops) => tops.size === 1);
    }""")  # the page may be ready before its case has come


def test_the_mark_of_a_draw_goes_through_no_number(visit_cases: Any) -> None:
    page = visit_cases("?trace=sampled", viewport={"width": 1280, "height": 900})
    page.wait_for_selector(".v-bars [data-cut], [data-view=inspector] [data-cut]")
    struck = """(mark) => {
      const line = mark.querySelector("line").getBoundingClientRect();
      const texts = [...mark.closest("svg").querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
      return texts.filter(([, box]) => box.left < line.right + 1 && box.right > line.left - 1)
        .filter(([, box]) => box.top + 4 < line.bottom && box.bottom - 4 > line.top).map(([one]) => one.textContent);
    }"""
    assert page.locator("[data-cut]").first.evaluate(struck) == []


def test_a_moved_temperature_counts_what_the_lists_decide_and_is_in_the_link(visit_cases: Any) -> None:
    page = visit_cases("?trace=sampled")
    page.wait_for_function("draftscope.store.lanes.length > 1")
    lane = page.evaluate("draftscope.store.lanes[1]")
    page.evaluate("lane => draftscope.store.setCursor({ run: lane, pos: 3 })", lane)
    words, slider = page.locator(".v-whatif-words"), page.locator("#v-whatif-temperature")
    expect(words).to_contain_text("first 10 of each distribution decide")
    expect(slider).to_have_value("0.8")
    slider.evaluate("input => { input.value = '0.4'; input.dispatchEvent(new Event('input')); }")
    expect(words).to_contain_text("at temperature 0.4")
    page.wait_for_function("location.search.includes('whatif')")
    told, link = words.text_content(), page.url
    page.goto(link.split("?")[0] + "?trace=copying")
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    expect(page.locator(".v-whatif .v-empty")).to_contain_text("Nothing to move")
    page.goto(link)
    expect(words).to_have_text(told)
    expect(slider).to_have_value("0.4")
    page.get_by_role("button", name="As run").click()
    page.wait_for_function("!location.search.includes('whatif')")


def test_the_key_for_the_first_difference_begins_with_the_first_lane_that_parts(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look")
    page.wait_for_function("draftscope.store.lanes.length > 1")
    lanes = page.evaluate("draftscope.store.lanes")
    page.evaluate("draftscope.store.clear()")
    for lane in (lanes[2], lanes[3], lanes[2]):
        page.keyboard.press("d")
        assert page.evaluate("draftscope.store.cursor.run") == lane


def test_a_moved_threshold_can_be_run(visit_cases: Any) -> None:
    page = visit_cases("?trace=easd_helps")
    slider, run = page.locator("#v-whatif-tau_entropy"), page.get_by_role("button", name="Run with this")
    expect(slider).to_be_visible()
    expect(run).to_have_count(0)
    slider.evaluate("input => { input.value = '0.1'; input.dispatchEvent(new Event('input')); }")
    stub = "draftscope.session.run = async () => { window.asked = draftscope.session.config.lanes; return true; }"
    page.evaluate(stub)
    run.click()
    asked = page.evaluate("asked.map(({ method, knobs }) => [method, knobs.tau_entropy ?? null])")
    assert asked == [[method, 0.1 if method == "easd" else None] for method, _ in asked] and len(asked) == 3


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(("key", "spot"), [("2", ".score .box.chosen"), ("3", ".card.focus [data-here]")])
def test_a_token_chosen_elsewhere_is_scrolled_to(pages, server, width, key, spot):
    """Nothing lies over it, whether it was chosen before the view was opened or after."""
    page = pages.open(server.url, viewport={"width": width, "height": 640})
    pick = "draftscope.store.setCursor({ run: 'wary', pos: 100 })"
    seen = f"""(() => {{ const b = document.querySelector('{spot}')?.getBoundingClientRect();
      if (!b?.height) return false;
      const over = document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2);
      return over?.closest('.score, .treegrid') !== null && over !== null; }})()"""
    steps = [lambda: page.evaluate(pick), lambda: page.keyboard.press(key)]
    for first, then in (steps, steps[::-1]):
        page.evaluate("draftscope.store.clear(); draftscope.store.setOption('stage', 'text'); scrollTo(0, 0)")
        first()
        page.wait_for_timeout(200)
        then()
        page.wait_for_function(seen)


def test_of_a_token_after_the_draft_the_tree_shows_the_end(visit: Any) -> None:
    page = visit("?trace=first_look&v=trees", 390)
    page.evaluate(f"{S}.setCursor({{ run: {S}.lanes[1], pos: 6 }})")
    sign = page.evaluate(f"{S}.token().origin")
    assert sign == "bonus"
    page.wait_for_function("""(() => { const box = document.querySelector('.card.focus .box');
      const b = [...box.querySelectorAll('[data-node]')].at(-1).getBoundingClientRect(), whole = box.getBoundingClientRect();
      return b.left >= whole.left && b.left < whole.right; })()""")


def test_a_long_answer_leaves_room_for_what_stands_below(visit: Any) -> None:
    page = visit("?trace=sd_loses&v=score")
    page.locator(".score .head .answer").first.wait_for()
    over = page.evaluate("""[...document.querySelectorAll('.score .head .figs')].map((figs) =>
      Math.round(figs.getBoundingClientRect().bottom - figs.closest('.head').getBoundingClientRect().bottom))""")
    assert over and all(by <= 0 for by in over), over


def test_the_tabs_of_learn_fit_a_phone(visit: Any) -> None:
    page = visit("?room=learn", 390)
    page.locator(".room[data-room=learn] .tabs a").last.wait_for()
    for name in ("Gallery of cases", "Lessons"):
        page.locator(".room[data-room=learn] .tabs").get_by_text(name).click()
        page.wait_for_function(
            "(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.room[data-room=learn] .tabs'))"
        )


@pytest.mark.parametrize("width", [390, 1440])
def test_words_of_the_inspector_are_not_cut(visit: Any, width: int) -> None:
    page = visit("?trace=all_methods", width)
    for lane, pos in (("sd", 6), ("beam", 62), ("ar", 3), ("pld", 2)):
        page.evaluate(f"{S}.setCursor({{ run: '{lane}', pos: {pos} }})")
        page.wait_for_timeout(250)
        cut = page.evaluate("""[...document.querySelectorAll('.v-inspector svg.v-figure text')].filter((text) => {
          const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
          return a.width && (a.left < b.left - 1 || a.right > b.right + 1); }).map((text) => text.textContent)""")
        assert cut == [], (lane, cut)


ABOVE = """() => {
  const [token, over] = [".lane .sel", ".details"].map((one) => document.querySelector(one)?.getBoundingClientRect());
  return token?.height && token.top > 0 && token.bottom < over.top;
}"""
"""Whether the chosen token is in sight and the details below it do not cover it."""

MOVES = """async (late) => {
  const drawn = () => new Promise(requestAnimationFrame);
  let next = drawn(); // before what the choice asks for
  draftscope.store.setCursor({ run: "specdec", pos: 12 });
  dispatchEvent(new Event("wheel")); // one look in the third frame, and none again
  for (let frames = 0; frames < (late ? 10 : 3); frames += 1) {
    await next;
    next = drawn();
  }
  document.documentElement.toggleAttribute("data-beside", true);
}"""
"""Choose a token, and take the room of a drawer from the page, in the frame in which it is looked for or later."""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768)])
def test_the_token_of_a_link_lies_above_the_details(visit: Any, width: int, height: int) -> None:
    """What is laid out late covers it for a moment; whoever scrolls then has their way."""
    page = visit("?trace=first_look&at=specdec~~12~", width, height)
    page.wait_for_function(ABOVE)


@pytest.mark.parametrize("late", [False, True])
def test_a_token_is_in_sight_also_where_details_move_below_it(visit: Any, late: bool) -> None:
    """As beside the drawer of reviews. WebKit tells of a size when the token has been looked for in that frame."""
    page = visit("?trace=first_look", 1440, 900)
    page.locator(".lane .k").first.wait_for()
    page.evaluate(MOVES, late)
    page.wait_for_function(ABOVE, timeout=5_000)


def test_the_place_stands_below_its_token_however_long_that_is(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&at=sd~~0~", viewport={"width": 1440, "height": 900})
    lines = """(pos) => {
      draftscope.store.setCursor({ run: "sd", pos });
      return new Promise((done) => setTimeout(() => done([".v-state", ".v-tools", ".v-sub"].map((name) =>
        document.querySelector(`.v-inspector ${name}`).getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])
      ), 300));
    }"""
    for pos in (0, 5, 12, 32):
        state, tools, place = page.evaluate(lines, pos)
        assert place[0] >= max(state[1], tools[1]) - 1 and tools[0] < state[1], pos


def test_without_runs_what_to_do_stands_in_the_middle(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look", viewport={"width": 1440, "height": 900})
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    page.evaluate("draftscope.store.begin([], { phase: 'empty' })")
    words = page.locator(".lanes .empty")
    expect(words).to_contain_text("press Run")
    box = words.bounding_box()
    assert abs(box["x"] + box["width"] / 2 - 720) < 10


def test_a_lane_s_name_begins_where_its_badge_does(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look", viewport={"width": 1280, "height": 800})
    page.locator(".lane").nth(3).wait_for()
    words = """[...document.querySelectorAll('.lane')].map((lane) => {
      const name = document.createRange();
      name.selectNodeContents(lane.querySelector('.lane-title button'));
      const badge = lane.querySelector('.badge').getBoundingClientRect();
      const { left, bottom } = name.getBoundingClientRect();
      return [Math.round(left - badge.left), Math.round(badge.top - bottom)];
    })"""
    told = page.evaluate(words)
    assert all(abs(left) <= 1 for left, _ in told) and len({below for _, below in told}) == 1, told


@pytest.mark.parametrize("query", ["?trace=first_look", "?trace=all_methods&v=score"])
def test_little_moves_while_the_page_is_filled(visit: Any, query: str) -> None:
    """The sum of layout shifts, as browsers measure it: what is not drawn yet has its place. 0.5 to 0.9 without."""
    page = visit(query)
    page.wait_for_function("document.querySelectorAll('.lane, .score .head').length > 0")
    moved = page.evaluate(
        """() => new Promise((done) => {
          new PerformanceObserver((list) => done(list.getEntries().reduce((sum, { value }) => sum + value, 0)))
            .observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(0), 2000);
        })"""
    )
    assert page.evaluate("PerformanceObserver.supportedEntryTypes.includes('layout-shift')") and moved < 0.3, moved


GROWS = """(stage) => {
  const { store } = draftscope;
  const traces = [...store.runs.values()].map(({ key, card, head, rounds, end }) =>
    ({ key, card, events: [head, ...rounds, end] }));
  const drawn = () => new Promise((done) => setTimeout(done, 600));
  const places = () => [...document.querySelectorAll(".lane .flow, .share")].filter((one) => one.checkVisibility())
    .map((one) => Math.round(one.getBoundingClientRect().top));
  const step = async (found, events) => {
    for (const [i, { key }] of traces.entries()) if (events(i).length) store.push(key, events(i));
    await drawn();
    return [...found, places()];
  };
  store.setOption("stage", stage);
  const known = ({ key, card, events: [{ knobs, extras }] }) => ({ key, card, knobs, extras }); // of its head
  store.begin(traces.map(known), { phase: "running" });
  return drawn()
    .then(() => step([places()], (i) => traces[i].events.slice(0, 2)))
    .then((found) => step(found, (i) => traces[i].events.slice(2, i ? 5 : -1)))
    .then((found) => step(found, (i) => traces[i].events.slice(i ? 5 : -1)));
}"""


@pytest.mark.parametrize("stage", ["text", "shares"])
def test_what_comes_in_a_run_moves_neither_texts_nor_figures(visit_cases: Any, stage: str) -> None:
    page = visit_cases("?trace=first_look", viewport={"width": 1440, "height": 900})
    page.locator(".lane").nth(3).wait_for()
    empty, first, second, whole = page.evaluate(GROWS, stage)
    assert len(first) >= 4 and first == second == whole, (first, second, whole)
    most = 0 if stage == "text" else 99  # the caption of each of five rows gets a line of numbers
    assert len(empty) == len(first) and max(abs(a - b) for a, b in zip(empty, first, strict=True)) <= most
    if stage == "text":  # a run that was cut off has no answer to wait for
        page.evaluate("""() => {
          const { head, rounds, card } = draftscope.store.runs.get("sd");
          draftscope.store.load([{ key: "sd", card, events: [head, ...rounds] }]);
        }""")
        expect(page.locator(".lane .answer")).to_be_hidden()


def test_the_sentence_of_a_case_leaves_as_another_run_is_asked_for(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look")
    point = page.locator(".v-verdict-point")
    expect(point).to_be_visible()
    page.evaluate("draftscope.store.setStatus({ phase: 'queued' })")
    expect(point).to_be_hidden()
