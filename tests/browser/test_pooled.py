"""The room of many runs: recorded ones first, then a visitor's files; by mouse and keyboard, wide and narrow."""

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from app.pooled import plots
from engine.analysis.index import entry, write
from engine.analysis.pool import pool
from engine.files.places import ROOT
from engine.strata.learning import study
from engine.trace.store import Trace
from tests.browser.legible import faults
from tests.engine.analysis.made_trees import BINNED, TREE, plain, run

pytestmark = pytest.mark.browser
SAMPLES = ROOT / "tests/engine/served/samples"
STEPS: tuple[dict[str, Any] | None, ...] = (None, {"tnp": False, "dca": False}, {"dca": False}, {})


def made(prompts: int = 3) -> Iterator[Trace]:
    """Runs on two tasks: a plain target, a tree, and the tree with one, two, three mechanisms."""
    for task, keeps in (("arithmetic", 0.75), ("code", 0.85)):
        for i in range(prompts):
            about: dict[str, Any] = {"prompt": f"{task} {i}", "task": task}
            yield plain(40, **about)
            for step in STEPS:
                rng, rounds = random.Random(f"{about}{step}"), list[tuple[int, int, float | None]]()
                for _ in range(8):
                    kept = next((n for n in range(8) if rng.random() > keeps), 8)
                    rank = kept and min(59, kept + int(rng.expovariate(0.2)))
                    rounds.append((kept, rank, None if step is None else max(0.2, 12 - kept + rng.gauss(0, 1))))
                knobs = TREE if step is None else {**BINNED, **step}
                yield run("bush" if step is None else "binned", rounds, knobs=knobs, **about)


@pytest.fixture
def opened(visit: Any) -> Any:
    found = pool(made(), {"ar": {}, "bush": TREE, "binned": BINNED}, study)
    recorded = json.dumps(found | {"plots": plots(found)})

    def go(**options: Any) -> Any:
        page = visit(**options)
        page.route(
            "**/lab/pooled",
            lambda route: (
                route.fulfill(body=recorded, content_type="application/json")
                if route.request.method == "GET"
                else route.continue_()
            ),
        )
        page.evaluate("performance.clearResourceTimings()")  # a browser keeps 250, and the page has as many files
        page.get_by_role("link", name="Many runs").click()
        page.wait_for_selector(".pooled table")
        return page

    return go


def test_recorded_runs_are_drawn_and_told(opened: Any) -> None:
    page = opened()
    expect(page.locator(".pooled .source")).to_contain_text("Recorded in this repository: 30 runs, 6 prompts")
    page.wait_for_function("document.querySelectorAll('.plot .main-svg').length >= 8")
    parts = page.locator("[data-room=runs] > :is(p:first-of-type, .row, .pooled)")
    gaps = (
        "(all) => all.slice(1).map((one, i) => one.getBoundingClientRect().top - all[i].getBoundingClientRect().bottom)"
    )
    assert min(parts.evaluate_all(gaps)) >= 8
    expect(page.locator(".pooled figure")).to_have_count(9)
    heads = ["Methods", "Mechanisms, one after the other", "How fine the bins", "Where the time goes", "Bins of BINNED"]
    expect(page.locator(".pooled section h3")).to_have_text(heads)
    expect(page.locator(".pooled section:nth-of-type(2) tbody th")).to_have_text(["BUSH", "+DED", "+TNP", "+DCA"])
    expect(page.locator(".pooled")).not_to_contain_text(re.compile("NaN|undefined"))


@pytest.mark.parametrize(("meanwhile", "again"), [("", True), ("document.body.classList.toggle('dark')", False)])
def test_who_comes_back_finds_the_figures_as_they_stood(opened: Any, meanwhile: str, again: bool) -> None:
    page = opened()
    page.wait_for_function("document.querySelectorAll('.plot .main-svg').length >= 8")
    expect(page.locator(".plotted [role=status]")).to_have_count(0)
    page.evaluate("document.querySelector('.pooled .plot').dataset.first = 'yes'")
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".pooled")).to_have_count(0)
    page.evaluate(meanwhile)
    page.get_by_role("link", name="Many runs").click()
    page.wait_for_function("document.querySelectorAll('.plot .main-svg').length >= 8")
    expect(page.locator("[data-first]")).to_have_count(int(again))
    page.get_by_label("Prompts", exact=True).select_option(index=1)
    expect(page.locator("[data-first]")).to_have_count(0)  # what is chosen is drawn


def test_task_and_method_are_chosen_by_keyboard(opened: Any) -> None:
    page = opened()
    page.get_by_label("Prompts", exact=True).select_option("code")
    expect(page.locator(".pooled .source")).to_contain_text(": 15 of 30 runs, 3 prompts")
    page.get_by_label("Figures of").select_option("BUSH")
    expect(page.locator(".pooled figure")).to_have_count(8)


def test_a_link_to_prompts_that_were_not_recorded_says_which_were(opened: Any) -> None:
    page = opened(query="?room=learn&pool=prose~BUSH")
    expect(page.locator(".notice")).to_contain_text('There is no "prose" here: a link\'s pool is one of all tasks, ')
    page.get_by_label("Prompts", exact=True).select_option("code")
    expect(page.locator(".notice")).to_have_count(1)


def test_own_traces_are_pooled_and_a_bad_one_loses_nothing(opened: Any, tmp_path: Any) -> None:
    page = opened()
    files = [str(trace.save(tmp_path / f"{i}.jsonl{'.gz' if i % 2 else ''}")) for i, trace in enumerate(made(1))]
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files(files)
    page.wait_for_function("document.querySelector('.pooled .source').textContent.includes('Your own traces: 10 runs')")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"kind": "run"}\n')
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files([files[0], str(broken)])
    page.wait_for_selector("[data-room=runs] .warn:visible")
    expect(page.locator("[data-room=runs] .warn")).to_contain_text(re.compile(r"^broken\.jsonl: "))
    expect(page.locator(".pooled .source")).to_contain_text("10 runs")
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files([str(_text(tmp_path))])
    page.wait_for_function(
        "document.querySelector('[data-room=runs] .warn').textContent.includes('no trace among these files')"
    )
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files([*files, str(SAMPLES / "vllm.log")])
    beside = page.locator(".pooled section", has=page.get_by_role("heading", name="Serving engines"))
    named = [re.compile("BUSH"), *[re.compile("BINNED")] * 3, "vLLM"]
    expect(beside.locator("tbody th")).to_have_text(named)
    expect(beside.locator("tbody tr").last).to_contain_text("2 lines of a log")
    expect(page.get_by_role("heading", name="Advice")).to_be_visible()
    page.get_by_role("button", name="Back to the recorded runs").click()
    page.wait_for_function("document.querySelector('.pooled .source').textContent.includes('30 runs')")
    expect(page.locator("[data-room=runs] .warn")).to_be_hidden()


def test_own_traces_stay_when_the_recorded_runs_come_after_them(visit: Any, tmp_path: Any) -> None:
    page, held = visit(), list[Any]()
    page.route(
        "**/lab/pooled", lambda route: held.append(route) if route.request.method == "GET" else route.continue_()
    )
    page.get_by_role("link", name="Many runs").click()
    files = [str(trace.save(tmp_path / f"{i}.jsonl")) for i, trace in enumerate(made(1))]
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files(files)
    expect(page.locator(".pooled .source")).to_contain_text("Your own traces")
    with page.expect_response(lambda answer: answer.url.endswith("/lab/pooled")):
        held.pop().continue_()
    page.wait_for_timeout(300)
    expect(page.locator(".pooled .source")).to_contain_text("Your own traces")
    expect(page.get_by_role("button", name="Back to the recorded runs")).to_be_visible()


@pytest.mark.parametrize("first", [True, False])
def test_own_traces_that_are_read_while_the_room_is_left_are_there_when_it_is_opened_again(
    opened: Any, tmp_path: Any, first: bool
) -> None:
    page, held = opened(), list[Any]()
    page.route("**/lab/pooled", lambda route: held.append(route) if first or _posts(route) else route.fallback())
    if first:  # nothing is on show yet
        page.wait_for_url(re.compile("room=runs"))  # the address follows the page 150 ms later
        page.reload()
        page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
    path = str(next(iter(made(1))).save(tmp_path / "one.jsonl"))
    page.locator('input[aria-label="Open traces or reports …"]').set_input_files([path])
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="Many runs").click()
    expect(page.locator("[data-room=runs] [role=status]").first).to_contain_text("Reading 1 file")
    [asked] = [route for route in held if _posts(route)]
    asked.continue_()
    expect(page.locator(".pooled .source")).to_contain_text("Your own traces: 1 run,")
    expect(page.get_by_role("button", name="Back to the recorded runs")).to_be_visible()


def _posts(route: Any) -> bool:
    return bool(route.request.method == "POST")


def _text(folder: Any) -> Any:
    path = folder / "notes.md"
    path.write_text("words")
    return path


def test_a_table_is_saved(opened: Any) -> None:
    page = opened()
    with page.expect_download() as found:
        page.locator(".pooled section button", has_text="CSV").first.click()
    assert found.value.suggested_filename == "pooled-all-tasks-methods.csv"
    with Path(found.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"calls a prompt low", "tokens/s against AR high"} <= rows[0].keys() and len(rows) > 4
    assert all(float(row["calls"]) > float(row["calls a prompt"]) >= float(row["calls a prompt low"]) for row in rows)


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_rows_of_figures_have_no_hole_and_titles_stand_over_their_captions(opened: Any, width: int) -> None:
    page = opened(viewport={"width": width, "height": 1000})
    page.locator(".pooled-figures .gtitle").first.wait_for()
    holes = """[...document.querySelectorAll('.pooled-figures')].flatMap((room) => {
      const right = new Map([...room.children].map((one) => one.getBoundingClientRect()).map((b) => [b.top, b.right]));
      return [...right.values()].map((end) => Math.round(room.getBoundingClientRect().right - end));
    })"""
    assert set(page.evaluate(holes)) == {0}
    left = "(one) => Math.round(one.getBoundingClientRect().left)"
    figure = page.locator(".pooled-figures .plotted").first
    title, caption = (figure.locator(name).evaluate(left) for name in (".gtitle", "figcaption"))
    assert abs(title - caption) <= 1


def test_no_button_of_a_figure_offers_to_send_it_away(opened: Any) -> None:
    page = opened()
    page.locator(".modebar-btn").first.wait_for(state="attached")
    told = page.locator(".modebar-btn").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    assert "Save as PNG" in told
    assert set(told) <= {"Save as SVG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes", "Save as PNG"}


def test_where_nothing_hovers_the_buttons_of_a_figure_stand_above_its_title(opened: Any) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    figure = page.locator("[data-room=runs] .plot").first
    buttons, title = figure.locator(".modebar-group").first, figure.locator(".gtitle")
    expect(title).to_be_visible()
    assert buttons.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    bar, head = buttons.bounding_box(), title.bounding_box()
    assert bar["y"] + bar["height"] <= head["y"]
    assert bar["y"] >= figure.bounding_box()["y"]


def test_it_fits_a_phone_in_the_dark(opened: Any) -> None:
    page = opened(viewport={"width": 390, "height": 844}, color_scheme="dark")
    body = page.locator("[data-room=runs]")
    expect(body.locator(".plot .main-svg").first).to_be_visible()
    page.wait_for_function("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('[data-room=runs]'))")
    assert page.locator(".plot .main-svg").first.bounding_box()["width"] <= 350
    expect(body.locator(".plotted").get_by_text("Drawing")).to_have_count(0)
    assert faults(page) == []  # long titles break, and the figure of all tasks scrolls in itself
    assert page.evaluate(
        "[...document.querySelectorAll('.plotted[tabindex]')].every((e) => e.scrollWidth > e.clientWidth)"
    )
    fill = "getComputedStyle(document.querySelector('.plot .legendtext, .plot .gtitle')).fill"
    dark = page.evaluate(fill)
    page.evaluate("document.body.classList.remove('dark')")
    page.wait_for_function(f"{fill} !== '{dark}'")


def test_a_figure_is_loaded_on_sight_zoomed_told_and_saved(opened: Any) -> None:
    asked: list[str] = []
    page = opened()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_selector(".plot .main-svg")
    assert (
        page.evaluate("performance.getEntriesByType('resource').filter((e) => e.name.includes('plotly')).length") == 1
    )
    spot = page.locator(".plot").first
    spot.scroll_into_view_if_needed()
    bar = spot.locator(".barlayer .point").last
    bar.hover(force=True)
    page.wait_for_selector(".plot .hovertext")
    box = spot.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.3)
    low = "document.querySelector('.plot').layout.xaxis.range"
    before = page.evaluate(low)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.35, steps=5)
    page.mouse.up()
    page.wait_for_function(f"JSON.stringify({low}) !== {json.dumps(json.dumps(before, separators=(',', ':')))}")
    for kind in ("svg", "png"):
        with page.expect_download() as found:
            spot.get_by_role("button", name=f"Save as {kind.upper()}").press("Enter")
        assert found.value.suggested_filename == f"tokens-a-target-call.{kind}"
    assert all("127.0.0.1" in url or url.startswith(("data:", "blob:")) for url in asked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_figure_lies_on_the_ground_for_which_its_words_are_coloured(opened: Any, scheme: Any) -> None:
    page = opened(color_scheme=scheme)
    page.wait_for_selector(".plot .main-svg")
    with page.expect_download() as found:
        page.get_by_role("button", name="Save as SVG").first.evaluate("(button) => button.click()")
    ground, panel = ("rgb(255, 255, 255)", "#ffffff") if scheme == "light" else ("rgb(26, 28, 32)", "#1a1c20")
    head, saved = found.value.path().read_text().split("<defs")[0], found.value.path().read_text()
    assert head.count(f"fill: {ground}; fill-opacity: 1;") == 1 and f'fill="{panel}"' in head
    sheet, drawn = ElementTree.fromstring(saved), page.locator(".plot").first.bounding_box()
    wide = [float(one.get("width", "0")) for one in (sheet, sheet[1])]
    assert wide == pytest.approx([drawn["width"] + 32, drawn["width"]], abs=0.1)
    told = " ".join(line.text or "" for line in sheet.findall("{*}text"))
    assert told == " ".join(page.locator(name).first.inner_text() for name in (".source p", "figcaption")).replace(
        "machine. ", "machine. Prompts: all tasks. "
    )


def test_figures_of_a_paper_and_of_here_are_told_apart_once_they_are_saved(visit_cases: Any) -> None:
    page = visit_cases("?room=papers&name=autojudge-T1")
    page.wait_for_selector(".plot .main-svg")
    saved = list[tuple[str, str]]()
    for section in ("As the paper prints it", "Here"):
        with page.expect_download() as found:
            button = page.get_by_role("region", name=section).get_by_role("button", name="Save as SVG").first
            button.evaluate("(button) => button.click()")
        lines = ElementTree.fromstring(found.value.path().read_text()).findall("{*}text")
        saved.append((found.value.suggested_filename, " ".join(line.text or "" for line in lines)))
    (printed, paper), (own, here) = saved
    assert printed.startswith("autojudge-t1-printed-right-answers-") and own.startswith("autojudge-t1-here-right-")
    assert "Table 1. As the paper prints it." in paper and "Table 1. Here." in here
    assert page.get_by_role("region", name="Here").locator(".paper-words p").last.inner_text() in here


def test_an_index_is_opened_alone_and_a_run_of_it_on_demand(opened: Any, tmp_path: Any) -> None:
    folder, posted = tmp_path / "sweep", list[Any]()
    runs = [trace for trace in made(2) if trace.head.method != "binned"]
    rows = [entry(trace, trace.save(folder / f"{i}.jsonl.gz").name) for i, trace in enumerate(runs)]
    write(folder / "index.parquet", rows)
    page = opened()
    page.on("request", lambda request: posted.append(request) if request.method == "POST" else None)
    page.locator('input[aria-label="Open a folder …"]').set_input_files(str(folder))
    expect(page.locator(".pooled .source")).to_contain_text("Your own traces: 8 runs, 4 prompts")
    (asked,) = (request for request in posted if request.url.endswith("/lab/pooled"))
    assert len(asked.post_data_buffer) < (folder / "index.parquet").stat().st_size + 100, "the index, and no trace"
    listed = page.get_by_role("region", name="Runs", exact=True)
    expect(listed.locator("tbody tr")).to_have_count(8)
    broken = tmp_path / "broken" / "index.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"no table")
    page.locator('input[aria-label="Open a folder …"]').set_input_files(str(broken.parent))
    expect(page.locator("[data-room=runs] .warn")).to_contain_text("index.parquet")
    page.get_by_label("Prompts", exact=True).select_option(index=1)  # the rows are made anew, of the folder before
    chosen = listed.locator("tbody tr", has_text="code 1").filter(has_text="BUSH")
    expect(chosen).to_have_count(1)
    chosen.get_by_role("button").click()
    page.wait_for_function("draftscope.store.runs.size === 1")
    expect(page.locator(".lane")).to_have_count(1)
    expect(page.locator(".lane")).to_contain_text("Bush")
    assert page.evaluate("[...draftscope.store.runs.values()][0].head.prompt") == "code 1"


def test_a_title_is_broken_anew_when_the_window_gets_narrow_or_wide(opened: Any) -> None:
    page = opened()
    lines = page.locator(".plot .gtitle", has_text="Outputs equal").locator("tspan.line")
    expect(page.locator(".plot .gtitle", has_text="Outputs equal")).to_be_visible()
    expect(lines).to_have_count(0)  # one line is not parted
    page.set_viewport_size({"width": 390, "height": 844})
    expect(lines).to_have_count(2)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(lines).to_have_count(0)
