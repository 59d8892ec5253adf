"""axe-core finds nothing in any room, light and dark: names, roles, headings, contrast, what the keyboard reaches.

Nothing is excluded: Gradio's own frame around the page is held to the same.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Contexts, Pages

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
S = "draftscope.store"
FOUND = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.flatMap((rule) =>
  rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.html.slice(0, 120)} ${node.failureSummary}`))"""
"""Each finding in one line, for a failing test to print."""


@pytest.fixture(scope="module")
def page(contexts: Contexts, address: str) -> Iterator[Page]:
    """One page over the recorded cases, for all tests of this file."""
    if not AXE.exists():
        pytest.skip(f"{AXE} is missing: npm ci installs it")
    pages = Pages(contexts)
    page = pages.open(address, reduced_motion="reduce")
    page.locator(".lane .flags").first.wait_for(state="attached")  # mined labels come last
    page.add_script_tag(path=AXE)
    yield page
    pages.close()


def nothing_is_found(page: Page, where: str) -> None:
    """No finding in light nor in dark."""
    for theme in ("light", "dark"):
        page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", theme == "dark")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(FOUND) == [], f"{where}, {theme}"


def ask(page: Page, **options: str) -> None:
    """Set options of the store, as a link or a click would."""
    for name, value in options.items():
        page.evaluate(f"([name, value]) => {S}.setOption(name, value)", [name, value])


@pytest.mark.parametrize("view", ["text", "score", "trees", "shares"])
def test_compare(page: Page, view: str) -> None:
    ask(page, room="compare", stage=view)
    page.evaluate(f"{S}.setCursor({{ run: 'cm_asd', pos: 9 }})")  # the dock tells of a chosen token
    expect(page.locator(f"#stage-{view}")).to_be_visible()
    expect(page.locator(".details .others button").first).to_be_visible()
    nothing_is_found(page, view)


def test_the_proof_of_a_guarantee(page: Page) -> None:
    ask(page, room="compare", stage="text")
    page.locator("[data-lane=specdec] .badge").click()
    proof = page.get_by_role("dialog", name="Guarantee of SpecDec")
    expect(proof).to_be_visible()
    nothing_is_found(page, "proof of a guarantee")
    page.keyboard.press("Escape")
    expect(proof).to_have_count(0)


def test_one_tree_in_full(page: Page) -> None:
    ask(page, room="compare", stage="trees")
    page.locator("[data-tree=specdec]").get_by_role("button", name="Maximise").click()
    expect(page.locator('[data-view="tree"] [data-node]').first).to_be_visible()
    nothing_is_found(page, "one tree")


def test_a_hover_card_and_the_table_of_a_position(page: Page) -> None:
    ask(page, room="compare", stage="text")
    page.locator("[data-lane=sd] .k").nth(3).hover()
    expect(page.locator(".v-tip")).to_be_visible()
    nothing_is_found(page, "hover card")
    page.mouse.move(2, 2)
    ask(page, stage="score")
    page.locator(".position summary").click()
    expect(page.locator(".position tbody tr").first).to_be_visible()
    nothing_is_found(page, "table of a position")


def test_the_picker_and_the_composer(page: Page) -> None:
    ask(page, room="compare", stage="text")
    if page.locator(".runline .fold").get_attribute("aria-expanded") == "false":
        page.locator(".runline .fold").click()
    page.get_by_role("button", name="Method settings").click()
    nothing_is_found(page, "run bar with the settings of its methods")
    page.get_by_role("button", name="Choose methods").click()
    page.get_by_text("Compose").last.click()
    expect(page.locator("details.compose[open]")).to_be_visible()
    nothing_is_found(page, "picker and composer")
    page.keyboard.press("Escape")
    page.locator(".runline .fold").click()


@pytest.mark.parametrize("drawer", ["help", "notes", "save", "share"])
def test_drawers(page: Page, drawer: str) -> None:
    ask(page, room="compare", stage="text")
    page.evaluate("(name) => draftscope.ui.open(name)", drawer)
    expect(page.locator("dialog.drawer[open]")).to_be_visible()
    nothing_is_found(page, drawer)
    page.locator("dialog.drawer").get_by_role("button", name="Close").first.click()


@pytest.mark.parametrize(
    ("room", "sign"),
    [("runs", ".pooled table"), ("trajectories", ".votes"), ("judge", ".fork h3"), ("papers", ".paper-item .main-svg")],
)
def test_rooms(page: Page, room: str, sign: str) -> None:
    ask(page, room=room)
    page.locator(f"[data-room={room}] {sign}").first.wait_for()
    nothing_is_found(page, room)


@pytest.mark.parametrize(
    ("tab", "name", "sign"),
    [
        ("lessons", "", "li h3"),
        ("lessons", "entropy", ".lesson-steps"),
        ("gallery", "", "#case-easd_hurts svg"),
        ("glossary", "", ".glossary dt"),
        ("methods", "", ".card"),
        ("methods", "easd", ".doc h3"),
    ],
)
def test_learn(page: Page, tab: str, name: str, sign: str) -> None:
    ask(page, room="learn", tab=tab, name=name)
    page.locator(f"[data-room=learn] {sign}").first.wait_for()
    nothing_is_found(page, f"{tab} {name}")


def test_a_lesson_beside_the_stage(page: Page) -> None:
    ask(page, room="compare", stage="text", beside="entropy~0")
    expect(page.locator(".beside h3")).to_be_visible()
    nothing_is_found(page, "lesson beside the stage")
    ask(page, beside="")


def test_all_methods(page: Page) -> None:
    ask(page, room="compare")
    page.get_by_role("button", name="All methods", exact=True).first.click()
    page.wait_for_function(f"{S}.lanes.length >= 24")
    for view in ("score", "trees", "text"):
        ask(page, stage=view)
        expect(page.locator(f"#stage-{view}")).to_be_visible()
        nothing_is_found(page, f"all methods, {view}")


@pytest.mark.parametrize(
    ("query", "sign"),
    [("", ".lane"), ("?v=shares", ".shares .share"), ("?room=learn&tab=methods&name=easd", ".doc table")],
)
def test_no_level_of_headings_is_left_out(pages: Pages, address: str, query: str, sign: str) -> None:
    page = pages.open(address + query)
    page.locator(sign).first.wait_for()
    levels = page.evaluate("""[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
        .filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))""")
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels)), levels


def test_it_would_find_something(page: Page) -> None:
    """The check is not blind: an image without a name, and pale words, are both found."""
    page.evaluate(
        "document.querySelector('.lab').insertAdjacentHTML('beforeend', '<div id=bad><img src=data:,><p style=color:#999;background:#aaa>pale</p></div>')"
    )
    found: Any = page.evaluate(FOUND)
    page.evaluate("document.querySelector('#bad').remove()")
    assert {line.split(":")[0] for line in found} == {"image-alt", "color-contrast"}
