"""What the stage says of each method, over the recorded cases: figures, legends, signs and their words."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waits import sees

pytestmark = pytest.mark.browser


def of_run(ask: str, key: str) -> str:
    """What the store says of a run, in JavaScript."""
    return f"draftscope.store.{ask}(draftscope.store.runs.get('{key}'))"


@pytest.fixture
def visit(visit_cases: Callable[..., Page]) -> Callable[..., Page]:
    """Open the page: visit(query, width, height, **context options)."""

    def go(query: str = "", width: int = 1440, height: int = 1000, **options: Any) -> Page:
        return visit_cases(query, viewport={"width": width, "height": height}, **options)

    return go


def test_an_overlap_is_told_of_as_many_choices_as_were_recorded(visit: Any) -> None:
    page = visit("?trace=all_methods&v=score")
    page.get_by_role("button", name="Open all", exact=True).click()
    page.get_by_role("button", name="Highest values", exact=True).click()
    row = page.locator(".peaks tbody tr", has=page.get_by_role("rowheader", name="Speculative decoding", exact=True))
    expect(row).to_contain_text("4 of 4 at 0")
    page.wait_for_function("""() => {
        const cell = [...document.querySelectorAll('.peaks td')].find((one) => one.textContent.startsWith('4 of 4'));
        const after = [...cell.querySelectorAll('button')].map((one) => getComputedStyle(one, '::after').content);
        return after.length > 1 && after.every((said, i) => said === (i < after.length - 1 ? '","' : 'none'));
    }""")  # the table is drawn anew as runs are
    expect(page.locator('.score .head[data-band="sd"] .labels')).to_contain_text("overlap@4")


def test_the_foot_says_of_no_recording_that_its_lanes_took_turns(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    expect(page.locator('[data-view="verdict"]')).to_contain_text("one lane after the other")
    expect(page.locator('[data-view="foot"]')).to_contain_text("Lanes of a live run take turns")


@pytest.mark.parametrize("case", ["first_look", "all_methods"])
def test_the_share_of_accepted_draft_tokens_tells_of_how_many(visit: Any, case: str) -> None:
    page = visit(f"?trace={case}&v=text")
    page.wait_for_function("draftscope.store.lanes.length > 1")
    keys = page.evaluate("draftscope.store.lanes")
    for key in keys[:6]:
        drafted = page.evaluate(f"{of_run('stats', key)}.drafted")
        named = page.locator(f'.lane[data-lane="{key}"] .figures > div').nth(3).locator("dt")
        expect(named).to_have_text(f"accepted of {drafted}" if drafted else "accepted")
    page.keyboard.press("2")
    band = page.locator('.score .head[data-band="sd"]')
    drafted, rate = (page.evaluate(f"{of_run('stats', 'sd')}.{name}") for name in ("drafted", "acceptRate"))
    if band.get_by_role("button", name=re.compile("^Open the tracks")).count():
        band.get_by_role("button", name=re.compile("^Open the tracks")).click()
    expect(band).to_contain_text(f"{rate * 100:.0f} % of {drafted} accepted")
    expect(band).to_have_attribute("aria-label", re.compile(f"{rate * 100:.0f} % of {drafted} draft tokens accepted"))


def test_the_score_names_its_signs_and_the_saved_one_too(visit: Any) -> None:
    page = visit("?trace=first_look&v=score")
    signs = page.locator(".score .signs li")
    page.get_by_role("button", name="Entropies", exact=True).wait_for()
    for words in ("accepted", "correction", "bonus", "relaxed", "rejected draft tokens", "entropy of the draft"):
        expect(signs.filter(has_text=re.compile(f"^{words}$"))).to_have_count(1)
    for words in ("overlap", r"P\(accept\)", r"P\(accept\) where rejected", "draft breadth, line: accepted path"):
        expect(signs.filter(has_text=re.compile(f"^{words}$"))).to_have_count(1)
    expect(signs.filter(has_text="number drawn")).to_have_count(0)  # greedy
    expect(signs.filter(has_text="the answer stays")).to_have_count(1)
    expect(signs.filter(has_text="vetoed")).to_have_count(0)  # none here
    saved = page.evaluate("draftscope.ui.figures.get('stage/score')()")
    shown = signs.all_inner_texts()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", saved)
    assert all(words in texts for words in shown) and "74 calls, 1.00 tokens a call" in texts
    assert "70" in texts and "75" not in texts  # the last position is 73
    page.get_by_role("button", name="Entropies", exact=True).click()
    expect(signs.filter(has_text="entropy of the draft")).to_have_count(0)
    fold = page.locator(".score .signs summary")
    fold.click()
    expect(signs.first).to_be_hidden()


def test_the_key_of_the_text_has_the_bar_at_the_start_of_a_round(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    expect(page.locator(".strip .roundsign")).to_have_text("start of a round")
    page.keyboard.press("2")
    expect(page.locator(".strip .roundsign")).to_be_hidden()


def test_a_phone_has_the_signs_of_the_score_folded(visit: Any) -> None:
    page = visit("?trace=first_look&v=score", 390, 844)
    expect(page.locator(".score .signs summary")).to_be_visible()
    expect(page.locator(".score .signs li").first).to_be_hidden()


def test_saved_lanes_have_their_names_and_no_controls(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    page.locator(".lane .figures").first.wait_for()
    saved = page.evaluate("draftscope.ui.figures.get('lanes')()")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", saved)
    for name in page.locator(".lane-title").all_inner_texts():
        assert name in texts


def test_saved_lanes_show_where_rounds_begin(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    page.locator(".lane .figures").first.wait_for()
    colour = page.evaluate(
        "getComputedStyle(document.querySelector('.lane:not(.reference) .round'), '::before').backgroundColor"
    )
    saved = page.evaluate("draftscope.ui.figures.get('lanes')()")
    ticks = [rect for rect in re.findall(r"<rect[^>]*>", saved) if 'width="1"' in rect and f'fill="{colour}"' in rect]
    assert len(ticks) == page.locator(".lane:not(.reference) .round:not(.cont)").count() > 20


@pytest.mark.parametrize(("view", "name"), [("trees", "Trees"), ("shares", "Shares")])
def test_a_view_without_a_drawing_is_saved_in_its_words(visit: Any, view: str, name: str) -> None:
    page = visit(f"?trace=first_look&v={view}")
    page.evaluate("""() => {
      const { store } = draftscope;
      const [{ key, card, head }] = store.runs.values();
      store.load([{ key, card, events: [head] }]);
    }""")
    page.locator(f"[data-stage={view}]", has_text="Autoregressive").wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name=f"{name} as SVG").click()
    text = saved.value.path().read_text()
    assert ">Autoregressive</text>" in text and 'viewBox="0 0 1 1"' not in text


def test_a_saved_timeline_names_its_lanes_and_its_axis(visit: Any) -> None:
    """Also where the page has no room for names."""
    page = visit("?trace=first_look&v=text")
    page.set_viewport_size({"width": 390, "height": 844})
    saved = page.evaluate("draftscope.ui.figures.get('timeline')()")
    rounds = page.evaluate("[...draftscope.store.runs.values()].reduce((sum, run) => sum + run.rounds.length, 0)")
    assert all(
        f">{word}</text>" in saved for word in ("Autoregressive", "Speculative decoding", "CM-ASD", "target calls")
    )
    assert saved.count("<rect") == rounds + 2, "the sheet, each round, the playhead"
    page.get_by_role("button", name="wall clock").click()
    saved = page.evaluate("draftscope.ui.figures.get('timeline')()")
    assert all(f">{word}</text>" in saved for word in ("wall clock", "drafting", "target call"))


def test_the_clocks_key_leaves_the_buttons_of_the_timeline_free_on_a_phone(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="wall clock").click()
    expect(page.locator(".dock .clockkey")).to_be_visible()
    key = page.locator(".dock .clockkey").bounding_box()
    buttons = page.locator(".dock .events").bounding_box()  # the last of them
    assert key and buttons
    assert key["y"] + key["height"] <= buttons["y"] or buttons["x"] + buttons["width"] <= key["x"]


def test_saved_details_ask_nothing_whose_buttons_are_left_out(visit: Any) -> None:
    page = visit()
    page.evaluate("draftscope.store.setCursor({run: 'chain', pos: 4})")
    expect(page.get_by_role("group", name="What if it had written another token")).to_be_visible()
    assert "What" not in page.evaluate("draftscope.ui.figures.get('inspector')()")


BOUNDS = """(view) => {
  const sheet = new DOMParser().parseFromString(draftscope.ui.figures.get(view)(), 'image/svg+xml').documentElement;
  document.body.replaceChildren(document.importNode(sheet, true));
  const whole = document.querySelector('svg').getBoundingClientRect();
  const spots = [...document.querySelectorAll('svg text')].filter((one) => one.textContent.trim()).map((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return { left: left - whole.left, top: top - whole.top, right: whole.right - right, bottom: whole.bottom - bottom };
  });
  const foot = [...document.querySelectorAll('svg text.caption')];
  return {
    least: Object.fromEntries(['left', 'top', 'right', 'bottom'].map((s) => [s, Math.min(...spots.map((a) => a[s]))])),
    foot: foot.map((one) => one.textContent).join(' '),
    ink: foot[0].getAttribute('fill'),
    below: foot[0].getBoundingClientRect().top >= document.querySelector('svg svg').getBoundingClientRect().bottom,
  };
}"""


@pytest.mark.parametrize(("scheme", "ink"), [("light", "#626872"), ("dark", "#959ba4")])
@pytest.mark.parametrize(("view", "shown"), [("stage/score", ".signs li"), ("verdict", "p"), ("lanes", ".figures")])
def test_a_saved_figure_has_a_margin_and_says_what_was_run(
    visit: Any, scheme: str, ink: str, view: str, shown: str
) -> None:
    page = visit(f"?trace=sampled&v={'score' if view == 'stage/score' else 'text'}", color_scheme=scheme)
    page.locator(f'[data-view="{view}"] {shown}').first.wait_for()
    found = page.evaluate(BOUNDS, view)
    assert all(room >= 12 for room in found["least"].values())  # letters reach a little beyond their place
    assert found["below"] and found["ink"] == ink
    assert found["foot"] == (
        "A sampled run · target assets/tiny/target, draft assets/tiny/draft · temperature 0.8, seed 0 · "
        "recorded 2026-11-23"
    )


def test_the_wall_clock_says_which_part_of_a_round_is_drafting(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    key = page.locator(".dock .clockkey")
    expect(key).to_be_hidden()
    page.get_by_role("button", name="wall clock").click()
    expect(key).to_be_visible()
    expect(key).to_have_text("draftingtarget call")


def test_the_gallery_names_signs_as_the_stage_does(visit: Any) -> None:
    page = visit("?room=learn&tab=gallery")
    keys = page.locator(".gallery-key")
    expect(keys).to_have_text(["accepted", "relaxed", "correction", "bonus", "target alone"])
    expect(page.locator('.thumbnail rect[style*="fill: none"]').first).to_be_attached()


@pytest.mark.parametrize("case", ["first_look", "all_methods"])
def test_figures_of_all_lanes_stand_in_line_under_titles_of_one_line_or_two(visit: Any, case: str) -> None:
    page = visit(f"?trace={case}&v=text")
    for part in (".lane-marks", ".figures", ".figures > div:nth-child(3)", ".lane-rest"):
        tops = f"new Set([...document.querySelectorAll('.lane {part}')].map((e) => e.getBoundingClientRect().top)).size"
        page.wait_for_function(f"{tops} === 1")


def test_the_line_under_formula_and_names_is_at_its_words_and_not_at_the_foot_of_its_target(visit: Any) -> None:
    names = visit("?trace=first_look&v=shares").locator(".v-names").first
    expect(names).to_have_css("text-decoration-line", "underline")
    expect(names).to_have_css("border-bottom-width", "0px")


CUT = """() => {
  const saved = draftscope.ui.figures.get('stage/treegrid')();
  const sheet = new DOMParser().parseFromString(saved, 'image/svg+xml');
  const size = (one, side) => Number(one.getAttribute(side));
  const trees = [...sheet.querySelectorAll('.v-figure')];
  return {
    trees: trees.length,
    cut: trees.filter((one) => ['width', 'height'].some((s) => size(one, s) > size(one.parentNode, s) + 1)).length,
    beyond: trees.filter((one) => size(one.parentNode, 'x') + size(one, 'width') > size(sheet.documentElement, 'width')).length,
  };
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_saved_trees_are_whole_also_those_that_scroll_on_the_page(visit: Any, width: int) -> None:
    page = visit("?trace=all_methods&v=trees&at=eagle3~2~~", width=width)
    boxes = page.locator(".treegrid .box:has(.v-figure)")
    boxes.nth(20).wait_for()
    places = "(all) => all.map((box) => [box.scrollLeft, box.scrollTop, box.clientWidth < box.scrollWidth])"
    before = boxes.evaluate_all(places)
    assert any(wider for _, _, wider in before)
    found = page.evaluate(CUT)
    assert found["trees"] == len(before)
    assert found["cut"] == 0
    assert found["beyond"] == 0
    assert boxes.evaluate_all(places) == before  # the page stays as it was


def test_the_saved_text_has_every_lane_however_many_the_window_shows(visit: Any) -> None:
    page = visit("?trace=first_look&v=text", width=390)
    lanes = page.locator(".lanes")
    lanes.evaluate("(e) => e.scrollTo(200, 0)")
    saved = page.evaluate("draftscope.ui.figures.get('lanes')()")
    for name in page.locator(".lane-title").all_inner_texts():
        assert f">{name}<" in saved
    assert saved.count("&lt;eos&gt;") == 4  # and the end of each text
    assert f'viewBox="0 0 {lanes.evaluate("(e) => e.scrollWidth")} ' in saved


FIGURES_TOUCH = """[...document.querySelectorAll('.figures .ratio')].filter((one) => {
  const next = one.closest('.figures > div').nextElementSibling.getBoundingClientRect(), own = one.getBoundingClientRect();
  return one.textContent && own.right > next.left - 3 && own.bottom > next.top && own.top < next.bottom;
}).length"""
WIDE = {"first_look": 3, "easd_helps": 2, "fourth_try": 2}  # cases -> lanes that tell of how many were accepted


@pytest.mark.parametrize(
    ("case", "width"),
    [
        ("easd_helps", 1440),
        *((case, w) for case in ("first_look", "fourth_try") for w in (320, 375, 390, 768, 1440, 1920)),
    ],
)
def test_no_figure_of_a_lane_is_cut(visit: Any, case: str, width: int) -> None:
    page = visit(f"?trace={case}&v=text", width=width)
    expect(page.locator(".lane .figures dt", has_text="accepted of")).to_have_count(WIDE[case])
    cut = "[...document.querySelectorAll('.figures')].filter((e) => e.scrollWidth > e.clientWidth).length"
    assert page.evaluate(cut) == 0
    assert page.evaluate(FIGURES_TOUCH) == 0


@pytest.mark.parametrize(("width", "height"), [(390, 844), (375, 844)])
def test_a_phone_s_first_screen_shows_some_of_the_text(visit: Any, width: int, height: int) -> None:
    page = visit("?trace=first_look&v=text", width, height)
    flow, next_lane = page.locator(".lane .flow").first, page.locator(".lane").nth(1)
    line = flow.evaluate("(e) => e.querySelector('.k, span').getBoundingClientRect().bottom")
    assert line < page.locator(".dock").bounding_box()["y"]
    assert next_lane.bounding_box()["x"] < width - 12, "and that there is a lane beside it"


@pytest.mark.parametrize("width", [360, 375, 390])
def test_rooms_and_tools_have_a_line_each_on_a_phone(visit: Any, width: int) -> None:
    page = visit("?trace=first_look&v=text", width)
    for part in (".top .rooms > a", ".top .tools > button"):
        assert page.evaluate(f"new Set([...document.querySelectorAll('{part}')].map((e) => e.offsetTop)).size") == 1


FLAGS_AWAY = """() => [...document.querySelectorAll('.k.flagged')].filter((chip) => {
  const words = document.createRange();
  words.setStart(chip, 0);
  words.setEndBefore(chip.querySelector('.flags'));
  const end = [...words.getClientRects()].at(-1), flag = chip.querySelector('.flagmark').getBoundingClientRect();
  return Math.abs(flag.left - end.right) > 6;
}).length"""
STUBS = "[...document.querySelectorAll('.k.relaxed')].filter((chip) => /^ |^$/.test(chip.querySelector('b')?.textContent ?? ''))"


def test_a_flag_stands_at_its_word_and_no_sign_marks_the_blank_at_the_end_of_a_line(visit: Any) -> None:
    page = visit("?trace=all_methods&v=text")
    page.locator(".k.flagged").first.wait_for()
    for width in (1440, 1180, 900):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_function(f"({FLAGS_AWAY})() === 0")
    assert page.locator(".k.relaxed").count() > 0
    assert page.evaluate(f"{STUBS}.length") == 0
    line = "((e) => [e, e.querySelector('b')].map((one) => getComputedStyle(one).textDecorationLine))"
    sees(page, f"{line}(document.querySelector('.k.relaxed'))", ["none", "underline"])  # lines may break once more


def test_nothing_is_painted_over_the_axis_of_the_score(visit: Any) -> None:
    page = visit("?trace=all_methods&v=score")
    page.get_by_role("button", name="Open all", exact=True).click()
    none = page.locator('.score .head[data-band="ar"] .none').last
    none.wait_for()
    over = """(e) => {
      const scroller = e.closest('.scroller'), ruler = document.querySelector('.score .ruler').getBoundingClientRect();
      scroller.scrollTop += e.getBoundingClientRect().top - ruler.top - 6;
      const box = e.getBoundingClientRect();
      return [box.top < ruler.bottom, document.elementsFromPoint(box.left + 4, ruler.top + 10).indexOf(e) >
        document.elementsFromPoint(box.left + 4, ruler.top + 10).findIndex((one) => one.closest('.ruler'))];
    }"""
    assert none.evaluate(over) == [True, True]


def test_a_folded_band_tells_its_answer_in_a_place_of_its_own(visit: Any) -> None:
    page = visit("?trace=all_methods&v=score")
    bands = page.locator(".score .head.folded")
    bands.first.wait_for()
    checked = page.evaluate("[...draftscope.store.runs.values()].map(({ key, end }) => [key, end.checked.right])")
    assert {right for _, right in checked} == {True, False}
    for key, right in checked:
        band = page.locator(f'.score .head[data-band="{key}"]')
        sign = band.get_by_role("img")
        expect(sign).to_have_text("✓" if right else "✗")
        expect(sign).to_have_attribute("aria-label", re.compile(": right$" if right else ": wrong, it is "))
        expect(sign).to_have_attribute("title", re.compile(": right$" if right else ": wrong, it is "))
        expect(band.locator(".kind")).not_to_contain_text(re.compile("[✓✗]"))
    expect(page.locator(".score .corner")).to_contain_text("answer")


@pytest.mark.parametrize("view", ["score", "text"])
def test_of_long_answers_the_words_that_differ_are_told_and_the_whole_in_the_title(visit: Any, view: str) -> None:
    page = visit(f"?trace=translation&v={view}")
    told = page.locator(".score .head .answer" if view == "score" else ".lane .answer")
    expect(told.first).to_have_text("✗ 1 of 13 words differs: Auto → Bett")
    expect(told.first).to_have_attribute("title", re.compile("Tasse.* Auto .*: wrong, it is .*Tasse.* Bett "))
    for n in range(told.count()):
        expect(told.nth(n)).not_to_contain_text("Tasse")


FILLS = """() => {
  const word = [...document.querySelectorAll(".v-inspector svg text")].find((one) => one.textContent === "accept");
  const fills = word ? [word, word.ownerSVGElement.querySelector("rect")].map((one) => getComputedStyle(one).fill) : [];
  return fills.length && fills.every(Boolean) ? fills : null; // the drawing may be replaced meanwhile
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_word_in_the_bar_of_the_draw_can_be_read(visit: Any, theme: str) -> None:
    page = visit("?trace=first_look&v=text", color_scheme=theme)
    page.evaluate("draftscope.store.setCursor({ run: 'sd', round: 0, node: 0 })")
    page.evaluate("draftscope.store.setCursor({ run: 'sd', pos: 2 })")
    colours = page.wait_for_function(FILLS).json_value()
    dark, light = sorted(luminance(colour) for colour in colours)
    assert (light + 0.05) / (dark + 0.05) >= 4.5, colours


def luminance(colour: str) -> float:
    """WCAG's relative luminance of "rgb(r, g, b)"."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    r, g, b = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_what_makes_a_tree_large_names_its_method(visit: Any) -> None:
    page = visit("?trace=first_look&v=trees")
    grow = page.locator("[data-tree=sd]").get_by_role("button", name="Maximise the tree of Speculative decoding")
    expect(grow).to_have_text("Maximise")


def test_rows_of_the_save_drawer_are_of_one_height(visit: Any) -> None:
    page = visit("?trace=first_look&v=text")
    page.get_by_role("button", name="Save", exact=True).click()
    rows = "[...document.querySelectorAll('.drawer .row:has(> span)')].map((row) => row.getBoundingClientRect())"
    pitch = f"""(() => {{ const rows = {rows}; return rows.flatMap((row, i) =>
        i && row.top - rows[i - 1].top < 60 ? [Math.round(row.top - rows[i - 1].top)] : []); }})()"""
    assert len(set(page.evaluate(pitch))) == 1


def test_a_notice_is_seen_over_a_modal_drawer(visit: Any) -> None:
    page = visit("?trace=first_look", 390, 844)
    page.get_by_role("button", name="Save", exact=True).click()
    page.evaluate("draftscope.ui.notify('Something happened.')")
    on_top = """() => {
      const { left, top, width, height } = document.querySelector('.notice').getBoundingClientRect();
      return document.elementFromPoint(left + width / 2, top + height / 2).closest('.notice') !== null;
    }"""
    assert page.evaluate(on_top)
    page.keyboard.press("Escape")
    page.wait_for_function("!document.querySelector('dialog.drawer').open")
    assert page.evaluate(on_top)
