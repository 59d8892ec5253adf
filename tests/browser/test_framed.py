"""The page in a frame that is made as tall as its content, as huggingface.co does: there the page around it scrolls."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

pytestmark = pytest.mark.browser
AROUND = """<!doctype html><body style="margin:0"><header style="height:60px"></header>
<iframe id="frame" src="/" scrolling="no" style="display:block;border:0;width:100%;height:150px"></iframe>"""
RESIZER = """if (parent !== window) {
  const { document } = parent, frame = () => document.getElementById("frame");
  const tell = (hear) => hear({
    scrollTop: parent.scrollY,
    offsetTop: frame().offsetTop,
    clientHeight: document.documentElement.clientHeight,
  });
  window.parentIFrame = {
    autoResize() {},
    size(height) {
      frame().style.height = `${height}px`;
    },
    getPageInfo(hear) {
      parent.addEventListener("scroll", () => tell(hear));
      tell(hear);
    },
  };
}"""
CUT = "document.documentElement.scrollHeight > innerHeight + 1"
TALL = f"""() => {{
  if ({CUT}) window.tallSince = 0;
  else window.tallSince ||= performance.now();
  return window.tallSince && performance.now() - window.tallSince > 700;
}}"""


@pytest.fixture
def framed(visit: Callable[..., Page]) -> tuple[Page, Frame]:
    """The page around, and the frame."""
    page = visit(wait=False)
    page.add_init_script(RESIZER)
    page.route("**/around", lambda route: route.fulfill(body=AROUND, content_type="text/html"))
    page.goto(page.url.partition("?")[0] + "around")
    frame = page.main_frame.child_frames[0]
    frame.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    return page, frame


def box(page: Page, frame: Frame, selector: str) -> Any:
    """Where an element is in the window, in pixels."""
    found = frame.locator(selector).evaluate("(element) => element.getBoundingClientRect().toJSON()")
    top = page.evaluate("document.getElementById('frame').getBoundingClientRect().top")
    return {"top": found["top"] + top, "bottom": found["bottom"] + top}


def test_nothing_of_the_page_is_cut_off(framed: tuple[Page, Frame]) -> None:
    _page, frame = framed
    for room in ("Judge", "Compare", "Papers", "Compare"):
        frame.locator("header.top").get_by_role("link", name=room).click()
        expect(frame.locator(f".room[data-room={room.lower()}]")).to_be_visible()
        frame.wait_for_function(TALL, polling=50)


def test_a_frame_does_not_grow_while_a_recording_comes(visit: Callable[..., Page]) -> None:
    """What is as tall as the window would make the frame taller, and so itself, again and again."""
    page, held = visit(wait=False), list[Any]()
    page.add_init_script(RESIZER)
    page.route("**/around", lambda route: route.fulfill(body=AROUND, content_type="text/html"))
    page.route("**/lab/trace*", lambda route: held.append(route))
    page.goto(page.url.partition("?")[0] + "around")
    frame = page.main_frame.child_frames[0]
    frame.wait_for_function("/Opening/.test(document.querySelector('.stage')?.textContent)")
    heights = list[int]()
    for _ in range(2):
        page.wait_for_timeout(1500)
        heights.append(frame.evaluate("innerHeight"))
    assert heights[1] <= heights[0] + 20 and heights[1] < 1500, heights


def test_what_floats_is_where_it_is_seen(framed: tuple[Page, Frame]) -> None:
    page, frame = framed
    frame.wait_for_function(TALL, polling=50)
    expect(frame.locator(".dock")).to_be_visible()
    assert frame.evaluate("innerHeight") > 1000
    frame.wait_for_function("getComputedStyle(document.documentElement).getPropertyValue('--below') > '0px'")
    assert box(page, frame, ".dock")["bottom"] == pytest.approx(900, abs=2)
    page.evaluate("scrollTo(0, 260)")
    frame.wait_for_function("getComputedStyle(document.documentElement).getPropertyValue('--above') === '200px'")
    assert box(page, frame, ".dock")["bottom"] == pytest.approx(900, abs=2)
    frame.evaluate("draftscope.ui.notify('Said')")
    assert 0 < box(page, frame, ".dock")["top"] - box(page, frame, ".notices")["bottom"] < 40
    frame.evaluate("draftscope.ui.open('share')")
    drawer = box(page, frame, ".drawer")
    assert drawer["top"] == pytest.approx(0, abs=1) and drawer["bottom"] == pytest.approx(900, abs=2)
