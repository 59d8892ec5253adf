"""Tests take turns in a browser's contexts: each finds what the browser fetched, and nothing that a page kept."""

from typing import Any

import pytest

from tests.browser.pages import Contexts, Pages

pytestmark = pytest.mark.browser
KEPT = "[Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]"
FETCHED = "performance.getEntriesByType('resource').filter((one) => /js$/.test(one.name) && one.transferSize).length"


def test_a_page_finds_nothing_that_one_before_it_kept_and_fetches_no_file_again(
    contexts: Contexts, server: Any
) -> None:
    first, size = Pages(contexts), {"width": 1111, "height": 777}  # those of no other test
    page = first.open(server.url, viewport=size)
    assert page.evaluate(FETCHED) > 100
    page.evaluate("localStorage.one = sessionStorage.two = document.cookie = 'three=4'")
    other = page.context.new_page()
    second = Pages(contexts)
    beside = second.open(server.url, viewport=size)
    assert beside.context is not page.context
    assert beside.evaluate(KEPT) == [[], [], ""]
    context = page.context
    first.close()
    assert page.is_closed() and other.is_closed() and not beside.is_closed()
    page = first.open(server.url, viewport=size)
    assert page.context is context
    assert page.evaluate(KEPT) == [[], [], ""]
    assert page.evaluate(FETCHED) == 0
    first.close()
    second.close()
