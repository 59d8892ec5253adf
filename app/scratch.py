"""Temporary folders, below one that goes with the process; what earlier processes left is removed at the start."""

import atexit
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import psutil

NAME = re.compile(r"draftscope-app-(\d+)-\w+")


def fresh(name: str) -> Path:
    """A new folder for visitors' files."""
    return Path(tempfile.mkdtemp(prefix=name + "-", dir=root()))


@cache
def root() -> Path:
    """The folder of this process."""
    sweep(Path(tempfile.gettempdir()))
    made = Path(tempfile.mkdtemp(prefix=f"draftscope-app-{os.getpid()}-"))
    atexit.register(_remove, made, os.getpid())
    return made


def sweep(folder: Path) -> list[Path]:
    """Remove the folders of processes that are gone; what was removed."""
    found = [path for path in folder.glob("draftscope-app-*") if _left(path)]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return found


def clear() -> None:
    """Remove the folder of this process now, where it has one."""
    if root.cache_info().currsize:
        _remove(root(), os.getpid())


def _left(path: Path) -> bool:
    """Whether a folder is ours by name and owner, and its process is gone."""
    name = NAME.fullmatch(path.name)
    if name is None or path.is_symlink() or not path.is_dir():
        return False
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():  # on Windows the folder around is the user's own
        return False
    try:
        return not psutil.pid_exists(int(name[1]))
    except OverflowError:  # no number of a process
        return False


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork
        shutil.rmtree(path, ignore_errors=True)
