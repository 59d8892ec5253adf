"""Build hook of the wheel: the checkout's `engine` and `app` become `draftscope.engine` and `draftscope.app`.

Both names are too common to install, and too handy in the checkout to give up (docs/design/0015-package.md). The wheel
therefore holds copies in which imports, quoted module names and commands are rewritten; data lies beside the packages
as it does in the checkout, so paths need no change.
"""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("engine", "app")
DATA = ("assets", "presets", "docs/results", "docs/methods")  # what the page and the commands read
TOP = {"app/package.py": "__init__.py", "app/command.py": "__main__.py"}  # what `import` and `python -m` of it give
SHOWN = ("app/static", "presets", "docs/methods")  # what the page shows, where it names commands
NO_PACKAGE = ("app/space.py",)  # a Space's start, from a checkout

_COMMAND = (re.compile(r"\b(python -m )(engine|app)\b"), r"\1draftscope.\2")
_RULES = (
    (re.compile(r"^(\s*from )(engine|app)(?=[. ])", re.MULTILINE), r"\1draftscope.\2"),
    (re.compile(r"^(\s*import )(engine|app)(?=\.| as )", re.MULTILINE), r"\1draftscope.\2"),
    (re.compile(r"([\"'])(engine|app)(?=\.[a-z_.]+\1)"), r"\1draftscope.\2"),  # names for import_module
    _COMMAND,
    (re.compile(r"(\"-m\", \")(engine|app)(?=[.\"])"), r"\1draftscope.\2"),
)


def rewritten(text: str) -> str:
    """A module's text as it is in the wheel."""
    for pattern, by in _RULES:
        text = pattern.sub(by, text)
    return text


def tree(root: Path, into: Path) -> None:
    """Write the package `draftscope` of a checkout into a folder."""
    skip = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    for name in (*PACKAGES, *DATA):
        shutil.copytree(root / name, into / name, ignore=skip)
    for name in NO_PACKAGE:
        (into / name).unlink()
    for path, name in TOP.items():
        shutil.copy(root / path, into / name)
    (into / "py.typed").touch()
    for path in [
        *(into / name for name in TOP.values()),
        *(p for name in PACKAGES for p in (into / name).rglob("*.py")),
    ]:
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (p for name in SHOWN for p in (into / name).rglob("*")):
        if path.suffix in (".js", ".md", ".toml") and "vendor" not in path.parts:
            path.write_text(_COMMAND[0].sub(_COMMAND[1], path.read_text(encoding="utf-8")), encoding="utf-8")


class Wheel(BuildHookInterface):  # type: ignore[type-arg]
    """Lays the rewritten package where the wheel's builder finds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called once a wheel.

        Raises:
            ValueError: an editable install, which has no copy to rewrite.
        """
        if version == "editable":
            raise ValueError(
                "An editable install is not there: use the checkout, `python -m engine` and `python -m app`."
            )
        self._folder = Path(tempfile.mkdtemp(prefix="draftscope-wheel-"))
        tree(Path(self.root), self._folder / "draftscope")
        build_data["force_include"][str(self._folder / "draftscope")] = "draftscope"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is written."""
        shutil.rmtree(self._folder)
