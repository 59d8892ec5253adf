"""No search for cycles while a program starts, or files are read."""

import gc
from importlib import import_module
from typing import Any

import pytest

from engine import cli, unhurried
from engine.lab import Lab
from engine.unhurried import Unhurried


def test_the_search_for_cycles_waits_for_the_last_who_makes_much(monkeypatch: pytest.MonkeyPatch) -> None:
    found, searched = Unhurried(), list[bool]()
    monkeypatch.setattr(gc, "collect", lambda: searched.append(gc.isenabled()))
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), found.making():
        with found.making():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled() and not searched
    monkeypatch.setattr(unhurried, "LONGEST", -1.0)
    with found.making():
        with found.making():
            pass
        assert searched == [False]  # files never cease to come
    assert searched == [False, True] and gc.isenabled()


def test_commands_and_models_are_imported_unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[bool]()

    def noted(usual: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            seen.append(gc.isenabled())
            return usual(*given, **more)

        return call

    monkeypatch.setattr(cli, "import_module", noted(import_module))
    monkeypatch.setattr(Lab, "load", noted(Lab.load))
    assert cli.main(["run", "ar", "One", "--preset", "tiny", "--max-new-tokens", "2"]) == 0
    assert seen == [False, False] and gc.isenabled()
