"""Python's docstrings, from which transformers builds its models as it imports them: `python -OO` leaves them out."""

import sys

from engine.errors import ConfigError


def docstrings(level: int = sys.flags.optimize) -> None:
    """Nothing where Python has kept them.

    Raises:
        ConfigError: it was started without.
    """
    if level > 1:
        raise ConfigError(
            "Python was started without docstrings (-OO, or PYTHONOPTIMIZE=2), and transformers cannot make a model "
            "without them: leave that away, or use -O."
        )
