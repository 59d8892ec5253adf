"""Traces as pandas tables, with the columns of `columns`. Several traces are stacked in the order given."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from engine.analysis.columns import NODES, ROUNDS, TOKENS, Column
from engine.errors import ConfigError
from engine.trace.store import Trace

Traces = Trace | Iterable[Trace]
RUN = Column("run", "str", "", "Id of the run.")


def tokens_df(traces: Traces, run: bool = False) -> pd.DataFrame:
    """One row an emitted token; `run=True` puts the run's id in front, to tell runs of one method apart."""
    return _table((_token_rows(trace) for trace in as_list(traces)), TOKENS, run)


def nodes_df(traces: Traces, run: bool = False) -> pd.DataFrame:
    """One row a draft token; no rows for a trace that was recorded lightly."""
    return _table((_node_rows(trace) for trace in as_list(traces)), NODES, run)


def rounds_df(traces: Traces, run: bool = False) -> pd.DataFrame:
    """One row a round; the method's extras follow as `x_*`, missing where a round has none."""
    kept = as_list(traces)
    extras = dict.fromkeys(name for trace in kept for event in trace.rounds for name in event.extras)
    columns = ROUNDS + tuple(Column(f"x_{name}", "", "", "An extra of the method.") for name in extras)
    return _table((_round_rows(trace) for trace in kept), columns, run)


def as_list(traces: Traces) -> list[Trace]:
    """One trace or several, as a list.

    Raises:
        ConfigError: something that is none.
    """
    if isinstance(traces, Trace):
        return [traces]
    given: Iterable[Any] = traces if isinstance(traces, Iterable) and not isinstance(traces, str | bytes) else [traces]
    kept = list[Trace]()
    for one in given:
        if not isinstance(one, Trace):
            raise ConfigError(f"A table is made of traces, not of {one!r}: `Trace.load(path)` reads one from a file.")
        kept.append(one)
    return kept


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


def _table(parts: Iterable[Iterable[Mapping[str, Any]]], columns: Sequence[Column], run: bool) -> pd.DataFrame:
    rows = [row for part in parts for row in part]
    wanted = (RUN, *columns) if run else columns
    return pd.DataFrame({c.name: _series([row.get(c.name) for row in rows], c.dtype) for c in wanted})


def _series(values: list[Any], dtype: str) -> "pd.Series[Any]":
    """A column of the declared type; an undeclared one (an extra) becomes a number where all its values are."""
    if dtype:
        return pd.Series(values, dtype=dtype)
    numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    return pd.Series(values, dtype="float64" if numeric else "object")
