"""What the stage says of each method, over the recorded cases: figures, legends, signs and their words."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


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
