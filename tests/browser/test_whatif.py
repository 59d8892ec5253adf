"""What if: a moved temperature is in the link, and the link moves it again."""

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_moved_temperature_counts_what_the_lists_decide_and_is_in_the_link(visit: Any, address: str) -> None:
    page = visit(f"{address}?trace=sampled")
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
    expect(page.locator(".v-whatif .v-empty")).to_contain_text("No lane samples")
    page.goto(link)
    expect(words).to_have_text(told)
    expect(slider).to_have_value("0.4")
    page.get_by_role("button", name="As run").click()
    page.wait_for_function("!location.search.includes('whatif')")
