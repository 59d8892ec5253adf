"""`python -m app`: start the page (`app.starting`)."""

from engine.status import status_of
from engine.unhurried import UNHURRIED


def main() -> int:
    """Import the server, which takes seconds, and start it."""
    with UNHURRIED.making():
        from app.starting import main as start  # noqa: PLC0415  # an interrupt meanwhile is one like any other

    return start()


if __name__ == "__main__":
    raise SystemExit(status_of(main))
