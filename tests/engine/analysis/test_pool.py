"""Pooling against traces made by hand: every number can be worked out on paper."""

from typing import Any

import pytest

from engine.analysis.pool import ALL, pool
from engine.errors import ConfigError
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made_trees import BINNED, TREE, plain, run


def rows(section: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in section["methods"]}


def test_counts_and_speed_with_their_spread() -> None:
    eagle = [run("eagle", [(3, 3, None), (1, 20, None)], prompt=p) for p in "ab"]
    section = pool([plain(6, prompt="a"), plain(6, prompt="b"), *eagle])["sections"][0]
    found = rows(section)["EAGLE"]
    assert (found["calls"], found["tokens"], found["generated"], section["prompts"], section["even"]) == (
        4,
        240,
        12,
        2,
        True,
    )
    assert found["tau"] == {"mean": 3.0, "low": 3.0, "high": 3.0, "n": 2}
    assert found["speedup"]["mean"] == pytest.approx((6 / 20) / (6 / 60))
    assert rows(section)["AR"]["speedup"]["mean"] == 1.0
    busy = [run("eagle", [(3, 3, None), (1, 20, None)], prompt=p, parts=(0.2, 0.3, 0.5)) for p in "ab"]
    other = rows(pool([plain(6, prompt="a"), plain(6, prompt="b"), *busy])["sections"][0])["EAGLE"]
    assert other["speedup"] == found["speedup"], "all of a round's time counts"
    assert found["draft_s"] == pytest.approx(0.008) and found["verify_s"] == pytest.approx(0.028)


def test_spread_is_over_prompts() -> None:
    traces = [run("eagle", [(i, i, None)] * 5, prompt=str(i)) for i in range(9)]
    tau = rows(pool(traces)["sections"][0])["EAGLE"]["tau"]
    assert tau["mean"] == 5.0 and 2.5 < tau["low"] < 4.5 and 5.5 < tau["high"] < 8 and tau["n"] == 9


def test_repeats_of_a_prompt_are_no_prompts_of_their_own() -> None:
    """Answered again and again, three prompts stay three: of means over them nothing gets narrower."""
    once = [run("eagle", [(i, i, None)] * (i + 1), prompt=str(i)) for i in range(3)]
    base = [plain(9, prompt=str(i)) for i in range(3)]
    sections = [pool([*base * n, *once * n])["sections"][0] for n in (1, 5)]
    assert [section["prompts"] for section in sections] == [3, 3]
    one, many = (rows(section)["EAGLE"] for section in sections)
    for name in ("calls_each", "tokens_each", "tau", "speedup"):
        assert many[name] == one[name] and one[name]["n"] == 3, name
    assert one["calls_each"]["mean"] == 2.0 and one["tokens_each"]["mean"] == 120.0 and many["runs"] == 15


@pytest.mark.parametrize("end", [RunEnded("stopped", 0.0, 1.0, ""), RunEnded("error", None, 1.0, "", "why"), None])
def test_runs_that_were_cut_off_are_counted_apart(end: RunEnded | None) -> None:
    whole = [plain(6, prompt="a"), run("eagle", [(3, 3, None), (1, 20, None)])]
    cut = [
        Trace([*list(trace.events)[:-1], *([end] if end else [])]) for trace in (run("eagle", [(0, 0, None)]), plain(1))
    ]
    found = pool([*whole, *cut])
    assert found.pop("left_out") == 2 and found == pool(whole)
    with pytest.raises(ConfigError, match="none of these came to its end"):
        pool(cut)


@pytest.mark.parametrize("partner", [{"prompt": "z"}, {"device": "cuda"}, {"temperature": 1.0}])
def test_no_quotient_without_a_fair_partner(partner: dict[str, Any]) -> None:
    section = pool([plain(4, **partner), run("eagle", [(3, 3, None)])])["sections"][0]
    assert rows(section)["EAGLE"]["speedup"] is None


def test_figures_by_rank() -> None:
    drawn = pool([run("eagle", [(3, 3, 1.0), (1, 20, 4.0), (5, 20, 6.0), (0, 0, None)])])["sections"][0]["figures"][
        "EAGLE"
    ]
    assert drawn["ranks"] == {"tcr": [0, 3, 20], "tau": [1.0, 4.0, 4.0], "rounds": [1, 1, 2]}
    assert drawn["entropy"] == {"tcr": [3, 20], "phi": [1.0, 5.0], "tau": [4.0, 4.0], "rounds": [1, 2]}
    assert drawn["quantiles"] == {"quantile": [0.1, 0.25, 0.5, 0.75, 1.0], "share": [0.5, 0.5, 1.0, 1.0, 1.0]}
    assert drawn["size"] == 60 and drawn["rounds"] == 4 and drawn["steady"] == 1.0


def test_only_trees_are_drawn() -> None:
    assert pool([run("chain", [(3, 3, None)], fed=9, levels=8)])["sections"][0]["figures"] == {}
    searched, tree = run("beam", [(3, 3, None)]), run("eagle", [(3, 3, None)])
    searched.head.rule = "beams"
    assert list(pool([searched, tree])["sections"][0]["figures"]) == ["EAGLE"], "what beams hold, nobody tests"
    for event in tree.rounds:
        event.drafted = event.fed = event.levels = event.accepted = 0
        event.nodes, event.path, event.extras = [], [], {"iteration": event.index + 1}
    rows = pool([searched, tree])["sections"][0]["methods"]
    assert [(row["calls"], row["iterations"]) for row in rows] == [(1, 0), (0, 1)]


def test_sections_by_task() -> None:
    found = pool([run("eagle", [(3, 3, None)], task="code"), run("eagle", [(1, 1, None)], task="talk")])
    assert [s["task"] for s in found["sections"]] == [ALL, "code", "talk"]
    assert [rows(s)["EAGLE"]["tau"]["mean"] for s in found["sections"]] == [3.0, 4.0, 2.0]
    assert found["commands"] == ["made"] and found["runs"] == 2
    assert [s["task"] for s in pool([run("eagle", [(3, 3, None)], task="code")])["sections"]] == ["code"]


def test_methods_in_the_usual_order_and_named_by_their_unusual_knobs() -> None:
    more = run("binned", [(2, 2, 1.0)], knobs={**BINNED, "tnp": False, "low_bins": 2.5}, shape="binned")
    usual = {"eagle": TREE, "binned": BINNED}
    traces = [
        more,
        run("binned", [(2, 2, 1.0)], knobs=BINNED, shape="binned"),
        run("eagle", [(3, 3, None)]),
        run("eagle", [(3, 3, None)], temperature=1.0),
    ]
    labels = [row["label"] for row in pool(traces, usual)["sections"][0]["methods"]]
    assert labels == ["EAGLE", "EAGLE, temperature 1", "BINNED", "BINNED, tnp off, low_bins 2.5"]


def test_ablation_finds_its_rows() -> None:
    def step(ded: bool, tnp: bool, dca: bool, fed: int, low_bins: int = 3) -> Trace:
        knobs = {**BINNED, "ded": ded, "tnp": tnp, "dca": dca, "low_bins": low_bins}
        return run("binned", [(8, 8, 1.0)], knobs=knobs, shape="entropy_binned", fed=fed)

    traces = [
        step(True, True, True, 60, low_bins=0),
        step(True, True, True, 22),
        step(True, True, False, 22),
        step(True, False, False, 64),
        run("eagle", [(4, 4, None)], knobs={**TREE, "depth": 5}),
        run("eagle", [(4, 4, None)] * 2),
        plain(9),
    ]
    table = pool(traces)["sections"][0]["ablation"]
    assert [row["method"] for row in table] == ["EAGLE", "+DED", "+TNP", "+DCA"]
    assert table[1]["speedup"]["mean"] == pytest.approx(9.0) and table[0]["speedup"]["mean"] == pytest.approx(5.0)
    assert [row["tokens"] for row in table] == [120, 64, 22, 22] and table[1]["calls_saved"] == 0.5
    assert pool([run("eagle", [(4, 4, None)])])["sections"][0]["ablation"] == []


def test_granularity_is_asked_or_told_why_not() -> None:
    def study(found: Any) -> dict[str, Any]:
        if len(found) < 2:
            raise ConfigError("too few")
        return {"rounds": "all", "overlap": {"3L-4L": 1 / 3}}

    traces = [run("eagle", [(3, 3, 1.0), (0, 0, 5.0)]), run("other", [(3, 3, 1.0)]), run("third", [(3, 3, None)])]
    assert pool(traces, study=study)["sections"][0]["granularity"] == [
        {"label": "EAGLE", "samples": 2, "full": 1, "rounds": "all", "overlap": {"3L-4L": 0.33333}},
        {"label": "OTHER", "samples": 1, "full": 1, "missing": "too few"},
    ]


def test_what_cannot_be_pooled() -> None:
    with pytest.raises(ConfigError, match=r"no run to pool\.$"):
        pool([])
    with pytest.raises(ConfigError, match=r"different targets \(2 of other, 1 of t\): pool those of one at"):
        pool([plain(3), plain(3, target="other"), plain(3, target="other")])
    section = pool([plain(3, prompt="a"), run("eagle", [(1, 1, None)], prompt="b")])["sections"][0]
    assert not section["even"] and section["prompts"] == 2


def test_quality_is_told_of_runs_that_were_marked() -> None:
    def marked(method: str, right: str, temperature: float = 0.0) -> list[Trace]:
        runs = [run(method, [(3, 3, None)], prompt=str(i), temperature=temperature) for i in range(len(right))]
        for trace, mark in zip(runs, right, strict=True):
            trace.head.extras |= {"task": "arithmetic", "right": mark == "y"}
        return runs

    baseline = [plain(4, prompt=str(i)) for i in range(4)]
    for trace, mark in zip(baseline, "yyny", strict=True):
        trace.head.extras |= {"task": "arithmetic", "right": mark == "y"}
    found = rows(pool([*marked("eagle", "ynny"), *baseline])["sections"][0])
    assert found["EAGLE"]["quality"]["accuracy"]["mean"] == 0.5 and found["AR"]["quality"]["accuracy"]["mean"] == 0.75
    assert found["EAGLE"]["quality"]["accuracy_difference"]["mean"] == -0.25
    assert (
        "accuracy"
        not in rows(pool([*marked("eagle", "yn"), run("other", [(1, 1, None)])])["sections"][-1])["OTHER"]["quality"]
    )


def test_what_is_told_of_the_runs_themselves() -> None:
    traces = [run("eagle", [(1, 1, None)], prompt=p, device=d) for p, d in (("a", "cuda"), ("b", "cpu"))]
    for trace, created in zip(traces, ("2026-01-02", "2026-01-01"), strict=True):
        trace.head.created = created
        trace.head.models["target"] = {"id": "t", "revision": "r"}
    found = pool(traces)
    assert (found["device"], found["dtype"], found["created"]) == ("cpu and cuda", "float32", "2026-01-02")
    assert found["target"] == {"id": "t", "revision": "r"} and found["commands"] == ["made"] and found["runs"] == 2
    assert (found["kind"], found["schema"]) == ("pooled", 1) and "left_out" not in found


def test_a_tree_s_size_is_the_largest_and_how_many_rounds_have_it() -> None:
    """A round of 60 tokens, two of 22 that the text's end cut short, one without a draft."""
    traces = [run("eagle", [(1, 1, None)]), run("eagle", [(1, 1, None)] * 2, fed=22, prompt="b")]
    idle = run("eagle", [(0, 0, None)], fed=1, prompt="c")
    drawn = pool([*traces, idle])["sections"][0]["figures"]["EAGLE"]
    assert (drawn["size"], drawn["steady"], drawn["rounds"]) == (60, 0.33333, 3)
    assert [share["mean"] for share in drawn["within"]] == drawn["quantiles"]["share"]
    assert drawn["within"][0]["n"] == 2 and drawn["within"][0]["low"] is not None


def test_a_tree_s_size_leaves_out_what_the_target_reads_beside_it() -> None:
    """A window of lookahead decoding is fed in the same pass; ranks are those of draft tokens."""
    trace = run("lookahead", [(1, 1, None)], fed=20)
    trace.rounds[0].fed, trace.rounds[0].extras = 78, {"beside": 58}
    assert pool([trace])["sections"][0]["figures"]["LOOKAHEAD"]["size"] == 20


def test_the_row_that_mechanisms_are_added_to_is_of_the_same_drafter_rule_and_tree() -> None:
    """Each of these but the last differs in one thing; the one that is alike comes last, with its own title."""
    binned = run("binned", [(8, 8, 1.0)], knobs=BINNED, shape="entropy_binned")
    others = [
        run(name, [(4, 4, None)], prompt=name) for name in ("drafter", "rule", "shape", "knob", "missing", "alike")
    ]
    others[0].head.drafter, others[1].head.rule, others[2].head.shape = "other", "typical", "static_tree"
    others[3].head.knobs, others[4].head.knobs = {**TREE, "total_token": 40}, {"depth": 7}
    assert [row["method"] for row in pool([binned, *others])["sections"][0]["ablation"]] == ["ALIKE", "+DCA"]
    assert [row["method"] for row in pool([binned, *others[:5]])["sections"][0]["ablation"]] == ["+DCA"]
    odd = run("binned", [(8, 8, 1.0)], knobs={**BINNED, "ded": False}, shape="entropy_binned", prompt="odd")
    assert pool([odd, *others])["sections"][0]["ablation"] == [], "no step of the paper's table"
