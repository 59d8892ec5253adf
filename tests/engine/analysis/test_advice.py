"""Forecasts from the rounds of a long probe, against worlds in which the answer is known."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.analysis.advice import advise, batches, choose, curve_of, cut, options, recast
from engine.costs import Curve
from engine.errors import ConfigError
from engine.trace.events import Round, RunEnded, Token
from engine.trace.store import Trace
from tests.engine.analysis.made import sd

V = Curve(((1, 10.0), (4, 11.0), (16, 19.0)))
STEP, OTHER = 0.8, 0.5  # ms of a draft step, and of the rest of a round
MADE = sd()
TOKEN = MADE.tokens[0]


def world(prompt: int, tokens: int, share: float) -> np.ndarray:
    """Whether a draft model would write the token at each position."""
    return np.random.default_rng(prompt).random(tokens + 64) < share


def run(prompt: int, gamma: int, share: float, tokens: int = 120, category: str = "") -> Trace:
    """Greedy decoding of that text with drafts of `gamma` tokens, each costing what it costs."""
    agrees, head = world(prompt, tokens, share), MADE.head
    found = Trace()
    found.append(
        replace(
            head,
            method="sd" if gamma else "ar",
            title="SD" if gamma else "AR",
            guarantee="lossless" if gamma else "reference",
            shape="chain" if gamma else "none",
            drafter="model" if gamma else "none",
            knobs={"gamma": gamma} if gamma else {},
            prompt=f"prompt {prompt}",
            max_new_tokens=tokens,
            extras={"category": category} if category else {},
        )
    )
    while len(found.tokens) < tokens:
        at = len(found.tokens)
        length = min(gamma, tokens - at - 1)
        good = next((i for i in range(length) if not agrees[at + i]), length)
        given = [Token(at + i, TOKEN.token, TOKEN.piece, "target", len(found.rounds)) for i in range(good + 1)]
        found.append(
            Round(
                index=len(found.rounds),
                start=at,
                drafted=length,
                fed=length + 1,
                levels=length,
                accepted=good,
                emitted=good + 1,
                path=list(range(good)),
                draft_ms=STEP * length,
                verify_ms=V.at(length + 1),
                other_ms=OTHER,
                tokens=given,
            )
        )
    found.append(RunEnded("limit", 1.0, None))
    return found


def speed(runs: list[Trace]) -> float:
    ms = sum(e.draft_ms + e.verify_ms + e.other_ms for t in runs for e in t.rounds)
    return sum(len(t.tokens) for t in runs) / ms


@pytest.mark.parametrize("share", [0.5, 0.8, 0.93])
def test_shorter_drafts_are_forecast_from_a_long_probe(share: float) -> None:
    prompts = range(8)
    plain, probe = [run(p, 0, share) for p in prompts], [run(p, 16, share) for p in prompts]
    found = {int(o.knobs["gamma"]): o for o in options({"SD": probe}, plain, V, set())}
    true = {gamma: speed([run(p, gamma, share) for p in prompts]) / speed(plain) for gamma in (1, 2, 4, 7, 11, 16)}
    for gamma, value in true.items():
        spread = found[gamma].speedup
        assert spread is not None and spread.low is not None and spread.high is not None
        assert spread.mean == pytest.approx(value, rel=0.04), gamma
        assert spread.low < value < spread.high
    best = choose(list(found.values()))
    chosen = speed([run(p, int(best.knobs["gamma"]), share) for p in prompts]) / speed(plain)
    assert chosen >= 0.98 * max(true.values())


def test_of_drafts_that_one_pass_writes_only_what_was_run_is_told() -> None:
    """Their places know where the draft began, and a shorter one costs as much; nor is a server's step paid twice."""
    prompts = range(6)
    plain, probe = [run(p, 0, 0.9) for p in prompts], [run(p, 12, 0.9) for p in prompts]
    table = [{"batch": 1, "rows": rows, "verify_ms": 10.0, "draft_ms": 4.0} for rows in (1, 16)]
    steps = advise({"SD": probe}, plain, V, batches=batches(table))[0]
    for trace in probe:
        for event in trace.rounds:
            event.extras["passes"] = 1
    (block,) = options({"Block": probe}, plain, V, set())
    assert block.knobs["gamma"] == 12 and block.probed is None and block.once
    (row,) = advise({"Block": probe}, plain, V, batches=batches(table))
    assert row["batches"][0]["speedup"] == pytest.approx(block.tau * 10 / (4 + 10))
    assert row["batches"][0]["gamma"] == 12 and steps["batches"][0]["gamma"] < 4


def test_rounds_are_recast_and_cut() -> None:
    assert list(recast([(5, 3, 4), (5, 5, 6)], 2, 99)) == [(2, 2, 3), (2, 0, 1), (2, 2, 3), (2, 2, 3)]
    assert list(recast([(5, 5, 6), (5, 1, 2)], 4, 99)) == [(4, 4, 5), (4, 2, 3)], "goes on through a bonus"
    assert list(recast([(2, 2, 3), (0, 0, 1)], 1, 4)) == [(1, 1, 2), (1, 1, 2)]
    assert list(recast([(5, 3, 4)], 3, 4)) == [(3, 3, 4)]
    ended = [(16, 5, 6), (6, 0, 1), (5, 5, 5)]  # in the second round the drafter saw six tokens to the end
    assert list(recast(ended, 8, 99)) == [(8, 5, 6), (6, 0, 1), (5, 5, 5)], "a draft ends with the text"
    assert list(cut([(4, 3, 4)], 2)) == [(2, 2, 3), (1, 0, 1)], "a look-up's draft ends where it did"
    assert list(cut([(0, 0, 1), (2, 1, 2)], 3)) == [(0, 0, 1), (2, 1, 2)]
    assert list(cut([(5, 5, 6)], 2)) == [(2, 2, 3), (2, 2, 3)]


def test_advice_says_when_speculation_does_not_pay_and_what_decides() -> None:
    prompts = range(10)
    runs = [(p, share, kind) for share, kind in ((0.02, "prose"), (0.95, "code")) for p in prompts]
    plain = [run(p, 0, s, category=k) for p, s, k in runs]
    probe = [run(p, 12, s, category=k) for p, s, k in runs]
    rows = {row["kind"]: row for row in advise({"SD": probe}, plain, V)}
    assert list(rows) == ["all prompts", "prose", "code"]
    assert rows["prose"]["pays"] is False and rows["code"]["pays"] is True
    rival = [replace_method(run(p, 11, s, category=k), "other") for p, s, k in runs]
    (call,) = advise({"SD": probe, "Other": rival}, plain, V)[2]["close"]
    assert call["label"] == "other:gamma=10" or call["prompts"] is None or call["prompts"] > 10


def test_repeats_of_a_prompt_are_no_prompts_of_their_own() -> None:
    plain, probe = ([run(p, gamma, 0.7) for p in range(4)] for gamma in (0, 3))
    (one,), (many,) = advise({"SD": probe}, plain, V), advise({"SD": probe * 3}, plain * 3, V)
    assert one["prompts"] == many["prompts"] == 4 and len(one["options"]) == len(many["options"]) == 3
    for alone, option in zip(one["options"], many["options"], strict=True):
        assert option["speedup"] == pytest.approx(alone["speedup"]) and alone["speedup"]["n"] == 4


def replace_method(trace: Trace, name: str) -> Trace:
    return Trace([replace(trace.head, method=name), *trace.rounds, *([trace.end] if trace.end else [])])


def test_batches_shorten_drafts_until_none_pays() -> None:
    prompts = range(6)
    plain, probe = [run(p, 0, 0.8) for p in prompts], [run(p, 12, 0.8) for p in prompts]
    table = [
        {"batch": size, "rows": rows, "verify_ms": 10 + 0.05 * size * rows**1.2, "draft_ms": 0.5, "hardware": "made up"}
        for size in (1, 16, 256)
        for rows in (1, 2, 4, 8, 16)
    ]
    (row,) = advise({"SD": probe}, plain, V, batches=batches(table))
    lengths = [one["gamma"] for one in row["batches"]]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > 3 and lengths[-1] < 2
    assert row["batches"][0]["hardware"] == "made up"
    odd: list[dict[str, Any]] = [
        {"batch": 1, "rows": 1, "verify_ms": 1} | bad for bad in ({"batch": math.inf}, {"rows": 1.9})
    ]
    odd += [{"batch": 1, "rows": 1, "verify_ms": 1} | bad for bad in ({"verify_ms": math.inf}, {"draft_ms": math.nan})]
    for bad in (
        *([one] for one in odd),
        [{"batch": 1}],
        [{"batch": 0, "rows": 1, "verify_ms": 1}],
        [{"batch": 1, "rows": 2, "verify_ms": 1}],
    ):
        with pytest.raises(ConfigError, match="batch"):
            batches(bad)


def test_no_advice_without_plain_decoding() -> None:
    with pytest.raises(ConfigError, match="plain decoding"):
        advise({"SD": [run(0, 4, 0.5)]}, [])
    with pytest.raises(ConfigError, match="same prompts"):
        advise({"SD": [run(1, 4, 0.5)]}, [run(0, 0, 0.5)])


def test_the_calls_of_runs_make_a_curve() -> None:
    assert curve_of(run(0, 4, 0.5).rounds).at(5) == pytest.approx(V.at(5))
    with pytest.raises(ConfigError):
        curve_of([])


def test_lengths_left_to_the_device_are_told_as_they_were_and_never_computed() -> None:
    plain, probe = [run(p, 0, 0.9) for p in range(6)], [run(p, 6, 0.9) for p in range(6)]
    left = [Trace([replace(t.head, knobs={"gamma": "auto"}), *t.rounds, *([t.end] if t.end else [])]) for t in probe]
    table = [{"batch": 1, "rows": rows, "verify_ms": 10.0, "draft_ms": 0.1} for rows in (1, 8)]
    (row,) = advise({"SD": left}, plain, V, batches=batches(table))
    assert [option["label"] for option in row["options"]] == ["sd:gamma=auto"]
    drafted = [event.drafted for trace in left for event in trace.rounds if event.drafted]
    assert row["best"]["usual"] == row["batches"][0]["gamma"] == round(sum(drafted) / len(drafted)) > 3
    mixed = advise({"SD": left, "Fixed": probe}, plain, V)[0]
    assert {option["label"] for option in mixed["options"]} >= {"sd:gamma=auto", "sd:gamma=6", "sd:gamma=1"}
