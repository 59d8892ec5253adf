"""The glossary: well formed, linked, its formulae readable, and every number of a run explained by a word."""

import re

import pytest
from latex2mathml.converter import convert

from engine.errors import ConfigError
from engine.learn.glossary import glossary, glossary_json, read_glossary
from engine.learn.lessons import lessons_json
from engine.learn.pages import names, page
from engine.learn.recorded import case
from engine.rules import THRESHOLDS
from engine.trace.metrics import metrics

ENTRY = '[[word]]\nterm = "A"\ntext = "x"\n'


def test_words_link_to_words_and_pages() -> None:
    for term in glossary():
        for other in term.see:
            assert not other.startswith("methods/") or other.removeprefix("methods/") in names(), (term.term, other)
    assert [entry["term"] for entry in glossary_json()] == [term.term for term in glossary()]


def test_numbers_that_words_explain_exist_and_all_counts_are_explained() -> None:
    known = set(metrics(case("first_look").traces[1])) | {"speedup"}
    told = {name for term in glossary() for name in term.names}
    assert told <= known
    assert {"tau", "rounds", "drafted", "accepted", "rejected", "discarded", "verify_tokens", "cost_ratio"} <= told


def formulae() -> list[str]:
    """Every formula of glossary, method pages and lessons."""
    texts = [section.text for name in names() for section in page(name).sections]
    texts += [step["text"] for lesson in lessons_json(THRESHOLDS) for step in lesson["steps"]]
    found = [term.formula for term in glossary() if term.formula]
    for text in texts:
        found += [a or b for a, b in re.findall(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+)\$", text, re.S)]
    return found


@pytest.mark.thorough
def test_every_formula_becomes_mathml() -> None:
    assert len(formulae()) > 150
    for formula in formulae():
        assert convert(formula).startswith("<math"), formula


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY + ENTRY, "twice"),
        (ENTRY + 'seee = ["b"]\n', "key of a word 'seee'.*see"),
        (ENTRY + 'see = ["b"]\n', "word of the glossary 'b'"),
        (ENTRY + 'symbols = { p = "pp" }\n', "field of a place 'pp'"),
        ('[[word]]\nterm = "A"\n', "needs a term and a text"),
        ("[[word", "not valid TOML"),
    ],
)
def test_a_bad_glossary_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_glossary(text)
