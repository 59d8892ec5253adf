"""CONTRIBUTING.md tells the truth: its recipes, performed word for word in a copy of the repository, run."""

import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from engine.cases.claims import CLAIMS
from engine.files.places import ROOT
from engine.files.presets import read_preset
from engine.methods import get_card
from engine.parts import Onward
from engine.tasks.marking import TASKS

BLOCK = re.compile(r"^```(?:python|js)\n(?:#|//) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RECIPES = dict(BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
COPIED = ("app", "assets", "docs", "engine", "presets", "tests")
MOUNT_POINT = re.compile(r'`(<section [^`]*data-view="(\w+)"[^`]*</section>)`')


def perform(copy: Path, recipes: dict[str, str]) -> Path:
    """A copy of the repository with the files of the recipes; none of them may exist before."""
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "screenshots"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for name, text in recipes.items():
        assert not (copy / name).exists(), f"{name} is no new file"
        (copy / name).write_text(text, encoding="utf-8")
    return copy


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=copy, capture_output=True, text=True, check=False)


def test_each_recipe_is_one_file():
    rooms = [Path(name).parent.as_posix() for name in RECIPES]
    assert sorted(rooms) == sorted(
        ["engine/drafters", "engine/rules", "engine/shapes", "engine/methods", "tests/engine/methods", "app/static"]
    )


def test_the_example_of_a_preset_is_one(tmp_path: Path) -> None:
    """It is read, each lane is a method with its knobs and has a file, and its claims are known."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"^   ```toml\n(.*?)^   ```$", guide, re.DOTALL | re.MULTILINE)
    assert found
    (tmp_path / "my_case.toml").write_text(textwrap.dedent(found[1]), encoding="utf-8")
    preset = read_preset(tmp_path / "my_case.toml")
    assert preset.pair == "tiny" and preset.task in TASKS and len(preset.lanes) == len(preset.traces) == 2
    for lane in preset.lanes:
        get_card(lane.method).resolve(lane.knobs)
    assert preset.expect and preset.expect.keys() <= CLAIMS.keys()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return perform(tmp_path_factory.mktemp("recipes") / "draftscope", RECIPES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["echo", "second", "patient"])
def test_a_part_of_one_file_runs(copy, name):
    done = run(copy, "engine", "run", name, "1 + 1 =", "--max-new-tokens", "12")
    assert done.returncode == 0, done.stderr
    assert "target calls" in done.stdout
    assert name in run(copy, "engine", "methods").stdout.split()


@pytest.mark.slow
def test_the_tests_of_the_recipes_pass_and_can_fail(copy, tmp_path):
    names = ("pytest", "-q", "-p", "no:cacheprovider", "tests/engine/methods/test_recipes.py")
    done = run(copy, *names)
    assert done.returncode == 0, done.stdout
    path = copy / "engine/rules/second.py"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("return rank == 2,", "return rank == 3,"), encoding="utf-8")
    try:
        assert "1 failed" in run(copy, *names).stdout
    finally:
        path.write_text(whole, encoding="utf-8")


@pytest.mark.slow
def test_the_recipes_keep_the_house_rules(copy):
    files = [name for name in RECIPES if name.endswith(".py")]
    for command in (("ruff", "check", *files), ("ruff", "format", "--check", *files), ("mypy",)):
        done = run(copy, *command)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_view_is_one_file_and_one_line(copy):
    """Its line stands in the recipe, its file is fetched by the name of its mount point, and node takes it as a module."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    line, name = MOUNT_POINT.findall(text)[0]
    page = copy / "app/copy/page.html"
    page.write_text(page.read_text(encoding="utf-8").replace("<footer", f"{line}\n  <footer", 1), encoding="utf-8")
    view = copy / "app" / "static" / f"{name}.js"
    assert view.is_file() and f"{name}.js" not in (copy / "app/static/lab.js").read_text(encoding="utf-8")
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed")
    script = f"""
      const {{ mount }} = await import("file://{view}");
      const told = new Map(), runs = new Map(), element = {{ textContent: "" }};
      mount(element, {{ runs, on: (topic, call) => told.set(topic, call) }}, {{}});
      const empty = element.textContent;
      runs.set("sd", {{ tokens: [1, 2, 3] }});
      [...told.values()][0]();
      console.log(empty, "|", element.textContent);
    """
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "No run yet. | 3 tokens", done.stderr


def test_the_hook_of_a_growing_tree_answers_what_the_guide_says() -> None:
    answer = inspect.signature(Onward.onward).return_annotation
    assert f"`onward(grown) -> {answer}`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
