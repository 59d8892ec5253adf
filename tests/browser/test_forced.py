"""Forced colours (Windows High Contrast): what is chosen, pressed or accepted is told by more than a colour of the page."""

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

S = "draftscope.store"
SYSTEM = """(name) => { const spot = document.body.appendChild(document.createElement("i"));
  spot.style.cssText = `forced-color-adjust: none; background: ${name}`;
  const { backgroundColor } = getComputedStyle(spot); spot.remove(); return backgroundColor; }"""
"""What a colour of the system is here."""


def style(spot: Any, name: str) -> str:
    """A computed property of an element."""
    found: str = spot.first.evaluate("(one, name) => getComputedStyle(one).getPropertyValue(name)", name)
    return found


@pytest.fixture(params=["light", "dark"])
def page(visit: Any, request: pytest.FixtureRequest) -> Any:
    """The recorded lanes, with the system's colours."""
    return visit("?v=text", forced_colors="active", color_scheme=request.param)


@pytest.mark.parametrize("view", ["text", "score", "shares"])
def test_what_is_pressed_has_the_colours_of_a_selection(page: Any, view: str) -> None:
    page.evaluate(f"{S}.setOption('stage', '{view}')")
    page.locator(f"#stage-{view}").wait_for()
    chosen = page.evaluate(SYSTEM, "Highlight")
    words = page.evaluate(SYSTEM, "HighlightText")
    pressed = page.locator(".lab :is(button[aria-pressed=true], [role=tab][aria-selected=true]):visible")
    others = page.locator(".lab :is(button[aria-pressed=false], [role=tab][aria-selected=false]):visible")
    assert pressed.count() >= 2 and others.count() >= 3
    for one in pressed.all():
        assert (style(one, "background-color"), style(one, "color")) == (chosen, words), one.inner_text()
    for one in others.all():
        assert style(one, "background-color") != chosen, one.inner_text()


def test_tokens_are_told_by_lines(page: Any) -> None:
    accepted, corrected, bonus = (page.locator(f".lane .k.{name}") for name in ("draft", "correction", "bonus"))
    for one in (accepted, corrected, bonus):
        one.first.wait_for()
    assert style(corrected, "border-bottom-width") == "0px" != style(accepted, "border-bottom-width")
    boxes = {style(one.locator("b"), "outline-style") for one in (corrected, bonus)}
    assert boxes == {"solid", "dotted"}
    page.evaluate(f"{S}.setCursor({{ run: 'chain', pos: 9 }})")
    chosen = page.locator("[data-lane=chain] .sel")
    assert style(chosen, "outline-color") == page.evaluate(SYSTEM, "Highlight")


def test_drawings_keep_their_colours_on_their_own_ground(page: Any) -> None:
    page.evaluate(f"{S}.setCursor({{ run: 'chain', pos: 9 }})")
    ground = page.evaluate(SYSTEM, "var(--panel)")
    for spot in (page.locator(".dock canvas"), page.locator(".v-inspector .v-figure")):
        expect(spot.first).to_have_css("forced-color-adjust", "none")
        expect(spot.first).to_have_css("background-color", ground)


def test_only_the_open_room_is_underlined(page: Any) -> None:
    lines = [style(one, "border-bottom-color") for one in page.locator(".room-link").all()]
    empty = page.evaluate(SYSTEM, "Canvas")
    assert lines[0] != empty and set(lines[1:]) == {empty}
