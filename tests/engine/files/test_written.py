"""Files that appear whole or not at all, and errors that name them."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConfigError
from engine.files.written import append, write, write_once


class Full:
    """A file on a full disk: what is written to it fails, and the system names no file."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> "Full":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("writes", [write, write_once])
def test_a_full_disk_leaves_nothing_and_is_told_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: Callable[[Path, bytes], object]
) -> None:
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda *given: Full(opened(*given)))
    with pytest.raises(OSError) as told:
        writes(tmp_path / "a.json", b"{}")
    assert told.value.filename == str(tmp_path / "a.json") and told.value.strerror == "No space left on device"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("writes", [write, write_once])
def test_a_file_that_cannot_be_made_is_told_by_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: Callable[[Path, bytes], object]
) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError) as told:
        writes(tmp_path / "a.json", b"{}")
    assert told.value.filename == str(tmp_path / "a.json")


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file is no folder"):
        write(tmp_path / "file" / "a.json", b"{}")


@pytest.mark.parametrize("links", [True, False])
def test_what_is_written_once_stays_and_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    flushed, flush = list[int](), os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_size) or flush(file))
    if not links:
        monkeypatch.setattr(os, "link", none)
    write_once(tmp_path / "a.json", b"mine")
    assert flushed[0] == 4, "before it has its name"
    write_once(tmp_path / "a.json", b"another's")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.json", b"mine")]


def test_what_is_appended_is_on_the_disk_and_an_error_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed, flush, path = list[int](), os.fsync, tmp_path / "a.jsonl"
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_size) or flush(file))
    append(path, b"1\n")
    append(path, b"22\n")
    assert flushed == [2, 5] and path.read_bytes() == b"1\n22\n"
    opened = Path.open
    monkeypatch.setattr(Path, "open", lambda *given: Full(opened(*given)))
    with pytest.raises(OSError) as told:
        append(path, b"3\n")
    assert told.value.filename == str(path)
