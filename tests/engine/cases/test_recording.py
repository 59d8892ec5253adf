"""A case of every method: its lanes are what the lab can run, and its files name them."""

import argparse
from pathlib import Path
from typing import Any, cast

import pytest

from engine.cases.recording import lanes_of, record
from engine.cli import cases
from engine.files.presets import get_preset, read_preset
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.store import Trace
from tests.engine.analysis.made import ar, head


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
    monkeypatch.setattr(cases, "_record", lambda lab, case: on.append(lab) or 0)
    args = argparse.Namespace(action="record", names=["first_look", "copying"], json=False)
    assert cases.handle(args) == 0
    assert loaded == ["tiny"] and len(on) == 2 and len(set(map(id, on))) == 1


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
    path.write_text('every = true\n[[lanes]]\nmethod = "sd"\nknobs = { gamma = 3 }\n')
    for names in (("ar", "pld"), ("ar", "sd", "pld"), ("ar", "pld")):
        lab = Few(*names)
        assert cases._record(cast(Lab, lab), read_preset(path)) == 0
        assert [lane.method for lane in lanes_of(cast(Lab, lab), read_preset(path))] == list(names)
        assert [lane.method for lane in read_preset(path).lanes] == list(names)
        assert [Trace.load(tmp_path / file).head.method for file in read_preset(path).traces] == list(names)
        assert lab.knobs.get("sd") == (3 if "sd" in names else None)
    assert len(list((tmp_path / "traces").iterdir())) == 2
