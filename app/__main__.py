"""`python -m app`: start the page (`app.starting`)."""

from engine.status import status_of


def main() -> int:
    """Import the server, which takes seconds, and start it."""
    from app.starting import main as start  # noqa: PLC0415  # an interrupt meanwhile is one like any other

    return start()


if __name__ == "__main__":
    raise SystemExit(status_of(main))
