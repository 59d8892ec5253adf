"""Runs generated code in a separate process with limits; used for scoring only.

The process is Python, isolated as by `-I`, in an empty folder, with no environment but a fixed seed of hashes (so what
depends on the order of a set ends the same each time), limits on CPU time, memory, file size, open files and processes,
and a wall-clock limit. What it may do further is bounded several times:

- By the kernel, on Linux, each where allowed: a system-call filter (x86_64, aarch64), without which nothing can be
  started, written, connected, mounted or signalled; Landlock (5.13) for what may be read, which is the standard
  library; namespaces of its own for mounts, network and IPC; no capabilities, no new privileges, nobody's id where root
  calls it and nobody can read the library; death with its parent.
- By bubblewrap (`bwrap`), where it is installed and may make namespaces: no other process, no network, and no file but
  those of Python's library are there at all.
- By an audit hook in the interpreter, everywhere: the same refusals, and modules that would go round it cannot be
  imported.

Passing needs a random token, which only the child's last statement can return. What this does not do:

- Where the kernel has no filter or no Landlock (a container that forbids them, an old Linux, macOS) code is not run,
  unless DRAFTSCOPE_RUN_CODE=unconfined asks for it: the hook stands alone there, and a flaw of CPython (crafted
  bytecode, say) defeats it. On Windows it is never run, since the limits are those of Unix.
- Python code cannot read the token, but code that gains access to memory can: it could forge a pass, and nothing else.
- Code may fool the tests themselves, as by an answer that equals everything, or a builtin that it replaced.
- It may use up its CPU time and memory, see the names and sizes of files, and the time; there is no PID namespace.

So it contains hostile code where filter and Landlock are there, and accidents elsewhere. Strangers' code on a public
server should have a virtual machine besides.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.errors import ConfigError
from engine.tasks.permission import SWITCH, UNCONFINED, code_may_run, require_code_may_run, unconfined_is_allowed

PASSED = "all tests passed"
FLAGS = ("-P", "-s", "-S", "-B")  # -I without -E, which would not let the seed of hashes through
ENVIRONMENT = {"PATH": "/nonexistent", "PYTHONHASHSEED": "0"}
OUTPUT_LIMIT = 10_000  # bytes kept of what the program writes
BUBBLEWRAP = "bubblewrap"
NEEDED = ("system-call filter", "Landlock")  # as sandbox_child calls them
TOKEN_BYTES = 32  # as in sandbox_child
NOT_UNIX = "Generated code is not run on this system: what limits it are processes of Unix."
LIBRARIES = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/etc/ld.so.cache",
)  # as in sandbox_child
_RUNNER = Path(__file__).with_name("sandbox_child.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: `passed`, a one-line `reason`, its output's first bytes, the kernel's layers that held."""

    passed: bool
    reason: str
    output: str
    layers: tuple[str, ...] = ()


def run_python(code: str, *, wall_s: float = 5.0, cpu_s: int = 2, memory_mib: int = 256) -> Outcome:
    """Run `code` to its end; it passes when it neither raises nor breaks a limit.

    Raises:
        ConfigError: running code is switched off here (on a public server unless its owner allows it), or the kernel
            does not confine it.
    """
    require_code_may_run()
    held = require_layers()
    token = secrets.token_bytes(TOKEN_BYTES)
    with tempfile.TemporaryDirectory(prefix="draftscope-") as folder, tempfile.TemporaryFile() as output:
        verdict_read, verdict_write = os.pipe()
        given = (str(cpu_s), str(memory_mib), str(verdict_write))
        command = [*(bubblewrapped() if BUBBLEWRAP in held else plain()), *given]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=folder,
                env=ENVIRONMENT,
                start_new_session=True,
                pass_fds=(verdict_write,),
            )
        except OSError:
            os.close(verdict_read)
            raise
        finally:
            os.close(verdict_write)
        try:
            verdict = _exchange(
                process, token + code.encode(errors="surrogatepass"), verdict_read, time.monotonic() + wall_s
            )
            reason = f"exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            verdict, reason = b"", f"longer than {wall_s:g} s"
        finally:
            _end(process)
            os.close(verdict_read)
        output.seek(0)
        text = output.read(OUTPUT_LIMIT).decode(errors="replace")
    passed = process.returncode == 0 and hmac.compare_digest(verdict, token)
    return Outcome(passed, PASSED if passed else reason, text, held)


@cache
def layers() -> tuple[str, ...]:
    """The layers that hold here, tried once in a process of its own: bubblewrap's where it is installed and works."""
    if not on_unix():
        return ()
    if shutil.which("bwrap") and (found := _tried(bubblewrapped())):
        return (*found, BUBBLEWRAP)
    return _tried(plain())


def on_unix() -> bool:
    """Whether processes take files over, are limited and end with all that they began."""
    return hasattr(os, "killpg")


def plain() -> list[str]:
    """The beginning of the child's command."""
    return [sys.executable, *FLAGS, str(_RUNNER)]


def bubblewrapped() -> list[str]:
    """The same in namespaces of its own, processes among them, where no file is but those of Python's library."""
    python = Path(sys.executable).resolve()
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), f"{sys.base_prefix}/lib"}
    seen = [
        path for path in (*map(str, sorted({*LIBRARIES, *library})), str(python), str(_RUNNER)) if Path(path).exists()
    ]
    binds = [word for path in seen for word in ("--ro-bind", path, path)]
    alone = [
        "--unshare-all",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--chdir",
        "/tmp",
    ]
    return [shutil.which("bwrap") or "bwrap", *alone, *binds, str(python), *plain()[1:]]


def _tried(beginning: list[str]) -> tuple[str, ...]:
    """The kernel's layers that the child finds, when its command begins so; none where it cannot be started."""
    read, write = os.pipe()
    command = [*beginning, "5", "512", str(write), "--layers"]
    with tempfile.TemporaryDirectory(prefix="draftscope-") as folder:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=ENVIRONMENT,
            start_new_session=True,
            pass_fds=(write,),
        )
        os.close(write)
        with os.fdopen(read, "rb") as told:
            found = told.read(1000).decode()
        process.wait()
    return tuple(filter(None, found.split(",")))


def require_layers() -> tuple[str, ...]:
    """The kernel's layers that hold, among them those without which strangers' code is not confined.

    Raises:
        ConfigError: one of them is missing, and running code all the same was not asked for; or this is not Unix.
    """
    if not on_unix():
        raise ConfigError(NOT_UNIX)
    held = layers()
    missing = [name for name in NEEDED if name not in held]
    if missing and not unconfined_is_allowed():
        raise ConfigError(
            f"Generated code is not run here: the kernel has no {' and no '.join(missing)} for it. "
            f"{SWITCH}={UNCONFINED} in the environment runs it with the other limits all the same."
        )
    return held


def said() -> str:
    """One line for the start of a server: whether generated code runs, and what confines it."""
    if not code_may_run():
        return f"Generated code is not run here ({SWITCH}=1 allows it)."
    if not on_unix():
        return NOT_UNIX
    missing = [name for name in NEEDED if name not in layers()]
    if missing and not unconfined_is_allowed():
        return f"Generated code is not run here: no {', no '.join(missing)}."
    return f"Generated code runs confined by {', '.join((*layers(), 'limits', 'audit hook'))}."


def _exchange(process: subprocess.Popen[bytes], given: bytes, verdict: int, until: float) -> bytes:
    """Feed the child and take what it sends; waiting for that is quicker than polling whether it has ended.

    Raises:
        TimeoutExpired: it is still running at `until`, in seconds of the monotonic clock.
    """
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        os.set_blocking(pipe.fileno(), False)
        room = select.poll()
        room.register(pipe, select.POLLOUT)
        while given and room.poll(max(0.0, until - time.monotonic()) * 1000):
            given = given[os.write(pipe.fileno(), given) :]
    taken, poll = b"", select.poll()
    poll.register(verdict, select.POLLIN)
    while len(taken) <= TOKEN_BYTES and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        more = os.read(verdict, 2 * TOKEN_BYTES)
        if not more:
            break
        taken += more
    process.wait(max(0.0, until - time.monotonic()))
    return taken


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole session of the child, then reap it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
