r"""When two written answers are the same number or expression: 1.5 is 3/2, "1,000" is 1000, "\frac{1}{2}" is 0.5."""

from __future__ import annotations

import importlib
import logging
import re
from fractions import Fraction
from typing import Any

LONGEST = 120  # characters of an expression that is handed to a computer algebra system


def number(text: str) -> Fraction | None:
    """The number that a text is, without commas, currency, percent sign and closing dot; None when it is none, or has
    more digits than Python reads (4,300)."""
    plain = re.sub(r"[,\s$€£%]", "", text).rstrip(".")
    try:
        return Fraction(plain) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(/\d+)?", plain) else None
    except (ValueError, ZeroDivisionError):
        return None


def same_number(a: str | None, b: str | None) -> bool:
    """Whether two answers are equal as numbers, or as expressions by math-verify; a missing answer equals nothing."""
    if a is None or b is None:
        return False
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return x == y
    if a.strip() == b.strip():
        return True
    return _tame(a) and _tame(b) and _verified(a, b)


def _tame(text: str) -> bool:
    """Short, and without towers of powers or factorials, which a computer algebra system would try to write out."""
    return (
        len(text) <= LONGEST
        and len(re.findall(r"\^|\*\*", text)) <= 1
        and "!" not in text
        and not re.search(r"\d{7,}", text)
    )


def _verified(a: str, b: str) -> bool:
    math_verify: Any = importlib.import_module("math_verify")  # heavy: imported when asked for
    logging.getLogger("math_verify").setLevel(
        logging.ERROR
    )  # it warns that its own time limit is off, for it needs signals
    gold, answer = (math_verify.parse(f"${_bare(text)}$", parsing_timeout=None) for text in (a, b))
    return bool(gold and answer) and bool(math_verify.verify(gold, answer, timeout_seconds=None))


def _bare(text: str) -> str:
    return text.strip().strip("$").rstrip(".").strip()
