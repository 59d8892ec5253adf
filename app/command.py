"""The console command `draftscope`, and `python -m draftscope`: alone it serves the page, with a command it does what
`python -m engine` does."""

import sys
from collections.abc import Sequence
from importlib import import_module

from engine import __version__
from engine.status import status_of
from engine.unhurried import UNHURRIED

HELP = """draftscope [serve] [FLAGS]: start the page (draftscope serve --help).
draftscope page TRACE...|--case NAME|--all-cases [--out page.html]: the page over recorded runs as one file.
draftscope COMMAND ...: a command of the engine, as follows.

"""
OTHERS = {"serve": "start the page", "page": "write the page over recorded runs"}  # beside those of the engine


def main(argv: Sequence[str] | None = None) -> int:
    """Dispatch; the page and the engine's commands are imported only where they are used."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given == ["--version"]:
        sys.stdout.write(f"draftscope {__version__}\n")
        return 0
    if given[:1] == ["serve"]:
        given, serves = given[1:], True
    else:
        serves = not given or (given[0].startswith("-") and given[0] not in ("-h", "--help", "--version"))
    if serves:
        return status_of(lambda: _serve(given))
    if given[0] == "page":
        return status_of(lambda: import_module("app.export").main(given[1:], prog="draftscope page"))
    if given[0] in ("-h", "--help"):
        sys.stdout.write(HELP)
    return status_of(lambda: import_module("engine.cli").main(given, prog="draftscope", others=OTHERS))


def _serve(given: Sequence[str]) -> int:
    with UNHURRIED.making():
        starting = import_module("app.starting")
    status: int = starting.main(given, prog="draftscope serve")
    return status


if __name__ == "__main__":
    sys.exit(main())
