"""`replay`: recorded cases hold, and each kind of damage is told with status 1."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.files.places import PRESETS
from engine.rules import RULES

TRACES = PRESETS / "traces"
Event = dict[str, Any]


def lines(name: str) -> list[Event]:
    return [json.loads(line) for line in gzip.decompress((TRACES / name).read_bytes()).splitlines()]


def nodes(events: list[Event], state: str) -> list[Event]:
    found = [node for event in events for node in event.get("nodes", []) if node.get("state") == state]
    assert found, f"no {state} node in this recording"
    return found


def run(events: list[Event], folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    path = folder / "damaged.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    status = main(["replay", str(path), *flags])
    return status, capsys.readouterr().out


@pytest.mark.thorough
def test_every_recorded_case_holds(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(TRACES.glob("*.jsonl.gz"))
    assert main(["replay", str(TRACES), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == len(files) and not any(report["faults"] or report["unknown"] for report in found)
    rules = {report["rule"] for report in found if report["decisions"]}
    assert {"exact", "entropy_veto", "gap", "top_k", "judge"} <= rules
    assert any(report["sampled"] and report["decisions"] for report in found)


def flip(events: list[Event]) -> None:
    nodes(events, "accepted")[3]["state"] = "rejected"


def smaller_draw(events: list[Event]) -> None:
    node = nodes(events, "rejected")[0]
    node["u"] = node["reason"]["u"] = 0.0


def other_ratio(events: list[Event]) -> None:
    nodes(events, "rejected")[0]["reason"]["ratio"] = 0.999


def another_threshold(events: list[Event]) -> None:
    events[0]["knobs"]["tau_base"] = 9.0


def another_overlap(events: list[Event]) -> None:
    nodes(events, "accepted")[0]["overlap"] = 0.123


def less_sure(events: list[Event]) -> None:
    events[0]["knobs"]["tau_entropy"] = -1.0
    events[0]["knobs"]["tau_overlap"] = 0.0


def another_score(events: list[Event]) -> None:
    node = nodes(events, "relaxed")[0]
    node["judge"] = node["reason"]["score"] = 0.9999


def longer_path(events: list[Event]) -> None:
    next(event for event in events if event.get("path"))["accepted"] += 1


def lost_text(events: list[Event]) -> None:
    events[-1]["text"] = "something else"


DAMAGES: list[tuple[str, Callable[[list[Event]], None], str]] = [
    ("code-1-sd", flip, "recorded rejected, recomputed accepted"),
    ("sampled-1-sd", smaller_draw, "recorded rejected, recomputed accepted"),
    ("sampled-1-sd", other_ratio, "the ratio 0.999 is not"),
    ("drawn_guesses-1-stand", smaller_draw, "recorded rejected, recomputed accepted"),
    ("translation-2-specdec", another_threshold, "of gap is not 9"),
    ("easd_helps-2-easd", another_overlap, "the overlap 0.123 is not"),
    ("easd_helps-2-easd", less_sure, "recorded accepted, recomputed vetoed"),
    ("judge_style-2-autojudge", another_score, "recorded relaxed, recomputed rejected"),
    ("code-1-sd", longer_path, "accepted"),
    ("code-1-sd", lost_text, "do not make up the text"),
]


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGES, ids=[f"{n}-{d.__name__}" for n, d, _ in DAMAGES])
def test_damage_is_told(
    name: str,
    damage: Callable[[list[Event]], None],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = lines(f"{name}.jsonl.gz")
    assert run(events, tmp_path, capsys)[0] == 0
    damage(events)
    status, out = run(events, tmp_path, capsys)
    assert status == 1 and said in out, out
    status, out = run(events, tmp_path, capsys, "--json")
    assert status == 1 and said in " ".join(json.loads(out)["faults"])


def test_what_was_recorded_lightly_is_counted_not_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = lines("code-1-sd.jsonl.gz")
    rounds = [event for event in events if event["kind"] == "round"]
    drafting = sum(event["drafted"] > 0 for event in rounds)
    for event in rounds:
        event["nodes"], event["pruned"], event["pieces"] = [], [], {}
    status, out = run(events, tmp_path, capsys)
    assert status == 0 and f"{drafting} of {len(rounds)} rounds were recorded lightly" in out and "0 decisions" in out
    events[-1]["text"] = "something else"
    assert run(events, tmp_path, capsys)[0] == 1  # identities are checked all the same


def test_an_unknown_rule_and_missing_numbers_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = lines("translation-2-specdec.jsonl.gz")
    tested = sum(node["state"] != "discarded" for event in events for node in event.get("nodes", []))
    for event in events:
        for node in event.get("nodes", []):
            node["reason"] = {"id": node["reason"]["id"]}
            node.pop("margin", None)
    status, out = run(events, tmp_path, capsys)
    assert status == 0 and f"{tested} decisions lack the numbers" in out
    events[0]["rule"] = "mine"
    assert "rule 'mine' is not known here: its" in run(events, tmp_path, capsys)[1]
    monkeypatch.setitem(RULES, "mine", RULES["exact"])  # one of somebody's own, which decides as it likes
    status, out = run(events, tmp_path, capsys)
    assert status == 0 and "rule 'mine' declares no threshold: its" in out


def test_a_file_that_was_cut_off_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = lines("code-1-sd.jsonl.gz")
    assert "no end" not in run(events, tmp_path, capsys)[1]
    status, out = run(events[:-1], tmp_path, capsys)
    assert status == 0 and "the run has no end, as if its file were cut off" in out


def test_a_file_of_several_runs_is_checked_run_by_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the page saves all its lanes."""
    good, bad = lines("code-0-ar.jsonl.gz"), lines("code-1-sd.jsonl.gz")
    flip(bad)
    assert run([*good, *lines("code-1-sd.jsonl.gz")], tmp_path, capsys)[0] == 0
    status, out = run([*good, *bad, *good], tmp_path, capsys, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 1 and [report["method"] for report in found] == ["ar", "sd", "ar"]
    assert [bool(report["faults"]) for report in found] == [False, True, False]
    assert [report["file"].partition(", ")[2] for report in found] == ["run 1", "run 2", "run 3"]
    status, out = run([*good, {"kind": "run"}, *good], tmp_path, capsys)
    assert status == 1 and "run 2 cannot be read" in out and out.count("all hold") == 2


def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("nothing\n", encoding="utf-8")
    assert main(["replay", str(tmp_path / "a.jsonl"), str(TRACES / "code-1-sd.jsonl.gz")]) == 1
    first, second = capsys.readouterr().out.strip().split("\n")
    assert "cannot be read" in first and "all hold" in second
    assert main(["replay", str(tmp_path / "missing.jsonl")]) == 2
    assert "missing.jsonl" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["replay", str(tmp_path / "empty")]) == 2
    assert "no traces in" in capsys.readouterr().err
