"""The wheel: `draftscope.engine` and `draftscope.app` work where no checkout is, and never import by the short names."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from gradio_client import Client

from engine import __version__
from engine.files.places import ROOT
from tests.app.fakes import free_port
from tests.test_recipes import RECIPES

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


def ask(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess:
    env = os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    run = [sys.executable, *words]
    return subprocess.run(run, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=120)


NOTEBOOK = """
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read("notebook.ipynb", as_version=4)
NotebookClient(notebook, timeout=300).execute()
assert any("<iframe" in out["data"].get("text/html", "") for cell in notebook.cells for out in cell.get("outputs", ())
           if "data" in out)
"""
COMMAND = ("-m", "draftscope")


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


@pytest.mark.thorough
def test_no_module_of_the_package_imports_by_the_checkouts_names(installed):
    found = []
    for path in installed.rglob("draftscope/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            found += [f"{path}: {name}" for name in names if name.split(".")[0] in ("engine", "app")]
    assert not found


@pytest.mark.thorough
def test_commands_that_the_page_and_notes_name_are_those_of_the_package(installed):
    """There is no `python -m engine` beside it."""
    package = installed / "draftscope"
    for name in ("app/static", "presets", "docs/methods"):
        texts = [p.read_text() for p in (package / name).rglob("*") if p.suffix in (".js", ".md", ".toml")]
        assert any("python -m draftscope.engine" in text for text in texts)
        assert not any(re.search(r"python -m (engine|app)\b", text) for text in texts)


@pytest.mark.installed
def test_the_command_tells_its_version_and_its_commands(installed):
    told = ask(installed, *COMMAND, "--help").stdout
    assert all(word in told for word in ("serve", "page", "compare", "replay", "judge-eval"))
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


@pytest.mark.installed
@pytest.mark.parametrize("where", ["draftscope.engine.", ".."])
def test_methods_of_ones_own_are_found_by_the_package(installed, tmp_path, where):
    """The recipes of CONTRIBUTING.md, which import from the package, or relatively."""
    for name, text in RECIPES.items():
        if name.startswith("engine/"):
            path = tmp_path / name.removeprefix("engine/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("from engine.", f"from {where}"))
    code = (
        "import draftscope; lab = draftscope.Lab.load('tiny');"
        "print(*(lab.run(m, '1 + 2 =', max_new_tokens=8).text == lab.run('ar', '1 + 2 =', max_new_tokens=8).text"
        " for m in ('echo', 'patient')), lab.run('second', '1 + 2 =', max_new_tokens=8).head.rule)"
    )
    done = ask(installed, "-c", code, DRAFTSCOPE_PARTS=str(tmp_path))
    assert done.stdout.split() == ["True", "True", "second"], done.stderr[-2000:]
    (tmp_path / "rules/exact.py").write_text("")
    done = ask(installed, *COMMAND, "methods", DRAFTSCOPE_PARTS=str(tmp_path))
    assert done.returncode == 2 and "exact.py would stand in place of the lab's own exact.py" in done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel in an environment of its own: that of `make test-wheel`, which holds nothing else, or one to which this
    environment lends what the wheel depends on."""
    if given := os.environ.get("DRAFTSCOPE_WHEEL"):
        return Path(given).resolve()
    place = tmp_path_factory.mktemp("wheel")
    wheel = built(place)
    venv.create(place / "venv", with_pip=True)
    lent = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    own = next((place / "venv").glob("lib/python*/site-packages"))
    (own / "lent.pth").write_text(f"{lent}\n")
    pip = str(place / "venv/bin/pip")
    subprocess.run([pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    return place / "venv"


def built(place: Path) -> Path:
    """The wheel, made by pip."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", place, ROOT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = place.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_what_a_wheel_holds(tmp_path):
    wheel = built(tmp_path)
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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_environment_with_the_wheel_alone(environment, tmp_path):
    """Run, compare, replay, a page to send, a notebook, and the server with a run over HTTP."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def asked(*words: str | Path) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    draftscope = environment / "bin/draftscope"
    told = json.loads(asked(draftscope, "run", "sd", "1 + 2 =", "--max-new-tokens", "8", "--json"))
    assert told["metrics"]["tokens"] == 8
    compare = ("compare", "--methods", "ar,eagle3", "--task", "arithmetic", "--items", "2", "--max-new-tokens", "20")
    table = json.loads(asked(draftscope, *compare, "--record", "full", "--out", "runs", "--json"))
    assert table["eagle3"]["same_output_as_ar"] == 2 and table["eagle3"]["tau"] > 1
    runs = sorted((tmp_path / "runs").glob("*.jsonl.gz"))
    assert len(runs) == 4 and "all hold" in asked(draftscope, "replay", *runs)
    assert "page.html: 1 file" in asked(draftscope, "page", *runs, "--out", "page.html")
    assert (tmp_path / "page.html").stat().st_size > 300_000
    assert len([json.loads(one) for one in asked(draftscope, "export", "--names", "vllm", *runs).splitlines()]) == 4
    evaluated = json.loads(asked(draftscope, "eval", "--items", "1", "--no-cards", "--json"))
    assert evaluated["items"] == 1 and evaluated["target"] and evaluated["pair"]
    shutil.copy(ROOT / "docs/notebook.ipynb", tmp_path)
    asked(environment / "bin/python", "-c", NOTEBOOK)
    port = free_port()
    page = subprocess.Popen([draftscope, "serve", "--port", str(port)], cwd=tmp_path, env=env, stdout=subprocess.PIPE)
    try:
        assert page.stdout and b"Draftscope is on" in next(iter(page.stdout.readline, b"")), "it says so when it is up"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            assert answer.status == 200 and b"Draftscope" in answer.read()
        job = Client(f"http://127.0.0.1:{port}", verbose=False).submit(
            methods=["ar", "sd"], prompt="1 + 2 =", max_new_tokens=8, api_name="/run"
        )
        job.result(timeout=120)
        messages = [json.loads(text) for text in job.outputs()]
        assert messages[-1]["done"] and any("ev" in message for message in messages)
    finally:
        page.terminate()
        page.wait(20)
