"""How many contexts a table of distributions may keep: what long reasoning needs, as far as memory holds it."""

from pathlib import Path

TRAJECTORIES, TOKENS = 16, 10_000  # that a problem's table shall hold whole
FEWEST = 65_536  # contexts kept however little memory is free: 16 trajectories of 1,024 tokens
SHARE = 4  # of the free memory one part in so many
OVERHEAD, ENTRY = 260, 220  # bytes of a context, and of each of its entries, at most (64-bit CPython)
MEMINFO, LIMIT, USED = (
    Path("/proc/meminfo"),
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory.current"),
)


def contexts(orders: int, stored: int, free: int | None) -> int:
    """The contexts of 1 to `orders` tokens that TRAJECTORIES of TOKENS have at most, or fewer where a quarter of the
    `free` bytes does not hold them with `stored` entries each; None is not known, and bounds nothing."""
    wanted = TRAJECTORIES * TOKENS * orders
    if free is None:
        return wanted
    return max(min(wanted, FEWEST), min(wanted, free // SHARE // (OVERHEAD + ENTRY * stored)))


def free_memory() -> int | None:
    """Bytes that this process may still take, as far as Linux and its container tell; None elsewhere."""
    known = [value for value in (_available(), _left()) if value is not None]
    return min(known) if known else None


def _available() -> int | None:
    for line in _read(MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return None


def _left() -> int | None:
    limit, used = _read(LIMIT).strip(), _read(USED).strip()
    return max(0, int(limit) - int(used)) if limit.isdigit() and used.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
