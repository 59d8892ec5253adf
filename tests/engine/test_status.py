"""What commands write to a terminal."""

import io
import sys
from importlib import import_module

import pytest

from engine.errors import TraceError
from engine.status import status_of

TITLE = "\x1b]0;mine\x07 a\tb\r\n"


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_a_title_out_of_a_file_commands_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell() -> int:
        print(TITLE, end="")
        raise TraceError("\x9b2J is no name")

    out, err = Screen(newline=""), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert status_of(tell) == 2 and sys.stdout is out
    assert out.getvalue() == "\\x1b]0;mine\\x07 a\tb\r\n"
    assert err.getvalue() == "error: \\x9b2J is no name\n"


def test_a_file_gets_all_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(lambda: print(TITLE, end="") or 0) == 0
    assert capsys.readouterr().out == TITLE


def test_streams_that_the_shell_closed_take_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """`>&-` and `2>&-`: a command had ended in an AttributeError, or in none of its own words."""

    def refuse() -> int:
        print("something")
        raise TraceError("no such thing")

    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert status_of(lambda: print("something") or 0) == 0
    assert status_of(refuse) == 2
    for name in ("stdout", "stderr"):
        getattr(sys, name).close()


def test_a_python_without_the_packages_is_told_where_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """As of who forgot to activate the environment; a module of ours that is missing is a bug, and stays one."""

    def load(name: str) -> int:
        return int(bool(import_module(name)))

    assert status_of(lambda: load("no_such_package.deep")) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: no_such_package is not installed for {sys.executable}. ")
    assert "`. .venv/bin/activate`" in told and told.count("\n") == 1
    with pytest.raises(ModuleNotFoundError):
        status_of(lambda: load("engine.no_such_module"))
