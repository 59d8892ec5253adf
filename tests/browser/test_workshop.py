"""The judge workshop in a real browser: recorded sets, live mining, reviews, curves, accuracy, flags."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from sklearn.metrics import cohen_kappa_score

from app.figures.judge import accuracy
from engine.files.places import PRESETS
from engine.judge.store import read_mined
from tests.browser.fixtures import traces
from tests.browser.waits import freed, sees
from tests.typed import some

pytestmark = pytest.mark.browser
RECORDED = PRESETS / "mined/arithmetic.jsonl"
STATIC = "new URL('./lab-static/', location.href)"


def workshop(page: Any) -> Any:
    page.get_by_role("link", name="Judge").click()
    page.wait_for_selector(".mismatch")
    return page


def tab(page: Any, name: str) -> None:
    page.locator(f"[data-tab={name}]").click()


def scored(n: int = 60) -> list[dict[str, Any]]:
    draw = random.Random(4)
    labels = [draw.random() < 0.4 for _ in range(n)]
    return [{"score": round(min(1.0, max(0.0, draw.gauss(0.6 if y else 0.4, 0.2))), 1), "important": y} for y in labels]


def scored_file(path: Path) -> Path:
    """The recorded set with scores as a judge would have written them."""
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    lines[0]["judge"] = {"task": "arithmetic", "threshold": 0.5}
    draw = random.Random(1)
    for line in lines[1:]:
        for label in line["labels"]:
            label["score"] = round(draw.uniform(0.3, 1) if label["important"] else draw.uniform(0, 0.7), 4)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_link_opens_the_mismatch_that_was_chosen_in_its_set(visit):
    page = workshop(visit())
    page.get_by_label("Mined set").select_option("functions")
    page.wait_for_selector(".mismatch")
    page.locator(".mismatch").nth(3).click()
    page.wait_for_function("location.search.includes('mismatch=functions')")
    fork = page.locator(".forkside").inner_text()
    again = visit(page.url.split("/")[-1])
    expect(again.get_by_label("Mined set")).to_have_value("functions")
    expect(again.locator(".mismatch").nth(3)).to_have_attribute("aria-selected", "true")
    assert again.locator(".forkside").inner_text() == fork
    again.get_by_role("link", name="Compare").click()
    again.evaluate("draftscope.ui.open('workshop', draftscope.mined.sets.get('arithmetic').items[2].key)")
    expect(again.get_by_label("Mined set")).to_have_value("arithmetic")  # as its flag on the stage asks
    expect(again.locator(".mismatch").nth(2)).to_have_attribute("aria-selected", "true")
    again.wait_for_function("location.search.includes('mismatch=arithmetic')")
    page.get_by_label("Mined set").select_option("all recorded")
    page.get_by_label("Label", exact=True).select_option("important")
    tab(page, "table")
    for _ in range(2):
        page.get_by_role("button", name="position").first.click()
    page.wait_for_function("location.search.includes('by=-position')")
    seen = "(at) => [...document.querySelectorAll('table.mined tr')].slice(0, 9).map((row) => row.innerText).join('|')"
    table = page.evaluate(seen)
    assert "not important" not in table
    listed = visit(page.url.split("/")[-1])
    expect(listed.locator("[aria-sort=descending]")).to_have_text("position ↓")
    expect(listed.get_by_label("Label", exact=True)).to_have_value("important")
    expect(listed.get_by_label("Mined set")).to_have_value("all recorded")
    assert listed.evaluate(seen) == table
    listed.get_by_label("Mined set").select_option("arithmetic")
    listed.wait_for_function("!location.search.includes('mismatch')")  # it is of another set
    gone = visit("?room=judge&mismatch=functions~none~0~0")
    expect(gone.locator(".notice")).to_contain_text("The mismatch that this link names is in no set here")
    expect(gone.locator(".mismatch").first).to_have_attribute("aria-selected", "true")


def test_a_recorded_set_is_on_show_without_a_model(visit, server):
    loads = server.lab.loads
    page = workshop(visit())
    _head, prompts = read_mined(RECORDED)
    labels = [label for prompt in prompts for label in prompt.labels]
    expect(page.locator(".mismatch")).to_have_count(len(labels))
    expect(page.locator(".workshop")).to_contain_text("engine mine --preset tiny --task arithmetic")
    at = next(i for i, label in enumerate(labels) if label.important and label.draft_answer)
    page.locator(".mismatch").nth(at).click()
    fork = page.locator(".fork")
    expect(fork).to_contain_text("Important")
    expect(page.locator(".way.target .swap")).to_have_text(labels[at].target_piece.replace(" ", "·"))
    expect(page.locator(".way.draft .swap")).to_have_text(labels[at].draft_piece.replace(" ", "·"))
    expect(page.locator(".way .answer b")).to_have_text([labels[at].target_answer, labels[at].draft_answer])
    expect(page.locator(".way mark")).to_have_count(2)
    whole = page.locator(".way.draft .forktext").inner_text().replace("·", " ")
    assert (
        whole == (labels[at].draft_piece + labels[at].draft_text).replace("·", " ").strip()
        or labels[at].draft_text.strip() in whole
    )
    assert server.lab.loads == loads


def test_sets_that_did_not_come_are_told_and_read_when_the_room_is_opened_again(visit):
    page, away = visit(), [True]
    page.route(
        "**/lab/mined",
        lambda route: route.fulfill(status=400, json={"error": "Not now."}) if away else route.continue_(),
    )
    page.get_by_role("link", name="Judge").click()
    about = page.locator(".workshop [aria-live]")
    expect(about).to_have_text("Not now.")
    away.clear()
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("link", name="Compare").click()
    workshop(page)
    expect(about).to_contain_text("Mined with")


def test_a_prompt_that_is_taken_to_the_run_bar_leaves_the_answer_of_the_case_behind(visit):
    page = visit()
    page.evaluate("draftscope.session.configure({ task: 'arithmetic', answer: '38' })")
    workshop(page).get_by_role("button", name="Take this prompt to the run bar").click()
    page.locator("[data-room=compare]").wait_for()
    config = page.evaluate("draftscope.session.config")
    assert config["prompt"].startswith("Question:")
    assert config.get("task") is config.get("answer") is None, "another problem has another answer"


def test_reviewing_by_keyboard_is_kept_and_resumed(visit):
    page = workshop(visit())
    for key in ("j", "a", "ArrowDown", "d", "s", "k", "j", "j", "u"):
        page.keyboard.press(key)
    for i, mark in enumerate(("", "✓", "≠ ★", "?")):
        expect(page.locator(".mismatch .verdictmark").nth(i)).to_have_text(mark)
    page.keyboard.press("n")
    page.keyboard.type("adj, not s")
    page.keyboard.press("Escape")
    expect(page.locator(".mismatchlist")).to_be_focused()
    expect(page.locator(".review textarea")).to_have_value("adj, not s")
    page.reload()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    workshop(page)
    expect(page.locator(".mismatch[aria-selected=true] .verdictmark")).to_have_text("?")
    expect(page.locator(".review textarea")).to_have_value("adj, not s")
    page.get_by_label("Reviewed").select_option("disagree")
    expect(page.locator(".mismatch")).to_have_count(1)


def test_tabs_are_walked_by_arrows_and_the_chosen_row_is_told(visit):
    page = workshop(visit())
    tab = page.get_by_role("tab", name="Mismatches")
    tab.focus()
    for key, name in (("ArrowRight", "Table"), ("ArrowLeft", "Mismatches"), ("ArrowLeft", "Reviewers")):
        page.keyboard.press(key)
        expect(page.locator(".workshop [role=tab][tabindex='0']")).to_have_text(name)
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.locator(".mismatchlist").focus()
    page.keyboard.press("j")
    row = page.locator(".mismatch").nth(1)
    expect(page.locator(".mismatchlist")).to_have_attribute("aria-activedescendant", row.get_attribute("id"))


def test_a_table_that_is_sorted_by_key_keeps_the_focus_and_the_set_is_told_once(visit):
    page = workshop(visit())
    page.get_by_role("tab", name="Table").click()
    page.evaluate("window.told = document.querySelector('[data-room=judge] p[aria-live]').firstChild")
    by = page.get_by_role("button", name="position", exact=True)
    by.focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Enter")
        expect(page.get_by_role("columnheader", name="position")).to_have_attribute("aria-sort", order)
        expect(by).to_be_focused()
    page.get_by_label("Token text").fill("e")
    assert page.evaluate("told.isConnected")


def test_keys_go_on_after_a_click(visit):
    page = workshop(visit())
    page.locator(".mismatch").nth(1).click()
    page.keyboard.press("a")
    expect(page.locator(".mismatch .verdictmark").nth(1)).to_have_text("✓")
    page.get_by_role("button", name="Disagree").click()
    expect(page.locator(".mismatch .verdictmark").nth(1)).to_have_text("≠")
    page.keyboard.press("j")
    expect(page.locator(".mismatch").nth(2)).to_have_attribute("aria-selected", "true")


def test_filters_narrow_list_and_table(visit, tmp_path):
    page = workshop(visit())
    page.get_by_label("Open a mined file").set_input_files(scored_file(tmp_path / "scored.jsonl"))
    column = page.locator(".mismatchhead", has_text="target → draft").get_by_text("judge score")
    expect(column).to_be_visible()
    expect(page.locator(".mismatch .scored").first).to_be_visible()
    right, left, above = page.evaluate("""() => {
      const head = [...document.querySelectorAll(".mismatchhead *")].find((one) => one.textContent === "judge score");
      const [a, b] = [head, document.querySelector(".mismatch .scored")].map((one) => one.getBoundingClientRect());
      return [a.right, b.right, b.top - a.top];
    }""")
    assert abs(right - left) < 12 and above > 0
    points = """[...document.querySelectorAll('.mismatch .scored')].map((one) => one.lastChild)
      .filter((text) => text?.data.startsWith('0.')).map((text) => {
        const point = document.createRange();
        point.setStart(text, 1);
        point.setEnd(text, 2);
        return Math.round(point.getBoundingClientRect().left);
      })"""
    assert len(set(page.evaluate(points))) == 1
    expect(page.get_by_role("option", name=re.compile(r"judge score 0\.\d+")).first).to_be_visible()
    _head, prompts = read_mined(RECORDED)
    labels = [label for prompt in prompts for label in prompt.labels]
    page.get_by_label("Label", exact=True).select_option("unimportant")
    expect(page.locator(".mismatch")).to_have_count(sum(not label.important for label in labels))
    tab(page, "table")
    expect(page.locator("table.mined tbody tr")).to_have_count(sum(not label.important for label in labels))
    page.get_by_label("Label", exact=True).select_option("")
    page.get_by_label("Judge score from").fill("0.9")
    _head, prompts = read_mined(tmp_path / "scored.jsonl")
    found = sum(some(label.score) >= 0.9 for prompt in prompts for label in prompt.labels)
    assert 0 < found < len(labels)
    expect(page.locator("table.mined tbody tr")).to_have_count(found)
    expect(page.locator(".minedfilters [role=status]")).to_have_text(f"{found} of {len(labels)}")
    page.get_by_label("Judge score from").fill("")
    page.get_by_label("Token text").fill("the")
    expect(page.get_by_label("Token text")).to_be_focused()
    wanted = sum("the" in (label.target_piece.lower() + "|" + label.draft_piece.lower()) for label in labels)
    expect(page.locator("table.mined tbody tr")).to_have_count(wanted)


def test_files_that_are_no_mined_sets_are_refused(visit, tmp_path):
    page = workshop(visit())
    before = page.locator(".mismatch").count()
    for text in ("", "not json", '{"kind":"run"}', '{"kind":"mining","schema":1}\n{"kind":"prompt"}'):
        (tmp_path / "bad.jsonl").write_text(text)
        page.get_by_label("Open a mined file").set_input_files(tmp_path / "bad.jsonl")
        page.wait_for_selector(".notice")
        page.evaluate("draftscope.ui.clearNotices()")
    expect(page.locator(".mismatch")).to_have_count(before)


def test_mining_live_streams_stops_and_goes_on(visit, server, monkeypatch):
    monkeypatch.setattr(server.lab, "pause", 0.03)
    page = workshop(visit())
    page.locator(".mine summary").click()
    page.get_by_label("Prompts", exact=True).last.fill("12")
    mine = page.locator(".mine .primary")
    mine.click()
    page.wait_for_function("draftscope.mined.sets.get('mined here')?.prompts.length >= 2")
    expect(mine).to_have_text("Stop")
    mine.click()
    page.wait_for_function("document.querySelector('.going [role=status]').textContent.startsWith('Stopped')")
    freed(server, page)
    monkeypatch.setattr(server.lab, "pause", 0.001)
    page.reload()
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    workshop(page)
    page.locator(".mine summary").click()
    page.get_by_label("Prompts", exact=True).last.fill("12")
    page.wait_for_function("document.querySelector('.mine .primary').textContent === 'Resume'")
    page.locator(".mine .primary").click()
    page.wait_for_function("document.querySelector('.going [role=status]').textContent.startsWith('Done: 12 of 12')")
    sees(page, "draftscope.mined.sets.get('mined here').prompts.length", 12)


def test_what_is_mined_already_is_told_of_the_settings_that_stand_there_however_the_answers_come(visit):
    page, slow = workshop(visit()), []
    page.route(
        "**/lab/mine/kept",
        lambda route: slow.append(route) if "functions" in route.request.post_data else route.fulfill(body=""),
    )
    page.locator(".mine summary").click()
    task = page.locator(".mineform select").first
    task.select_option("functions")
    with page.expect_response("**/lab/mine/kept"):
        task.select_option("arithmetic")
    with page.expect_response("**/lab/mine/kept"):
        slow[0].fulfill(body=RECORDED.read_text())
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(page.locator(".mine .primary")).to_have_text("Mine")
    expect(page.locator(".mine")).not_to_contain_text("mined already")


def test_rooms_that_run_models_say_beforehand_which(visit):
    page = workshop(visit())
    page.locator(".mine summary").click()
    line = page.locator(".withmodels").filter(visible=True)
    expect(line).to_have_text(re.compile(r"Models: \S+, as chosen in Compare\."))
    page.evaluate("draftscope.session.configure({ models: 'another pair' })")
    expect(line).to_have_text("Models: another pair, as chosen in Compare.")
    tasks = page.locator(".mineform select").first.locator("option")
    expect(tasks).to_have_text([re.compile("arithmetic"), re.compile("functions"), re.compile("translation")])
    sources = page.locator(".mineform select").nth(1)
    sources.select_option("prompt")
    page.evaluate(
        "const { session } = draftscope; session.take({ ...session.catalogue, families: { 'another pair': "
        "'encoder-decoder' } }, session.config)"
    )
    expect(tasks).to_have_text(["translation"])
    expect(sources.locator("option")).to_have_text(["held-out problems", "training problems"])
    expect(sources).to_have_value("heldout")
    expect(page.get_by_label("Prompts", exact=True).last).to_be_enabled()
    page.goto(page.url.replace("room=judge", "room=trajectories"))
    page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    expect(line).to_contain_text("as chosen in Compare")
    prompt, offered = page.get_by_label("Problem", exact=True).last, page.locator(".ask select option")
    expect(prompt).to_have_value(re.compile("^Question:"))
    page.evaluate(
        "const { session } = draftscope; const [models] = session.catalogue.models; session.take({ ...session.catalogue, "
        "families: { [models]: 'encoder-decoder' } }, session.config)"
    )
    expect(prompt).to_have_value(re.compile("^Translate:"))
    expect(offered.filter(has_text="translation problem")).to_have_count(8)
    expect(offered.filter(has_text=re.compile("arithmetic|example"))).to_have_count(0)


def test_a_wrong_number_of_prompts_leaves_what_is_shown(visit):
    page = workshop(visit())
    before = page.locator(".mismatch").count()
    page.locator(".mine summary").click()
    for wrong in ("0", "", "999", "2.5"):
        page.get_by_label("Prompts", exact=True).last.fill(wrong)
        page.locator(".mine .primary").click()
        expect(page.locator(".mine")).to_contain_text("How many: a whole number from 1 to 200.")
        expect(page.locator(".mine")).not_to_contain_text("must be")
        expect(page.locator(".mismatch")).to_have_count(before)
    page.get_by_label("Prompts", exact=True).last.fill("3")
    expect(page.locator(".mine")).not_to_contain_text("How many: a")


def test_leaving_the_page_ends_mining(visit, server, monkeypatch):
    monkeypatch.setattr(server.lab, "pause", 0.05)
    page = workshop(visit())
    page.locator(".mine summary").click()
    page.get_by_label("Prompts", exact=True).last.fill("200")
    page.locator(".mine .primary").click()
    page.wait_for_selector(".feed li")
    page.close()
    freed(server, visit())


def test_two_reviewers_are_compared(visit, tmp_path):
    page = workshop(visit())
    for verdict in "aadau":
        page.keyboard.press(verdict)
        page.keyboard.press("j")
    tab(page, "reviewers")
    page.get_by_label("Reviewer", exact=True).fill("first")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").last.click()
    lines = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert len(lines) == 5 and {line["reviewer"] for line in lines} == {"first"} and "target" in lines[0]
    others = ["agree", "disagree", "disagree", "agree", "unsure"]
    theirs = [dict(line, reviewer="second", verdict=verdict) for line, verdict in zip(lines, others, strict=True)]
    (tmp_path / "second.jsonl").write_text("".join(json.dumps(line) + "\n" for line in theirs))
    page.get_by_label("Import a second reviewer").set_input_files(tmp_path / "second.jsonl")
    kappa = cohen_kappa_score([line["verdict"] for line in lines], others)
    page.wait_for_selector(".kappa")
    expect(page.locator(".kappa")).to_contain_text(f"κ {kappa:.3f}, observed agreement 80 %, n = 5")
    expect(page.locator(".apart li")).to_have_count(1)
    (tmp_path / "bad.jsonl").write_text('{"item": "x", "verdict": "maybe"}')
    page.get_by_label("Import a second reviewer").set_input_files(tmp_path / "bad.jsonl")
    page.wait_for_selector(".notice")
    expect(page.locator(".notice")).to_contain_text("Line 1")
    expect(page.locator(".kappa")).to_have_count(1)


def judged_run(page: Any, **head: Any) -> None:
    """A made-up run with a judge's scores, on the page."""
    (lane,) = traces(("lenient",), 60)
    lane["events"][0].update(head)
    page.evaluate("(lane) => draftscope.store.load([lane])", lane)


def test_the_threshold_says_what_is_kept_and_where_the_text_changes(visit, tmp_path):
    page = visit()
    judged_run(page, knobs={"judge_threshold": 0.35, "gamma": 4})
    nodes = page.evaluate(
        "[...draftscope.store.runs.values()][0].rounds.flatMap((r) => r.nodes.filter((n) => n.state === 'rejected' && n.judge < 0.9)"
        ".map((n) => r.start + n.depth - 1))"
    )
    workshop(page)
    page.get_by_label("Open a mined file").set_input_files(scored_file(tmp_path / "scored.jsonl"))
    expect(page.locator(".workshop option:checked", has_text="scored.jsonl")).to_have_count(1)
    tab(page, "curves")
    slider = page.locator("#cut")
    page.wait_for_function("[...document.querySelectorAll('.curves .plot')].filter((p) => p.layout).length === 4")
    expect(slider).to_have_value("0.5")
    rows = "[...document.querySelectorAll('.curves > .plotted')].map((one) => one.offsetTop)"
    assert [page.evaluate(rows).count(top) for top in sorted(set(page.evaluate(rows)))] == [2, 2], "no row has a hole"
    figures = page.locator(".curves .plot").element_handles()
    page.evaluate("draftscope.mined.emit()")  # as when a recorded set comes while these stand
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert all(figure.evaluate("(spot) => spot.isConnected && !!spot.layout") for figure in figures), "drawn anew"
    slider.fill("0.9")
    expect(slider).to_have_attribute("aria-valuetext", "0.9")
    _head, prompts = read_mined(tmp_path / "scored.jsonl")
    labels = [label for prompt in prompts for label in prompt.labels]
    kept = sum(some(label.score) < 0.9 for label in labels)
    expect(page.locator(".cutwords")).to_contain_text(f"{kept} of {len(labels)} mismatches would be accepted")
    expect(page.locator(".cutruns")).to_contain_text(f"first changes at position {nodes[0]}")
    page.wait_for_function(
        "[...document.querySelectorAll('.curves .plot')].filter((p) => p.layout?.shapes?.[0]?.x0 === 0.9).length === 2"
    )
    page.locator(".cutruns button").click()
    page.wait_for_function(f"draftscope.store.cursor?.pos === {nodes[0]}")


def result(task: str) -> dict[str, Any]:
    def row(name: str, group: str, tokens: float, share: float) -> dict[str, Any]:
        interval = {"mean": share, "low": max(0, share - 0.05), "high": min(1, share + 0.05), "n": 40}
        drop = {"mean": 0.9 - share, "low": 0.8 - share, "high": 1 - share, "n": 40}
        return {
            "name": name,
            "group": group,
            "method": "m",
            "knobs": {},
            "tokens_per_call": tokens,
            "accepted_per_call": tokens - 1,
            "accuracy": interval,
            "accuracy_drop": drop,
            "same_text_as_sd": 0.5,
        }

    rows = [row("sd", "exact", 4, 0.9), row("target alone", "target", 1, 0.9), row("draft alone", "draft", 8, 0.4)]
    rows += [row(f"autojudge {i}", "own", 4 + i / 2, 0.9 - i / 40) for i in range(8)]
    rows += [row(f"top-{k}", "topk", 4 + k / 4, 0.9 - k / 20) for k in (2, 4, 8)]
    rows += [row("transfer 0", "transfer", 5, 0.7), row("transfer 1", "transfer", 6, 0.6)]
    groups = {
        "exact": "SD",
        "target": "Target alone",
        "draft": "Draft alone",
        "own": "Judge",
        "topk": "Top-K",
        "transfer": "Other",
    }
    return {
        "problems": 40,
        "groups": groups,
        "rows": rows,
        "above_topk": {"mean": 0.8, "low": None, "high": None, "n": 1},
        "gap_to_topk": {"mean": 0.05, "low": None, "high": None, "n": 1},
        "above_transfer": {"mean": 1.0, "low": None, "high": None, "n": 1},
        "gap_to_transfer": {"mean": 0.1, "low": None, "high": None, "n": 1},
        "task": task,
        "window": 16,
        "auc": 0.9,
        "threshold": 0.2,
        "command": "made up",
        "notes": ["One note.", "Another."],
    }


def drawn(task: str) -> dict[str, Any]:
    found = result(task)
    told = {"rules": "The rule is ahead here.", "lines": {"topk": "It is one line.", "transfer": None}}
    return found | {"figure": accuracy(found, task).to_plotly_json(), **told}


def test_accuracy_is_drawn_with_intervals_or_its_command_is_told(visit):
    page = visit()
    tasks = [
        {"task": "arithmetic", "command": "measure it", "result": drawn("arithmetic"), "judge": None},
        {"task": "functions", "command": "python -m engine judge-eval", "result": None, "judge": None},
    ]
    page.route("**/lab/evaluations", lambda route: route.fulfill(json={"tasks": tasks}))
    workshop(page)
    tab(page, "accuracy")
    page.wait_for_selector(".accuracy .plot .main-svg")
    expect(page.locator(".accuracy").nth(1)).to_contain_text(re.compile("^functions"))
    expect(page.locator(".accuracy").nth(1)).to_contain_text("Not measured yet: python -m engine judge-eval")
    chart = page.locator(".accuracy").first
    expect(chart.locator(".plot .scatterlayer .point")).to_have_count(15)
    expect(chart.locator(".plot .legendtext")).to_have_count(5)
    expect(chart).to_contain_text("transfer")
    expect(chart.get_by_text("The rule is ahead here.", exact=True)).to_be_visible()
    expect(chart.get_by_text("by +5.0 points on average. It is one line.")).to_be_visible()
    expect(chart.get_by_text(re.compile(r"\(transfer\) .* by \+10\.0 points on average\.$"))).to_be_visible()
    expect(chart).to_contain_text("40 held-out problems")
    expect(chart).to_contain_text("on the prompts where its ROC area is 0.9. One note. Another. Made by made up")
    boxes = [point.bounding_box() for point in chart.locator(".plot .point").all()]
    label = chart.locator(".plot .annotation-text").bounding_box()
    right, below = label["x"] + label["width"], label["y"] + label["height"]
    assert all(box["x"] > right or box["y"] + box["height"] < label["y"] or box["y"] > below for box in boxes)
    chart.locator("summary").click()
    expect(chart.locator("tbody tr")).to_have_count(16)


def test_flags_stand_above_tokens_told_apart_by_shape(visit):
    page = visit()
    about, prompts = read_mined(RECORDED)
    mined = next(prompt for prompt in prompts if any(label.important for label in prompt.labels))
    (lane,) = traces(("plain",), 8)
    head, end = lane["events"][0], lane["events"][-1]
    head["prompt"], head["models"] = mined.text, about["models"]
    piece = dict(zip(mined.final, mined.pieces, strict=True))
    token = {"origin": "target", "node": None, "h_draft": None, "h_target": 0.1, "top_target": None, "why": ""}
    rounds = [
        dict(
            lane["events"][1],
            index=i,
            start=i,
            emitted=1,
            pieces={},
            tokens=[dict(token, pos=i, token=t, piece=piece[t], round=i)],
        )
        for i, t in enumerate(mined.final)
    ]
    (judged,) = traces(("lenient",), 60)
    page.evaluate("(lanes) => draftscope.store.load(lanes)", [dict(lane, events=[head, *rounds, end]), judged])
    wanted = {label.t for label in mined.labels}
    page.wait_for_function(f"document.querySelectorAll('[data-lane=plain] .k.flagged').length === {len(wanted)}")
    at = page.evaluate(
        "[...document.querySelectorAll('[data-lane=plain] .k.flagged')].map((chip) => Number(chip.dataset.i))"
    )
    assert set(at) == wanted
    important = sum(label.important for label in mined.labels)
    expect(page.locator("[data-lane=plain] .flagmark.mined:not(.hollow)")).to_have_count(important)
    shapes = "[...new Set([...document.querySelectorAll(`[data-lane=${lane}] .flagmark path:first-child`)].map((path) => path.getAttribute('d')))]"
    assert page.evaluate(f"(lane) => {shapes}", "plain") != page.evaluate(f"(lane) => {shapes}", "lenient")
    refused = page.evaluate(
        "draftscope.store.runs.get('lenient').rounds.filter((r) => r.nodes.some((n) => n.state === 'rejected' && n.judge != null)).length"
    )
    assert refused > 0
    expect(page.locator("[data-lane=lenient] .flagmark.judge:not(.hollow)")).to_have_count(refused)
    expect(page.locator(".flaglegend > span")).to_have_count(4)
    page.locator(f"[data-lane=plain] .k[data-i='{min(wanted)}']").click()
    page.locator(".flagline button").click()
    page.wait_for_selector(".fork")
    expect(page.locator(".mismatch[aria-selected=true] .at")).to_have_text(str(min(wanted)))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Flags").click()
    page.wait_for_function("document.querySelectorAll('.k.flagged').length === 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_on_a_small_screen(visit, scheme):
    page = workshop(visit("?__theme=" + scheme, viewport={"width": 390, "height": 844}))
    for name in ("mismatches", "table", "curves", "accuracy", "reviewers"):
        tab(page, name)
        page.wait_for_timeout(150)
        wide, room = page.evaluate(
            "[document.querySelector('[data-room=judge]').scrollWidth, document.querySelector('[data-room=judge]').clientWidth]"
        )
        assert wide <= room
