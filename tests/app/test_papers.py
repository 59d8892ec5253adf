"""The papers over HTTP: entries, results and figures; the same names in the same colours."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import papers
from app.figures.papers import points, table
from app.service import Service
from app.state import Limits
from engine.lab import Lab
from engine.methods import CARDS
from engine.papers.entries import papers as entries
from engine.papers.systems import recorded, spread

HEAD = {"title": "A", "x": "", "y": "share, %", "form": "bars"}


@pytest.fixture(scope="module")
def http() -> TestClient:
    service = Service(CARDS, {}, None, Limits())
    return TestClient(Starlette(routes=papers.routes(service)))


def test_the_list_counts_every_item(http: TestClient) -> None:
    found = http.get("/lab/papers").json()["papers"]
    told = {one["name"]: sum(one["verdicts"].values()) for one in found if one["name"] != papers.METHODS}
    assert told == {p.key: len(p.items) for p in entries()}
    assert all(one["verdicts"].get("confirmed") for one in found if one["verdicts"] and one["name"] != "cm_asd")


def test_results_that_are_made_beside_the_server_are_shown(
    http: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "FOLDER", tmp_path / "papers")
    (tmp_path / "papers").mkdir()
    found = [http.get("/lab/papers").content]
    monkeypatch.setattr(papers, "verdict_of", lambda item, result: "mixed")
    assert http.get("/lab/papers").content == found[0], "known"
    (tmp_path / "papers" / "easd-T1.json").write_text("{}")
    (easd,) = (one for one in http.get("/lab/papers").json()["papers"] if one["name"] == "easd")
    assert easd["verdicts"].keys() == {"mixed"}


@pytest.mark.thorough
def test_a_paper_has_its_numbers_ours_and_what_decides(http: TestClient) -> None:
    """What contradicts it is told as what confirms it; points and lines have figures, hidden tables none."""
    found = http.get("/lab/paper", params={"name": "stand"}).json()
    items = {item["id"]: item for item in found["items"]}
    first = items["T1"]
    assert first["verdict"] == "mixed" and first["live"]["lanes"][0] == {"method": "stand", "knobs": {}}
    assert {check["outcome"] for check in first["checks"]} >= {"holds", "fails"}
    assert any("277 tokens" in check["evidence"] and "464" in check["evidence"] for check in first["checks"])
    assert [bool(one["figure"]) for one in first["printed"]] == [True, True, False, False, False, False]
    calls = next(one for one in first["ours"] if one["y"] == "tokens a target call")
    assert calls["columns"] == ["4", "8", "16"] and calls["rows"][0]["cells"][0].startswith("4.26 (")
    colours = [{t["name"]: t["marker"]["color"] for t in one["figure"]["data"]} for one in (first["printed"][1], calls)]
    both = colours[0].keys() & colours[1].keys()
    assert all(colours[0][name] == colours[1][name] for name in both) and len(both) >= 5
    judged = http.get("/lab/paper", params={"name": "autojudge"}).json()
    heterogeneous, entropies = (http.get("/lab/paper", params={"name": name}).json() for name in ("heterospec", "easd"))
    paired = next(item for item in entropies["items"] if item["id"] == "T1")["ours"][1]
    assert paired["columns"] == ["Target alone", "Draft alone", "SD", "RSD"], "as the rows beside it"
    lost = next(item for item in judged["items"] if item["id"] == "T1")["checks"][0]["evidence"]
    assert lost == "holds: 1.50 (0.65 to 2.34) points of right answers lost, wanted below 3"
    gained = next(item for item in judged["items"] if item["id"] == "T1")["checks"][1]["evidence"]
    assert gained == (
        "left open: 12.05 (11.96 to 12.13) tokens a target call, 1.141 times SD's 10.56 (10.50 to 10.62); "
        "at least 1.14 was wanted"
    )
    phases = next(item for item in heterogeneous["items"] if item["id"] == "T6")["ours"][0]
    assert phases["columns"] == ["draft", "target", "other"]
    areas = next(item for item in judged["items"] if item["id"] == "F7")["checks"][0]["evidence"]
    assert areas == "does not hold: \u22120.0077 (\u22120.0112 to \u22120.0043) ROC area, difference, wanted above 0"
    curve = next(item for item in judged["items"] if item["id"] == "F3")["ours"][0]
    assert curve["columns"] == ["accepted tokens a target call", "right answers, %"] and curve["figure"]["data"]


def test_the_page_of_all_methods_shows_what_compare_recorded(tmp_path: Path) -> None:
    """Fastest first; a method without a number has a gap, and its cells tell nothing."""

    def span(mean: float) -> dict[str, float]:
        return {"mean": mean, "low": mean - 0.25, "high": mean + 0.25, "n": 8}

    counts = {"responses": 8, "prompts": 8, "repeats": 1, "response_tokens": span(32)}
    sd = {"intervals": {"rounds": span(9), "tau": span(6), "speedup": span(1.5)}, "quality": counts}
    rsd = {"intervals": {"rounds": span(7), "tau": span(8), "speedup": span(2.5)}, "quality": counts}
    table = {
        "ar": {"intervals": {"rounds": span(64), "tau": span(1)}, "quality": counts | {"accuracy": span(0.5)}},
        "sd": sd | {"quality": counts | {"accuracy": span(0.5), "accuracy_difference": span(0)}},
        "rsd": rsd | {"quality": counts | {"accuracy": span(0.25), "accuracy_difference": span(-0.25)}},
    }
    (tmp_path / "quality-arithmetic.json").write_text(json.dumps(table))
    cards = {card.name: card for card in CARDS}
    plain, faster, fastest = (cards[name].title for name in ("ar", "sd", "rsd"))
    page = papers.methods(recorded(tmp_path), cards)
    (item,) = page["items"]
    assert (item["id"], item["verdict"], item["checks"], item["printed"]) == ("arithmetic", "", [], [])
    assert item["here"].startswith("8 held-out prompts") and "--task arithmetic" in item["command"]
    (ours,) = item["ours"]
    cells = {row["name"]: dict(zip(ours["columns"], row["cells"], strict=True)) for row in ours["rows"]}
    assert cells[fastest]["target calls"] == "7.0 (6.8 to 7.2)"
    speed = f"speed, x {plain}'s"
    assert cells[plain][speed] is None and cells[fastest][speed] == "2.50 (2.25 to 2.75)"
    loss, pace = ours["figure"]["data"]
    assert list(loss["y"]) == list(pace["y"]) == [fastest, faster] and list(loss["x"]) == [-25.0, 0.0]
    assert list(pace["error_x"]["array"]) == [0.25, 0.25]
    assert ours["figure"]["layout"]["yaxis"]["categoryarray"] == [faster, fastest], "the fastest is on top"


def test_what_an_interval_of_every_method_rounds_to_0_has_no_minus() -> None:
    assert spread({"mean": 0.0005, "low": -0.0004, "high": 0.0014}, share=True) == "0.1 (0.0 to 0.1)"


def test_an_unknown_paper_is_refused(http: TestClient) -> None:
    answer = http.get("/lab/paper", params={"name": "stnad"})
    assert answer.status_code == 404 and "Did you mean 'stand'" in answer.json()["error"]


def test_a_table_is_dots_with_intervals_or_lines_over_numbers() -> None:
    """Missing numbers leave a gap; a row without any is not drawn."""
    cell = {"mean": 2.0, "low": 1.5, "high": 3.0, "n": 9}
    dots = table(HEAD, ["a", "b"], [("SD", [cell, None]), ("none", [None, None])], ["AR", "SD"])
    (drawn,) = dots.data
    assert (list(drawn.x), list(drawn.y), drawn.mode) == (["a"], [2.0], "markers")
    assert (list(drawn.error_y.array), list(drawn.error_y.arrayminus)) == ([1.0], [0.5])
    told = "%{x}: %{y:.2f}"
    spread = told + " (%{customdata[0]:.2f} to %{customdata[1]:.2f})"
    assert (list(drawn.hovertemplate), dots.layout.yaxis.title.text) == ([spread], "share, %")
    (some,) = table(HEAD, ["a", "b"], [("SD", [cell, cell | {"low": None, "high": None}])], ["SD"]).data
    assert (list(some.hovertemplate), list(some.error_y.array)) == ([spread, told], [1.0, None])
    names = [f"method {i}" for i in range(24)]
    many = table({**HEAD, "y": "tokens a target call"}, ["a"], [(name, [1.0]) for name in names], names)
    assert len({(one.marker.color, one.marker.symbol) for one in many.data}) == 24, "no two look alike"
    assert many.layout.yaxis.title.text == "tokens a target<br>call"
    lines = table({**HEAD, "form": "lines", "x": "k"}, [4, 8], [("SD", [1, 2]), ("AR", [1, 1])], ["AR", "SD"])
    assert [list(one.x) for one in lines.data] == [[4, 8], [4, 8]]
    assert lines.data[0].marker.color == drawn.marker.color != lines.data[1].marker.color
    assert list(lines.layout.xaxis.tickvals) == [4, 8], "at the numbers themselves"
    for places in ([1, 1.05, 8], [0.06, 0.12, 0.15, 0.16]):
        near = table({**HEAD, "form": "lines", "x": "k"}, places, [("SD", places)], ["SD"])
        assert near.layout.xaxis.tickvals is None, "labels would lie over each other"
    far = {"x": {"mean": 9.0}, "y": cell}
    assert list(points(HEAD, [("SD", [far, {"x": {"mean": 3.0}, "y": cell}])], ["SD"]).data[0].x) == [3.0, 9.0]


def test_dots_far_from_zero_are_shown_without_it() -> None:
    """Areas of 0.96 to 0.97 differ on an axis of their own; numbers of which one is less than half another do not need
    it, nor does one alone or a negative one."""

    def axis(*cells: Any) -> Any:
        return table(HEAD, list(range(len(cells))), [("Classifier", cells)], ["Classifier"]).layout.yaxis.range

    sure = {"mean": 0.963, "low": 0.95, "high": 0.97}
    assert axis(sure, None, 0.96) == pytest.approx((0.948, 0.972))
    assert axis(1.0, 2.5) is axis(-1.0, 0.5) is axis(0.96) is axis(None, None) is None


@pytest.mark.slow
def test_what_runs_here_takes_less_than_a_minute() -> None:
    """Every "run it here", as the page starts it: all of its lanes, one after the other."""
    labs = {pair: Lab.load(pair, device="cpu", threads=1) for pair in ("tiny", "crossed")}
    cards = {card.name: card for card in CARDS}
    lives = {repr((i.pair, i.live)): papers._live(i, cards) for p in entries() for i in p.items if i.live}
    assert len(lives) > 20
    for name, live in lives.items():
        assert live is not None, name
        began = time.monotonic()
        for lane in live["lanes"]:
            options = {one: live[one] for one in ("temperature", "max_new_tokens")}
            trace = labs[live["models"]].run(lane["method"], live["prompt"], **options, **lane["knobs"])
            assert trace.end is not None and trace.end.reason in ("eos", "limit", "stop"), name
        assert time.monotonic() - began < 60, name
