"""How many values there are in JSON, counted before it is read: reading one piece holds up all other threads, and each
value may cost a hundred bytes."""

MOST = 4_000_000  # commas, colons and opening brackets; 20 MB of recorded traces have 2.4 million
MOST_LISTS = 1_500_000  # and opening brackets alone; 20 MB of recorded traces have 0.6 million
MOST_AT_ONCE = 600_000  # in a piece that is read as one, as a line is; those of recorded traces have up to 12,000
LISTS = (b"[", b"{")


def count(data: bytes) -> int:
    """Commas, colons and opening brackets: as many as there are values, or more."""
    return sum(map(data.count, (b",", b":", *LISTS)))


def too_many(*parts: bytes) -> str:
    """What there is too much of in the parts of a file, as "more than 10 values"; empty where they can be read."""
    if sum(map(count, parts)) > MOST:
        return f"more than {MOST} values"
    lists = sum(part.count(sign) for part in parts for sign in LISTS)
    return f"more than {MOST_LISTS} lists and objects" if lists > MOST_LISTS else ""


def at_once(piece: bytes) -> bool:
    """Whether a piece of JSON can be read as one without holding others up for long."""
    return len(piece) <= MOST_AT_ONCE or count(piece) <= MOST_AT_ONCE
