"""Markdown as HTML: formulae become MathML, nothing in a text becomes markup of its own."""

import re
from pathlib import Path

import pytest

from app.prose import html, mathml
from engine.errors import ConfigError

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_formulae_are_mathml():
    text = html("The ratio $p/q$ and\n\n$$\\min\\left(1, \\frac{p}{q}\\right)$$\n")
    assert text.count("<math") == 2 and 'display="block"' in text and "<mfrac>" in text and "$" not in text


def test_what_the_converter_does_not_know_is_written_otherwise():
    shown = mathml("x = \\arg\\max_v p(v), \\text{copy\\_most}", False)
    assert "<mo>arg</mo><msub><mo>max</mo>" in shown and ">copy_most<" in shown


@pytest.mark.parametrize("formula", ["\\frac", "a^b^c", "\\left( a", "\\argument x"])
def test_a_formula_that_cannot_be_read_is_named(formula):
    with pytest.raises(ConfigError, match=re.escape(repr(formula))):
        mathml(formula, False)


def test_markup_in_a_text_is_text():
    shown = html("<script>alert(1)</script> [x](javascript:alert(1)) `<b>`")
    assert "<script" not in shown and 'href="javascript' not in shown and "&lt;b&gt;" in shown


def test_links_stay_in_the_room_or_open_beside_it():
    shown = html("[E2](register.md#e2) [out](https://example.org/a) [nowhere](other.md)", {"register": "?p=r"}.get)
    assert 'href="?p=r#e2"' in shown and 'href="#"' in shown
    assert 'href="https://example.org/a" rel="noreferrer" target="_blank"' in shown


@pytest.mark.parametrize(
    "path", [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "api"], ids=lambda path: path.stem
)
def test_every_document_can_be_shown(path):
    shown = html(path.read_text(encoding="utf-8"))
    assert "<script" not in shown and shown.startswith("<h1")
