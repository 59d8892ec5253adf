"""The names that are typed are those whose values are checked, and those that recorded runs hold."""

from pathlib import Path
from typing import get_type_hints

import pytest

from app import types
from engine.files.places import PRESETS
from engine.trace import bounds
from engine.trace.records import Reason, Source
from engine.trace.store import Trace

FREE = {"pattern"}  # a text for a reader, of any content


@pytest.mark.parametrize(("kind", "table"), [(Reason, bounds.REASON), (Source, bounds.SOURCE)])
def test_what_is_typed_is_checked(kind: type, table: dict[str, object]) -> None:
    assert set(get_type_hints(kind)) - FREE == set(table)


def test_recorded_runs_hold_no_other_name_and_nearly_all_of_these() -> None:
    reasons, sources = set[str](), set[str]()
    for path in sorted(Path(PRESETS / "traces").glob("*.jsonl.gz")):
        for event in Trace.load(path).rounds:
            for node in event.nodes:
                reasons |= set(node.reason or {})
                sources |= set(node.source or {})
    rare = {"fired", "edge", "h", "math_k", "reward"}  # another token vetoed; a judge at an edge; sampled typical; RSD
    assert set(get_type_hints(Reason)) - reasons <= rare and reasons <= set(get_type_hints(Reason))
    assert set(get_type_hints(Source)) - sources <= {"common"}  # of another tokenizer
    assert sources <= set(get_type_hints(Source))


def test_the_page_has_the_same_names() -> None:
    text = types.declarations()["trace.d.ts"]
    for kind in (Reason, Source):
        body = text.split(f"export interface {kind.__name__} {{")[1].split("\n}")[0]
        assert all(f"readonly {name}?:" in body for name in get_type_hints(kind))
    assert "readonly reason?: Reason;" in text and "readonly source?: Source;" in text
