"""The pages of docs/methods as data: what the lab's page shows of a method, its register and its kernels.

A page is Markdown with a title and sections. Anchors are those that GitHub gives to headings, so a link that works in
the repository works on the page.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import ConfigError, unknown
from engine.files.places import ROOT

FOLDER = ROOT / "docs" / "methods"
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$")
_FENCE = re.compile(r"^ *(```|~~~)")


@dataclass(frozen=True)
class Section:
    """A section, or an entry of the register: its anchor, its heading, and its Markdown without the heading."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page of docs/methods; `path` is its place in the repository."""

    name: str
    path: str
    title: str
    sections: tuple[Section, ...]


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it: lower case, punctuation dropped, blanks as hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(text: str) -> list[tuple[int, int, str]]:
    """(line number from 0, level, text) of each heading that stands outside a fenced block."""
    found, fenced = [], False
    for number, line in enumerate(text.splitlines()):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (match := _HEADING.match(line)):
            found.append((number, len(match[1]), match[2]))
    return found


def names() -> tuple[str, ...]:
    """All pages, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))


@lru_cache(maxsize=64)
def page(name: str) -> Page:
    """The page of a method, or one that several share.

    Raises:
        ConfigError: there is none, with the nearest right name.
    """
    if name not in names():
        raise ConfigError(unknown("page", name, names()))
    return parse(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Page:
    """A page from its Markdown; a section reaches from one `##` or `###` heading to the next."""
    lines, found = text.splitlines(), headings(text)
    title = next((heading for _, level, heading in found if level == 1), name)
    cuts = [(number, heading) for number, level, heading in found if level in (2, 3)]
    ends = [number for number, _ in cuts[1:]] + [len(lines)] * bool(cuts)
    sections = tuple(
        Section(anchor(heading), heading, "\n".join(lines[number + 1 : end]).strip())
        for (number, heading), end in zip(cuts, ends, strict=True)
    )
    return Page(name, f"docs/methods/{name}.md", title, sections)
