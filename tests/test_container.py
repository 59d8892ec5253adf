"""The container's build: whatever the Dockerfile copies is there, and the ignore file leaves it in."""

import re
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pattern(text: str) -> re.Pattern[str]:
    """A line of a .dockerignore as Docker reads it: rooted, `*` and `?` within a name, `**` any number of folders."""
    out, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(?:[^/]+/)*", at + 3
        elif text.startswith("**", at):
            out, at = out + ".*", at + 2
        else:
            out, at = out + {"*": "[^/]*", "?": "[^/]"}.get(text[at], re.escape(text[at])), at + 1
    return re.compile(out)


def ignored(path: str, lines: list[str]) -> bool:
    """Whether a path stays out of the build: the last line that names it or a folder above it decides."""
    whole = [path, *(str(p) for p in PurePosixPath(path).parents if str(p) != ".")]
    out = False
    for line in (line.strip() for line in lines):
        if not line or line.startswith("#"):
            continue
        found = pattern(line.removeprefix("!").strip("/"))
        if any(found.fullmatch(p) for p in whole):
            out = not line.startswith("!")
    return out


def copied(dockerfile: str) -> list[str]:
    """Sources of every COPY and ADD that takes files of the repository."""
    sources = []
    for words in (line.split() for line in dockerfile.replace("\\\n", " ").splitlines()):
        if words and words[0] in ("COPY", "ADD") and not any(w.startswith("--from") for w in words):
            sources += [w for w in words[1:-1] if not w.startswith("--")]
    return sources


SOURCES = copied((ROOT / "Dockerfile").read_text(encoding="utf-8"))


@pytest.mark.parametrize("source", SOURCES)
def test_what_the_container_copies_is_in_the_build(source):
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    place = ROOT / source
    files = (
        [place] if place.is_file() else [p for p in place.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    )
    assert files, f"{source} is not in the repository"
    assert [f for f in files if ignored(f.relative_to(ROOT).as_posix(), lines)] == []


def test_the_container_copies_what_it_runs():
    assert {"engine", "app", "assets", "presets", "docs/results", "docs/methods", "requirements.txt"} <= set(SOURCES)


@pytest.mark.parametrize(
    ("path", "lines", "out"),
    [
        ("docs/results/bench.json", ["docs"], True),
        ("docs/results/bench.json", ["docs", "!docs/results"], False),
        ("docs/results/bench.json", ["!docs/results", "docs"], True),
        ("docs/LOG.md", ["docs", "!docs/results"], True),
        ("app/docs/page.md", ["docs"], False),
        ("app/docs/page.md", ["**/docs"], True),
        ("app/docs/page.md", ["*.md"], False),
        ("app/docs/page.md", ["**/*.md"], True),
    ],
)
def test_the_ignore_file_is_read_as_docker_does(path, lines, out):
    assert ignored(path, lines) is out
