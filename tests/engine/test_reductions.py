"""Methods that become one another at the ends of their knobs, bit for bit (docs/methods/checks.md#reductions)."""

from typing import Any

import pytest

from engine.config import Card
from engine.lab import Lab
from engine.trace.store import Trace
from tests.engine.toy import ToyDecoder, toy_lab
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 33, 7, 60]
HOT = {"temperature": 0.8, "top_p": 0.95, "seed": 4}


def counters(trace: Trace) -> list[tuple[int, ...]]:
    """What happened in each round, in numbers."""
    return [(r.start, r.drafted, r.fed, r.levels, r.accepted, r.emitted) for r in trace.rounds]


def check_same(
    lab: Lab, a: tuple[str | Card, dict[str, Any]], b: tuple[str | Card, dict[str, Any]], **options: Any
) -> Trace:
    """Same ids and same counters."""
    options = {"max_new_tokens": 40, "record": "light"} | options
    one, two = (lab.run(name, [0, 1, 2] if lab.vocab < 10 else PROMPT, **knobs, **options) for name, knobs in (a, b))
    assert one.token_ids == two.token_ids and counters(one) == counters(two)
    return one


@pytest.fixture(params=["greedy", "sampled"])
def mode(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {} if request.param == "greedy" else HOT


@pytest.fixture(params=["toy", "llama"])
def pair(request: pytest.FixtureRequest, zoo: Zoo) -> Lab:
    return toy_lab(V=5, seed=2) if request.param == "toy" else zoo.lab("llama", draft="noise")


def test_no_draft_is_autoregressive(pair: Lab, mode: dict[str, Any]) -> None:
    """SD with gamma 0 is AR: the same uniforms choose the same tokens, one call a token."""
    check_same(pair, ("sd", {"gamma": 0}), ("ar", {}), **mode)
    check_same(pair, (pair.compose(drafter="none", shape="none", rule="gap"), {}), ("ar", {}), **mode)


@pytest.mark.thorough
def test_easd_that_never_triggers_is_sd_with_its_own_correction(pair: Lab, mode: dict[str, Any]) -> None:
    """tau_entropy out of reach, or an overlap above one: SD with K3; all three ablations too."""
    base = ("sd", {"correction": "target", "gamma": 4})
    check_same(pair, ("easd", {"tau_entropy": 20.0, "gamma": 4}), base, **mode)
    check_same(pair, ("easd", {"tau_overlap": 1.01, "gamma": 4}), base, **mode)
    for ablation in ("no_overlap", "no_draft_entropy", "target_entropy_only"):
        check_same(pair, ("easd", {"tau_entropy": 20.0, "ablation": ablation, "gamma": 4}), base, **mode)
    check_same(
        pair, ("easd", {"tau_entropy": 20.0, "correction": "residual", "gamma": 4}), ("sd", {"gamma": 4}), **mode
    )


@pytest.mark.thorough
def test_the_ablation_without_overlap_is_overlap_zero(pair: Lab, mode: dict[str, Any]) -> None:
    """Table 2 "w/o Overlap" equals tau_O = 0 with at-least, digit for digit; n >= V equals it as well."""
    loose = {"tau_entropy": 0.8, "gamma": 4}
    one = check_same(pair, ("easd", loose | {"ablation": "no_overlap"}), ("easd", loose | {"tau_overlap": 0.0}), **mode)
    check_same(
        pair, ("easd", loose | {"overlap_n": 1000, "tau_overlap": 1.0}), ("easd", loose | {"tau_overlap": 0.0}), **mode
    )
    check_same(
        pair,
        ("easd", loose | {"ablation": "target_entropy_only"}),
        ("easd", loose | {"ablation": "no_overlap", "tau_entropy_draft": 0.0}),
        **mode,
    )
    plain = pair.run(
        "sd", [0, 1, 2] if pair.vocab < 10 else PROMPT, max_new_tokens=40, gamma=4, correction="target", **mode
    )
    assert one.token_ids != plain.token_ids, "no veto happened: the comparison says nothing"


def test_always_vetoing_a_copy_writes_every_second_best() -> None:
    """tau = -1, tau_O = 0, draft = target, T = 0: one token a cycle, each the target's second choice."""
    lab = toy_lab(V=5, seed=1, draft="copy")
    trace = lab.run("easd", [0, 1], tau_entropy=-1.0, tau_overlap=0.0, gamma=3, max_new_tokens=20)
    assert all(r.emitted == 1 and r.accepted == 0 for r in trace.rounds)
    decoder, text = lab.target.decoder, [0, 1]
    assert isinstance(decoder, ToyDecoder)
    for token, event in zip(trace.token_ids, trace.rounds, strict=True):
        row = decoder.table[(len(text) - 1) % 2, text[-2], text[-1]]
        assert (
            token == row.argsort(descending=True)[1 if event.drafted else 0].item()
        )  # no room to draft token the last one
        assert event.drafted == 0 or event.nodes[0].state == "vetoed"
        text.append(token)


@pytest.mark.thorough
def test_fixed_length_and_threshold_make_cm_asd_specdec(pair: Lab, mode: dict[str, Any]) -> None:
    """k_min = k_max (or no adaptation) and gamma = 0 is SpecDec(k, tau); with both threshold readings."""
    specdec = ("specdec", {"gamma": 6, "tau_base": 0.8, "top_beta": 3})
    for reading in ("equation", "text"):
        same = {"k_max": 6, "tau_base": 0.8, "tau_gamma": 0.0, "top_beta": 3, "threshold_mode": reading}
        check_same(pair, ("cm_asd", same | {"k_min": 6}), specdec, **mode)
        check_same(pair, ("cm_asd", same | {"adapt_k": False}), specdec, **mode)


def test_both_threshold_readings_meet_at_one_half(pair: Lab) -> None:
    """They are mirror images: with the literal margin of equal logits every C is one half, and they agree."""
    wide = {"k_max": 5, "tau_base": 0.2, "tau_gamma": 1.5, "top_beta": 5}
    texts = [
        pair.run("cm_asd", [0, 1, 2] if pair.vocab < 10 else PROMPT, max_new_tokens=40, **wide, threshold_mode=m)
        for m in ("equation", "text")
    ]
    assert texts[0].token_ids != texts[1].token_ids or pair.vocab < 10
    half = {
        "w_entropy": 0.0,
        "w_margin": 1.0,
        "w_soft": 0.0,
        "margin_scale": 0.01,
    }  # sigma(0.01 * margin) is near one half
    check_same(
        pair,
        ("cm_asd", wide | half | {"threshold_mode": "equation"}),
        ("cm_asd", wide | half | {"threshold_mode": "text"}),
    )


def test_the_widest_gap_writes_what_the_drafter_writes() -> None:
    """beta = V, tau wide: the drafter's own greedy block, plus one token of the target."""
    lab = toy_lab(V=5, seed=2)
    solo = Lab(lab.models["draft"])
    trace = lab.run("specdec", [0, 1, 2], gamma=4, top_beta=5, tau_base=1000.0, max_new_tokens=20)
    for event in trace.rounds:
        assert event.accepted == event.drafted
        text = [0, 1, 2, *trace.token_ids[: event.start]]
        if event.drafted:
            block = solo.run("ar", text, max_new_tokens=event.drafted).token_ids
            assert trace.token_ids[event.start : event.start + event.accepted] == block


def test_without_bonus_the_loosest_rules_are_the_draft_model() -> None:
    """AutoJudge's bookkeeping (4.22.4): everything kept and no bonus token reproduces the draft's greedy text."""
    lab = toy_lab(V=5, seed=2)
    own = Lab(lab.models["draft"]).run("ar", [0, 1, 2], max_new_tokens=25).token_ids
    wide = {"gamma": 4, "bonus": False, "max_new_tokens": 25}
    assert lab.run("topk_lossy", [0, 1, 2], accept_k=5, **wide).token_ids == own
    assert lab.run("specdec", [0, 1, 2], top_beta=5, tau_base=1000.0, **wide).token_ids == own


def test_top_one_is_sd(pair: Lab) -> None:
    check_same(pair, ("topk_lossy", {"accept_k": 1, "gamma": 4}), ("sd", {"gamma": 4}))


def test_a_wider_rule_never_accepts_less_on_one_draft(pair: Lab) -> None:
    """At a fixed prefix the kept prefix grows with K, beta and tau (first round only: later ones have other prefixes)."""
    prompt = [0, 1, 2] if pair.vocab < 10 else PROMPT
    for name, knob, values in (
        ("topk_lossy", "accept_k", (1, 2, 4)),
        ("specdec", "top_beta", (1, 2, 5)),
        ("specdec", "tau_base", (0, 1, 9)),
    ):
        kept = [
            next(iter(pair.run(name, prompt, max_new_tokens=12, gamma=6, **{knob: v}).rounds)).accepted for v in values
        ]
        assert kept == sorted(kept)
