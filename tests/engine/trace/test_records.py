"""The names that are typed are those whose values are checked, and those that recorded runs hold."""

import re
from pathlib import Path
from typing import get_type_hints

import pytest

from app import typings
from engine.files.places import PRESETS
from engine.parts.threshold_rule import NUMBERS
from engine.rules import THRESHOLDS
from engine.trace import bounds
from engine.trace.records import HeadExtras, Pruned, Reason, RoundExtras, Source
from engine.trace.store import Trace

UNRECORDED = {"branches", "branches_least"}  # of no recorded case
FREE = {"pattern"}  # a text for a reader, of any content


TABLES = [
    (Reason, bounds.REASON),
    (Source, bounds.SOURCE),
    (RoundExtras, bounds.EXTRAS),
    (HeadExtras, bounds.HEAD_EXTRAS),
    (Pruned, bounds.PRUNED),
]


@pytest.mark.parametrize(("kind", "table"), TABLES)
def test_what_is_typed_is_checked(kind: type, table: dict[str, object]) -> None:
    assert set(get_type_hints(kind)) - FREE == set(table)


@pytest.mark.thorough
def test_recorded_runs_hold_no_other_name_and_nearly_all_of_these() -> None:
    reasons, sources, extras, heads = set[str](), set[str](), set[str](), set[str]()
    for path in sorted(Path(PRESETS / "traces").glob("*.jsonl.gz")):
        trace = Trace.load(path)
        heads |= set(trace.head.extras)
        for event in trace.rounds:
            extras |= set(event.extras)
            for node in event.nodes:
                reasons |= set(node.reason or {})
                sources |= set(node.source or {})
    rare = {"fired", "edge", "h"}  # another token vetoed; a judge at an edge; sampled typical
    assert set(get_type_hints(Reason)) - reasons <= rare and reasons <= set(get_type_hints(Reason))
    assert set(get_type_hints(Source)) - sources <= {"common"}  # of another tokenizer
    assert sources <= set(get_type_hints(Source))
    noted = {name for name in extras if not re.fullmatch(r"hits_\d+", name)}
    assert noted <= set(get_type_hints(RoundExtras))
    assert set(get_type_hints(RoundExtras)) - noted <= UNRECORDED
    assert heads <= set(get_type_hints(HeadExtras))


def test_what_a_declared_rule_reads_is_what_a_reason_holds() -> None:
    assert set(NUMBERS) <= set(get_type_hints(Reason))
    named = {name for one in THRESHOLDS.values() for name in dict(one.limits).values()}
    assert named <= set(get_type_hints(Reason))


def test_the_page_has_the_same_names() -> None:
    text = typings.declarations()["trace.d.ts"]
    for kind, _ in TABLES:
        body = text.split(f"export interface {kind.__name__} {{")[1].split("\n}")[0]
        assert all(f"readonly {name}?:" in body for name in get_type_hints(kind))
    assert "readonly reason?: Reason;" in text and "readonly source?: Source;" in text
    assert "readonly extras: RoundExtras;" in text and "readonly extras: HeadExtras;" in text
