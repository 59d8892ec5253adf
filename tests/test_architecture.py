"""The rules of the house that a machine can check: who imports whom, what knows torch, and what is written where."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.files.places import ROOT
from engine.methods import CARDS

PLAIN = (
    "engine.trace.store",
    "engine.trace.codec",
    "engine.config",
    "engine.errors",
    "engine.files.documents",
    "engine.files.presets",
)  # and all of engine.analysis
HEAVY = ("torch", "transformers", "gradio", "plotly")
SPEAKS = ("engine/__main__.py", "engine/cli", "engine/training", "app/starting.py")  # may print
TEXT = {".py", ".md", ".toml", ".txt", ".js", ".css", ".html", ".json", ".yml", ".yaml", ".cfg", ""}


def sources(*rooms: str) -> list[Path]:
    """Python files of some rooms."""
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def tracked() -> list[Path]:
    """Files that git knows, or a skip where the repository is not a checkout."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip("not a git checkout")
    return [path for name in found.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


IN_PLACE = {
    "engine/cli/readme.py",
    "engine/bench/enlarged.py",
    "engine/training/models.py",
}  # of git, and into new folders


def test_files_are_written_whole_or_not_at_all() -> None:
    """A disk that fills up, or a kill, leaves the old file: `engine.files.written` puts a new one in its place."""
    bare = re.compile(r"\.write_(text|bytes)\(|\.open\([\"']w")
    found = {path.relative_to(ROOT).as_posix() for path in sources("engine") if bare.search(path.read_text("utf-8"))}
    assert found - {"engine/status.py"} == IN_PLACE


def test_import_contracts() -> None:
    """The contracts of pyproject.toml: layers, torch-free rooms, independent parts."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_traces_and_analysis_need_no_torch() -> None:
    """A reviewer opens a trace without any model: none of the heavy libraries is loaded by these rooms."""
    names = [
        *PLAIN,
        *(f"engine.analysis.{p.stem}" for p in (ROOT / "engine/analysis").glob("*.py") if p.stem != "__init__"),
    ]
    code = (
        f"import importlib, json, sys\n[importlib.import_module(n) for n in {names!r}]\n"
        f"print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not json.loads(done.stdout)


def strings(path: Path) -> Iterator[str]:
    """Every string constant of a Python file that is no docstring, or every quoted string of a script."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from (a or b for a, b in re.findall(r"\"([^\"\n]*)\"|'([^'\n]*)'", text))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_app_knows_no_method_by_name() -> None:
    """The page is made from cards: a new method appears without a line in app/."""
    names = {card.name for card in CARDS} - {"ar"}  # the baseline is a role that pages may ask for
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in [*sources("app"), *(ROOT / "app").rglob("*.js")]
        if path.parent.name != "vendor"
        for text in strings(path)
        if text in names
    ]
    assert not found


def public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a module that others may use."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_everything_public_is_explained() -> None:
    """Each file, public function and class says in its docstring what it is."""
    silent = []
    for path in sources("engine", "app"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not ast.get_docstring(tree) and tree.body:
            silent.append(str(path.relative_to(ROOT)))
        silent += [f"{path.relative_to(ROOT)}: {node.name}" for node in public(tree) if not ast.get_docstring(node)]
    assert not silent


@pytest.mark.thorough
def test_only_the_command_line_prints() -> None:
    loud = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("engine", "app")
        if not str(path.relative_to(ROOT)).startswith(SPEAKS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not loud


@pytest.mark.thorough
def test_no_machine_is_named() -> None:
    """No folder of the machine something was written on, and no private host, in any tracked text."""
    folders = "|".join(("work", "root", "home/[a-z]", "Users/[a-z]", "mnt", "opt/[a-z]"))
    private = re.compile(
        rf"(?<![\w.~])/(?:{folders})/[\w.-]|\b(?:10|192\.168)(?:\.\d{{1,3}}){{2,3}}\b|\b[\w-]+\.(?:internal|corp|lan)\b"
    )
    allowed = {ROOT / "tests" / "test_architecture.py"}
    found = []
    for path in tracked():
        if path in allowed or path.suffix not in TEXT or path.stat().st_size > 2_000_000:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if hit := private.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {hit[0]}")
    assert not found


@pytest.mark.installed
def test_a_space_runs_its_file_by_path_and_finds_the_standard_library() -> None:
    """Beside a file that is run by path its neighbours come first: none may have the name of a standard module."""
    entry = ROOT / "app" / "space.py"
    assert not {path.stem for path in entry.parent.glob("*.py")} & sys.stdlib_module_names
    told = subprocess.run([sys.executable, str(entry), "--help"], cwd="/", capture_output=True, text=True, check=False)
    assert told.returncode == 0 and told.stdout.startswith("usage: python -m app"), told.stderr


def test_files_have_no_vague_names() -> None:
    """One noun a file."""
    vague = {"utils", "helpers", "common", "misc", "util", "helper", "tools"}
    assert not [str(path.relative_to(ROOT)) for path in sources("engine", "app", "tests") if path.stem in vague]


def test_every_part_is_in_its_list() -> None:
    """A drafter, shape or rule that no list names would never be offered."""
    from engine.drafters import DRAFTERS
    from engine.rules import RULES
    from engine.shapes import SHAPES

    for room, known in (("drafters", DRAFTERS), ("shapes", SHAPES), ("rules", RULES)):
        listed = {part.__module__.rpartition(".")[2] for part in known.values()}
        offered = set()
        for path in (ROOT / "engine" / room).glob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            named = any(
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and item.target.id == "NAME"
                and item.value is not None
                for node in tree.body
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
                for item in node.body
            )
            if named:
                offered.add(path.stem)
        assert offered <= listed, room
        assert all(name == part.NAME and part.__doc__ for name, part in known.items())


def test_every_module_has_its_layer() -> None:
    """A module without a place among the layers would be free to import anything."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(c["layers"] for c in contracts if c["name"] == "The engine reads bottom to top")
    placed = {name.strip() for layer in layers for name in layer.split("|")}
    modules = {
        f"engine.{p.stem}"
        for p in (ROOT / "engine").iterdir()
        if (p.suffix == ".py" and p.stem != "__init__") or (p / "__init__.py").exists()
    }
    assert modules == placed


def test_tools_are_not_in_the_repository() -> None:
    """A link named .venv or node_modules, once committed, would replace those folders in every checkout."""
    found = subprocess.run(
        ["git", "ls-files", "--", ".venv", "node_modules"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.stdout.split() == [], "take them out: git rm --cached .venv node_modules"


DROPPED = re.compile(r"(?<![a-z])(?:laws?|guess(?:es|ed|ing)?|doors?|shel(?:f|ves))(?![a-z])", re.I)
REFUSED = re.compile(r"(?<![a-z])refus(?:e|es|ed|al|als|ing)(?![a-z])", re.I)
RECORDED = re.compile(
    r"law_(?:draft|target)|tested_guesses|drawn_guesses|(?:judge|heuristic|digits)_refused|\"refused\""
)
DECIDES = (
    "engine/verify.py",
    "engine/view.py",
    "engine/rules",
    "engine/trace/outcome.py",
    "engine/trace/metrics.py",
    "engine/trace/events.py",
    "engine/analysis/judge.py",
    "engine/analysis/columns.py",
    "engine/threshold",
)


def test_the_field_s_own_words() -> None:
    """A distribution, a draft token, accepted or rejected, a hook; the names in recorded files stay as they are."""
    found = []
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    scripts = [*(ROOT / "app/static").rglob("*.js"), *(ROOT / "tests").rglob("*.js")]
    for path in [*sources("engine", "app", "tests"), *scripts, *pages]:
        name = str(path.relative_to(ROOT))
        if "/vendor/" in name or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            told = RECORDED.sub("", line)
            if DROPPED.search(told) or (name.startswith(DECIDES) and REFUSED.search(told)):
                found.append(f"{name}:{number}: {line.strip()}")
    assert not found, found[:10]


def test_what_needs_a_browser_is_marked() -> None:
    """Without the mark `make test` would run it, and `make test-browser` would not."""
    files = sorted((ROOT / "tests/browser").glob("test_*.py"))
    assert files
    assert not [
        path.name for path in files if "\npytestmark = pytest.mark.browser\n" not in path.read_text(encoding="utf-8")
    ]
