"""Claims about trees, on traces made by hand."""

import pytest

from engine.cases.claims import failures
from engine.files.presets import Preset
from engine.trace.store import Trace
from tests.engine.analysis.made_trees import plain, run


def tree(kept: list[int], extra: list[int] | None = None, fed: int = 60) -> Trace:
    made = run("tree", [(k, k, 1.0) for k in kept], fed=fed)
    for event, more in zip(made.rounds, extra or [], strict=False):
        event.extras["d_extra"] = more
    return made


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"deeper": [0, 2]}, True),
        ({"deeper": [0, 3]}, False),
        ({"deeper": [1, 1]}, False),
        ({"wasted": [1, 59, 1, 3]}, True),
        ({"wasted": [1, 59, 1, 4]}, False),
        ({"wasted": [1, 60, 1, 3]}, False),
        ({"wasted": [1, 59, 0, 3]}, False),
        ({"fewer_calls": [0, 1]}, True),
        ({"fewer_calls": [1, 0]}, False),
        ({"fewer_calls": [0, 0]}, False),
        ({"fewer_checked": [2, 0]}, True),
        ({"fewer_checked": [0, 1]}, True),
        ({"fewer_checked": [1, 1]}, False),
    ],
)
def test_claims_about_trees(claim: dict[str, list[int]], holds: bool) -> None:
    traces = [tree([8, 8, 2, 8], [4, 3, 0, 2]), tree([4, 1, 0, 1, 5]), plain(20)]
    assert (failures(Preset("made", "Made", expect=claim), traces) == []) is holds
