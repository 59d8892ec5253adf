"""Runs generated code in a separate process with limits; used for scoring only.

The process is `python -I` in an empty folder, with no environment, limits on CPU time,
memory, file size, open files and processes, and a wall-clock limit on its whole session.
Python-level guards refuse sockets, subprocesses and writing. This contains accidents, not a
determined attacker: never run it for strangers on a public server.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.tasks.permission import require_code_may_run

PASSED = "all tests passed"
OUTPUT_LIMIT = 10_000  # bytes kept of what the program writes
_RUNNER = Path(__file__).with_name("sandbox_child.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: `passed`, a one-line `reason`, and the first bytes of its output."""

    passed: bool
    reason: str
    output: str


def run_python(code: str, *, wall_s: float = 5.0, cpu_s: int = 2, memory_mib: int = 256) -> Outcome:
    """Run `code` to its end; it passes when it neither raises nor breaks a limit.

    Raises:
        ConfigError: running code is switched off here (on a public Space unless its owner allows it).
    """
    require_code_may_run()
    with tempfile.TemporaryDirectory(prefix="draftscope-") as folder, tempfile.TemporaryFile() as output:
        verdict_read, verdict_write = os.pipe()
        command = [sys.executable, "-I", "-S", str(_RUNNER), str(cpu_s), str(memory_mib), str(verdict_write)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={"PATH": "/nonexistent"},
            start_new_session=True,
            pass_fds=(verdict_write,),
        )
        os.close(verdict_write)
        try:
            process.communicate(code.encode(), timeout=wall_s)
            reason = f"exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            reason = f"longer than {wall_s:g} s"
        finally:
            _end(process)
        os.set_blocking(verdict_read, False)
        try:
            verdict = os.read(verdict_read, 64)
        except BlockingIOError:
            verdict = b""
        os.close(verdict_read)
        output.seek(0)
        text = output.read(OUTPUT_LIMIT).decode(errors="replace")
    passed = process.returncode == 0 and verdict == PASSED.encode()
    return Outcome(passed, PASSED if passed else reason, text)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole session of the child, then reap it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
