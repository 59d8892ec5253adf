"""Which models the flags of python -m app name, and what they bring along."""

from typing import Any

import pytest

from app import __main__ as command


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What each set of models of some flags hands to `Lab.load`."""
    monkeypatch.setattr(command, "load", lambda **given: given)
    return lambda *flags: {name: make() for name, make in command.model_loaders(command.parser().parse_args(flags)).items()}


def test_heads_go_with_the_target_of_the_flags(loaded: Any) -> None:
    found = loaded("--target", "big", "--draft", "small", "--eagle", "head", "--asset", "judge=own", "--asset", "judge:code=a=b")
    assert found["big + small"] == {
        "target": "big", "draft": "small", "eagle": "head", "judge": "own", "judge:code": "a=b", "device": "auto", "dtype": "auto",
    }  # fmt: skip
    assert found["tiny"] == {"preset": "tiny", "device": "auto", "dtype": "auto"}


def test_without_a_target_heads_go_with_the_presets(loaded: Any) -> None:
    found = loaded("--eagle", "head", "--asset", "judge=own")
    assert all(given["eagle"] == "head" and given["judge"] == "own" for given in found.values()) and "tiny" in found
    assert "eagle" not in loaded()["tiny"]


@pytest.mark.parametrize("given", ["judge", "=folder", "judge=", "target=folder"])
def test_an_asset_is_a_role_and_a_folder(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.parser().parse_args(["--asset", given])
    assert "--asset" in capsys.readouterr().err
