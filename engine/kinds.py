"""Types of options: what argparse makes of a word, or refuses with what would have fitted."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.errors import ConfigError
from engine.files.written import ready, ready_folder

T = TypeVar("T")


def place(fits: Callable[[Path], Path]) -> Callable[[str], Path]:
    """The type of an option that names what will be written: refused before anything is loaded or measured."""

    def read(text: str) -> Path:
        if not text:  # it would stand for the working folder
            raise argparse.ArgumentTypeError("must name a file or folder, not ''")
        try:
            return fits(Path(text))
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except OSError as error:  # a folder that may not even be looked into
            raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None

    return read


def option(kind: Callable[[str], T], fits: Callable[[T], bool], words: str) -> Callable[[str], T]:
    """The type of an option: argparse refuses what does not fit, and says that it is no such thing."""

    def read(text: str) -> T:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}") from None
        if not fits(value):
            raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}")
        return value

    return read


COUNT = option(int, lambda n: n >= 1, "an integer >= 1")
SIZE = option(int, lambda n: n >= 0, "an integer >= 0")
MINUTES = option(float, lambda t: t >= 0, "a number of minutes >= 0")
THREADS = option(str, lambda n: n == "auto" or (n.isdecimal() and int(n) >= 1), "'auto' or an integer >= 1")
TO_FILE, TO_FOLDER = place(ready), place(ready_folder)
COUNTS = option(
    lambda text: [int(one) for one in text.split(",")],
    lambda found: min(found) >= 1,
    "integers >= 1 with commas between",
)
PORTION = option(float, lambda p: 0 <= p <= 1, "a share from 0 to 1")
ABOVE = option(float, lambda x: 0 < x < math.inf, "a number > 0")
LEAST = option(float, lambda x: 0 <= x < math.inf, "a number >= 0")
SHARE = option(float, lambda p: 0 < p <= 1, "a share > 0 and <= 1")
