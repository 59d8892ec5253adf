"""A case of every method: its lanes are what the lab can run, and its files name them."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from engine.cases.recording import lanes_of, record, with_times_of
from engine.cli import cases
from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.files.presets import get_preset, read_preset
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.store import Trace
from tests.engine.analysis.made import ar, head, sd


class Few:
    """A lab that can run these methods, and writes the same text with each."""

    looks = 0

    def __init__(self, *names: str) -> None:
        self.names, self.knobs, self.ran = names, dict[str, Any](), list[tuple[str, int]]()

    def methods(self) -> list[Any]:
        return [get_card(name) for name in self.names]

    def run(self, method: str, prompt: str, **options: Any) -> Trace:
        self.knobs[method] = options.get("gamma")
        self.ran.append((method, options["max_new_tokens"]))
        return Trace([head(method), *ar([1, 2]).rounds])


def test_cases_of_one_pair_share_its_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, on = list[str](), list[object]()

    def load(pair: str, threads: str) -> object:
        loaded.append(pair)
        return object()

    monkeypatch.setattr(Lab, "load", load)
    monkeypatch.setattr(cases, "_record", lambda lab, case, keep: on.append(lab) or 0)
    args = argparse.Namespace(action="record", names=["first_look", "copying"], json=False, keep_times=False)
    assert cases.handle(args) == 0
    assert loaded == ["tiny"] and len(on) == 2 and len(set(map(id, on))) == 1


def test_a_case_without_a_prompt_is_told_how_to_find_one() -> None:
    case = replace(get_preset("first_look"), prompt="")
    with pytest.raises(ConfigError, match=r"first_look has no prompt yet: .*cases find first_look"):
        cases._record(cast(Lab, Few("ar")), case)


def test_every_lane_is_run_once_before_any_is_recorded() -> None:
    lab, case = Few("ar", "sd"), get_preset("first_look")
    methods, most = [lane.method for lane in case.lanes], case.max_new_tokens
    record(cast(Lab, lab), case)
    assert lab.ran == [*((method, 8) for method in methods), *((method, most) for method in methods)]
    lab.ran.clear()
    record(cast(Lab, lab), case, warm=False)
    assert lab.ran == [(method, most) for method in methods]


def test_every_method_of_the_lab_is_recorded_and_what_no_longer_runs_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "PRESETS", tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text('prompt = "German:"\nevery = true\n[[lanes]]\nmethod = "sd"\nknobs = { gamma = 3 }\n')
    for names in (("ar", "pld"), ("ar", "sd", "pld"), ("ar", "pld")):
        lab = Few(*names)
        assert cases._record(cast(Lab, lab), read_preset(path)) == 0
        assert [lane.method for lane in lanes_of(cast(Lab, lab), read_preset(path))] == list(names)
        assert [lane.method for lane in read_preset(path).lanes] == list(names)
        assert [Trace.load(tmp_path / file).head.method for file in read_preset(path).traces] == list(names)
        assert lab.knobs.get("sd") == (3 if "sd" in names else None)
    assert len(list((tmp_path / "traces").iterdir())) == 2
    path.write_text(path.read_text().replace("[[", '[opens]\nlane = "sd"\npos = 0\npiece = "no such word"\n[[', 1))
    with pytest.raises(ConfigError, match="mine: it opens at 'no such word', position 0 of lane sd"):
        cases._record(cast(Lab, Few("ar", "sd")), read_preset(path))
    assert len(list((tmp_path / "traces").iterdir())) == 2, "what was recorded stays"


def test_a_recording_that_is_made_anew_keeps_its_times_where_its_rounds_are_the_same() -> None:
    old, new = sd(), sd()
    assert old.end is not None and new.end is not None
    for event in new.rounds:
        event.draft_ms = event.verify_ms = event.other_ms = 99.0
        event.extras["network_ms"] = 50.0
    new.end.total_ms, new.rounds[0].nodes[-1].state = 999.0, "discarded"
    old.rounds[0].extras["network_ms"] = 0.5
    found = with_times_of(new, old)
    assert found is not None and found.rounds[0].nodes[-1].state == "discarded"
    times = ("draft_s", "verify_s", "other_s", "prefill_s", "tokens_per_s")
    assert [found.metrics()[name] for name in times] == [sd().metrics()[name] for name in times]
    assert found.end is old.end and found.rounds[0].extras["network_ms"] == 0.5
    assert found.head is old.head and new.rounds[0].draft_ms == 99.0
    new.rounds[-1].fed += 1
    assert with_times_of(new, old) is None


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["all_methods", "tree_code", "tree_templated", "tree_hard"])
def test_recordings_say_of_each_draft_token_what_a_run_says_today(name: str) -> None:
    """Of lanes whose text is the same here: sums round otherwise on other CPUs, and near ties may fall otherwise."""
    case = get_preset(name)
    lab = Lab.load(case.pair, device="cpu", threads=1)
    same = 0
    for trace, path in zip(record(lab, case, warm=False), case.traces, strict=True):
        old = Trace.load(PRESETS / path)
        if (again := with_times_of(trace, old)) is None:
            continue
        same += 1
        for was, now in zip(old.rounds, again.rounds, strict=True):
            assert [node.state for node in was.nodes] == [node.state for node in now.nodes], (path, was.index)
    assert same > len(case.traces) // 2
