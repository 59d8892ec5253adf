"""Properties: what is written is read back, and no bytes raise anything but TraceError."""

import contextlib
import gzip
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.trace import Trace
from engine.trace.codec import event_from_json, event_json
from engine.trace.events import (
    GUARANTEES,
    NODE_STATES,
    ORIGINS,
    REASONS,
    RECORDS,
    Node,
    Round,
    RunEnded,
    RunStarted,
    Token,
)
from engine.trace.records import HeadExtras

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = words.filter(lambda text: text not in ("Infinity", "-Infinity"))
ids = st.integers(0, 2**31)
numbers = st.floats(-1e300, 1e300) | st.just(float("inf")) | st.just(float("-inf"))
tops = st.lists(st.tuples(ids, st.floats(0, 1)), max_size=3)
free = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, free, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


given_or_not: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(
    ("score", "q", "h_draft", "p", "h_target", "overlap", "accept_prob", "u", "margin"), numbers
)
given_or_not |= dict.fromkeys(("top_draft", "law_draft", "top_target", "law_target"), tops)
given_or_not |= {"rank": st.integers(1, 99), "rule": words, "source": objects, "reason": objects, "judge": numbers}
details = st.lists(st.sampled_from(sorted(given_or_not)), max_size=3, unique=True).flatmap(
    lambda chosen: st.fixed_dictionaries({name: given_or_not[name] for name in chosen})
)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    out: list[Node] = []
    for index in range(draw(st.integers(0, 4))):
        parent = draw(st.integers(-1, index - 1))
        node = Node(
            draw(ids), parent, 1 + (out[parent].depth if parent >= 0 else 0), draw(st.sampled_from(NODE_STATES))
        )
        for name, value in draw(details).items():
            setattr(node, name, value)
        out.append(node)
    return out


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        str: words,
        int: st.integers(0, 2**53),
        dict[str, Any]: objects,
        HeadExtras: objects,
        list[int]: st.lists(ids, max_size=3),
    }
    kinds |= {list[str]: st.lists(words, max_size=3), dict[str, str]: st.dictionaries(words, words, max_size=2)}
    kinds |= {dict[str, dict[str, Any]]: st.dictionaries(words, objects, max_size=2), str | None: maybe(words)}
    kinds |= {bool: st.booleans()}
    values: dict[str, Any] = {field.name: draw(kinds[field.type]) for field in fields(RunStarted)}
    values |= {"guarantee": draw(st.sampled_from(GUARANTEES)), "record": draw(st.sampled_from(RECORDS))}
    trace = Trace([RunStarted(**values)])
    for index in range(draw(st.integers(0, 3))):
        drafted, start = draw(nodes()), len(trace.tokens)
        point = st.integers(0, max(len(drafted) - 1, 0))  # nothing is checked where no nodes were recorded
        tokens = [
            Token(
                start + i,
                draw(ids),
                draw(words),
                draw(st.sampled_from(ORIGINS)),
                index,
                draw(maybe(point)),
                draw(maybe(numbers)),
            )
            for i in range(draw(st.integers(0, 3)))
        ]
        counts = {name: draw(st.integers(0, 9)) for name in ("drafted", "fed", "levels", "accepted", "emitted")}
        times = {name: draw(st.floats(0, 1e6)) for name in ("draft_ms", "verify_ms", "other_ms")}
        rest: dict[str, Any] = {
            **counts,
            "path": draw(st.lists(point, max_size=2)),
            **times,
            "tcr": draw(maybe(st.integers(0, 9))),
            "extras": draw(objects),
            "pruned": draw(st.lists(objects, max_size=2)),
            "nodes": drafted,
            "tokens": tokens,
            "pieces": {str(key): text for key, text in draw(st.dictionaries(ids, words, max_size=2)).items()},
        }
        trace.append(Round(index, start, **rest))
    if draw(st.booleans()):
        trace.append(
            RunEnded(
                draw(st.sampled_from(REASONS)),
                draw(maybe(st.just(1.5))),
                draw(maybe(st.floats(0, 1e9))),
                draw(words),
                draw(words),
            )
        )
    return trace


@settings(max_examples=40)
@given(traces())
def test_round_trip(trace: Trace) -> None:
    """Of the codec alone: whether the numbers can be is for `bounds`."""
    back = Trace(event_from_json(json.loads(line)) for line in trace.to_lines())
    assert list(back.events) == list(trace.events)
    assert back.to_bytes() == trace.to_bytes()


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    for given_bytes in (data, b"\x1f\x8b\x08" + data, gzip.compress(data)):
        with pytest.raises(TraceError):
            Trace.loads(given_bytes)


SOUND = [
    {
        "kind": "round",
        "index": 0,
        "start": 0,
        "drafted": 1,
        "fed": 2,
        "levels": 1,
        "accepted": 0,
        "emitted": 0,
        "path": [],
        "draft_ms": 0.0,
        "verify_ms": 0.0,
        "other_ms": 0.0,
        "nodes": [{"token": 1, "parent": -1, "depth": 1, "state": "rejected"}],
        "tokens": [{"pos": 0, "token": 1, "piece": "", "origin": "bonus", "round": 0}],
    },
    {"kind": "end", "reason": "eos", "prefill_ms": 0.0, "total_ms": 0.0, "text": ""},
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=80)
@given(st.sampled_from(SOUND), st.data())
def test_any_field_may_hold_anything(sound: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(sound)))
    changed = sound | {key: data.draw(anything)}
    try:
        event = event_from_json(changed)
    except TraceError as error:
        assert str(error).endswith(".") and len(str(error)) < 300
    else:
        assert json.loads(json.dumps(event_json(event), allow_nan=False))["kind"] == changed["kind"]


@settings(max_examples=60)
@given(st.binary(min_size=1, max_size=4), st.floats(0, 1))
def test_a_flipped_file_is_read_or_refused(noise: bytes, where: float) -> None:
    head: dict[str, Any] = {
        field.name: {} if "dict" in str(field.type) else [] if "list" in str(field.type) else 1
        for field in fields(RunStarted)
    }
    head |= {"chat": True, "vocab": 9, "source": 0, "extras": {}}
    texts = {field.name: "x" for field in fields(RunStarted) if "str" in str(field.type) and head[field.name] == 1}
    texts |= {"guarantee": "lossy", "record": "light"}
    good = b"".join(json.dumps(one).encode() + b"\n" for one in ({"kind": "run", "schema": 1, **head, **texts}, *SOUND))
    assert Trace.loads(good).end is not None
    at = int(where * (len(good) - 4))
    with contextlib.suppress(TraceError):
        Trace.loads(good[:at] + noise + good[at + len(noise) :])
