"""Case review on whole runs: verdict, note and star of a token, a round and a run; kept, exported, compared, linked."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from engine.trace.store import Trace
from tests.app.synthetic import events
from tests.browser.test_hostile import HOSTILE, unharmed

pytestmark = pytest.mark.browser


def test_a_token_a_round_and_a_run_are_reviewed_kept_compared_and_linked(visit: Any, tmp_path: Path) -> None:
    page = visit()
    page.locator(".lane[data-lane=wary] .k").nth(7).click()
    page.keyboard.press("n")
    drawer = page.locator("dialog.drawer")
    drawer.get_by_role("button", name="Agree", exact=True).click()
    expect(drawer.get_by_role("button", name="Agree", exact=True)).to_be_focused()
    drawer.get_by_label("Note", exact=True).fill("the veto is right")
    drawer.get_by_role("button", name="This round").click()
    drawer.get_by_role("button", name="Disagree").click()
    drawer.get_by_role("button", name="The whole run").click()
    drawer.get_by_role("button", name="Unsure").click()
    drawer.get_by_role("button", name="Star", exact=True).click()
    rows = drawer.locator(".notes li")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("whole run")
    drawer.get_by_label("Reviewer", exact=True).fill("first")
    with page.expect_download() as download:
        drawer.get_by_role("button", name="Export").click()
    lines = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert {(line["place"], line["verdict"], line["note"], line["star"]) for line in lines} == {
        ("token", "agree", "the veto is right", False),
        ("round", "disagree", "", False),
        ("run", "unsure", "", True),
    }
    assert {line["recorded"] for line in lines} == {"apples"} and len({line["run"] for line in lines}) == 1
    token = next(line for line in lines if line["place"] == "token")
    assert (token["method"], token["position"]) == ("wary", 7)

    theirs = [line | {"reviewer": "second", "verdict": "agree"} for line in lines]
    bad = [lines[0] | {"position": "7"}]
    for name, those in (("second", theirs), ("bad", bad)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in those))
    drawer.get_by_label("Import a second reviewer").set_input_files(tmp_path / "second.jsonl")
    expect(drawer.locator(".kappa")).to_contain_text("observed agreement 33 %, n = 3")
    expect(drawer.locator(".apart li")).to_have_count(2)
    drawer.get_by_label("Import my reviews").set_input_files(tmp_path / "bad.jsonl")
    expect(page.locator(".notice")).to_contain_text("position must be a whole number")
    drawer.get_by_label("Import my reviews").set_input_files(tmp_path / "second.jsonl")
    expect(page.locator(".notice").last).to_contain_text("These are reviews of second, and yours are of first")
    expect(rows.locator(".badge")).to_have_text(["unsure", "disagree", "agree"])
    rows.first.get_by_role("button", name="Delete review").click()
    expect(rows).to_have_count(2)
    told = "Deleted: the review of wary, the whole run. Until this page is closed it can be had back."
    expect(drawer.get_by_text(told)).to_be_visible()
    expect(drawer.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("whole run")
    expect(rows.locator(".badge")).to_have_text(["unsure", "disagree", "agree"])
    expect(drawer.get_by_role("button", name="Undo")).to_have_count(0)

    page.keyboard.press("Escape")
    page.mouse.move(1, 1)  # what is hovered is explained first
    expect(page.locator(".lane[data-lane=wary] .k").nth(7).locator(".flagmark.review")).to_have_count(1)
    expect(page.locator("[data-view=inspector]")).to_contain_text("Your review: agree: the veto is right.")
    page.goto(page.url.split("?")[0] + token["view"])
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    page.wait_for_function("draftscope.store.cursor?.run === 'wary' && draftscope.store.cursor.pos === 7")
    page.keyboard.press("n")
    expect(rows).to_have_count(3)
    expect(drawer.get_by_label("Note", exact=True)).to_have_value("the veto is right")
    page.evaluate("draftscope.store.setCursor({ run: 'plain', pos: 0 })")
    rows.nth(1).get_by_role("link").click()
    page.wait_for_function("draftscope.store.cursor?.run === 'wary'")
    expect(drawer).not_to_be_visible()


def test_the_stage_is_open_beside_a_review(visit: Any) -> None:
    """Another token can be chosen, and is then what is reviewed; Escape closes the review before it forgets a choice."""
    page = visit()
    page.locator(".lane[data-lane=wary] .k").nth(7).click()
    page.keyboard.press("n")
    drawer = page.locator("dialog.drawer")
    expect(drawer).to_contain_text("position 7")
    page.locator(".lane[data-lane=wary] .k").nth(3).click()
    expect(drawer).to_contain_text("position 3")
    page.keyboard.press("ArrowRight")
    expect(drawer).to_contain_text("position 4")
    drawer.get_by_role("button", name="Agree", exact=True).click()
    expect(drawer.locator(".notes li")).to_have_count(1)
    page.locator(".lane[data-lane=wary] .k").nth(5).click()
    page.keyboard.press("Escape")
    expect(drawer).not_to_be_visible()
    expect(drawer.locator(".reviewed")).to_have_count(0)  # what is closed is not drawn at each move
    page.wait_for_function("draftscope.store.cursor?.pos === 5")
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    expect(drawer).not_to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog.drawer:modal")).to_contain_text("One cycle")
    page.set_viewport_size({"width": 600, "height": 800})
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator("dialog.drawer:modal")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("Export", "Import my reviews"):
        button = drawer.get_by_role("button", name=name)
        wide = "(element) => element.scrollWidth <= element.clientWidth && element.getBoundingClientRect().right <= innerWidth"
        assert button.evaluate(wide), name


def test_a_draft_token_that_is_reviewed_is_named_itself_and_not_by_what_the_text_has(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look")
    page.keyboard.press("r")
    page.wait_for_function("draftscope.store.cursor?.pos === 0 && draftscope.store.cursor.node === 0")
    page.keyboard.press("n")
    drawer = page.locator("dialog.drawer")
    said = "·Initially Speculative decoding, position 0, rejected; the text has ·First"
    expect(drawer.locator(".reviewed > p").first).to_have_text(said)
    gaps = """(all) => all.slice(1).map((one, i) => one.getBoundingClientRect().top - all[i].getBoundingClientRect().bottom)"""
    assert min(drawer.locator(".reviewed > *").evaluate_all(gaps)) >= 7


def test_a_whole_run_under_review_fits_a_narrow_window(visit_cases: Any) -> None:
    page = visit_cases("?trace=first_look", viewport={"width": 390, "height": 844})
    page.keyboard.press("n")
    page.locator("dialog.drawer").get_by_role("button", name="The whole run").click()
    expect(page.locator(".reviewed .piece")).to_contain_text("coins")
    assert page.locator(".drawer-body").evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_reviews_of_runs_from_others_are_text_and_lead_nowhere_else(visit: Any, tmp_path: Path) -> None:
    page = visit()
    page.locator(".lane .k").first.click()
    page.keyboard.press("n")
    views = [*HOSTILE, "javascript:alert(1)", "https://example.org/", "//example.org/", "?trace=apples"]
    lines = [
        {"item": f"run|{i}", "verdict": "agree", "note": view, "star": True, "place": "token", "run": view}
        | dict.fromkeys(("method", "piece", "draft", "why", "recorded", "trace", "view"), view)
        for i, view in enumerate(views)
    ]
    (tmp_path / "theirs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.get_by_label("Import my reviews").set_input_files(tmp_path / "theirs.jsonl")
    expect(page.locator(".notes li")).to_have_count(len(views))
    unharmed(page)
    assert page.locator(".notes a").evaluate_all("all => all.map(a => a.getAttribute('href'))") == ["?trace=apples"]


def test_what_reviewers_differ_on_in_a_run_from_a_file_is_led_to_from_any_room(visit: Any, tmp_path: Path) -> None:
    page = visit()
    Trace(events("bush", 20)).save(tmp_path / "bush.jsonl")
    page.locator("input[type=file][accept='.jsonl,.gz,.json']").set_input_files(tmp_path / "bush.jsonl")
    page.wait_for_function("draftscope.store.status.opened")
    page.locator(".lane[data-lane=bush] .k").nth(7).click()
    page.keyboard.press("n")
    drawer = page.locator("dialog.drawer")
    drawer.get_by_role("button", name="Agree", exact=True).click()
    with page.expect_download() as download:
        drawer.get_by_role("button", name="Export").click()
    theirs = Path(download.value.path()).read_text().replace('"agree"', '"disagree"')
    (tmp_path / "second.jsonl").write_text(theirs)
    drawer.get_by_label("Import a second reviewer").set_input_files(tmp_path / "second.jsonl")
    page.keyboard.press("Escape")
    page.evaluate("draftscope.store.clear()")
    page.get_by_role("link", name="Judge", exact=True).click()
    page.get_by_role("tab", name="Reviewers").click()
    page.locator(".apart").get_by_role("button", name="bush, position 7").click()
    page.wait_for_function("draftscope.store.cursor?.pos === 7 && draftscope.store.options.room === 'compare'")


def test_two_tabs_keep_and_show_each_others_reviews(visit: Any) -> None:
    one = visit()
    one.locator(".lane[data-lane=wary] .k").nth(7).click()
    one.keyboard.press("n")
    two = one.context.new_page()
    two.goto(one.url)
    two.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    two.locator(".lane[data-lane=wary] .k").nth(4).click()
    two.keyboard.press("n")
    one.get_by_label("Note", exact=True).fill("from one tab")
    rows = two.locator(".notes li")
    expect(rows).to_contain_text(["from one tab"])
    expect(two.get_by_label("Note", exact=True)).to_be_focused()
    two.keyboard.type("from the other")
    expect(one.locator(".notes li")).to_have_count(2)
    one.get_by_label("Note", exact=True).press("End")
    one.keyboard.type(", longer")
    expect(rows.filter(has_text="from one tab, longer")).to_have_count(1)
    assert sorted(
        two.evaluate("Object.values(JSON.parse(localStorage['draftscope.reviews']).items).map((one) => one.note)")
    ) == ["from one tab, longer", "from the other"]
    two.close()


def test_what_is_reviewed_stays_in_sight_beside_the_drawer(visit: Any) -> None:
    page = visit()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(".lane[data-lane=wary] .k").nth(7).click()
    page.keyboard.press("n")
    drawer = page.locator("dialog.drawer")
    expect(drawer).to_be_visible()
    left = drawer.bounding_box()["x"]
    for spot in (".details .v-why", ".runline .go", ".dock"):
        box = page.locator(spot).bounding_box()
        assert box["x"] + box["width"] <= left, spot
    page.wait_for_timeout(300)  # lanes of another width are other elements
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.locator(".stagemain")).to_have_attribute("data-details", "right")
    expect(page.locator("#stage")).to_be_focused()
    page.locator(".lane[data-lane=wary] .flow").focus()
    page.set_viewport_size({"width": 1500, "height": 900})
    page.wait_for_timeout(300)
    expect(page.locator(".lane[data-lane=wary] .flow")).to_be_focused()
