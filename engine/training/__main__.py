"""`python -m engine.training`: make and judge the embedded models (`engine.training.command`)."""

import sys

from engine.docstrings import docstrings
from engine.status import status_of


def main() -> int:
    """Import the commands and run one.

    Raises:
        ConfigError: see `docstrings`.
    """
    docstrings()
    from engine.training.command import main as command  # noqa: PLC0415  # an interrupt meanwhile is one like any other

    return command()


if __name__ == "__main__":
    sys.exit(status_of(main))
