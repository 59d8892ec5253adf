"""The parts that small functions are made of: a phrase, its code, and its meaning.

Code and phrases are patterns: `{v}` is the loop variable and `{c}` a constant; the
meaning is a Python callable of both, so that tests never run the written code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A filter or a map: `says` in words, `code` in Python, `means` as a callable."""

    says: str
    code: str
    means: Callable[[Any, Any], Any]


NUMBER_FILTERS = (
    Part("even", "{v} % 2 == 0", lambda x, _: x % 2 == 0),
    Part("odd", "{v} % 2 == 1", lambda x, _: x % 2 == 1),
    Part("greater than {c}", "{v} > {c}", lambda x, c: x > c),
    Part("less than {c}", "{v} < {c}", lambda x, c: x < c),
    Part("at least {c}", "{v} >= {c}", lambda x, c: x >= c),
    Part("at most {c}", "{v} <= {c}", lambda x, c: x <= c),
    Part("divisible by {c}", "{v} % {c} == 0", lambda x, c: x % c == 0),
    Part("not divisible by {c}", "{v} % {c} != 0", lambda x, c: x % c != 0),
    Part("different from {c}", "{v} != {c}", lambda x, c: x != c),
)
NUMBER_MAPS = (
    Part("each number", "{v}", lambda x, _: x),
    Part("the square of each number", "{v} * {v}", lambda x, _: x * x),
    Part("each number plus {c}", "{v} + {c}", lambda x, c: x + c),
    Part("each number minus {c}", "{v} - {c}", lambda x, c: x - c),
    Part("each number times {c}", "{v} * {c}", lambda x, c: x * c),
    Part("the rest of each number by {c}", "{v} % {c}", lambda x, c: x % c),
    Part("{c} minus each number", "{c} - {v}", lambda x, c: c - x),
)
LETTER_FILTERS = (
    Part("vowels", '{v} in "aeiou"', lambda x, _: x in "aeiou"),
    Part("not vowels", '{v} not in "aeiou"', lambda x, _: x not in "aeiou"),
    Part("digits", "{v}.isdigit()", lambda x, _: x.isdigit()),
    Part("letters", "{v}.isalpha()", lambda x, _: x.isalpha()),
    Part("upper case", "{v}.isupper()", lambda x, _: x.isupper()),
    Part('equal to "{c}"', '{v} == "{c}"', lambda x, c: x == c),
    Part('different from "{c}"', '{v} != "{c}"', lambda x, c: x != c),
    Part('after "{c}"', '{v} > "{c}"', lambda x, c: x > c),
    Part('before "{c}"', '{v} < "{c}"', lambda x, c: x < c),
)
LETTER_MAPS = (
    Part("each character", "{v}", lambda x, _: x),
    Part("each character in upper case", "{v}.upper()", lambda x, _: x.upper()),
    Part("each character {c} times", "{v} * {c}", lambda x, c: x * c),
    Part('each character and "-"', '{v} + "-"', lambda x, _: x + "-"),
)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How values become a result: `start` and `step` are code, `means` takes the list."""

    says: str
    start: str
    step: str
    means: Callable[[list[Any]], Any]


SUM = Aggregate("the sum of", "0", "{a} += {m}", sum)
NUMBER_AGGREGATES = (
    SUM,
    Aggregate("a list of", "[]", "{a}.append({m})", list),
    Aggregate("the largest of 0 and", "0", "{a} = max({a}, {m})", lambda ms: max([0, *ms])),
    Aggregate("the smallest of 99 and", "99", "{a} = min({a}, {m})", lambda ms: min([99, *ms])),
)
LETTER_AGGREGATES = (
    Aggregate("a string of", '""', "{a} += {m}", "".join),
    Aggregate("a reversed string of", '""', "{a} = {m} + {a}", lambda ms: "".join(reversed(ms))),
    Aggregate("a list of", "[]", "{a}.append({m})", list),
)
COUNT = Aggregate("the number of", "0", "{a} += 1", len)
