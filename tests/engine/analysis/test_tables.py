import math
from typing import Any, cast

import pandas as pd
import pytest

from engine.analysis.columns import EXTRA, LABEL, LANE, NODES, ROUNDS, RUN, TOKENS
from engine.analysis.tables import nodes_df, rounds_df, tokens_df
from engine.cli.readme import NUMBERS
from engine.errors import ConfigError
from engine.trace.records import RoundExtras
from engine.trace.store import Trace
from tests.engine.analysis.made import ar, bush, head, light, sd

DESIGN = {
    "nodes": "method round node token piece parent depth rank q score h_draft h_target overlap p accept_prob u state rule reason "
    "source judge confidence margin top_draft top_target",
    "rounds": "method round start drafted fed levels accepted emitted tcr draft_ms verify_ms other_ms",
    "tokens": "method pos token piece origin round node h_draft h_target",
}


def test_columns_are_those_of_the_design() -> None:
    assert {c.name for c in NODES} == set(DESIGN["nodes"].split())
    assert list(rounds_df(sd())) == [c.name for c in ROUNDS] == DESIGN["rounds"].split()
    assert list(tokens_df(sd())) == [c.name for c in TOKENS] == DESIGN["tokens"].split()
    assert list(nodes_df(sd())) == [c.name for c in NODES]


def test_rows_and_values() -> None:
    trace = sd()
    nodes = nodes_df(trace)
    assert len(nodes) == 9
    assert list(nodes.loc[1, ["method", "round", "node", "token", "piece"]]) == ["sd", 0, 1, 3, " has"]
    assert list(nodes.loc[4, ["parent", "depth", "rank", "q", "p"]]) == [0, 2, 2, 0.5, 0.4]
    assert list(nodes.state[:3]) == ["accepted", "rejected", "discarded"]
    assert list(rounds_df(trace).draft_ms) == [3.0, 3.0, 3.0]
    assert list(tokens_df(trace).origin) == ["draft", "correction", "draft", "draft", "draft", "bonus", "draft"]


def test_unknown_is_missing_and_never_zero() -> None:
    trace = sd()
    nodes, tokens, rounds = nodes_df(trace), tokens_df(trace), rounds_df(trace)
    for column in ("overlap", "u", "judge", "confidence", "margin", "accept_prob"):
        assert nodes[column].isna().all() and nodes[column].dtype == "float64"
    assert nodes["rank"].dtype == "Int64" and nodes["top_draft"].isna().all()
    assert tokens.node.isna().tolist() == [False, True, False, False, False, True, False]
    assert tokens.h_draft.isna().all()
    assert rounds.tcr.isna().all()
    assert math.isnan(nodes.u.sum(min_count=1))


def test_extras_become_columns() -> None:
    one, two = sd(), bush()
    one.rounds[0].extras = cast(RoundExtras, {"k": 3, "why": "short"})
    two.rounds[0].extras = cast(RoundExtras, {"k": 0, "bins": [1, 2], "deep": True})
    rounds = rounds_df([one, two])
    assert list(rounds)[-4:] == ["x_k", "x_why", "x_bins", "x_deep"]
    assert rounds.x_k.tolist()[::3] == [3.0, 0.0] and rounds.x_k.isna().sum() == 2
    assert rounds.x_bins[3] == [1, 2]
    assert rounds.x_deep[3] is True


def test_several_traces_and_run_ids() -> None:
    assert tokens_df([sd(), ar([1, 2])]).method.tolist() == ["sd"] * 7 + ["ar"] * 2
    assert rounds_df((sd(), bush()), run=True).run.tolist() == ["sd-0"] * 3 + ["bush-0"]


def test_lanes_of_one_method_are_told_apart() -> None:
    other = sd()
    other.head.knobs["gamma"] = 5
    for table in (tokens_df, nodes_df, rounds_df):
        found = table([sd(), other, bush()], lanes=True)
        assert list(found)[:3] == ["lane", "label", "method"]
        assert list(found[["lane", "label"]].drop_duplicates().itertuples(index=False, name=None)) == [
            ("sd", "SD (gamma 3)"),
            ("sd.2", "SD (gamma 5)"),
            ("bush", "BUSH"),
        ]
        assert list(found)[2:] == list(table([sd(), other, bush()]))
    assert list(tokens_df([], run=True, lanes=True))[:4] == ["run", "lane", "label", "method"]


def test_empty_tables_keep_columns_and_types() -> None:
    for trace in (Trace([head()]), light(sd())):
        nodes = nodes_df(trace)
        assert nodes.empty and list(nodes) == [c.name for c in NODES] and nodes.p.dtype == "float64"
    assert tokens_df([]).empty and isinstance(rounds_df([]), pd.DataFrame)


def test_every_column_has_words() -> None:
    for column in (RUN, LANE, LABEL, *NODES, *ROUNDS, EXTRA, *TOKENS):
        assert column.help.endswith(".") and len(column.help) < 110


def test_every_column_of_an_exported_table_is_in_the_documents() -> None:
    one = sd()
    one.rounds[0].extras = cast(RoundExtras, {"k": 3})
    told = NUMBERS.read_text(encoding="utf-8")
    for table in (tokens_df, nodes_df, rounds_df):
        for name in table(one, run=True, lanes=True).columns.tolist():
            assert f"| `{'x_*' if name.startswith('x_') else name}` |" in told, name


def test_a_column_that_may_lack_numbers_says_where() -> None:
    for column in (*ROUNDS, *TOKENS):
        assert column.dtype != "Int64" or "missing" in column.help, column.name


def test_top_lists_are_kept_whole() -> None:
    trace = sd()
    trace.rounds[0].nodes[0].top_target = [(1, 0.5), (2, 0.25)]
    assert nodes_df(trace).top_target[0] == [(1, 0.5), (2, 0.25)]


@pytest.mark.parametrize("given", [5, "run.jsonl", ["run.jsonl"], None])
def test_what_is_no_trace_is_told(given: Any) -> None:
    for table in (tokens_df, nodes_df, rounds_df):
        with pytest.raises(ConfigError, match=r"A trace is wanted, not (5|None|'run.jsonl')"):
            table(given)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2.5], "float64"),
        ([1, None], "float64"),
        ([True, 1], "object"),
        (["a", 1], "object"),
        ([[1], None], "object"),
    ],
)
def test_an_extra_is_a_number_where_all_its_values_are(values: list[Any], dtype: str) -> None:
    trace = sd()
    for event, value in zip(trace.rounds, values, strict=False):
        event.extras = {"made": value}  # type: ignore[typeddict-unknown-key]
    assert len(trace.rounds) >= 2 and rounds_df(trace)["x_made"].dtype == dtype
