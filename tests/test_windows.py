"""What only Unix has is used nowhere without asking whether it is there: on Windows the lab starts and runs.

No Windows is at hand: what it lacks is taken away from Python's own modules behind the imports of others, which know
Windows themselves.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LACKS = {  # Python's documentation, "Availability: Unix"
    "os": "fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpriority getuid killpg mkfifo nice "
    "pread pwrite register_at_fork sched_getaffinity setsid statvfs sysconf uname wait3 wait4 WNOHANG O_CLOEXEC "
    "O_DIRECTORY O_NOFOLLOW O_NONBLOCK",
    "signal": "alarm pthread_sigmask setitimer SIGALRM SIGCHLD SIGHUP SIGPIPE SIGQUIT SIGUSR1 SIGUSR2",
    "select": "poll",
    "socket": "AF_UNIX",
}
GONE = ("grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
SCRIPT = """
    import importlib, os, pkgutil, select, signal, socket, subprocess, sys, tempfile
    import accelerate, datasets, gradio, sklearn.linear_model, torch, transformers, uvicorn
    for module, names in LACKS.items():
        for name in names.split():
            vars(sys.modules[module]).pop(name, None)
    sys.modules.update(dict.fromkeys(GONE))
    start = subprocess.Popen.__init__
    def without_files(self, *given, **how):
        assert not how.get("pass_fds"), "pass_fds not supported on Windows."
        start(self, *given, **how)
    subprocess.Popen.__init__ = without_files

    import app, engine
    for package in (engine, app):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(("__main__", ".sandbox_child", "app.space")):
                importlib.import_module(module.name)

    from app import scratch
    from engine.lab import Lab
    from engine.tasks import sandbox
    left = os.path.join(tempfile.gettempdir(), "draftscope-app-4194999-left")
    os.mkdir(left)
    assert scratch.fresh("x").is_dir() and not os.path.exists(left)
    assert sandbox.said() == sandbox.NOT_UNIX
    print(Lab.load("tiny").run("sd", "1 + 1 =", max_new_tokens=4).token_ids)
"""


@pytest.mark.thorough
def test_the_lab_starts_and_runs_without_what_only_unix_has(tmp_path: Path) -> None:
    script = f"LACKS, GONE = {LACKS!r}, {GONE!r}\n{textwrap.dedent(SCRIPT)}"
    (tmp_path / "temporary").mkdir()
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert len(ran.stdout.split(",")) == 4
