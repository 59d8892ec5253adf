"""Files that are written whole or not at all, over files only, and never through a link into another folder."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import ConfigError, shown


def writable(path: Path) -> Path:
    """Where a file can be put: the path itself, or, of a link, the file beside it that it leads to.

    Raises:
        ConfigError: no name of a file, something is there that is no file, or a link that leads out of its folder.
    """
    if "\0" in str(path) or not _encodes(path):
        raise ConfigError(f"{shown(str(path))} cannot be the name of a file.")
    goal = path.resolve() if path.is_symlink() else path
    if goal.exists() and not goal.is_file():
        raise ConfigError(f"{path} is no file: nothing is written over a folder, a device or a pipe.")
    if path.is_symlink() and goal.parent != path.parent.resolve():
        raise ConfigError(f"{path} is a link out of its folder, to {goal}: name that file itself.")
    return goal


def _encodes(path: Path) -> bool:
    """Whether the system has bytes for a name: half of a surrogate pair has none, save where the system gave it."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def in_a_folder(path: Path) -> Path:
    """The path itself, where `write` can put a file in a folder that is there.

    Raises:
        ConfigError: as `ready`, or the folder is missing.
    """
    if not path.parent.exists():
        raise ConfigError(f"{path} cannot be written: there is no folder {path.parent}. Make it first.")
    return ready(path)


def ready(path: Path) -> Path:
    """The path itself, where `write` can put a file; to be asked before minutes are spent on what goes into it.

    Raises:
        ConfigError: as `writable`, or what should be its folder is a file or may not be written in.
    """
    writable(path)
    ready_folder(path.parent)
    return path


def ready_folder(path: Path) -> Path:
    """The path itself, where a folder is or can be made and may be written in.

    Raises:
        ConfigError: it, or a folder that it would be in, is a file or may not be written in.
    """
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ConfigError(f"Nothing can be put in {path}: {there} is no folder.")
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise ConfigError(f"Nothing can be put in {path}: {there} may not be written in.")
    return path


def write(path: Path, data: bytes | memoryview) -> Path:
    """Write a file at once: it is the old one or the new one, never a part. A missing folder is made.

    Raises:
        ConfigError: see `ready`. OSError: it cannot be written.
    """
    goal = writable(path)
    ready_folder(goal.parent).mkdir(parents=True, exist_ok=True)
    temporary = beside(goal)
    try:
        with naming(goal), temporary.open("xb") as file:
            file.write(data)
        temporary.replace(goal)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return goal


def write_once(path: Path, data: bytes) -> None:
    """The same where no such file is there yet: another's stays. It is on the disk once this returns.

    Raises:
        ConfigError: see `writable`. OSError: it cannot be written.
    """
    goal = writable(path)
    temporary = beside(goal)
    try:
        with naming(goal), temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, goal)  # whole at once, and only where no other process was faster
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links: whole at once too
            if not goal.exists():
                temporary.replace(goal)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # the name as well, where folders can be opened
        folder = os.open(goal.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def append(path: Path, data: bytes) -> None:
    """Put data at the end of a file. It is on the disk once this returns; cut off before, it is a torn end.

    Raises:
        OSError: it cannot be written.
    """
    with naming(path), path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def beside(goal: Path) -> Path:
    """Where a file is written before it is put in place: a name that nobody else uses."""
    return goal.with_name(f"{goal.name}.{secrets.token_hex(4)}.part")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system name the file that was written: where a disk is full they name none, and else perhaps
    what was to be put in its place."""
    try:
        yield
    except OSError as error:
        if not error.filename or str(error.filename).startswith(f"{path}."):
            error.filename = str(path)
        raise
