"""The child of the sandbox: sets its own limits, takes away dangerous calls, runs stdin.

Run as `python -I -S sandbox_child.py CPU_SECONDS MEMORY_MIB VERDICT_FD`. Standard library only.
"""

from __future__ import annotations

import builtins
import os
import resource
import socket
import sys
from typing import Any, NoReturn

FILE_LIMIT = 64 * 1024  # bytes in any one file, standard output included

FORBIDDEN = (
    *("socket.", "subprocess.", "ctypes.", "shutil.", "pty.", "signal.pthread_kill"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill", "os.putenv"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate"),
)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise PermissionError("not allowed in the sandbox")


def _guard(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: unlike a replaced function, it cannot be taken back."""
    if event == "open":
        mode, flags = args[1], args[2]
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
            _refuse()
    elif event.startswith(FORBIDDEN):
        _refuse()


def main() -> None:
    """Limit, guard, run, and write the verdict to the given descriptor."""
    cpu_s, memory_mib, verdict_fd = (int(word) for word in sys.argv[1:4])
    code = sys.stdin.read()
    _limit(resource.RLIMIT_CPU, cpu_s)
    _limit(resource.RLIMIT_AS, memory_mib << 20)
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    _limit(resource.RLIMIT_NOFILE, 16)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_CORE, 0)
    report = os.write
    for name in ("fork", "forkpty", "posix_spawn", "kill", "killpg"):
        setattr(os, name, _refuse)
    socket.socket = _refuse  # type: ignore[assignment, misc]
    sys.addaudithook(_guard)
    program = compile(code, "<answer>", "exec")
    exec(program, {"__name__": "answer", "__builtins__": builtins})
    report(verdict_fd, b"all tests passed")


if __name__ == "__main__":
    main()
