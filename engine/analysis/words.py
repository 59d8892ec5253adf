"""Numbers and pieces as words: enough digits to tell compared numbers apart, and blanks that can be seen."""

import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Protocol

MARKS = str.maketrans(
    {" ": "·", "\t": "→", "\n": "↵", "\r": "␍", "\u00a0": "⍽", "\ufffd": "◇"}
)  # as in the page's charts
JOINERS = "\u200c\u200d"  # within words and emoji
TAGS = range(0xE0020, 0xE0080)  # end the flags of some countries
LIMIT = 40  # characters of a piece


class Pieces(Protocol):
    """The texts of token ids; a dict is one."""

    def get(self, token: int, /) -> str | None:
        """The text, None where it is not known."""


def quoted(token: int, pieces: Pieces) -> str:
    """A token between backticks with its blanks visible; where the text is not known its number, as `#8`."""
    piece = pieces.get(token)
    if piece is None:
        return f"`#{token}`"
    shown = marked(piece).replace("`", "ˋ")  # the quotation mark of the sentences
    return f"`{shown[:LIMIT]}{'…' if len(shown) > LIMIT else ''}`" if shown else f"`` (token {token})"


def marked(piece: str) -> str:
    """A piece with its blanks as marks, what prints nothing as its number, and a circle under an accent that has no
    letter. The page's `marks` (app/static/dom.js) gives the same."""
    text = piece.translate(MARKS)
    if not text.isprintable():
        last = len(text) - 1
        joins = [i > 0 and (ord(c) in TAGS or (c in JOINERS and i < last)) for i, c in enumerate(text)]
        text = "".join(
            c if c.isprintable() or join else f"\\u{ord(c):04x}" for c, join in zip(text, joins, strict=True)
        )
    return "◌" + text if text and unicodedata.category(text[0]).startswith("M") else text


def number(value: float | None, *beside: float | None) -> str:
    """Two decimals, or two digits below 0.1; more where it would read the same as a number it is compared with."""
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    others = [other for other in beside if other is not None and math.isfinite(other)]
    if 0 < abs(value) < 1e-4:
        return f"{value:.1e}" if any(abs(other) < 1e-3 for other in others) else "under 0.0001"
    for digits in range(2, 7):
        text = _print(value, digits)
        if not any(_misleads(value, other, digits) for other in (*others, 1.0)):
            return text
    return "over 0.999999" if text == "1.000000" and value < 1 else text


def mean(value: float) -> str:
    """A mean with two decimals at most: 59, 3.4, 2.25."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def setting(value: float | None) -> str:
    """A threshold as it was set: 2.0, 0.12."""
    if value is None or not math.isfinite(value):
        return number(value)
    text = f"{value:g}"
    return text if "." in text or "e" in text else text + ".0"


def percent(share: float) -> str:
    """A share: 42 %, 4.2 %; 100 % is all, short of which 99.8 %. This and what follows give the page's own forms
    (app/static/draw.js)."""
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 < share < 1:
        return ">99.9 %"
    return f"{_fixed(share * 100, 1 if 0 < share < 0.0995 or 0.995 <= share < 1 else 0)} %"


def times(ratio: float) -> str:
    """A ratio of speeds: 1.83×."""
    return f"{_fixed(ratio, 2)}×"


def per_call(tau: float) -> str:
    """Tokens a target call: 4.50."""
    return _fixed(tau, 2)


def minus(text: str) -> str:
    """Words with the page's minus before numbers below 0, as `minus` in app/static/draw.js; commands and files have
    hyphens."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "\u2212", text)


def estimate(found: Mapping[str, Any] | None, form: str) -> str:
    """An interval in JSON types with its numbers in a form, ".2f": 2.50 (2.40 to 2.60); its mean alone where there are
    no bounds, "-" where there is nothing."""
    if found is None:
        return "-"
    mean = f"{found['mean']:{form}}"
    return mean if found["low"] is None else f"{mean} ({found['low']:{form}} to {found['high']:{form}})"


def points(found: Mapping[str, Any] | None, form: str) -> str:
    """A difference of shares as `estimate` tells an interval, in hundredths of the whole, which are no per cent of a
    share: from 95 % to 88 % is 7 points."""
    ends = ("mean", "low", "high")
    return estimate(found and {end: None if found[end] is None else 100 * found[end] for end in ends}, form)


def count(n: int, one: str) -> str:
    """A number and its noun: 1 token, 2 tokens."""
    return f"{n} {one}{'' if n == 1 else 's'}"


def _fixed(value: float, digits: int) -> str:
    """So many decimals; small but not zero is told to be below."""
    least = Decimal(1).scaleb(-digits)
    return f"<{least}" if digits == 2 and 0 < abs(value) < float(least) / 2 else half_up(value, digits)


def half_up(value: float, digits: int) -> str:
    """So many decimals, halves away from zero, as JavaScript's toFixed: 4.625 is 4.63, not 4.62."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _print(value: float, digits: int) -> str:
    return f"{value:.2g}" if digits == 2 and abs(value) < 0.1 else f"{value:.{digits}f}"


def _misleads(value: float, other: float, digits: int) -> bool:
    """Whether two different numbers would read the same; rounding never turns them round."""
    return value != other and float(_print(value, digits)) == float(_print(other, digits))
