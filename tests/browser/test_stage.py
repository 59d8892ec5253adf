"""The stage in a real browser, over the recorded cases of this repository: what it shows is compared with the traces themselves."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.state import Limits
from engine.analysis.explain import why
from engine.files.places import PRESETS
from engine.files.presets import get_preset, list_presets
from engine.methods import CARDS
from engine.trace.store import Trace
from tests.app.fakes import FakeLab, free_port

pytestmark = pytest.mark.browser
S = "draftscope.store"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page over the recorded cases; no model is loaded."""
    limits = Limits()
    service = Service(CARDS, {"tiny": FakeLab}, why, limits)
    shelf = PresetCatalogue(list_presets(), CARDS, why, limits)
    port = free_port()
    demo = launch(service, shelf, why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}/"
    demo.close()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open the page: visit(query, width, height). A page that logged an error fails its test."""
    contexts, errors = [], list[str]()

    def go(query: str = "", width: int = 1440, height: int = 1000, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(address + query)
        page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
        settle(page)
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []


def settle(page: Page) -> None:
    page.evaluate(
        "new Promise((done) => { let n = 3; const next = () => (n-- ? requestAnimationFrame(next) : done()); next(); })"
    )


def traces(case: str) -> list[Trace]:
    return [Trace.load(PRESETS / path) for path in get_preset(case).traces]


def scroller(page: Page) -> Any:
    return page.locator(".score .scroller")


def keyboard(page: Page) -> Any:
    """What has the score's keys: the slider of positions."""
    return page.get_by_role("slider", name="Score: positions of all methods")


def bands(page: Page) -> list[str]:
    return page.locator(".score .head").evaluate_all("(all) => all.map((one) => one.dataset.band)")


def place(page: Page, key: str, pos: float) -> tuple[float, float]:
    """The middle of a column of a band, in pixels of the window."""
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
    page.wait_for_function(f"{S}.lanes.length === 24")
    settle(page)
    recorded = traces("all_methods")
    assert bands(page) == [trace.head.method for trace in recorded]
    for trace in recorded:
        said = page.locator(f'.score .head[data-band="{trace.head.method}"]').get_attribute("aria-label") or ""
        assert f"{len(trace.rounds)} target calls" in said and trace.head.guarantee in said
    assert page.evaluate(f"{S}.options.stage") == "score" and page.evaluate(f"{S}.options.folded")


def test_the_score_tells_the_column_under_the_pointer(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    trace = traces("first_look")[2]
    page.mouse.move(*place(page, "specdec", 12))
    page.wait_for_function(f"{S}.hover")
    assert page.evaluate(f"[{S}.hover.run, {S}.hover.pos]") == ["specdec", 12]
    page.locator(".v-tip").wait_for()
    token = next(token for event in trace.rounds for token in event.tokens if token.pos == 12)
    card = page.locator(".v-tip").inner_text()
    assert token.piece.strip() in card and "position 12" in card
    assert "entropy" in card
    page.mouse.click(*place(page, "specdec", 12))
    settle(page)
    assert page.evaluate(f"{S}.cursor.pos") == 12
    said = keyboard(page).get_attribute("aria-valuetext")
    assert "position 12" in said and token.piece.strip() in said
    page.locator(".position summary").click()
    rows = page.locator(".position tbody tr")
    rows.first.wait_for()
    assert rows.count() == 4
    shown = rows.filter(has_text="Autoregressive").inner_text().split("\t")
    first = next(token for event in traces("first_look")[0].rounds for token in event.tokens if token.pos == 12)
    assert float(shown[4]) == pytest.approx(first.h_target, rel=0.01)


def test_a_drag_brushes_a_range_and_escape_clears_it(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    page.mouse.move(*place(page, "sd", 10))
    page.mouse.down()
    page.mouse.move(*place(page, "sd", 20), steps=5)
    page.mouse.up()
    assert page.evaluate(f"{S}.filters.get('range').range") == [10, 20]
    assert page.locator(".filters .chip").inner_text().startswith("positions 10 to 20")
    keyboard(page).focus()
    page.keyboard.press("Escape")
    assert page.evaluate(f"{S}.filters.size") == 0


def test_zoom_by_wheel_keys_and_buttons_writes_the_tokens(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    wide = "document.querySelector('.score .spacer').clientWidth"
    start = page.evaluate(wide)
    page.mouse.move(*place(page, "sd", 30))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    settle(page)
    first = page.evaluate(wide)
    assert first > start
    keyboard(page).focus()
    for key in "+w":
        page.keyboard.press(key)
    settle(page)
    assert page.evaluate(wide) > first
    left = scroller(page).evaluate("(e) => e.scrollLeft")
    page.keyboard.press("d")
    assert scroller(page).evaluate("(e) => e.scrollLeft") > left
    page.keyboard.press("s")
    page.get_by_role("button", name="Fit").first.click()
    settle(page)
    assert page.evaluate(wide) == start


@pytest.mark.parametrize(
    ("by", "value"),
    [
        ("calls", lambda trace: len(trace.rounds)),
        ("tau", lambda trace: -trace.metrics()["tau"]),
        ("speed", lambda trace: -trace.metrics()["tokens_per_s"]),
        ("name", lambda trace: trace.head.title.lower()),
    ],
)
def test_bands_sort(visit: Any, by: str, value: Any) -> None:
    page = visit("?trace=all_methods")
    page.get_by_label("Order of the bands").select_option(by)
    settle(page)
    recorded = {trace.head.method: trace for trace in traces("all_methods")}
    order = [value(recorded[key]) for key in bands(page)]
    assert len(order) == 24 and order == sorted(order)
    page.wait_for_function(f"location.search.includes('sort={by}')")


def test_bands_fold_and_open_and_tracks_switch(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    labels = page.locator('.score .head[data-band="specdec"] .labels')
    assert "overlap@5" in labels.inner_text() and "entropy, nats" in labels.inner_text()
    page.get_by_role("button", name="Overlap", exact=True).click()
    settle(page)
    assert "overlap@5" not in labels.inner_text()
    page.wait_for_function("location.search.includes('tracks=')")
    tall = page.locator('.score .head[data-band="specdec"]').bounding_box()["height"]
    page.get_by_role("button", name="Fold SpecDec to its spans").click()
    settle(page)
    assert page.locator('.score .head[data-band="specdec"]').bounding_box()["height"] < tall / 2
    assert page.locator('.score .head[data-band="sd"]').bounding_box()["height"] > tall / 2
    page.get_by_role("button", name="Fold all").click()
    settle(page)
    assert all(
        height < 30
        for height in page.locator(".score .head").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
    )
    page.wait_for_function("location.search.includes('fold=1')")
    other = visit(page.url.split("/")[-1])
    assert other.evaluate(f"[{S}.options.stage, {S}.options.folded]") == ["score", True]
    assert "overlap" not in other.evaluate(f"{S}.options.tracks")


def test_a_recorded_number_becomes_a_track_by_name(visit: Any) -> None:
    page = visit("?trace=cm_modes&v=score")
    page.locator(".score .more summary").click()
    page.locator(".score .more .list button", has_text="confidence").first.click()
    settle(page)
    assert "confidence" in page.locator(".score .head").last.locator(".labels").inner_text()


def test_arrows_walk_bands_in_the_order_shown(visit: Any) -> None:
    page = visit("?trace=all_methods&sort=calls")
    order = bands(page)
    page.evaluate("(run) => draftscope.store.setCursor({ run, pos: 5 })", order[0])
    keyboard(page).focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{S}.cursor.run") == order[1]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{S}.cursor.pos") == 6
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator(f'.score .head[data-band="{order[1]}"]').bounding_box()["height"] > 60


def test_where_a_text_leaves_the_reference_is_told(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    reference, other = (traces("first_look")[i].token_ids for i in (0, 3))
    at = next(i for i, (a, b) in enumerate(zip(reference, other, strict=False)) if a != b)
    assert f"another text from {at} on" in page.locator('.score .head[data-band="cm_asd"]').inner_text()
    assert "another text" not in page.locator('.score .head[data-band="sd"]').inner_text()
    page.evaluate(f"{S}.setCursor({{ run: 'cm_asd', pos: {at + 2} }})")
    settle(page)
    assert "another text" in page.locator(".others button", has_text="CM-ASD").inner_text()


def test_the_score_is_saved_as_svg_and_png(visit: Any) -> None:
    page = visit("?trace=all_methods")
    with page.expect_download() as getting:
        page.get_by_role("button", name="Save the score as SVG").click()
    text = Path(getting.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg") and "NaN" not in text and "var(" not in text
    for trace in traces("all_methods"):
        assert trace.head.title in text and f"{len(trace.rounds)} calls" in text
    with page.expect_download() as getting:
        page.get_by_role("button", name="Save the score as PNG").click()
    assert Path(getting.value.path()).read_bytes().startswith(b"\x89PNG")


def test_trees_of_all_methods_at_the_cursor(visit: Any) -> None:
    page = visit("?trace=all_methods&v=trees")
    page.evaluate(f"{S}.setCursor({{ run: 'eagle3', pos: 20 }})")
    settle(page)
    recorded = {trace.head.method: trace for trace in traces("all_methods")}
    assert page.locator(".treegrid .card").count() == 24
    for name in ("sd", "eagle3", "medusa", "pld"):
        event = next(event for event in recorded[name].rounds if event.start <= 20 < event.start + event.emitted)
        words = page.locator(f'[data-tree="{name}"] header').inner_text()
        assert f"{len(event.nodes)} draft token" in words and f"{event.accepted} accepted" in words
    assert "Plain decoding" in page.locator('[data-tree="ar"]').inner_text()
    sizes = page.locator(".treegrid text, .treegrid tspan").evaluate_all(
        "(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert len(sizes) > 100 and min(sizes) >= 11
    card = page.locator('[data-tree="eagle3"]')
    before = card.locator("[data-node]").count()
    card.locator("[data-unfold]").first.click()
    settle(page)
    assert card.locator("[data-node]").count() > before
    card.get_by_role("button", name="Maximise").click()
    settle(page)
    assert page.locator('[data-view="tree"] [data-node]').count() > before
    page.get_by_role("button", name="All methods", exact=True).last.click()
    settle(page)
    assert page.locator(".treegrid .card").first.is_visible()


def test_shares_have_one_axis_and_name_their_denominators(visit: Any) -> None:
    page = visit("?trace=first_look&v=shares")
    recorded = traces("first_look")
    for trace in recorded:
        cell = page.locator(f'.share[data-run="{trace.head.method}"][data-figure="accepted"]')
        if trace.head.method == "ar":
            assert cell.count() == 0
            assert "No draft tokens" in page.locator('.shares .method[data-run="ar"]').inner_text()
            continue
        assert f"of {len(trace.rounds)} target calls" in cell.inner_text()
        assert "share of rounds" in cell.inner_text()
    ticks = "(all) => all.map((one) => [...one.querySelectorAll('text')].map((text) => text.textContent).filter((t) => /^[0-9]+$/.test(t)).join())"
    axes = page.locator('.share[data-figure="position"] svg').evaluate_all(ticks)
    assert len(axes) == 3 and len(set(axes)) == 1
    page.locator('[data-share="tcr"]').click()
    settle(page)
    assert page.locator(".share").count() == 4 and "tested, rejected" in page.locator(".share").nth(1).inner_text()


@pytest.mark.parametrize("width", [390, 768, 1024, 1280, 1440, 1920, 2560])
@pytest.mark.parametrize(
    "query", ["?trace=first_look", "?trace=all_methods&v=text", "?trace=all_methods", "?trace=first_look&v=score"]
)
def test_nothing_overprints_and_the_page_does_not_scroll_sideways(visit: Any, width: int, query: str) -> None:
    page = visit(query, width, 900)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    overlap = """() => { const out = [];
      const hit = (a, b) => a.right > b.left + 0.5 && b.right > a.left + 0.5 && a.bottom > b.top + 1 && b.bottom > a.top + 1;
      for (const head of document.querySelectorAll('.lane > header, .score .head')) {
        const parts = [...head.querySelectorAll('dd, .ratio, .badge, .lane-title button, .title, .figs > *, .labels > *')]
          .filter((one) => one.textContent.trim() && one.getClientRects().length);
        parts.forEach((a, i) => parts.slice(i + 1).forEach((b) => {
          if (!a.contains(b) && !b.contains(a) && hit(a.getBoundingClientRect(), b.getBoundingClientRect()))
            out.push(`${a.textContent} / ${b.textContent}`); }));
      } return out; }"""
    assert page.evaluate(overlap) == []


def test_keys_and_links_lead_to_the_views(visit: Any) -> None:
    page = visit("?trace=first_look")
    for key, view in (("2", "score"), ("3", "trees"), ("4", "shares"), ("1", "text")):
        page.keyboard.press(key)
        assert page.locator(f"#stage-{view}").is_visible()
        assert page.locator("[data-stage]:visible").count() == 1
    page.keyboard.press("h")
    assert not page.locator(".details").is_visible()
    page.wait_for_function("location.search.includes('dock=hidden')")
    page.get_by_role("button", name="Details", exact=True).click()
    assert page.locator(".details").is_visible()


def test_more_than_six_methods_run_and_open(visit: Any, tmp_path: Path) -> None:
    page = visit("?trace=all_methods")
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(_lines(PRESETS / path) for path in get_preset("all_methods").traces[:9]))
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(file)
    page.wait_for_function(f"{S}.lanes.length === 9 && {S}.status.recorded === null")
    settle(page)
    assert len(bands(page)) == 9
    assert page.evaluate(f"{S}.options.folded") is True


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
    expect(proof).to_contain_text("In place of the exact rule, a draft token is kept")
    proof.get_by_role("link", name="proofs").click()
    expect(proof).to_have_count(0)
    page.wait_for_function("draftscope.store.options.room === 'learn' && draftscope.store.options.name === 'kernels'")
