"""Every citation names a place that exists: register and kernel numbers, pages, anchors, links and files.

`dangling` finds what does not resolve in one text; the tests below run it over the repository and over planted mistakes.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from engine.files.places import ROOT
from engine.learn.pages import FOLDER, Page, Section, anchor, headings, page
from engine.learn.pages import names as page_names
from engine.methods import CARDS

ROOMS = ("app", "engine", "tests", "docs", "presets")
LOOSE = ("README.md", "CONTRIBUTING.md")
SUFFIXES = {".py", ".md", ".js", ".toml", ".html", ".css", ".ts"}
HERE = Path(__file__).name

NUMBER = re.compile(r"(?<![\w./#'\"-])([EASHCO]\d{1,2}|K\d{1,2})(?:')?(?![\w.-]*[\w])")
NOWHERE = re.compile(  # names of papers that are not in the repository, and sections of them
    r"methods page|(?<!docs/)\b(?:methods|ui2?|design|claims|gradio|style|peers|models)\.md\b|\bshared/|\b[Pp]age,? \d+\.\d"
)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FILE = re.compile(
    r"(?<![\w/.$-])((?:app|assets|docs|engine|presets|tests)/[\w./-]*\.(?:css|html|json|js|md|py|toml)\b)(#[\w-]+)?"
)
MODULE = re.compile(r"(?<![\w./\"'@-])((?:engine|app)(?:\.[A-Za-z_]\w*)+)(?![\w(/-])")
INVENTED = re.compile(
    r"my_|/NAME|TASK|/X\.|app/docs/page|rules/second|methods/test_recipes|results/page\.json"
)  # files that a recipe tells the reader to write


@cache
def anchors(path: Path) -> frozenset[str]:
    """Anchors of a Markdown file's headings."""
    return frozenset(anchor(heading) for _, _, heading in headings(path.read_text(encoding="utf-8")))


def numbered() -> frozenset[str]:
    """All entries of the register and all kernels, such as E14 and K5."""
    return frozenset(name.upper() for name in anchors(FOLDER / "register.md") | anchors(FOLDER / "kernels.md"))


def prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1, without the fenced blocks of Markdown, unless they are a lesson's tasks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".md" and line.lstrip().startswith("```") and path.parent.name != "lessons":
            fenced = not fenced
        if not fenced:
            yield number, line


def importable(name: str) -> bool:
    """Whether a dotted name leads to a module of this repository, or to something that it defines."""
    at, parts = ROOT, name.split(".")
    for number, part in enumerate(parts):
        if (at / part).is_dir():
            at = at / part
            continue
        if (at / f"{part}.py").is_file():
            file, rest = at / f"{part}.py", parts[number + 1 :]
        else:
            file, rest = at / "__init__.py", parts[number:]
        return file.is_file() and (not rest or bool(re.search(rf"\b{rest[0]}\b", file.read_text(encoding="utf-8"))))
    return True


def resolves(base: Path, goal: str) -> bool:
    """Whether a relative link, with or without an anchor, names a file and a heading in it."""
    where, _, mark = goal.partition("#")
    file = (base.parent / where).resolve() if where else base
    if not file.exists():
        return False
    return not mark or (file.suffix == ".md" and mark in anchors(file))


def dangling(path: Path, text: str) -> list[str]:
    """What a file cites that does not exist, as "line: citation"."""
    known, found = numbered(), []
    for number, line in prose(path, text):
        lost = [m[1] for m in NUMBER.finditer(line) if path.suffix != ".css" and m[1] not in known]
        lost += [m[0] for m in NOWHERE.finditer(line)]
        lost += [
            m[0]
            for m in FILE.finditer(line)
            if not INVENTED.search(m[0]) and not any(resolves(base, m[0]) for base in (ROOT / "x", path))
        ]
        if path.suffix in (".py", ".md"):
            lost += [m[1] for m in MODULE.finditer(line) if not importable(m[1])]
        if path.suffix == ".md":
            lost += [m[1] for m in LINK.finditer(line) if "://" not in m[1] and not resolves(path, m[1])]
        found += [f"{number}: {name}" for name in lost]
    return found


def _ours(path: Path) -> bool:
    """Whether a file was written here, and not vendored."""
    return path.suffix in SUFFIXES and path.parent.name != "vendor"


def texts() -> list[Path]:
    """The files that may cite something."""
    found = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*")) if _ours(path)]
    return [path for path in [*found, *(ROOT / name for name in LOOSE)] if path.name != HERE]


@pytest.mark.thorough
def test_every_citation_resolves() -> None:
    lost = {
        str(path.relative_to(ROOT)): found
        for path in texts()
        if (found := dangling(path, path.read_text(encoding="utf-8")))
    }
    assert not lost, lost


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("as told (register E99)", "E99"),
        ("kernel K12 decides", "K12"),
        ("see the methods page, 4.19", "methods page"),
        ("Luo et al. 2024; page 4.12", "page 4.1"),
        ("ui2.md has it", "ui2.md"),
        ("in docs/methods/sd.md#nowhere", "docs/methods/sd.md#nowhere"),
        ("in engine/nothing.py", "engine/nothing.py"),
        ("by engine.verify.stroll of the walk", "engine.verify.stroll"),
        ("by engine.stroll", "engine.stroll"),
        ("[there](register.md#e99)", "register.md#e99"),
        ("[there](missing.md)", "missing.md"),
    ],
)
def test_a_dangling_citation_is_found(text: str, what: str) -> None:
    assert dangling(FOLDER / "sd.md", f"fine, E14 and K5'\n{text}") == [f"2: {what}"]


def test_citations_that_resolve_pass() -> None:
    fine = "E1 to E14, S2, K5', engine.verify.walk, engine.trace.store, docs/methods/sd.md#source, engine/verify.py, [x](register.md#e1) [y](https://a.b/c.md#d)"
    assert not dangling(FOLDER / "sd.md", fine)


CLASS = re.compile(r"`([A-Z][a-z]+[A-Za-z]*)`")
FILES = {"Dockerfile"}


def test_classes_that_the_design_names_are_there() -> None:
    files = [path for room in ("engine", "app") for kind in ("*.py", "*.js") for path in (ROOT / room).rglob(kind)]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files if _ours(path))
    known = set(re.findall(r"^(?:export )?class (\w+)", code, re.M)) | FILES
    lost = {
        (path.name, name)
        for path in (ROOT / "docs" / "design").glob("*.md")
        for name in CLASS.findall(path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert not lost


SECTIONS = ("What it computes", "Source", "Contested", "Our choices", "Pitfalls")  # of a method's page, in this order
SHARED = {"README", "register", "kernels", "checks", "symbols", "nat"}  # pages that belong to no single method


def section_of(found: Page, title: str) -> Section:
    """The section of a page with that heading."""
    return next(section for section in found.sections if section.title == title)


def test_every_method_has_its_page_and_every_page_a_method() -> None:
    assert set(page_names()) == {card.name for card in CARDS} | SHARED
    for card in CARDS:
        found = page(card.name)
        assert tuple(section.title for section in found.sections) == SECTIONS, card.name
        assert all(section.text for section in found.sections), card.name
        assert card.title in found.title and f"`{card.name}`" in found.title


def test_the_table_of_families_has_every_method() -> None:
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert not [card.name for card in CARDS if f"[{card.name}]({card.name}.md)" not in told]


KERNEL = re.compile(r"^\| \[(K\d+)\]\(#k\d+\) \|.*\|([^|]*)\|$", re.M)  # a row: its last cell names methods
BESIDE = {("universal", "K2")}  # told of another way to draft, that is not the method of the page


def test_the_kernels_name_every_method_whose_page_names_them() -> None:
    rows = dict(KERNEL.findall((FOLDER / "kernels.md").read_text(encoding="utf-8")))
    assert rows
    missing = []
    for card in CARDS:
        for number in set(re.findall(r"kernels\.md#k(\d+)", section_of(page(card.name), "What it computes").text)):
            one = card.name, f"K{number}"
            if one not in BESIDE and f"`{card.name}`" not in rows[one[1]] and "all trees" not in rows[one[1]]:
                missing.append(one)
    assert not missing


def test_the_page_of_rsd_tells_the_areas_of_the_embedded_reward_model_s_card() -> None:
    """Those of the problems that no choice was made on, with their intervals."""
    card = json.loads((ROOT / "assets" / "tiny" / "prm" / "card.json").read_text(encoding="utf-8"))
    found, text = card["fresh"]["evaluation"], section_of(page("rsd"), "Pitfalls").text
    for who in ("both", "target"):
        area, low, high = (found[who][name] for name in ("auc", "auc_low", "auc_high"))
        assert f"{area:.3f} ({low:.3f} to {high:.3f})" in text, who
    assert f"{found['draft']['auc']:.3f}" in text and f"({found['target']['auc_first_wrong']:.2f})" in text


def test_the_page_tells_how_many_tokens_each_low_bin_verifies() -> None:
    card = next(card for card in CARDS if card.shape == "entropy_binned")
    usual: dict[str, Any] = {knob.name: knob.default for knob in card.knobs}
    more = [ceil(usual["depth"] / 2) - place for place in range(usual["low_bins"])]
    sizes = [int(usual[f"gamma_{place}"] * usual["total_token"]) + delta for place, delta in enumerate(more)]
    assert sizes == [22, 39, 62]
    told = section_of(page(card.name), "What it computes").text
    assert f"of {usual['total_token']}" in told and f"{sizes[0]}, {sizes[1]} and {sizes[2]}" in told


ROW = re.compile(r"^\| `(\w+)` \| `([^`]*)` \| (\w+) \|", re.M)


def shown(value: object) -> str:
    """A default as the tables write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value) or "(empty)"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_page_tells_every_default_and_its_origin_as_the_card_does(card) -> None:
    choices = section_of(page(card.name), "Our choices")
    rows = {name: (default, origin) for name, default, origin in ROW.findall(choices.text)}
    assert rows == {knob.name: (shown(knob.default), knob.origin) for knob in card.knobs}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_what_a_card_calls_contested_is_on_its_page(card) -> None:
    told = section_of(page(card.name), "Contested")
    missing = []
    for name in set(NUMBER.findall(card.contested)):
        letter, number = name[0], int(name[1:])
        spans = re.findall(rf"\[{letter}(\d+)\][^,\n]*? to \[{letter}(\d+)\]", told.text)
        if f"[{name}]" not in told.text and not any(int(a) <= number <= int(b) for a, b in spans):
            missing.append(name)
    assert not missing
