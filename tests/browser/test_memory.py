"""What was opened and closed again and again is let go of, and the page is not fetched once more."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
OFTEN, LOOKS = 5, 20
FEWER = 40  # nodes of a page, a review or an entry of the glossary are more than these


def method(page: Page) -> None:
    """The page of a method is opened, and the list again."""
    page.evaluate("draftscope.store.setOption('name', 'sd')")
    expect(page.get_by_role("region", name="On the stage now")).to_be_visible()
    page.evaluate("draftscope.store.setOption('name', '')")
    expect(page.locator(".learn-index")).to_be_visible()


def review(page: Page) -> None:
    """The review of a case is opened and closed."""
    page.evaluate("draftscope.ui.open('notes')")
    expect(page.get_by_text("Do you agree with this decision?")).to_be_visible()
    page.evaluate("draftscope.ui.close()")


def entry(page: Page) -> None:
    """A word is explained, and its entry closed by the keyboard."""
    page.locator(".lane .figures .word").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".wordbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".wordbox")).to_have_count(0)


@pytest.mark.parametrize(
    ("query", "open_and_close"),
    [("?room=learn&tab=methods", method), ("?trace=sampled", review), ("?trace=sampled", entry)],
)
def test_what_was_closed_is_let_go_of(
    visit_cases: Callable[..., Page], query: str, open_and_close: Callable[[Page], None]
) -> None:
    page = visit_cases(query)
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def nodes() -> float:
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        return next(x["value"] for x in session.send("Performance.getMetrics")["metrics"] if x["name"] == "Nodes")

    for _ in range(2):
        open_and_close(page)
    before = nodes()
    for _ in range(OFTEN):
        open_and_close(page)
    for _ in range(LOOKS):  # frames and timers that are still to come hold what they draw
        if nodes() - before < OFTEN * FEWER:
            return
        page.wait_for_timeout(250)
    assert nodes() - before < OFTEN * FEWER


def test_figures_do_not_fetch_the_page_once_its_address_is_another(
    pages: Any, visit_cases: Callable[..., Page]
) -> None:
    page = visit_cases("?room=trajectories")
    drawn = page.locator(".plot [clip-path]").first
    drawn.wait_for(state="attached")
    page.evaluate("draftscope.store.setOption('room', 'papers')")
    page.locator("[data-room=papers] .plot [clip-path]").first.wait_for(state="attached")
    page.wait_for_function("location.search.includes('room=papers')")
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_timeout(500)
    named = "[...document.querySelectorAll('.plot [clip-path]')].map((one) => one.getAttribute('clip-path'))"
    assert {one[:5] for one in page.evaluate(named)} == {"url(#"}
    assert len([url for url in pages.asked[page] if urlsplit(url).path == "/"]) == 1
