"""Traces as pandas tables; docs/numbers.md lists their columns, with units. Several traces are stacked in the order
given."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from engine.analysis.columns import EXTRA, LABEL, LANE, NODES, ROUNDS, RUN, TOKENS, Column
from engine.analysis.labels import labels
from engine.trace.store import Trace
from engine.trace.sums import as_list

Traces = Trace | Iterable[Trace]


def tokens_df(traces: Traces, run: bool = False, lanes: bool = False) -> pd.DataFrame:
    """One row an emitted token; to tell runs of one method apart, `run=True` puts the run's id in front, `lanes=True`
    its `lane` and `label`."""
    return _table(as_list(traces), _token_rows, TOKENS, run, lanes)


def nodes_df(traces: Traces, run: bool = False, lanes: bool = False) -> pd.DataFrame:
    """One row a draft token; no rows for a trace that was recorded lightly."""
    return _table(as_list(traces), _node_rows, NODES, run, lanes)


def rounds_df(traces: Traces, run: bool = False, lanes: bool = False) -> pd.DataFrame:
    """One row a round; the method's extras follow as `x_*`, missing where a round has none."""
    kept = as_list(traces)
    extras = dict.fromkeys(name for trace in kept for event in trace.rounds for name in event.extras)
    columns = ROUNDS + tuple(replace(EXTRA, name=f"x_{name}") for name in extras)
    return _table(kept, _round_rows, columns, run, lanes)


def _token_rows(trace: Trace) -> Iterator[dict[str, Any]]:
    for token in trace.tokens:
        yield _named(trace) | {column.name: getattr(token, column.name) for column in TOKENS[1:]}


def _node_rows(trace: Trace) -> Iterator[dict[str, Any]]:
    pieces = trace.pieces
    derived = {"method", "round", "node", "piece"}
    plain = [column.name for column in NODES if column.name not in derived]
    for event in trace.rounds:
        for number, node in enumerate(event.nodes):
            place = {"round": event.index, "node": number, "piece": pieces.get(node.token)}
            yield _named(trace) | place | {name: getattr(node, name) for name in plain}


def _round_rows(trace: Trace) -> Iterator[dict[str, Any]]:
    plain = [column.name for column in ROUNDS if column.name not in {"method", "round"}]
    for event in trace.rounds:
        extras = {f"x_{name}": value for name, value in event.extras.items()}
        yield _named(trace) | {"round": event.index} | {name: getattr(event, name) for name in plain} | extras


def _named(trace: Trace) -> dict[str, Any]:
    return {"run": trace.head.id, "method": trace.head.method}


def _lanes(traces: Sequence[Trace]) -> list[dict[str, str]]:
    """What tells each trace from the others of its method: `lane`, as the page's keys are, and `label`."""
    seen: Counter[str] = Counter()
    out = []
    for trace, label in zip(traces, labels(traces), strict=True):
        seen[trace.head.method] += 1
        again = seen[trace.head.method]
        out.append({"lane": trace.head.method + (f".{again}" if again > 1 else ""), "label": label})
    return out


def _table(
    traces: Sequence[Trace],
    rows_of: Callable[[Trace], Iterator[dict[str, Any]]],
    columns: Sequence[Column],
    run: bool,
    lanes: bool,
) -> pd.DataFrame:
    own = _lanes(traces) if lanes else [dict[str, str]()] * len(traces)
    rows = [lane | row for lane, trace in zip(own, traces, strict=True) for row in rows_of(trace)]
    wanted = (*((RUN,) if run else ()), *((LANE, LABEL) if lanes else ()), *columns)
    return pd.DataFrame({c.name: _series([row.get(c.name) for row in rows], c.dtype) for c in wanted})


def _series(values: list[Any], dtype: str) -> "pd.Series[Any]":
    """A column of the declared type; an undeclared one (an extra) becomes a number where all its values are."""
    if dtype:
        return pd.Series(values, dtype=dtype)
    numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    return pd.Series(values, dtype="float64" if numeric else "object")
