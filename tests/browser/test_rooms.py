"""Rooms: tabs with addresses, what a link restores, and what leaving one ends."""

import pytest

pytestmark = pytest.mark.browser


def test_a_room_has_an_address_and_back_leads_out(visit):
    page = visit()
    assert page.get_by_role("link", name="Compare").get_attribute("aria-current") == "page"
    page.get_by_role("link", name="Many runs").click()
    page.locator("[data-room=runs] .pooled").wait_for()
    page.wait_for_function("location.search.includes('room=runs')")
    assert page.locator("[data-room=compare]").is_hidden() and page.title() == "Many runs · Draftscope"
    address = page.url
    page.go_back()
    page.locator("[data-room=compare]").wait_for()
    assert page.locator("[data-room=runs]").is_hidden() and page.locator("[data-room=runs] > *").count() == 0
    page.goto(address)
    page.locator("[data-room=runs] .pooled").wait_for()


def test_an_unknown_room_is_the_first(visit):
    page = visit("?room=attic")
    assert page.locator("[data-room=compare]").is_visible()


def test_keys_of_the_cursor_stay_in_their_room(visit):
    page = visit()
    page.evaluate("draftscope.store.setCursor({ run: draftscope.store.lanes[0], pos: 3 })")
    page.get_by_role("link", name="Judge").click()
    page.locator("[data-room=judge] > *").first.wait_for()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("draftscope.store.cursor.pos") == 3
    page.keyboard.press("Escape")
    page.locator("[data-room=compare]").wait_for()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("draftscope.store.cursor.pos") == 4


def test_the_skip_link_leads_to_the_runs(visit):
    page = visit()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "stage"
