"""python -m tests.apidocs write: the reference of the public interface in docs/api, generated from the docstrings."""

import argparse
import re
import sys
import tokenize
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tokenize import COMMENT

from griffe import Attribute, Docstring, Object, load
from griffe2md import default_config, render_object_docs

from engine.files.places import ROOT

FOLDER = ROOT / "docs" / "api"
MODULES = {
    "engine.lab": "Load models, run methods on them.",
    "engine.runs.asking": "The options of a run.",
    "engine.config": "Cards and knobs of methods.",
    "engine.parts.protocols": "What a drafter, a shape and a rule are; for authors of methods.",
    "engine.trace.events": "The events of a trace and their fields (as JSON Schema: docs/trace.schema.json).",
    "engine.trace.store": "A trace in memory and on disk.",
    "engine.trace.metrics": "The numbers of one run, and of several together.",
    "engine.analysis.tables": "Traces as pandas tables.",
    "engine.analysis.reading": "Files and folders of runs.",
    "engine.analysis.replay": "Decisions taken again without a model, also under other thresholds.",
    "engine.analysis.explain": "Why a token was accepted or rejected, in a sentence.",
    "engine.analysis.divergence": "Where two runs part, and why.",
    "engine.analysis.pool": "Many runs of several methods, with intervals.",
    "engine.analysis.quality": "Right answers, BLEU and equal outputs, with intervals, against plain decoding.",
    "engine.errors": "What can go wrong.",
    "app.notebook": "Runs in a notebook.",
    "app.export": "The page as a file.",
}
ANCHORED = re.compile(r"\[([^\]]+)\]\(#[^)]*\)")  # links to anchors that a repository's pages do not have
TOOLS = re.compile(r"#\s*(type:|noqa)")
HEAD = "<!-- Written by `python -m tests.apidocs write`; do not edit. -->\n"


@cache
def pages() -> dict[str, str]:
    """The files by name."""
    config = default_config | {"docstring_style": "google", "show_signature_annotations": True, "heading_level": 1}
    found = {}
    for name in MODULES:
        module = load(name, search_paths=[str(ROOT)])
        assert isinstance(module, Object)
        _explain(module)
        text = render_object_docs(module, config)
        found[_file(name)] = HEAD + ANCHORED.sub(r"\1", text).rstrip() + "\n"
    lines = [f"- [`{name}`]({_file(name)}): {words}" for name, words in MODULES.items()]
    about = "Installed, `engine` is `draftscope.engine` and `app` is `draftscope.app`."
    found["README.md"] = HEAD + "\n".join(["# Reference of the public interface", "", about, "", *lines, ""])
    return found


@cache
def _comments(path: Path) -> dict[int, str]:
    """What stands at the end of a file's lines, by their numbers; nothing of what is meant for tools."""
    with path.open("rb") as file:
        found = {token.start[0]: token.string for token in tokenize.tokenize(file.readline) if token.type == COMMENT}
    return {line: text[1:].strip() for line, text in found.items() if not TOOLS.match(text)}


def _explain(owner: Object) -> None:
    """Give fields and constants that have no docstring the comment at the end of their line; a summary is a line."""
    inherited = [one.final_target for one in owner.inherited_members.values()] if owner.is_class else []
    for one in (*owner.members.values(), *inherited):
        if not isinstance(one, Object):  # a name that is imported
            continue
        if one.docstring:
            first, *rest = one.docstring.value.split("\n\n")
            one.docstring.value = "\n\n".join([" ".join(first.split("\n")), *rest])
        elif isinstance(one, Attribute) and isinstance(file := one.filepath, Path) and one.lineno in _comments(file):
            one.docstring = Docstring(_comments(file)[one.lineno], parent=one)
        if one.is_class:
            _explain(one)


def _file(module: str) -> str:
    return module.replace(".", "-") + ".md"


def stale(folder: Path = FOLDER) -> list[str]:
    """Files that are not what the docstrings give."""
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    wanted = pages()
    return sorted(name for name in kept.keys() | wanted.keys() if kept.get(name) != wanted.get(name))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the files, or check them."""
    flags = argparse.ArgumentParser(prog="python -m tests.apidocs", description=__doc__)
    flags.add_argument("action", choices=("write", "check"))
    if flags.parse_args(argv).action == "check":
        old = stale()
        sys.stdout.write(
            f"not current, run `python -m tests.apidocs write`: {', '.join(old)}\n" if old else "current\n"
        )
        return int(bool(old))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.md"):
        path.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
