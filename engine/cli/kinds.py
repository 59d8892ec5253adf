"""Types of options: what argparse makes of a word, or refuses with what would have fitted."""

import argparse
from collections.abc import Callable
from pathlib import Path

from engine.errors import ConfigError
from engine.files.written import ready, ready_folder
from engine.parser import COUNT, MINUTES, SIZE, option

__all__ = ["COUNT", "COUNTS", "MINUTES", "SHARE", "SIZE", "THREADS", "TO_FILE", "TO_FOLDER", "option", "place"]


def place(fits: Callable[[Path], Path]) -> Callable[[str], Path]:
    """The type of an option that names what will be written: refused before anything is loaded or measured."""

    def read(text: str) -> Path:
        try:
            return fits(Path(text))
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except OSError as error:  # a folder that may not even be looked into
            raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None

    return read


THREADS = option(str, lambda n: n == "auto" or (n.isdigit() and int(n) >= 1), "'auto' or an integer >= 1")
TO_FILE, TO_FOLDER = place(ready), place(ready_folder)
COUNTS = option(
    lambda text: [int(one) for one in text.split(",")],
    lambda found: min(found) >= 1,
    "integers >= 1 with commas between",
)
SHARE = option(float, lambda p: 0 < p <= 1, "a share > 0 and <= 1")
