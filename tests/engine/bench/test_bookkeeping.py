"""Bookkeeping is what rounds take beside the passes of the target and of each method's own head."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from engine.bench import bookkeeping as measured
from engine.bench.bookkeeping import PASSES, Stopwatch, bookkeeping
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

PROMPT = [5, 6, 7]


def test_a_watched_call_inside_another_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none once nobody watches."""
    clock, watch = [0.0], Stopwatch()
    monkeypatch.setattr(measured, "perf_counter", lambda: clock[0])

    class Thing:
        def inner(self, seconds: float) -> float:
            clock[0] += seconds
            return seconds

        def outer(self, seconds: float) -> float:
            clock[0] += 1.0
            return self.inner(seconds)

    thing = Thing()
    with watch.watching(thing, ("inner", "outer")):
        assert (thing.outer(2.0), thing.inner(4.0)) == (2.0, 4.0)
    thing.outer(8.0)
    assert watch.seconds == 7.0


def test_shares_are_of_all_rounds_of_a_repetition(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all prompts, not of each round by itself; the head of every method is watched, and the target."""
    rounds = {"eagle2": [(0.1, 0.09), (0.3, 0.11)], "eagle3": [(0.004, 0.003)], "heterospec": []}
    lab, watched, plain = headed(zoo, tmp_path), list[tuple[Any, Sequence[str]]](), Stopwatch.watching

    def watching(self: Stopwatch, thing: Any, names: Sequence[str]) -> AbstractContextManager[None]:
        watched.append((thing, names))
        return plain(self, thing, names)

    def given(lab: object, name: str, *more: object) -> Iterator[tuple[float, float]]:
        yield from rounds[name]

    monkeypatch.setattr(measured, "_rounds", given)
    monkeypatch.setattr(Stopwatch, "watching", watching)
    found = bookkeeping(lab, [PROMPT, PROMPT], 12, 3)
    assert found.keys() == {"eagle2", "eagle3"}
    for name, share, ms in (("eagle2", 0.5, 200.0), ("eagle3", 0.25, 4.0)):
        for told, value in ((found[name]["share"], share), (found[name]["round_ms"], ms)):
            assert told == pytest.approx({"median": value, "low": value, "high": value, "n": 3})
    assert (lab.target.decoder, ["run"]) in watched and len(watched) == 3
    assert all((lab.asset(head), PASSES) in watched for head in ("eagle2", "eagle3"))


def test_every_round_but_the_first_has_its_passes(zoo: Zoo, tmp_path: Path) -> None:
    lab, watch = headed(zoo, tmp_path), Stopwatch()
    with watch.watching(lab.target.decoder, ["run"]):
        found = list(measured._rounds(lab, "eagle2", PROMPT, 12, watch))
    assert len(found) == len(lab.run("eagle2", PROMPT, max_new_tokens=12).rounds) - 1
    assert all(0 < inside < whole for whole, inside in found)
    assert sum(inside for _, inside in found) < watch.seconds
