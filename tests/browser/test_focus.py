"""The keyboard keeps its place: what is redrawn, switched off, hidden or left hands the focus on."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def drawn(page) -> None:
    """Wait until the views have drawn what is due."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


TOLD = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"


def heard(page, what: str = f"({TOLD} ?? document.activeElement)") -> tuple[str, str]:
    """Role and name of what a screen reader tells, as the browser computes them."""
    asked = page.context.new_cdp_session(page)
    found = asked.send("Runtime.evaluate", {"expression": what})["result"]["objectId"]
    (node,) = asked.send("Accessibility.getPartialAXTree", {"objectId": found, "fetchRelatives": False})["nodes"]
    asked.detach()
    words = [node[part]["value"] for part in ("name", "description") if node.get(part, {}).get("value")]
    return node["role"]["value"], ", ".join(words)


def test_a_sign_and_a_bar_that_filter_keep_the_focus(visit):
    page = visit()
    sign = page.locator(".strip .legend button").nth(1)
    sign.focus()
    for pressed in ("true", "false"):
        page.keyboard.press("Enter")
        expect(sign).to_have_attribute("aria-pressed", pressed)
        drawn(page)
        expect(sign).to_be_focused()
    page.keyboard.press("4")
    bar = page.locator("[data-view='stage/shares'] .v-pick[tabindex]").nth(5)  # others of its name come before it
    bar.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("draftscope.store.filters.size === 1")
    drawn(page)
    expect(bar).to_be_focused()


def test_in_the_run_bar_no_button_takes_the_keyboard_with_it(visit):
    page = visit()
    page.keyboard.press("e")
    chips, told = page.locator(".runbar .chip button"), page.locator(".how [role=status]")
    chips.nth(1).focus()
    page.keyboard.press("Enter")
    expect(chips).to_have_count(4)
    expect(told).to_have_text(re.compile("removed: 4 methods$"))
    expect(chips.nth(1)).to_be_focused()
    for left in (3, 2, 1):
        page.keyboard.press("Enter")
        expect(chips).to_have_count(left)
    expect(chips.last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Choose methods")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("chain")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Method settings").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    field = page.get_by_role("group", name="Chain of candidates").get_by_role("spinbutton", name="gamma, tokens")
    expect(field).to_be_focused()
    expect(field).to_have_accessible_name("gamma, tokens")
    expect(field).to_have_accessible_description(re.compile("1 to 16 tokens"))
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Reset gamma").focus()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    again = page.get_by_role("button", name="Add a lane of this method")
    again.first.focus()
    page.keyboard.press("Enter")
    expect(again).to_have_count(2)
    expect(again.first).to_be_focused()
    expect(told).to_have_text("Chain of candidates added: 2 methods")
    page.get_by_label("Seed").focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()
    page.wait_for_function("draftscope.store.status.phase === 'done'")


def test_who_leaves_what_hangs_under_a_button_by_tab_closes_it_and_goes_on_from_there(visit):
    page = visit()
    page.keyboard.press("e")
    add = page.get_by_role("button", name="Choose methods")
    add.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Methods to compare").locator("summary").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".runbar .chip button").first).to_be_focused()
    expect(add).to_have_attribute("aria-expanded", "false")
    badge, flow = (page.locator(f".lane[data-lane=chain] {part}") for part in (".badge", ".flow"))
    proof = page.get_by_role("dialog", name="Guarantee of Chain of candidates")
    badge.focus()
    page.keyboard.press("Enter")
    proof.get_by_role("link").last.focus()
    page.keyboard.press("Tab")
    expect(proof).to_have_count(0)
    expect(flow).to_be_focused()
    badge.focus()
    page.keyboard.press("Enter")
    expect(proof).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(proof).to_have_count(0)
    expect(badge).to_be_focused()
    page.keyboard.press("Enter")
    page.evaluate("draftscope.store.emit('runs')")  # lanes are drawn anew
    page.keyboard.press("Escape")
    expect(page.locator("#stage")).to_be_focused()


def test_a_drawer_is_told_by_its_name_and_its_buttons_by_what_they_save(visit):
    page = visit()
    page.get_by_role("button", name="Save", exact=True).focus()
    page.keyboard.press("Enter")
    names = page.locator("dialog.drawer button").evaluate_all("(all) => all.map((e) => e.ariaLabel ?? e.textContent)")
    assert len(names) > 10 and len(names) == len(set(names)), names
    assert heard(page, "document.querySelector('.drawer-body')") == ("group", "Save")


def test_a_control_leaves_keys_of_the_browser_alone(visit):
    page = visit()
    page.locator(".lane").first.wait_for()
    state = """[draftscope.store.options.stage, draftscope.store.time.at,
        document.querySelector('[role=separator]').ariaValueNow].join()"""
    for spot in ("[role=separator]", ".dock canvas", "#stage [role=tab][aria-selected=true]"):
        page.locator(spot).first.focus()
        before = page.evaluate(state)
        for held in ("Control", "Meta"):
            page.keyboard.press(f"{held}+ArrowLeft")
        assert page.evaluate(state) == before, spot
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(state) != before, spot


def test_what_is_gone_leaves_the_focus_in_its_view(visit):
    page = visit()
    page.locator(".strip .legend button").first.click()
    page.get_by_role("button", name="Remove filter").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".strip .filters .chip")).to_have_count(0)
    expect(page.locator(".strip")).to_be_focused()


def test_a_button_that_is_switched_off_hands_the_focus_on(visit, server, monkeypatch):
    page = visit()
    monkeypatch.setattr(server.lab, "pause", 0.1)
    run, stop = (page.get_by_role("button", name=name, exact=True) for name in ("Run", "Stop"))
    page.get_by_label("Runs of each method").fill("20")
    page.locator(".repeat button").focus()
    page.keyboard.press("Enter")
    expect(stop).to_be_focused()
    page.keyboard.press("Enter")
    expect(stop).to_be_disabled()
    expect(run).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_function("draftscope.store.status.phase === 'running'")
    stop.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("draftscope.store.status.phase === 'done'")
    expect(run).to_be_focused()


def test_details_that_are_hidden_by_their_button_are_shown_by_the_next(visit):
    page = visit()
    page.get_by_role("button", name="Hide", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Details", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Hide", exact=True)).to_be_focused()


def test_the_keyboard_goes_with_the_cursor_from_lane_to_lane_and_each_tells_its_token(visit):
    page = visit()
    page.locator(".lane").first.wait_for()
    first, second = (page.locator(f".lane[data-lane={key}] .flow") for key in ("plain", "chain"))
    page.evaluate("draftscope.store.setCursor({ run: 'chain', pos: 3 })")
    first.focus()
    assert heard(page)[0] == "option" and "position 3" in heard(page)[1]
    page.keyboard.press("ArrowRight")
    expect(first).to_be_focused()
    page.wait_for_function("draftscope.store.cursor.run === 'plain' && draftscope.store.cursor.pos === 4")
    page.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    assert "position 4" in heard(page)[1]
    page.keyboard.press("g")
    page.keyboard.press("r")
    drawn(page)
    expect(second).to_be_focused()
    assert "rejected" in heard(page)[1]
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.hasAttribute('aria-activedescendant')") is False


def test_a_tree_is_walked_by_keys_in_the_grid_too_and_its_tokens_are_told(visit):
    page = visit("?v=trees")
    box = page.locator("[data-tree=bush] .box")
    box.wait_for()
    page.evaluate("""() => {
      const { nodes, index } = draftscope.store.runs.get("bush").rounds.find((round) => round.path.length > 1);
      draftscope.store.setCursor({ run: "bush", round: index, node: nodes.findIndex(({ depth }) => depth === 1) });
    }""")
    drawn(page)
    box.focus()
    role, name = heard(page)
    assert role == "treeitem" and ", draft " in name
    for key, depth in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        page.wait_for_function("(depth) => draftscope.store.node().depth === depth", arg=depth)
        drawn(page)
        expect(box).to_be_focused()
        assert f"position {page.evaluate('draftscope.store.cursor.pos')}" in heard(page)[1]
    assert "folded" not in heard(page)[1]
    page.keyboard.press("Enter")
    page.wait_for_function(f"{TOLD}.ariaExpanded === 'false'")
    assert heard(page)[1].endswith(" folded")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("draftscope.store.node().depth === 3")
    drawn(page)
    page.get_by_role("button", name="Maximise the tree of").first.focus()
    page.keyboard.press("Enter")
    large = page.locator("[data-view=tree] [role=tree]")
    expect(large).to_be_visible()
    drawn(page)
    large.focus()
    expect(large).to_be_focused()
    assert heard(page)[0] == "treeitem"


LATE = """(held) => {
  Object.defineProperty(document, "activeElement", { configurable: true, get: () => held });
  addEventListener("focusin", () => delete document.activeElement, { once: true });
}"""
"""In Firefox what has the focus keeps it, when it is hidden, until the page is drawn."""


@pytest.mark.parametrize(("room", "late"), [("runs", False), ("papers", False), ("learn", True)])
def test_who_leaves_a_room_by_key_is_on_the_stage(visit, room, late):
    page = visit(f"?room={room}")
    expect(page.locator(f"[data-room={room}]")).to_be_focused()
    if late:
        page.locator(f"[data-room={room}]").evaluate(LATE)
    page.keyboard.press("Escape")
    page.locator("[data-room=compare]").wait_for()
    expect(page.locator("#stage")).to_be_focused()


@pytest.mark.parametrize(
    ("query", "link", "there", "now"),
    [
        ("papers", ".paper-names a:has-text('EASD')", "a[aria-current]:has-text('EASD')", "a:has-text('EASD')"),
        ("learn", ".lessons a", ".lesson-about", ".learn-panel"),
        ("learn&tab=glossary", ".see a", ".glossary .chosen", ".glossary .chosen dt"),
        ("compare", ".lane .flow", "[data-stage=score] .over", "#stage"),
    ],
)
def test_who_goes_elsewhere_in_a_room_keeps_the_focus(visit_cases, query, link, there, now):
    page = visit_cases(f"?room={query}")
    page.locator(link).first.focus()
    page.keyboard.press("2" if query == "compare" else "Enter")
    page.locator(there).first.wait_for()
    drawn(page)
    expect(page.locator(now).first).to_be_focused()


def test_what_is_drawn_above_the_focus_pushes_it_under_no_timeline(visit_cases):
    page = visit_cases("?trace=first_look", viewport={"width": 1440, "height": 900})
    page.locator(".lane").first.wait_for()
    page.keyboard.press("Tab")  # the keyboard is in use
    page.locator("[data-view=inspector] button.word").first.focus()
    over = """(() => { const { bottom } = document.activeElement.getBoundingClientRect();
      return document.querySelector(".dock").getBoundingClientRect().top - bottom; })()"""
    assert page.evaluate(over) >= 0
    page.evaluate("""draftscope.store.frame("flags", () => {
      const flags = document.createElement("div");
      flags.style.height = "700px";
      document.querySelector("[data-view=inspector]").prepend(flags);
    })""")
    drawn(page)
    expect(page.locator("[data-view=inspector] button.word").first).to_be_focused()
    assert page.evaluate(over) >= 0


def test_what_a_title_says_stays_at_its_control_when_the_page_scrolls(visit):
    page = visit(viewport={"width": 390, "height": 700})
    control = page.locator("header.top button[title]").first
    control.focus()
    tip = page.get_by_role("tooltip")
    expect(tip).to_be_visible()
    gap = "(e) => document.querySelector('.v-tip').getBoundingClientRect().top - e.getBoundingClientRect().bottom"
    before = control.evaluate(gap)
    page.evaluate("scrollBy(0, 12)")
    page.wait_for_function("scrollY === 12")
    page.wait_for_timeout(100)
    assert control.evaluate(gap) == before
    page.evaluate("scrollBy(0, 400)")
    expect(tip).to_be_hidden()
