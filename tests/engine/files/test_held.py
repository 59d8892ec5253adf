"""A file that one process holds at a time, whatever ends it."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.files import held
from engine.files.held import Held, Taken, hold

HOLD = "import sys, time; from pathlib import Path; from engine.files.held import Held; one = Held(Path(sys.argv[1])); "


def test_one_object_holds_it_and_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    one = Held(path)
    with pytest.raises(Taken, match=rf"^process {os.getpid()} on \S+$"):
        Held(path)
    other = Held(tmp_path / "b.lock")
    del one
    assert [file.name for file in tmp_path.iterdir()] == ["b.lock"]
    Held(path)
    del other
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_appended_to_is_one_s_until_it_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    with hold(path) as kept:
        with pytest.raises(ConfigError, match=rf"rows.jsonl is being written by process {os.getpid()} .*--shard I/N"):
            hold(path)
        with hold(path.with_name("rows.0-of-2.jsonl")):
            pass
    with hold(path):
        assert kept and path.with_name("rows.jsonl.lock").exists()
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("killed", [False, True])
def test_another_process_is_named_and_a_killed_one_forgotten(tmp_path: Path, killed: bool) -> None:
    path = tmp_path / "a.lock"
    path.write_text("process 1 on a machine that was switched off\n" * 9)
    code = HOLD + "print(flush=True); sys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout and other.stdout.readline()
        with pytest.raises(Taken, match=rf"^process {other.pid} on \S+$"):
            Held(path)
        if killed:
            other.kill()
    finally:
        other.communicate()
    assert path.exists() == killed
    kept = Held(path)
    assert path.read_text().split()[:2] == ["process", str(os.getpid())]
    del kept
    assert not path.exists()


def test_a_fork_lets_nothing_go(tmp_path: Path) -> None:
    code = HOLD + "import os; child = os.fork(); child and os.waitpid(child, 0); "
    code += "held = Path(sys.argv[1]).exists(); print(held) if child else None"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.lock"], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n" and not list(tmp_path.iterdir())


def test_a_file_that_was_removed_meanwhile_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, locked, times = tmp_path / "a.lock", held._locked, list[int]()

    def late(file: int) -> bool:
        times.append(file)
        if len(times) == 1:
            path.unlink()
        return locked(file)

    monkeypatch.setattr(held, "_locked", late)
    kept = Held(path)
    assert len(times) == 2 and path.exists() and kept
    with pytest.raises(Taken):
        Held(path)


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_without_locks_nobody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    assert Held(tmp_path / "a.lock") and Held(tmp_path / "a.lock")
