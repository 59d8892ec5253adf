"""How many contexts STAND's table keeps: 16 answers of 10,000 tokens, or what memory holds."""

import tracemalloc
from pathlib import Path
from random import Random

import pytest

from engine.lookup import room
from engine.lookup.distributions import DistributionTable
from engine.lookup.room import ENTRY, FEWEST, OVERHEAD, contexts, free_memory


def test_sixteen_answers_of_ten_thousand_tokens_fit() -> None:
    """Of each token one context of every order; where memory is short fewer, but never fewer than were kept before."""
    assert contexts(4, 10, None) == contexts(4, 10, 64 << 30) == 640_000
    assert contexts(4, 10, 1 << 30) == (1 << 28) // (OVERHEAD + 10 * ENTRY)
    assert contexts(4, 10, 0) == contexts(1, 10, 0) == FEWEST == 4 * 16 * 1024


def test_a_context_takes_no_more_than_is_reckoned() -> None:
    """Contexts of four tokens, full entries of their own, and the distribution that drafting keeps of each."""
    table, random, kept = DistributionTable(4, 10, 10_000), Random(0), 400
    tracemalloc.start()
    for _ in range(kept):
        entries = [(random.randrange(1_000, 150_000), random.random()) for _ in range(10)]
        table.see([random.randrange(1_000, 150_000) for _ in range(4)], entries)
        for order in (table.find(key) for key in list(table._table._items)[-4:]):
            assert order is not None and len(order[1].distribution) == 10
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.25 < used / len(table) / (OVERHEAD + 10 * ENTRY) < 1


def test_free_memory_is_the_machines_or_what_the_container_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("MEMINFO", "MemTotal: 9 kB\nMemAvailable:  4 kB\n"), ("LIMIT", "3000\n"), ("USED", "1000\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(room, name, tmp_path / name)
    assert free_memory() == 2000
    (tmp_path / "USED").unlink()
    assert free_memory() == 4096, "of a limit of which nobody knows what is used nothing is told"
    (tmp_path / "USED").write_text("1000\n")
    (tmp_path / "LIMIT").write_text("max\n")
    assert free_memory() == 4096
    (tmp_path / "MEMINFO").unlink()
    assert free_memory() is None
