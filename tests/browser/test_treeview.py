"""The tree of a round and the figures by rank, on made-up trees of 60 and of 625 draft tokens."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.treelane import tree_lane
from tests.browser.views_page import open_views
from tests.browser.waits import sees

pytestmark = pytest.mark.browser


def a_round(page: Any) -> int:
    """The first round that keeps two draft tokens or more."""
    found: int = page.evaluate("() => store.runs.get('bush').rounds.findIndex((round) => round.path.length > 1)")
    page.evaluate(
        "async (round) => { store.setCursor({ run: 'bush', round, pos: store.runs.get('bush').rounds[round].start, node: null }); await settle(); }",
        found,
    )
    return found


def test_sixty_draft_tokens_are_all_there_with_state_rank_source_and_cause(page: Any, base: str) -> None:
    problems = open_views(page, base, [tree_lane(60)])
    a_round(page)
    tree = page.locator('[data-view="tree"]')
    expect(tree.locator('[data-node]:not([data-node="-1"])')).to_have_count(60)
    expect(tree.locator(".v-sub")).to_contain_text("the last of rank")
    expect(tree).to_contain_text("accepted")
    expect(tree).to_contain_text("rejected")
    expect(tree.locator("[data-stub]").first).to_be_attached()
    expect(tree).to_contain_text("left out: budget")
    expect(tree).to_contain_text("entropy bin")
    tree.locator('[data-node="0"] text').first.hover()
    tip = page.locator(".v-tip").inner_text()
    assert "rank" in tip and "from: " in tip and "probability of the path" in tip
    assert problems == []


def test_tree_and_cursor_point_at_each_other(page: Any, base: str) -> None:
    problems = open_views(page, base, [tree_lane(60)])
    index = a_round(page)
    page.evaluate("async () => { const box = document.querySelector('[role=tree]'); box.focus(); await settle(); }")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("store.cursor?.node !== null")
    node = page.evaluate("store.cursor.node")
    assert node is not None
    sees(page, "store.cursor.round", index)
    expect(page.locator("[role=tree]")).to_have_attribute("aria-activedescendant", f"v-node-{node}")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("(node) => store.cursor.node !== node", arg=node)
    page.keyboard.press("ArrowUp")
    sees(page, "store.cursor.node", node)
    page.evaluate("async () => { store.setHover({ run: 'bush', pos: 0 }); await settle(); }")
    expect(page.locator('[data-view="tree"] .v-sub')).to_contain_text("round 0:")
    assert problems == []


def test_six_hundred_draft_tokens_fold_unfold_and_fit(page: Any, base: str) -> None:
    problems = open_views(page, base, [tree_lane(625, 3)])
    page.evaluate("async () => { store.setCursor({ run: 'bush', round: 0, pos: 0, node: null }); await settle(); }")
    tree = page.locator('[data-view="tree"]')
    folded = tree.locator("[data-node]").count()
    assert folded < 400
    tree.get_by_role("button", name="Unfold").click()
    page.wait_for_function("document.querySelectorAll('[data-view=tree] [data-node]').length === 626")
    tree.get_by_role("button", name="Fit").click()
    box = tree.locator(".v-treebox")
    page.wait_for_function("(box) => box.scrollWidth <= box.clientWidth + 1", arg=box.element_handle())
    tree.get_by_role("button", name="Fold unlikely").click()
    page.wait_for_function("(n) => document.querySelectorAll('[data-view=tree] [data-node]').length === n", arg=folded)
    assert problems == []


def test_figures_by_rank_and_bins_lead_to_their_round(page: Any, base: str) -> None:
    problems = open_views(page, base, [tree_lane(60)])
    figures = page.locator('[data-view="aggregates"]')
    for tab in ("tcr", "tcr-length", "tcr-entropy", "bins"):
        figures.locator(f'[data-tab="{tab}"]').click()
        page.wait_for_function(
            "(tab) => document.querySelector(`[data-tab=\"${tab}\"]`).getAttribute('aria-selected') === 'true'", arg=tab
        )
        assert "NaN" not in figures.inner_html()
    expect(figures).to_contain_text("bin 0")
    dot = figures.locator(".v-chart path[style]").nth(3)
    dot.click()
    sees(page, "store.cursor.round", 3)
    assert problems == []


OVER = """() => { const boxes = [...document.querySelectorAll("[data-view=tree] svg text")].map((one) => one.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
    a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4)).length; }"""
"""How many pairs of words lie over each other."""


def test_no_words_of_a_large_tree_lie_over_others_and_a_column_is_as_wide_as_its_words(page: Any, base: str) -> None:
    problems = open_views(page, base, [tree_lane(60)])
    a_round(page)
    assert page.evaluate(OVER) == 0
    found = page.evaluate("document.querySelector('[data-view=tree] svg').viewBox.baseVal.width")
    depth = page.evaluate(
        "Math.max(...store.runs.get('bush').rounds[store.cursor.round].nodes.map((one) => one.depth))"
    )
    assert found < 12 + (depth + 2) * 200
    assert problems == []
