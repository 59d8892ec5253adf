"""The wheel: `draftscope.engine` and `draftscope.app` work where no checkout is, and never import by the short names."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from engine import __version__
from engine.files.places import ROOT

BLOCK = """
import sys
class Checkout:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("engine", "app"):
            raise ImportError(f"{name} is a name of the checkout")
sys.meta_path.insert(0, Checkout())
"""


def hook():
    """The build hook, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("wheel", ROOT / ".ci/wheel.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that holds the package as a wheel would install it."""
    place = tmp_path_factory.mktemp("site")
    hook().tree(ROOT, place / "draftscope")
    (place / "sitecustomize.py").write_text(BLOCK)
    return place


def ask(place: Path, *words: str) -> subprocess.CompletedProcess:
    env = os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    run = [sys.executable, *words]
    return subprocess.run(run, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=120)


COMMAND = ("-c", "import sys; from draftscope.app.command import main; sys.exit(main())")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from engine.lab import Lab\n", "from draftscope.engine.lab import Lab\n"),
        ("    from app import figures\n", "    from draftscope.app import figures\n"),
        ("import engine.lab as lab\n", "import draftscope.engine.lab as lab\n"),
        ('import_module("engine.lab")', 'import_module("draftscope.engine.lab")'),
        ("run `python -m engine readme`", "run `python -m draftscope.engine readme`"),
        ("from engineering import x\n", "from engineering import x\n"),
        ('concurrency_id="engine"', 'concurrency_id="engine"'),
        ("what the engine. does", "what the engine. does"),
    ],
)
def test_what_is_rewritten(text, wanted):
    assert hook().rewritten(text) == wanted


def test_no_module_of_the_package_imports_by_the_checkouts_names(installed):
    found = []
    for path in installed.rglob("draftscope/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            found += [f"{path}: {name}" for name in names if name.split(".")[0] in ("engine", "app")]
    assert not found


@pytest.mark.installed
def test_the_command_tells_its_version_and_its_commands(installed):
    told = ask(installed, *COMMAND, "--help").stdout
    assert all(word in told for word in ("serve", "compare", "replay", "judge-eval"))
    code = "import sys; from draftscope.app.command import main; main(['--version']); sys.exit(main(['runn']))"
    done = ask(installed, "-c", code)
    assert done.stdout == f"draftscope {__version__}\n"
    assert done.returncode == 2 and "usage: draftscope" in done.stderr


@pytest.mark.installed
def test_recorded_cases_are_read_and_methods_run_from_the_package(installed):
    case = next((installed / "draftscope/presets/traces").glob("first_look-1-*.gz"))
    code = (
        "import sys; from draftscope.app.command import main; print(main(['replay', sys.argv[1]]));"
        "import draftscope; lab = draftscope.Lab.load('tiny');"
        "ask = lambda m: lab.run(m, '1 + 2 =', max_new_tokens=12); a, b = ask('ar'), ask('eagle3');"
        "assert isinstance(a, draftscope.Trace); print(a.text == b.text, len(a.tokens), draftscope.__version__)"
    )
    done = ask(installed, "-c", code, str(case))
    *told, status, same, tokens, version = done.stdout.split()
    assert status == "0" and "all hold" in " ".join(told), done.stderr
    assert (same, tokens, version) == ("True", "12", __version__), done.stderr


@pytest.mark.slow
def test_the_wheel_in_an_environment_of_its_own(tmp_path):
    """Built by pip, installed, asked and served; what it depends on is lent by this environment."""
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"draftscope-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
        about = Parser().parsestr(held.read(f"draftscope-{__version__}.dist-info/METADATA").decode())
    assert {name.split("/")[0] for name in names} == {"draftscope", f"draftscope-{__version__}.dist-info"}
    assert {"draftscope/py.typed", "draftscope/presets/tiny.toml", "draftscope/app/static/store.js"} <= names
    asked = {line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()} - {""}
    plain = {text.replace(" ", "") for text in about.get_all("Requires-Dist", [])}
    assert len(plain) == len(asked) and {t.split("<")[0].split(">")[0] for t in plain} == {
        t.split("<")[0].split(">")[0] for t in asked
    }
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python = place / "bin/python"
    lent = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    own = next(place.glob("lib/python*/site-packages"))
    (own / "lent.pth").write_text(f"{lent}\n")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    told = subprocess.run(
        [place / "bin/draftscope", "run", "sd", "1 + 2 =", "--max-new-tokens", "8", "--json"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["metrics"]["tokens"] == 8
    page = subprocess.Popen([place / "bin/draftscope", "serve", "--port", "7993", "--lazy"], cwd=tmp_path, env=env)
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen("http://127.0.0.1:7993/healthz", timeout=3) as answer:
                    assert answer.status == 200
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail("the page did not start")
    finally:
        page.terminate()
        page.wait(20)
