"""The files of the vectors are what the engine computes today."""

import json

import pytest

from tests.vectors import compute, path, subjects


@pytest.mark.parametrize("subject", subjects())
def test_the_file_is_current(subject: str) -> None:
    kept = json.loads(path(subject).read_text(encoding="utf-8"))
    assert kept == compute(subject), "run python -m tests.vectors write, and see that the page's unit tests still pass"
    assert kept["cases"], "vectors without a case check nothing"
