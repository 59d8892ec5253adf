"""Pooling against traces made by hand: every number can be worked out on paper."""

from typing import Any

import pytest

from engine.analysis.pool import ALL, pool
from engine.errors import ConfigError
from engine.trace.events import Round, RunEnded, RunStarted, Token
from engine.trace.store import Trace

TREE = {"total_token": 60, "depth": 7, "tree_top_k": 10}
BINNED = {**TREE, "ded": True, "tnp": True, "dca": True, "low_bins": 3}


def run(
    method: str, rounds: list[tuple[int, int, float | None]], *, knobs: dict[str, Any] | None = None, task: str = "code",
    prompt: str = "a", fed: int = 60, levels: int = 8, ms: float = 10.0, target: str = "t", shape: str = "dynamic_tree",
    temperature: float = 0.0, device: str = "cpu",
) -> Trace:  # fmt: skip
    """Rounds of (accepted, tcr, phi); the meta-path is what was accepted."""
    head = RunStarted(
        id="x", method=method, title=method.upper(), drafter="none" if fed == 1 else "head", shape=shape, rule="exact",
        guarantee="lossless", knobs=knobs if knobs is not None else TREE, models={"target": {"id": target}}, prompt=prompt,
        prompt_ids=[0], prompt_pieces=["a"], sampling={"temperature": temperature, "top_k": 0, "top_p": 1.0}, seed=0,
        max_new_tokens=99, vocab=9, dtype="float32", device=device, record="light", extras={"task": task, "command": "made"},
    )  # fmt: skip
    made, start = Trace([head]), 0
    for index, (accepted, tcr, phi) in enumerate(rounds):
        kinds = ["draft"] * accepted + ["correction"]
        tokens = [Token(start + i, i, "", kind, index, i if i < accepted else None) for i, kind in enumerate(kinds)]
        extras = {} if phi is None else {"phi": phi, "meta_path": list(range(accepted)) or [8], "bin": int(phi > 2)}
        made.append(
            Round(
                index=index, start=start, drafted=fed - 1, fed=fed, levels=levels if fed > 1 else 0, accepted=accepted,
                emitted=accepted + 1, path=list(range(accepted)), draft_ms=ms * 0.2, verify_ms=ms * 0.7, other_ms=ms * 0.1,
                tcr=tcr if fed > 1 else None, extras=extras, tokens=tokens,
            )
        )  # fmt: skip
        start += accepted + 1
    made.append(RunEnded("limit", 0.0, ms * len(rounds), ""))
    return made


def plain(tokens: int, **more: Any) -> Trace:
    return run("ar", [(0, 0, None)] * tokens, knobs={}, fed=1, shape="none", **more)


def rows(section: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in section["methods"]}


def test_counts_and_speed_with_their_spread() -> None:
    eagle = [run("eagle", [(3, 3, None), (1, 20, None)], prompt=p) for p in "ab"]
    section = pool([plain(6, prompt="a"), plain(6, prompt="b"), *eagle])["sections"][0]
    found = rows(section)["EAGLE"]
    assert (found["calls"], found["tokens"], found["generated"], section["prompts"], section["even"]) == (4, 240, 12, 2, True)
    assert found["tau"] == {"mean": 3.0, "low": 3.0, "high": 3.0, "n": 2}
    assert found["speedup"]["mean"] == pytest.approx((6 / 20) / (6 / 60))
    assert rows(section)["AR"]["speedup"]["mean"] == 1.0
    assert found["draft_s"] == pytest.approx(0.008) and found["verify_s"] == pytest.approx(0.028)


def test_spread_is_over_prompts() -> None:
    traces = [run("eagle", [(i, i, None)] * 5, prompt=str(i)) for i in range(9)]
    tau = rows(pool(traces)["sections"][0])["EAGLE"]["tau"]
    assert tau["mean"] == 5.0 and 2.5 < tau["low"] < 4.5 and 5.5 < tau["high"] < 7.5 and tau["n"] == 9


@pytest.mark.parametrize("partner", [{"prompt": "z"}, {"device": "cuda"}, {"temperature": 1.0}])
def test_no_quotient_without_a_fair_partner(partner: dict[str, Any]) -> None:
    section = pool([plain(4, **partner), run("eagle", [(3, 3, None)])])["sections"][0]
    assert rows(section)["EAGLE"]["speedup"] is None


def test_figures_by_rank() -> None:
    drawn = pool([run("eagle", [(3, 3, 1.0), (1, 20, 4.0), (5, 20, 6.0), (0, 0, None)])])["sections"][0]["figures"]["EAGLE"]
    assert drawn["ranks"] == {"tcr": [0, 3, 20], "tau": [1.0, 4.0, 4.0], "rounds": [1, 1, 2]}
    assert drawn["entropy"] == {"tcr": [3, 20], "phi": [1.0, 5.0], "tau": [4.0, 4.0], "rounds": [1, 2]}
    assert drawn["quantiles"] == {"quantile": [0.1, 0.25, 0.5, 0.75, 1.0], "share": [0.5, 0.5, 1.0, 1.0, 1.0]}
    assert drawn["size"] == 60 and drawn["rounds"] == 4


def test_only_trees_are_drawn() -> None:
    assert pool([run("chain", [(3, 3, None)], fed=9, levels=8)])["sections"][0]["figures"] == {}


def test_sections_by_task() -> None:
    found = pool([run("eagle", [(3, 3, None)], task="code"), run("eagle", [(1, 1, None)], task="talk")])
    assert [s["task"] for s in found["sections"]] == [ALL, "code", "talk"]
    assert [rows(s)["EAGLE"]["tau"]["mean"] for s in found["sections"]] == [3.0, 4.0, 2.0]
    assert found["commands"] == ["made"] and found["runs"] == 2


def test_methods_in_the_usual_order_and_named_by_their_unusual_knobs() -> None:
    more = run("binned", [(2, 2, 1.0)], knobs={**BINNED, "tnp": False, "low_bins": 2.5}, shape="binned")
    usual = {"eagle": TREE, "binned": BINNED}
    traces = [more, run("binned", [(2, 2, 1.0)], knobs=BINNED, shape="binned"), run("eagle", [(3, 3, None)]),
              run("eagle", [(3, 3, None)], temperature=1.0)]  # fmt: skip
    labels = [row["label"] for row in pool(traces, usual)["sections"][0]["methods"]]
    assert labels == ["EAGLE", "EAGLE, temperature 1", "BINNED", "BINNED, tnp off, low_bins 2.5"]


def test_ablation_finds_its_rows() -> None:
    def step(ded: bool, tnp: bool, dca: bool, fed: int, low_bins: int = 3) -> Trace:
        knobs = {**BINNED, "ded": ded, "tnp": tnp, "dca": dca, "low_bins": low_bins}
        return run("binned", [(8, 8, 1.0)], knobs=knobs, shape="entropy_binned", fed=fed)

    traces = [
        step(True, True, True, 60, low_bins=0), step(True, True, True, 22), step(True, True, False, 22), step(True, False, False, 64),
        run("eagle", [(4, 4, None)], knobs={**TREE, "depth": 5}), run("eagle", [(4, 4, None)] * 2),
    ]  # fmt: skip
    table = pool(traces)["sections"][0]["ablation"]
    assert [row["method"] for row in table] == ["EAGLE", "+DED", "+TNP", "+DCA"]
    assert [row["tokens"] for row in table] == [120, 64, 22, 22] and table[1]["calls_saved"] == 0.5
    assert pool([run("eagle", [(4, 4, None)])])["sections"][0]["ablation"] == []


def test_granularity_is_asked_or_told_why_not() -> None:
    def study(found: Any) -> dict[str, float]:
        if len(found) < 2:
            raise ConfigError("too few")
        return {"3L-4L": 1 / 3}

    traces = [run("eagle", [(3, 3, 1.0), (0, 0, 5.0)]), run("other", [(3, 3, 1.0)]), run("third", [(3, 3, None)])]
    assert pool(traces, study=study)["sections"][0]["granularity"] == [
        {"label": "EAGLE", "rounds": 2, "full": 1, "overlap": {"3L-4L": 0.33333}},
        {"label": "OTHER", "rounds": 1, "full": 1, "missing": "too few"},
    ]


def test_what_cannot_be_pooled() -> None:
    with pytest.raises(ConfigError, match="no run"):
        pool([])
    with pytest.raises(ConfigError, match="different targets"):
        pool([plain(3), plain(3, target="other")])
    section = pool([plain(3, prompt="a"), run("eagle", [(1, 1, None)], prompt="b")])["sections"][0]
    assert not section["even"] and section["prompts"] == 2
