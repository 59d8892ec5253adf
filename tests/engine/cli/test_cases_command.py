"""`cases`: which are meant where a name is wrong or missing, and what is found reads as it will stand in the file."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.cli import cases, main
from engine.files.presets import list_presets
from engine.lab import Lab
from tests.engine.cli.test_commands import refused


@pytest.mark.parametrize("action", ["list", "record", "find"])
def test_a_pair_is_no_case(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Unknown case 'tiny'." in refused(capsys, "cases", action, "tiny")


def test_recording_without_names_asks_which(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would write over every recording."""
    assert "Which cases? Name them, or say --all" in refused(capsys, "cases", "record")
    recorded = list[str]()
    monkeypatch.setattr(Lab, "load", lambda *_, **__: None)
    monkeypatch.setattr(cases, "_record", lambda _lab, case, _keep: recorded.append(case.name) or 0)
    assert main(["cases", "record", "--all"]) == 0
    assert recorded == [case.name for case in list_presets() if case.kind == "case" and case.lanes]


def test_adopting_without_names_says_which_are_meant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Lab, "load", lambda *_, **__: None)
    monkeypatch.setattr(cases, "find", lambda *_: iter(()))
    assert main(["cases", "adopt"]) == 1
    first, *others = capsys.readouterr().out.splitlines()
    planned = [case.name for case in list_presets(cases.PLANNED)]
    assert first == f"All planned cases, since none is named: {', '.join(planned)}."
    assert [line.partition(":")[0] for line in others[:-1]] == planned
    assert main(["cases", "adopt", planned[0]]) == 1
    assert "All planned" not in capsys.readouterr().out


def test_what_is_found_keeps_its_letters(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def find(*_: object) -> Any:
        yield SimpleNamespace(searched="", prompt="German:", answer="Später"), []

    monkeypatch.setattr(Lab, "load", lambda *_, **__: None)
    monkeypatch.setattr(cases, "find", find)
    assert main(["cases", "find", "translation"]) == 0
    assert 'answer = "Später"' in capsys.readouterr().out
