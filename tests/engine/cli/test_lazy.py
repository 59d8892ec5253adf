"""A command's file is imported when the command is called: help comes at once, and what needs no model brings no torch."""

import ast
import subprocess
import sys
from importlib import import_module

import pytest

from engine.cli import COMMANDS, main
from engine.files.places import ROOT

LIGHT = (["--help"], ["--version"], ["import", "--help"], ["index", "--help"], ["export", "--help"], ["schema"])


@pytest.mark.parametrize("folder", ["cli", "training"])
def test_every_option_says_what_it_is(folder: str) -> None:
    silent = [
        f"{path.name}:{call.lineno}"
        for path in sorted((ROOT / "engine" / folder).glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        if not {"help", "version", None} & {word.arg for word in call.keywords}  # None: words of a dictionary
    ]
    assert not silent


def helped(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 0
    return capsys.readouterr().out


def test_help_lists_every_command_with_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(helped(capsys, "--help").split())
    assert all(f"{name} {words}" in said for name, (_, words) in COMMANDS.items())


@pytest.mark.parametrize("name", [name for name, (file, _) in COMMANDS.items() if file != "training"])
def test_a_command_registers_itself_and_says_what_it_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(helped(capsys, name, "--help").split())
    assert said.startswith(f"usage: python -m engine {name} [-h]")
    own = COMMANDS[name][1]
    assert f"{own[0].upper()}{own[1:]}." in said or name == "replay", "replay has a longer one of its own"


@pytest.mark.parametrize("action", ["draw", "compare", "show"])
def test_a_temperature_of_0_is_called_greedy_where_it_is_taken(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--temperature T 0 is greedy (default: 0.6)" in " ".join(
        helped(capsys, "trajectories", action, "--help").split()
    )


def test_a_file_registers_no_command_that_is_not_listed() -> None:
    files = {file for file, _ in COMMANDS.values()}
    for path in (ROOT / "engine" / "cli").glob("*.py"):
        if path.stem not in files:
            assert not hasattr(import_module(f"engine.cli.{path.stem}"), "add_parser"), path.stem


def test_an_unknown_command_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["reply"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "Unknown command 'reply'. Did you mean 'replay'?" in said and all(name in said for name in COMMANDS)


def test_nothing_heavy_is_imported_for_what_needs_no_model() -> None:
    script = f"""
import contextlib, io, sys
from engine.cli import main
for argv in {LIGHT!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(argv)
    heavy = {{"torch", "transformers"}} & set(sys.modules)
    assert not heavy, (argv, heavy)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stderr
