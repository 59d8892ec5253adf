"""What the stage says of each method, over the recorded cases: figures, legends, signs and their words."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

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
    expect(page.locator('.score .head[data-band="sd"] .labels')).to_contain_text("overlap@4")


@pytest.mark.parametrize("case", ["first_look", "all_methods"])
def test_the_share_of_accepted_draft_tokens_tells_of_how_many(visit: Any, case: str) -> None:
    page = visit(f"?trace={case}&v=text")
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
