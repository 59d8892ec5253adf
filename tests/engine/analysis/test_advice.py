"""Forecasts from the rounds of a long probe, against worlds in which the answer is known."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.analysis.advice import (
    Batch,
    Option,
    Step,
    _kind,
    advise,
    batches,
    choose,
    curve_of,
    cut,
    fixed,
    kind_of,
    options,
    recast,
)
from engine.costs import Curve
from engine.errors import ConfigError
from engine.trace.events import Round, RunEnded, Token
from engine.trace.store import Trace
from tests.engine.analysis.made import sd
from tests.typed import some

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


def option(method: str, *each: tuple[float, float, float, float], steps: tuple[Step, ...] = (), **more: Any) -> Option:
    """A method that was measured so on each prompt: tokens, ms, and those of plain decoding."""
    return Option(method, method.upper(), more.pop("knobs", {}), each, more.pop("tau", 2.0), steps, **more)


def test_an_option_is_named_by_its_length_or_size_and_drafts_so_much_where_it_drafts() -> None:
    steps = ((4, 4, 5), (0, 0, 1), (1, 0, 1), (3, 1, 2))
    one = option("sd", steps=steps, knobs={"gamma": 4, "total_token": 9, "other": 1})
    assert (one.label, one.usual, option("sd").usual) == ("sd:gamma=4:total_token=9", 3, 0)
    assert option("pld").label == "pld" and option("pld").speedup is None
    assert [fixed(given, "gamma") for given in ({"gamma": "auto"}, {}, {"gamma": None}, {"gamma": 5})] == [0, 0, 0, 5]


def test_one_option_over_another_is_of_their_own_speeds() -> None:
    fast, slow = option("a", (10, 1, 10, 5), (20, 3, 10, 5)), option("b", (10, 2, 10, 5), (20, 6, 10, 5))
    assert fast.speedup and fast.speedup.mean == pytest.approx((30 / 4) / (20 / 10))
    found = fast.over(slow)
    assert found and found.mean == pytest.approx(2.0) and found.n == 2


def told(*options: Option) -> dict[str, Any]:
    return _kind("kind", options, [])


def test_the_fastest_is_chosen_and_within_two_per_cent_what_was_measured_or_the_middle() -> None:
    def speed(ms: float, **more: Any) -> Option:
        return option("sd", (100, ms, 100, 200), **more)

    slow, best = speed(103, knobs={"gamma": 1}), speed(100, knobs={"gamma": 2}, probed=9)
    near = [speed(101.9, knobs={"gamma": g}, probed=9) for g in (5, 4, 3)]
    assert choose([slow, best]) is best
    assert choose([slow, best, *near]) is near[1], "2, 3, 4, 5: the upper of the middle two"
    measured = speed(101.9, knobs={"gamma": 8})
    assert choose([best, *near, measured]) is measured
    assert choose([best, speed(102.1, knobs={"gamma": 8})]) is best
    with pytest.raises(ConfigError, match="same prompts"):
        choose([option("sd")])


def test_whether_it_pays_is_said_by_the_whole_interval() -> None:
    for ends, pays in (((50.0, 60.0), True), ((120.0, 150.0), False), ((60.0, 150.0), None)):
        each = [(100.0, ms, 100.0, 100.0) for ms in ends for _ in range(4)]
        assert told(option("sd", *each))["pays"] is pays, ends
    alone = told(option("sd", (100.0, 50.0, 100.0, 100.0)))
    assert alone["pays"] is None and alone["prompts"] == 1 and alone["close"] == []


def test_a_rival_that_is_close_is_told_with_how_many_prompts_would_tell() -> None:
    """The best is as fast on every prompt; of two rivals one differs always, one on half of the prompts either way."""
    best = option("best", *[(100.0, 50.0, 100.0, 100.0)] * 8)
    apart = option("apart", *[(100.0, 60.0, 100.0, 100.0)] * 8)
    unsure = option("unsure", *[(100.0, ms, 100.0, 100.0) for ms in (30.0, 90.0)] * 4)
    row = told(unsure, best, apart)
    (call,) = row["close"]
    assert row["best"]["label"] == "best" and call["label"] == "unsure" and call["ratio"] == pytest.approx(1.2)
    half = math.log(call["high"] / call["ratio"])
    assert call["prompts"] == max(9, math.ceil(8 * (half / math.log(1.2)) ** 2)) and call["low"] <= 1
    same = option("same", *[(100.0, ms, 100.0, 100.0) for ms in (49.0, 51.2)] * 4)
    assert told(best, same)["close"][0]["prompts"] is None, "a difference of a thousandth is not worth measuring"
    alike = [replace(unsure, knobs={"gamma": gamma}) for gamma in (2, 3)]
    row = told(best, *alike)
    listed = next(one["label"] for one in row["options"] if one["method"] == "unsure")
    assert row["close"][0]["label"] == listed == "unsure:gamma=2", "of settings that are as fast the one listed first"
    single = told(option("best", (100.0, 50.0, 100.0, 100.0)), option("other", (100.0, 60.0, 100.0, 100.0)))
    assert single["close"] == [
        {"label": "other", "ratio": pytest.approx(1.2), "low": None, "high": None, "prompts": None}
    ]


def test_so_many_prompts_as_a_close_call_asks_for_tell_and_half_of_them_do_not() -> None:
    """More prompts of the same kind: the interval of a ratio is even in its logarithm, so that is what shrinks."""

    def pair(prompts: int) -> tuple[Option, Option]:
        unsure = [(100.0, ms, 100.0, 100.0) for ms in (20.0, 140.0)] * (prompts // 2)
        return option("best", *[(100.0, 50.0, 100.0, 100.0)] * prompts), option("unsure", *unsure)

    def low(prompts: int) -> float:
        best, unsure = pair(prompts)
        return some(some(best.over(unsure)).low)

    asked = told(*pair(8))["close"][0]["prompts"]
    assert low(8) < 1 and asked == 17 and low(asked + 1) > 1 > low(asked // 2)


def test_a_batch_waits_for_its_longest_draft_and_pays_every_step() -> None:
    """A pass over one row takes 10 ms, over five 14; two of three rounds draft, four tokens at most."""
    batch = Batch(8, Curve(((1, 10.0), (5, 14.0))), 0.5, "made")
    chain = option("sd", knobs={"gamma": 4}, steps=((4, 2, 3), (0, 0, 1), (3, 1, 2)), tau=2.4)
    assert batch.speedup(chain) == pytest.approx(2.4 * 10 / (4 * 0.5 + 14))
    assert batch.speedup(replace(chain, once=True)) == pytest.approx(2.4 * 10 / (0.5 + 14))
    assert batch.speedup(replace(chain, knobs={})) is None and replace(batch, step_ms=None).speedup(chain) is None
    for own in (batch, replace(batch, step_ms=None)):  # a look-up pays no step of a model, known or not
        assert own.speedup(replace(chain, free=True)) == pytest.approx(2.4 * 10 / 14)
    slow = replace(chain, tau=1.2)
    assert batch.fastest([slow, chain]) == {
        **{"batch": 8, "hardware": "made", "label": "sd:gamma=4", "method": "sd", "gamma": 4},
        "speedup": pytest.approx(1.5),
    }
    assert batch.fastest([slow]) == {
        **{"batch": 8, "hardware": "made", "label": "ar", "method": "ar", "gamma": 0, "speedup": 1.0},
    }
    assert batch.fastest([replace(chain, knobs={})])["label"] is None
    assert batch.fastest([replace(chain, knobs={"gamma": "auto"})])["gamma"] == 4, "as long as it drafts usually"


def test_a_table_of_batches_is_read_by_size() -> None:
    rows: list[dict[str, Any]] = [
        {"batch": 4, "rows": 2, "verify_ms": 12, "draft_ms": 0.5, "hardware": "own"},
        {"batch": 1, "rows": 1, "verify_ms": 9},
        {"batch": 4, "rows": 1, "verify_ms": 10},
    ]
    one, four = batches(rows, "given")
    assert (one.size, one.step_ms, one.hardware, one.verify.at(1)) == (1, None, "given", 9)
    assert (four.size, four.step_ms, four.hardware) == (4, 0.5, "own"), "a row keeps what one before it told"
    assert (four.verify.at(1), four.verify.at(2)) == (10, 12)
    for bad in ({"verify_ms": 0}, {"rows": 0}, {"draft_ms": -1}, {"batch": "x"}, {"rows": None}):
        with pytest.raises(ConfigError, match="batch costs"):
            batches([{"batch": 1, "rows": 1, "verify_ms": 1} | bad])
    with pytest.raises(ConfigError, match="batch 2 need a row with rows = 1"):
        batches([{"batch": 2, "rows": 2, "verify_ms": 1}])


def test_kinds_are_categories_else_tasks() -> None:
    trace = run(0, 2, 0.5, category="prose")
    trace.head.extras["task"] = "functions"
    assert kind_of(trace) == "prose"
    trace.head.extras["category"] = ""
    assert kind_of(trace) == "functions"


def test_of_bonus_tokens_as_many_agree_as_of_the_others() -> None:
    """Two of four known tokens agree, so of two bonus tokens the first does: T T F T F F, drafted five at a time."""
    half = [(1, 1, 2), (1, 0, 1)] * 2
    assert list(recast(half, 5, 99)) == [(5, 2, 3), (5, 1, 2), (5, 0, 1)]
    assert list(recast([(0, 0, 1)], 3, 99)) == [(3, 0, 1)], "where nothing is known, nothing agrees"
    assert list(recast([], 3, 99)) == []


def test_what_is_told_of_an_option() -> None:
    one = option("sd", (10, 1, 10, 5), knobs={"gamma": 2}, tau=2.5, levels=2, probed=9, steps=((2, 1, 2),))
    assert one.to_json() == {
        **{"label": "sd:gamma=2", "method": "sd", "title": "SD", "knobs": {"gamma": 2}, "tau": 2.5, "levels": 2},
        **{"usual": 2, "computed_from_gamma": 9, "speedup": {"mean": 5.0, "low": None, "high": None, "n": 1}},
    }
    assert option("sd").to_json()["speedup"] is None
