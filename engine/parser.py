"""The parser of a command line: argparse's, which also tells the nearest name of what it does not know."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from engine.errors import MOST_SHOWN, shown, unknown

NUMBERS: dict[Any, str] = {int: "an integer", float: "a number"}


class Parser(argparse.ArgumentParser):
    """Ends with status 2 for what it does not know, as argparse does.

    An option is refused by the command that lacks it, with that command's usage; its subcommands are of this class too.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """The options; nothing is ever left over."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}{self._meant(left)}")
        return found, left

    def _meant(self, left: Sequence[str]) -> str:
        """The nearest options of those given, where there are any."""
        names = [name for name in self._option_string_actions if name.startswith("--")]
        given = [word.partition("=")[0][:MOST_SHOWN] for word in left if word.startswith("-")]
        near = [found[0] for one in given if (found := get_close_matches(one, names, n=1, cutoff=0.7))]
        return f" (did you mean {' '.join(near)}?)" if near else ""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """What an option makes of a word.

        Raises:
            ArgumentError: it is not of the option's type, with what would be.
        """
        if action.type is Path and not arg_string:  # it would stand for the working folder
            raise argparse.ArgumentError(action, "must name a file or folder, not ''")
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if words := NUMBERS.get(action.type):
                raise argparse.ArgumentError(action, f"must be {words}, not {shown(arg_string)}") from None
            raise

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """A choice, or a command, that there is.

        Raises:
            ArgumentError: there is none of that name.
        """
        if action.choices is not None and value not in action.choices:
            what = action.metavar if isinstance(action.metavar, str) else "choice"
            raise argparse.ArgumentError(action, unknown(what.lower(), value, map(str, action.choices)))
