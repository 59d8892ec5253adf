"""A file that a process holds while it works, so that no second one does the same work beside it.

The system's own lock on the file counts, not that it is there: it goes with the process, however that ends, and a file
that a killed process left is taken over.
"""

import errno
import os
import socket
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Self
from weakref import finalize

from engine.errors import ConfigError
from engine.files.shards import Shard

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what the system says where another has the lock
PATIENCE, LOOKS = 10.0, 0.05  # seconds: others of the same work write the whole file at once; between two looks
FAR = 2**30  # the byte that is locked on Windows, where nobody could read it else


class Taken(Exception):
    """Another has the file; the text says who, as far as that is known."""


class Held:
    """A file that this process holds until the object is let go, or left as a context; it is then removed.

    On a file system without locks nothing is held, and nobody refused.
    """

    def __init__(self, path: Path) -> None:
        """Take the file, which is made where it is missing.

        Raises:
            Taken: another process has it, or another object of this one. OSError: it cannot be made.
        """
        file = _open(path)
        os.truncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        self._end = finalize(self, _let_go, file, path, os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


def hold(path: Path, patience: float = 0.0) -> Held:
    """Keep others from writing to a file while the result is kept: by a file beside it, whose folder is made. Another
    that has it is waited for so many seconds.

    Raises:
        ConfigError: another process writes to it. OSError: nothing can be put there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + patience
    while True:
        try:
            return Held(path.with_name(f"{path.name}.lock"))
        except Taken as other:
            if time.monotonic() >= end:
                raise ConfigError(
                    f"{path} is being written by {other}, which runs the same command: let it end, or stop it. "
                    "Processes that share the work have --shard I/N with different I and one N."
                ) from None
        time.sleep(LOOKS)


def hold_whole(path: Path, shard: Shard) -> AbstractContextManager[object]:
    """Hold the file that processes fill together, to write it whole: it may be that of one that has no shard of the
    work, and appends to it. Who is alone has it already.

    Raises:
        ConfigError: another still writes to it after a while; what the others need is in their own files.
    """
    return nullcontext() if shard.alone else hold(path, PATIENCE)


def _open(path: Path) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _locked(file):
            os.lseek(file, 0, os.SEEK_SET)
            who = os.read(file, 200)
            os.close(file)
            raise Taken(who.decode("utf-8", "replace").strip() or "another process")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        os.close(file)  # whoever had it removed it meanwhile


def _locked(file: int) -> bool:
    """Whether the lock is had now, or none is to be had at all."""
    try:
        if sys.platform == "win32":
            os.lseek(file, FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in HELD
    return True


def _let_go(file: int, path: Path, process: int) -> None:
    if os.getpid() != process:  # a fork, which shares the lock and must leave it
        return
    with suppress(OSError):
        path.unlink()
    os.close(file)
    if sys.platform == "win32":  # where an open file cannot be removed
        with suppress(OSError):
            path.unlink()
