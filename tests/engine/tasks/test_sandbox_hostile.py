"""Code that tries to get out: what it must not reach, with all guards, and with the kernel's alone."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConfigError
from engine.tasks import permission, sandbox, sandbox_child
from engine.tasks.sandbox import run_python

# Each writes PATH if it can. What it raises is swallowed, so that only the file tells.
WRITERS = {
    "hook switched off": "import __main__\n__main__._refuse = __main__._guard = lambda *a, **k: None\nopen(PATH, 'w')",
    "hook's builtins replaced": "import builtins\nbuiltins.isinstance = lambda *a: False\nbuiltins.type = builtins.set = None\nopen(PATH, 'w')",
    "hook's frame changed": """
try:
    open(PATH, 'w')
except Exception as error:
    trace = error.__traceback__
    while trace:
        for known in (trace.tb_frame.f_globals, trace.tb_frame.f_locals):
            for name in ('writes', 'forbidden', 'WRITES', 'FORBIDDEN'):
                try:
                    known[name] = type(known[name])()
                except Exception:
                    pass
        trace = trace.tb_next
open(PATH, 'w')""",
    "text that changes its mind": "class T(str):\n    def __contains__(s, x): return False\n    startswith = lambda *a: True\nopen(T(PATH), T('w'))",
    "shell without an event": """
import _posixsubprocess, os
r, w = os.pipe()
_posixsubprocess.fork_exec([b'/bin/sh', b'-c', b'sleep 0.5; echo x > ' + PATH.encode()], [b'/bin/sh'], True, (w,), None, None,
    -1, -1, -1, -1, -1, -1, r, w, False, True, -1, None, None, None, -1, None, False)""",
    "shell through subprocess": "import subprocess\nsubprocess._fork_exec = None\nsubprocess.run(['/bin/sh', '-c', 'echo x > ' + PATH])",
    "database": "import sqlite3\nc = sqlite3.connect(PATH)\nc.execute('create table t (x)')\nc.commit()",
    "database in C": "import _sqlite3\nc = _sqlite3.connect(PATH)\nc.execute('create table t (x)')\nc.commit()",
    "fifo": "import os\nos.mkfifo(PATH)",
    "fifo, kept elsewhere": "import os\n[f(PATH) for f in os.supports_dir_fd if f.__name__ == 'mkfifo']",
    "node": "import os\nos.mknod(PATH)",
    "subinterpreter": "import _xxsubinterpreters as s\ns.run_string(s.create(), 'open(%r, \"w\")' % PATH)",
    "subinterpreter from its file": """
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith('_xxsubinterpreters'):
            s = loader.load_module()
            s.run_string(s.create(), 'open(%r, "w")' % PATH)""",
    "another process": "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=open, args=(PATH, 'w'))\np.start()\np.join()",
    "foreign code from the cache": """
import _imp, os, sys
from types import SimpleNamespace
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith('_ctypes.'):
            found = _imp.create_dynamic(SimpleNamespace(name='_ctypes', origin=folder + '/' + name))
            sys.modules['_ctypes'] = found
            handle = found.dlopen(None, 0)
            found.call_function(found.dlsym(handle, 'creat'), (PATH.encode(), 0o600))""",
    "foreign code by importlib": """
import importlib.machinery as m, os, sys
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith('_ctypes.'):
            loader = m.ExtensionFileLoader('_ctypes', folder + '/' + name)
            found = loader.create_module(m.ModuleSpec('_ctypes', loader, origin=folder + '/' + name))
            handle = found.dlopen(None, 0)
            found.call_function(found.dlsym(handle, 'creat'), (PATH.encode(), 0o600))""",
    "foreign code": "import ctypes\nctypes.CDLL(None).creat(PATH.encode(), 0o600)",
}

# Each attacks the process PID and prints what it learns.
ATTACKS = {
    "signal": "import os, signal\nos.kill(PID, signal.SIGKILL)",
    "signal, through a descriptor": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(PID), signal.SIGKILL)",
    "signal, in C": "import os, _signal\n_signal.pidfd_send_signal(os.pidfd_open(PID), 9)",
    "signal, by a pipe's owner": "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, 8, PID)\nfcntl.fcntl(r, 4, 0o20000)\nos.write(w, b'x')",
    "limits": "import resource\nresource.prlimit(PID, resource.RLIMIT_CPU, (1, 1))",
    "priority": "import os\nos.setpriority(os.PRIO_PROCESS, PID, 19)",
    "processors": "import os\nos.sched_setaffinity(PID, {0})",
    "environment": "print(open(f'/proc/{PID}/environ').read())",
    "environment, roundabout": "import os\nprint(os.read(os.open(f'/usr/lib/../../proc/{PID}/environ', os.O_RDONLY), 9999))",
    "environment, as bytes": "print(open(f'/proc/{PID}/environ'.encode()).read())",
    "environment, by a folder": "import os\nd = os.open('/proc', os.O_RDONLY)\nprint(os.read(os.open(f'{PID}/environ', os.O_RDONLY, dir_fd=d), 9999))",
}

# Each looks for the token wherever Python code can look, and claims success with what it finds.
CLAIM = """
import os, sys
def claim(token):
    for fd in range(3, 16):
        try:
            os.write(fd, token)
        except OSError:
            pass
def search(value):
    for found in value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]:
        if isinstance(found, (bytes, bytearray)) and len(found) >= 32:
            claim(bytes(found[:32]))
"""
FORGERIES = {
    "the old words": "import os, sys\nos.write(int(sys.argv[3]), b'all tests passed')",
    "arguments": CLAIM + "[claim(word.encode()) for word in sys.argv]",
    "the rest of stdin": CLAIM + "search(os.read(0, 99))\nsearch(sys.stdin.buffer.read())",
    "frames": CLAIM + "f = sys._getframe()\nwhile f:\n    search(f.f_locals); search(f.f_globals); f = f.f_back",
    "frames of a traceback": CLAIM + "try:\n    1 / 0\nexcept Exception as e:\n    f = e.__traceback__.tb_frame\n"
    "    while f:\n        search(f.f_locals); search(f.f_globals); f = f.f_back",
    "modules": CLAIM + "for m in list(sys.modules.values()):\n    search(vars(m))",
    "the collector": CLAIM + "import gc\nfor o in gc.get_objects():\n    search(o)\n    search(gc.get_referents(o))",
    "its own memory": CLAIM + "print(open('/proc/self/mem').read(1))",
}
SKIPPED_TEST = """
import sys
def jump(frame, event, arg):
    if event == 'line' and frame.f_lineno == END - 1:
        frame.f_lineno = END
    return jump
sys.settrace(jump)
sys._getframe().f_trace = jump
assert False
x = 1
"""


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that does nothing, with a secret in its environment."""
    with subprocess.Popen(["/bin/sleep", "60"], env={"SECRET": "xyzzy"}) as process:
        yield process
        process.kill()


@pytest.mark.thorough
@pytest.mark.parametrize("code", WRITERS.values(), ids=WRITERS.keys())
def test_nothing_is_written(code: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    path = tmp_path / "left"
    body = "\n".join("    " + line for line in code.strip().splitlines())
    outcome = run_python(
        f"PATH = {str(path)!r}\ntry:\n{body}\nexcept BaseException as e:\n    print(repr(e))\n", wall_s=3.0
    )
    if "shell" in code or "sh'" in code:
        time.sleep(1.0)
    assert not path.exists(), outcome
    assert "IndentationError" not in outcome.output and "SyntaxError" not in outcome.output


@pytest.mark.parametrize("code", ATTACKS.values(), ids=ATTACKS.keys())
def test_other_processes_are_out_of_reach(code: str, bystander: subprocess.Popen[bytes]) -> None:
    def state() -> tuple[object, ...]:
        pid = bystander.pid
        return (
            resource.prlimit(pid, resource.RLIMIT_CPU),
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getaffinity(pid),
        )

    before = state()
    outcome = run_python(f"PID = {bystander.pid}\n{code}", wall_s=3.0)
    assert not outcome.passed and "xyzzy" not in outcome.output
    assert bystander.poll() is None and state() == before


@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_pass_cannot_be_claimed(code: str) -> None:
    assert not run_python(
        f"import os\ntry:\n    exec({code!r})\nexcept Exception as e:\n    print(repr(e))\nos._exit(0)"
    ).passed


def test_a_failing_test_cannot_be_jumped_over() -> None:
    end = SKIPPED_TEST.count("\n")
    assert not run_python(SKIPPED_TEST.replace("END", str(end))).passed


def test_text_that_is_no_unicode_fails_as_code_does() -> None:
    assert not run_python("x = '\ud800'").passed
    assert not run_python("x = '\0'").passed


@pytest.mark.parametrize(
    "name", ["ctypes", "resource", "sqlite3", "multiprocessing", "_testcapi", "_ctypes", "readline"]
)
def test_modules_that_go_round_the_guards_cannot_be_imported(name: str) -> None:
    assert "ImportError" in run_python(f"import {name}").output


def test_what_answers_need_still_works() -> None:
    modules = "math random re collections typing datetime hashlib itertools json decimal fractions statistics heapq string zoneinfo"
    others = (
        "asyncio unittest subprocess logging importlib.resources concurrent.futures tempfile threading uuid platform"
    )
    code = f"""
from __future__ import annotations
import {", ".join((modules + " " + others).split())}
import dataclasses, enum, traceback
Point = collections.namedtuple("Point", "x y")
@dataclasses.dataclass
class Named:
    point: Point
    size: int = 3
async def soon(): return 5
assert Named(Point(1, 2)).point.y == 2 and enum.Enum("E", "a b").a.value == 1
assert asyncio.iscoroutinefunction(soon) and hashlib.sha256(b"x").digest() and decimal.Decimal(1) / 3
try:
    1 / 0
except ZeroDivisionError:
    assert "<answer>" in traceback.format_exc()
assert open(random.__file__).read(1)
"""
    outcome = run_python(code)
    assert outcome.passed, outcome


def test_a_call_is_quick() -> None:
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    assert all(run_python("x = 1").passed for _ in range(5))
    assert (spent() - before) / 5 < 0.15  # seconds of a processor


# ---- the kernel's guards, without the interpreter's

KERNEL = sys.platform == "linux" and os.uname().machine in sandbox_child.MACHINES
ALONE = {
    "start a program": "os.execv('/bin/true', ['true'])",
    "fork": "os.fork()",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "write": "open(FILE, 'a').write('x')",
    "read": "print(open(f'/proc/{PID}/environ').read())",
    "connect": "import socket; socket.socket()",
    "signal": "os.kill(PID, 9)",
    "descriptor of a process": "os.pidfd_open(PID)",
    "limits": "resource.prlimit(PID, resource.RLIMIT_CPU, (1, 1))",
    "own limits": "resource.setrlimit(resource.RLIMIT_CPU, (99, 99))",
    "foreign code": "raise OSError(ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None))",
    "namespaces": "raise OSError(ctypes.CDLL(None).unshare(0x10000000))",
    "owner of a pipe": "import fcntl; fcntl.fcntl(os.pipe()[0], 8, PID)",
    "fifo": "os.mkfifo(FILE + '2')",
    "delete": "os.remove(FILE)",
}


@pytest.mark.parametrize("code", ALONE.values() if KERNEL else [], ids=ALONE.keys() if KERNEL else [])
def test_the_kernel_refuses_by_itself(code: str, bystander: subprocess.Popen[bytes], tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "kept").write_text("")
    start = f"import sys, os\nsys.path.insert(0, {str(Path(sandbox.__file__).parent)!r})\nimport ctypes, resource, socket, fcntl\n"
    confine = "import sandbox_child\nsandbox_child.confine(tuple(p for p in sys.path[1:] if os.path.exists(p)))\n"
    body = f"PID, FILE = {bystander.pid}, {str(tmp_path / 'kept')!r}\ntry:\n    {code}\nexcept OSError as e:\n    print('refused', e)\nelse:\n    print('done')\n"
    command = [sys.executable, "-I", "-S", "-B", "-c", start + confine + body]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == -signal.SIGSYS or ended.stdout.startswith("refused"), ended
    assert "xyzzy" not in ended.stdout and bystander.poll() is None
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept", "")]


def decide(program: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    """What a filter returns for a call, by interpreting it."""
    words = [*arguments, *[0] * 6][:6]
    data = struct.pack("<IIQ6Q", number, arch, 0, *words)
    code, at, word = [struct.unpack_from("HBBI", program, i) for i in range(0, len(program), 8)], 0, 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x06:
            return value
        if operation == 0x20:
            word = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x15:
            at += yes if word == value else no
        else:
            assert operation == 0x45
            at += yes if word & value else no


@pytest.mark.parametrize("machine", sandbox_child.MACHINES)
def test_the_filter_decides_as_its_tables_say(machine: str) -> None:
    column, arch = sandbox_child.MACHINES[machine]
    program, c = sandbox_child.syscall_filter(machine, 77), sandbox_child
    assert len(program) // 8 < 4096

    def says(numbers: tuple[int, int], *arguments: int) -> int:
        return decide(program, numbers[column], arch, arguments)

    assert all(says(numbers) == c.ALLOW for numbers in c.ALLOWED.values() if numbers[column] >= 0)
    assert all(says(numbers) == c.KILL for numbers in c.KILLED.values() if numbers[column] >= 0)
    assert says(c.OPENAT, 0, 0, os.O_RDONLY) == c.ALLOW and says(c.OPENAT, 0, 0, os.O_CREAT) == c.NO_ACCESS
    assert says(c.OPENAT, 0, 0, os.O_RDWR) == says(c.OPENAT, 0, 0, os.O_TRUNC) == c.NO_ACCESS
    assert says(c.CLONE, 0x3D0F00) == c.ALLOW and says(c.CLONE, 0x1200011) == c.KILL
    assert says(c.TGKILL, 77, 77, 6) == c.ALLOW and says(c.TGKILL, 1, 1, 9) == c.KILL
    assert says(c.PRLIMIT64, 0, 7, 0, 1 << 40) == c.ALLOW
    assert says(c.PRLIMIT64, 0, 7, 1 << 40) == says(c.PRLIMIT64, 0, 7, 64) == c.NO_SUCH_CALL
    assert says(c.FCNTL, 1, 3) == says(c.FCNTL, 1, 1030) == c.ALLOW and says(c.FCNTL, 1, 8) == c.NO_SUCH_CALL
    assert says(c.IOCTL, 1, 0x5401) == c.ALLOW and says(c.IOCTL, 1, 0x5412) == c.NO_SUCH_CALL
    assert decide(program, 41, arch) == decide(program, 1000, arch) == c.NO_SUCH_CALL or machine == "aarch64"
    assert decide(program, 0, 0x40000003) == c.KILL  # a call of the 32-bit kind


CACHE = """
import _imp, os, sys
from types import SimpleNamespace
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith('_ctypes.'):
            try:
                print('LOADED', _imp.create_dynamic(SimpleNamespace(name='_ctypes', origin=folder + '/' + name)))
            except ImportError as error:
                print('refused', error)
"""


def test_the_extension_cache_gives_nothing() -> None:
    """_ctypes was loaded before, to confine the process; the cache gives it again without an audit event."""
    output = run_python(CACHE).output
    assert "LOADED" not in output and ("refused" in output or "_ctypes" in sys.builtin_module_names)


@pytest.mark.skipif(not KERNEL, reason="no kernel layers here")
def test_a_result_says_what_confined_it() -> None:
    assert set(sandbox.NEEDED) <= set(run_python("x = 1").layers) == set(sandbox.layers())
    assert sandbox.said().startswith("Generated code runs confined by system-call filter, Landlock")


@pytest.mark.parametrize("held", [(), ("Landlock",), ("system-call filter", "namespaces")])
def test_without_the_kernels_layers_nothing_runs_unless_asked_by_name(
    held: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "layers", lambda: held)
    for asked in ("", "1"):
        if asked:
            monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", asked)
        with pytest.raises(ConfigError, match="DRAFTSCOPE_RUN_CODE=unconfined"):
            run_python("x = 1")
        assert sandbox.said().startswith("Generated code is not run here: no ")
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "unconfined")
    assert run_python("x = 1").passed


@pytest.mark.thorough
def test_a_child_that_never_reads_its_program_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "layers", lambda: sandbox.NEEDED)
    monkeypatch.setattr(sandbox, "plain", lambda: ["/bin/sh", "-c", "/bin/sleep 20"])
    start = time.monotonic()
    outcome = run_python("x = 1\n" * 100_000, wall_s=1.0)
    assert outcome.reason == "longer than 1 s" and time.monotonic() - start < 5


def test_a_child_that_cannot_be_started_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "layers", lambda: sandbox.NEEDED)
    monkeypatch.setattr(sandbox, "plain", lambda: ["/no/such/python"])
    descriptors = {path.name for path in Path("/dev/fd").iterdir()}
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            run_python("x = 1")
    assert {path.name for path in Path("/dev/fd").iterdir()} == descriptors


def test_a_limit_that_macos_does_not_know_keeps_nothing_from_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refused)
    with pytest.raises(ValueError, match="exceeds"):
        sandbox_child._limit(resource.RLIMIT_AS, 1 << 28)
    monkeypatch.setattr(sys, "platform", "darwin")
    sandbox_child._limit(resource.RLIMIT_AS, 1 << 28)
    with pytest.raises(ValueError, match="exceeds"):
        sandbox_child._limit(resource.RLIMIT_CPU, 2)


@pytest.mark.parametrize("asked", ["1", "unconfined"])
def test_where_processes_are_not_those_of_unix_nothing_runs_and_nothing_fails(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where a child takes no open file over and has no session."""

    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", asked)
    sandbox.layers.cache_clear()
    try:
        assert sandbox.said() == sandbox.NOT_UNIX and sandbox.layers() == ()
        with pytest.raises(ConfigError, match="not run on this system"):
            run_python("x = 1")
    finally:
        sandbox.layers.cache_clear()


def test_a_public_server_runs_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "")  # so that it is put back afterwards
    monkeypatch.delenv("DRAFTSCOPE_RUN_CODE")
    permission.deny_by_default()
    with pytest.raises(ConfigError, match="switched off here"):
        run_python("x = 1")
    assert "not run here (DRAFTSCOPE_RUN_CODE=1" in sandbox.said()


def test_the_child_knows_the_length_of_the_token_and_the_names_of_layers() -> None:
    assert sandbox.NEEDED == (sandbox_child.FILTER, sandbox_child.LANDLOCK)
    assert sandbox.TOKEN_BYTES == sandbox_child.TOKEN_BYTES and sandbox.LIBRARIES == sandbox_child.LIBRARIES


def test_bubblewrap_is_used_where_it_works(bystander: subprocess.Popen[bytes]) -> None:
    """Processes, files and the host's name of this machine are not there, before any other layer is asked."""
    if sandbox.BUBBLEWRAP not in sandbox.layers():
        pytest.skip("bwrap is not installed here, or may not make namespaces")
    start = sandbox.bubblewrapped()
    look = (
        "import os; print(os.path.exists('/proc'), os.listdir('/home') if os.path.exists('/home') else [], os.getpid())"
    )
    command = [*start[: start.index(str(sandbox._RUNNER), start.index("-P"))], "-c", look]
    told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()
    assert told[:2] == ["False", "[]"] and int(told[2]) < 10
    attack = [*command[:-1], f"import os; os.kill({bystander.pid}, 9)"]
    ended = subprocess.run(attack, capture_output=True, text=True, timeout=20, check=False)
    assert "ProcessLookupError" in ended.stderr and bystander.poll() is None
    assert sandbox.BUBBLEWRAP in run_python("x = 1").layers and "bubblewrap" in sandbox.said()


def test_without_bubblewrap_the_other_layers_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    held = sandbox.layers.__wrapped__()
    assert sandbox.BUBBLEWRAP not in held
    monkeypatch.setattr(sandbox, "layers", lambda: held)
    if not KERNEL:
        pytest.skip("no kernel layers here")
    assert run_python("x = 1").passed


def test_a_bubblewrap_that_may_not_make_namespaces_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(broken))
    assert sandbox.BUBBLEWRAP not in sandbox.layers.__wrapped__()
