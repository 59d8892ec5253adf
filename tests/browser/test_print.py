"""On paper: light, everything that is on the stage in full, nothing to press, nothing that sticks or scrolls."""

import re
import zlib
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

S = "draftscope.store"
SHEET = {"width": 703, "height": 1032}  # A4 without its margins
CUT = """() => [...document.querySelectorAll(".lab *")].filter((one) => {
  const style = getComputedStyle(one);
  if (style.display === "inline" || !one.checkVisibility() || one.closest("svg, math, .unseen")) return false;
  const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
  const cut = clips && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1);
  const box = one.getBoundingClientRect();
  return cut || (box.width > 0 && box.right > innerWidth + 1);
}).map((one) => `${one.tagName}.${one.getAttribute("class")}`)"""
"""What is cut, by a box of its own or by the edge of the sheet."""
STUCK = """() => [...document.querySelectorAll(".lab *")].filter((one) =>
  one.checkVisibility() && ["sticky", "fixed"].includes(getComputedStyle(one).position)).map((one) => one.className)"""


def printed(page: Any) -> None:
    """As the browser does it: first the page is told, then it is laid out for a sheet, and no frame comes between."""
    page.wait_for_function(f"['empty', 'done'].includes({S}.status.phase)")
    page.evaluate("async () => { for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame); }")
    page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    page.emulate_media(media="print")
    page.set_viewport_size(SHEET)


@pytest.mark.parametrize("view", ["text", "score", "trees", "shares"])
def test_the_stage_is_whole_and_light(visit_cases: Any, view: str) -> None:
    page = visit_cases(f"?trace=first_look&__theme=dark&v={view}")
    page.evaluate(f"{S}.setCursor({{ run: {S}.lanes[1], pos: 9 }})")
    sign = {"text": ".lane .k", "score": ".score .tiles canvas"}.get(view, f"[data-stage={view}] .v-figure")
    page.locator(sign).first.wait_for()
    page.locator(".v-why").wait_for()
    printed(page)
    assert page.evaluate(CUT) == []
    assert page.evaluate(STUCK) == []
    for spot in ("body", ".gradio-container"):
        assert page.locator(spot).evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".lab").evaluate("(one) => getComputedStyle(one).color") == "rgb(27, 29, 33)"
    for spot in (".dock", ".rooms", ".top .tools", ".runline .go", ".stagebar", ".score > .tools", ".score .scroller"):
        expect(page.locator(spot)).to_be_hidden()
    for spot in (".v-verdict-line", ".runline .summary", ".details .v-why", f"[data-stage={view}]"):
        expect(page.locator(spot)).to_be_visible()
    prompt = page.evaluate("draftscope.session.config.prompt")
    assert page.locator(".runline .summary").evaluate("(one) => one.innerText").startswith(prompt.rstrip())


def test_lanes_stand_in_as_many_columns_as_fit(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&v=text")
    page.locator(".lane .k").first.wait_for()
    printed(page)
    expect(page.locator(".lane").first.locator(".stretch")).to_have_count(1)  # lines end where the sheet lets them
    boxes = page.evaluate(
        "() => [...document.querySelectorAll('.lane')].map((one) => one.getBoundingClientRect().toJSON())"
    )
    assert [box["left"] for box in boxes[:2]] == [box["left"] for box in boxes[2:]] and boxes[0]["left"] < boxes[1][
        "left"
    ]
    assert boxes[2]["top"] > boxes[0]["bottom"]


def test_the_score_goes_on_in_the_next_line(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&v=score")
    page.locator(".score .tiles canvas").first.wait_for()
    assert page.locator(".sheet .line").count() == 0
    printed(page)
    longest = page.evaluate(f"Math.max(...[...{S}.runs.values()].map((run) => run.tokens.length))")
    bands = page.evaluate("document.querySelectorAll('.score .heads .head').length")
    lines = page.locator(".sheet .line")
    assert lines.count() == -(-longest * 5 // 460)
    assert lines.first.locator(".band").count() == bands + 1
    assert page.locator(".sheet svg").first.evaluate("(one) => one.getBoundingClientRect().width") > 400
    page.emulate_media(media="screen")
    page.evaluate("() => { dispatchEvent(new Event('afterprint')); }")
    assert lines.count() == 0


def test_figures_take_the_room_of_a_sheet(visit_cases: Any) -> None:
    page = visit_cases("?room=papers&__theme=dark")
    page.locator(".paper-item .main-svg").first.wait_for()
    printed(page)
    page.wait_for_function("document.querySelector('.plot .main-svg').hasAttribute('viewBox')")
    assert page.evaluate(CUT) == []
    for spot in (".paper-names", ".paper-items", ".modebar", ".paper-acts"):
        expect(page.locator(spot).first).to_be_hidden()
    expect(page.locator(".paper-item .claim")).to_be_visible()
    overlaps = page.evaluate(
        """() => { const boxes = [...document.querySelectorAll(".plotted")].map((one) => one.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
            a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length; }"""
    )
    assert overlaps == 0


@pytest.mark.parametrize(
    ("query", "sign"),
    [("room=learn&tab=methods&name=ar", ".doc h3"), ("room=runs", ".pooled table"), ("room=judge", ".mismatch")],
)
def test_rooms_are_whole(visit_cases: Any, query: str, sign: str) -> None:
    page = visit_cases(f"?{query}")
    page.locator(sign).first.wait_for()
    printed(page)
    assert page.evaluate(CUT) == []
    assert page.evaluate(STUCK) == []
    assert not page.locator(".mismatchhead, .runlinks").evaluate_all(
        "(all) => all.some((one) => one.checkVisibility())"
    )


def test_afterwards_the_page_is_as_it_was(visit_cases: Any) -> None:
    """The browser itself says when it prints and when it has."""
    page = visit_cases("?trace=first_look&__theme=dark&v=text")
    page.locator(".lane .k").first.wait_for()
    look = "() => [document.body.className, document.querySelectorAll('.lane .k').length]"
    before = page.evaluate(look)
    page.evaluate("() => addEventListener('beforeprint', () => { window.seen = document.body.className; })")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert "dark" not in page.evaluate("window.seen")
    page.wait_for_function("document.body.classList.contains('dark')")
    assert page.evaluate(look) == before


def test_figures_are_light_and_have_the_frame_that_scales_before_the_page_is_laid_out(visit_cases: Any) -> None:
    """Firefox prints as soon as the page was told, before any observer is called."""
    page = visit_cases("?room=papers&__theme=dark")
    page.locator(".plot .main-svg").first.wait_for()
    page.wait_for_function("() => ![...document.querySelectorAll('.plot')].some((one) => !one.querySelector('.xtick'))")
    found = """[...document.querySelectorAll('.plot')].map((one) => [
        one.querySelector('.main-svg').getAttribute('viewBox'),
        one.querySelector('.xtick text').style.fill,
        getComputedStyle(document.body).getPropertyValue('--ink-2').trim()])"""
    dark = page.evaluate(found)
    light = page.evaluate(f"() => {{ dispatchEvent(new Event('beforeprint')); return {found}; }}")
    assert light and all(frame for frame, _, _ in light)
    assert len({ink for _, ink, _ in light}) == 1 and not {ink for _, ink, _ in light} & {ink for _, ink, _ in dark}


def sheets(pdf: bytes) -> list[int]:
    """How much is drawn on each sheet, in bytes of its content."""
    objects = {int(m[1]): m[2] for m in re.finditer(rb"\n(\d+) 0 obj\n(.*?)\nendobj", pdf, re.DOTALL)}
    pages = [re.search(rb"/Contents (\d+) 0 R", one) for one in objects.values() if re.search(rb"/Type /Page\b", one)]
    streams = [objects[int(page[1])] for page in pages if page]
    return [len(zlib.decompress(one.split(b"stream\n", 1)[1].rsplit(b"\nendstream", 1)[0])) for one in streams]


def test_the_score_of_many_methods_begins_on_the_first_sheet(visit_cases: Any) -> None:
    page = visit_cases("?trace=all_methods&v=score")
    page.locator(".score .tiles canvas").first.wait_for()
    drawn = sheets(page.pdf(format="A4"))
    assert len(drawn) > 1 and drawn[0] == max(drawn)


def test_every_promise_has_its_frame(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&v=text")
    page.locator(".lane .k").first.wait_for()
    printed(page)
    assert page.locator(".lane .badge").count() == 4
    framed = "() => [...document.querySelectorAll('.lane .badge')].every((one) => getComputedStyle(one).borderColor !== '{}')"
    page.wait_for_function(framed.format("rgba(0, 0, 0, 0)"))  # colours change gradually


def test_a_lesson_beside_the_stage_is_not_parted_from_its_head(visit_cases: Any) -> None:
    page = visit_cases("?beside=target_call~1&trace=first_look")
    page.locator(".beside .task").wait_for()
    printed(page)
    assert page.locator(".beside").evaluate("(one) => getComputedStyle(one).breakInside") == "avoid"


def test_what_is_covered_until_a_prediction_takes_no_sheet(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look&beside=trees~0")
    page.wait_for_selector(".lab[data-covered]")
    drawn = sheets(page.pdf(format="A4"))
    assert len(drawn) == 2, drawn
    assert min(drawn) > 2_000, "none is blank"
