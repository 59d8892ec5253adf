"""The sandbox ends every kind of misbehaviour and says that it failed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine.tasks.sandbox import OUTPUT_LIMIT, run_python

MISBEHAVIOUR = {
    "endless loop": "while True: pass",
    "sleep": "import time\ntime.sleep(60)",
    "fork": "import os\nos.fork()",
    "raw fork": "import posix\nposix.fork()",
    "fork in a try": "import os\ntry:\n    os.fork()\nexcept Exception:\n    pass\nraise SystemExit(3)",
    "threads": "import threading, time\n[threading.Thread(target=time.sleep, args=(9,)).start() for _ in range(99)]",
    "subprocess": "import subprocess\nsubprocess.run(['/bin/true'])",
    "shell": "import os\nos.system('true')",
    "huge output": "while True: print('x' * 1000)",
    "huge memory": "x = bytearray(2 << 30)",
    "growing list": "x = [0]\nwhile True: x += x",
    "write": "open('a', 'w').write('x')",
    "low-level write": "import os\nos.open('a', os.O_WRONLY | os.O_CREAT)",
    "delete": "import os\nos.remove(__import__('sys').argv[0])",
    "socket": "import socket\nsocket.socket()",
    "raw socket": "import _socket\ns = _socket.socket()\ns.connect(('127.0.0.1', 9))",
    "name lookup": "import socket\nsocket.getaddrinfo('localhost', 80)",
    "foreign code": "import ctypes\nctypes.CDLL(None).getpid()",
    "kill": "import os\nos.kill(os.getppid(), 0)",
    "early exit": "raise SystemExit(0)",
    "hard exit": "import os\nos._exit(0)",
    "claimed verdict": "print('all tests passed')\nraise SystemExit(0)",
    "syntax error": "def f(:",
    "failed test": "assert 1 == 2",
    "deep recursion": "def f(): f()\nf()",
}


@pytest.mark.thorough
@pytest.mark.parametrize("code", MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys())
def test_misbehaviour_fails_within_the_limits(code: str) -> None:
    start = time.monotonic()
    outcome = run_python(code, wall_s=2.0, cpu_s=1)
    assert not outcome.passed
    assert time.monotonic() - start < 6
    assert len(outcome.output) <= OUTPUT_LIMIT


def test_good_code_passes() -> None:
    assert run_python("import math\nassert math.sqrt(4) == 2\nprint('fine')").passed


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    target = tmp_path / "left"
    run_python(f"open({str(target)!r}, 'w').write('x')")
    assert not target.exists()


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_WORD", "xyzzy")
    assert "xyzzy" not in run_python("import os\nprint(dict(os.environ))").output


def test_a_program_ends_the_same_each_time() -> None:
    outcomes = [run_python("x = set('abcdefgh')\nprint(list(x))\nassert x.pop() in 'abcd'") for _ in range(3)]
    assert outcomes[0].output and len(set(outcomes)) == 1


def test_an_error_is_reported() -> None:
    assert "ZeroDivisionError" in run_python("1 / 0").output
