"""Whole steps: after a token in a draft's place the target finishes the step by itself."""

from types import SimpleNamespace
from typing import Any, cast

from engine.shapes.steps import Steps

KIT: Any = SimpleNamespace(target=SimpleNamespace(tokenizer=SimpleNamespace(decode="".join)), assets={})


def limit_after(shape: Steps, emitted: str, accepted: int = 0, origin: str = "correction") -> int:
    verdict = SimpleNamespace(path=range(accepted), origin=origin)
    shape.observe(cast(Any, SimpleNamespace(verdict=verdict, emitted=emitted)))
    return shape.limit()


def test_the_target_writes_to_the_end_of_a_step_whose_end_is_several_tokens() -> None:
    shape = Steps(KIT, {"step_end": "##", "step_limit": 9})
    assert shape.limit() == 9
    assert [limit_after(shape, token) for token in "a#b##"] == [0, 0, 0, 0, 9]
    assert limit_after(shape, "ab.", accepted=2, origin="bonus") == 9, "an accepted step is over"
    assert limit_after(shape, "ab.", accepted=2) == 0, "and one that was corrected goes on"
    shape.begin()
    assert shape.limit() == 9
