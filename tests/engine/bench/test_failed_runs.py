"""A run that fails ends what is measured: its tokens and seconds are of a part, and count for nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.bench.batches import batch_speeds
from engine.bench.bookkeeping import bookkeeping
from engine.bench.contenders import kept, ours
from engine.errors import EngineFault
from engine.lab import Lab
from engine.rules.exact import Exact
from engine.trees.template import best_first
from engine.tune.trees import Usage, count_usage
from tests.engine.drafters.heads import headed
from tests.engine.zoo import Zoo

PROMPT = [5, 6, 7]
MEASURED: dict[str, Callable[[Lab], object]] = {
    "ours": lambda lab: ours(lab, "recycle", 12)(PROMPT),
    "kept": lambda lab: kept(lab, "recycle", PROMPT, 12, scope="global")(PROMPT),
    "batches": lambda lab: batch_speeds(lab, {"ar": ("ar", {})}, [PROMPT], [1, 2], 12, 1),
    "bookkeeping": lambda lab: bookkeeping(lab, [PROMPT], 12, 1),
    "trees": lambda lab: list(count_usage(lab, "recycle", ["abcabc"], 1, Usage(best_first(8, 3)), max_new_tokens=12)),
}


@pytest.mark.parametrize("what", MEASURED)
def test_a_run_that_fails_is_not_counted(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    lab = headed(zoo, tmp_path)
    MEASURED[what](lab)
    plain, left = Exact.decide, [2]

    def decide(*args: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise EngineFault("the device is gone")
        return plain(*args)

    monkeypatch.setattr(Exact, "decide", decide)
    with pytest.raises(EngineFault, match="failed: the device is gone"):
        MEASURED[what](lab)


def test_bookkeeping_of_texts_that_end_in_their_first_round_is_unknown(zoo: Zoo, tmp_path: Path) -> None:
    lab = headed(zoo, tmp_path)
    assert bookkeeping(lab, [PROMPT], 1, 2) == {}
    assert bookkeeping(lab, [PROMPT], 12, 2).keys() == {"eagle2", "eagle3", "heterospec"}
