"""The files of the vectors are what the engine computes today."""

import json
from typing import Any

import pytest

from tests.vectors import compute, path, subjects

LAST_BITS = {"temperature": 1e-4}  # a model computes these, so they depend on the processor


def same(kept: Any, found: Any, share: float) -> bool:
    """Whether two JSON values are equal, numbers up to a share of their size."""
    if isinstance(kept, float) and isinstance(found, float):
        return kept == pytest.approx(found, rel=share, abs=share / 1000)
    if isinstance(kept, dict) and isinstance(found, dict):
        return kept.keys() == found.keys() and all(same(kept[name], found[name], share) for name in kept)
    if isinstance(kept, list) and isinstance(found, list):
        return len(kept) == len(found) and all(same(a, b, share) for a, b in zip(kept, found, strict=True))
    return bool(kept == found)


@pytest.mark.parametrize("subject", subjects())
def test_the_file_is_current(subject: str) -> None:
    kept = json.loads(path(subject).read_text(encoding="utf-8"))
    assert same(kept, compute(subject), LAST_BITS.get(subject, 0.0)), (
        "run python -m tests.vectors write, and see that the page's unit tests still pass"
    )
    assert kept["cases"], "vectors without a case check nothing"
