import math
from typing import Any

import pytest

from engine.analysis.divergence import NEAR, divergence
from engine.errors import ConfigError
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, IS, SAMPLED, SAT, ar, bush, chain, head, light


def other(states: str = "aar", last: int = SAT, candidates: tuple[int, ...] = (CAT, DOG, IS), **changed: Any) -> Trace:
    """Agrees with `base` on two tokens, then puts sat where base has has."""
    return Trace([head(**changed), chain(0, 0, states, list(candidates), last)])


def base(share: float = 0.4, rest: float = 0.3, **changed: Any) -> Trace:
    """Plain decoding of cat, dog, has; at has the target gives these probabilities to has and sat."""
    trace = ar([CAT, DOG, HAS], **changed)
    trace.tokens[2].top_target = [(HAS, share), (SAT, rest)]
    return trace


def test_equal_runs_and_prefixes_do_not_diverge() -> None:
    assert divergence(ar([CAT, DOG]), ar([CAT, DOG])) is None
    assert divergence(ar([CAT]), ar([CAT, DOG])) is None


def test_the_first_difference_with_its_numbers() -> None:
    found = divergence(base(), other())
    assert found is not None
    assert (found.pos, found.tokens, found.pieces, found.p) == (2, (HAS, SAT), (" has", "sat"), (0.4, 0.3))
    assert found.gap == pytest.approx(math.log(4 / 3))
    assert found.cause == "unexplained"
    assert found.text == (
        "At position 2 AR has `·has` (0.40) and SD `sat` (0.30): unexplained, 0.29 nats apart: "
        "two exact greedy runs should agree here."
    )


@pytest.mark.parametrize(
    ("dtype", "rest", "cause"),
    [
        ("float32", 0.3999, "near-tie"),
        ("float32", 0.399, "unexplained"),
        ("torch.float16", 0.39, "near-tie"),
        ("float16", 0.37, "unexplained"),
        ("bfloat16", 0.33, "near-tie"),
        ("bfloat16", 0.30, "unexplained"),
        ("float64", 0.3999, "unexplained"),
        ("float7", 0.3999, "near-tie"),
    ],
)
def test_near_ties_depend_on_the_dtype(dtype: str, rest: float, cause: str) -> None:
    found = divergence(base(0.4, rest, dtype=dtype), other(dtype=dtype))
    assert found is not None and found.cause == cause


def test_the_coarser_dtype_counts() -> None:
    found = divergence(base(0.4, 0.33, dtype="float32"), other(dtype="bfloat16"))
    assert found is not None and found.cause == "near-tie" and found.near == 0.25


def test_a_lossy_rule_is_blamed_only_where_it_acted() -> None:
    relaxed = divergence(base(), other("aaxr", HAS, (CAT, DOG, SAT, IS), guarantee="lossy"))
    vetoed = divergence(base(), other("aav", SAT, (CAT, DOG, HAS), guarantee="lossy"))
    elsewhere = divergence(base(), other("aar", guarantee="lossy"))
    assert [found and found.cause for found in (relaxed, vetoed, elsewhere)] == [
        "lossy rule",
        "lossy rule",
        "unexplained",
    ]


def test_a_step_that_a_reward_model_let_through_is_bent_and_what_the_target_writes_instead_is_not() -> None:
    rewarded: dict[str, Any] = {"guarantee": "lossy", "rule": "reward"}
    let = divergence(base(), other("aaa", HAS, (CAT, DOG, SAT), **rewarded))
    assert let is not None and let.cause == "lossy rule"
    for written in (other("aar", **rewarded), light(other("aar", **rewarded))):
        found = divergence(base(), written)
        assert found is not None and found.cause == "unexplained"


def test_a_light_lossy_run_may_have_bent_it() -> None:
    found = divergence(base(), light(other(guarantee="lossy")))
    assert found is not None and found.cause == "lossy rule"


def test_draws_differ_when_sampling() -> None:
    found = divergence(base(sampling=SAMPLED), other(sampling=SAMPLED))
    assert found is not None and found.cause == "sampling draw" and "both are draws from one distribution" in found.text
    lossy = divergence(base(sampling=SAMPLED), other(sampling=SAMPLED, guarantee="lossy"))
    assert lossy is not None and "the draws differ" in lossy.text


def test_probabilities_come_from_either_run_and_may_be_missing() -> None:
    mine, theirs = ar([CAT, DOG, HAS]), other("aaa", IS, (CAT, DOG, SAT))
    theirs.rounds[0].nodes[2].top_target = [(SAT, 0.5)]
    found = divergence(mine, theirs)  # one row has has only, the other sat only
    assert found is not None and found.p == (0.8, 0.5)
    theirs.rounds[0].nodes[2].top_target = None
    missing = divergence(mine, theirs)
    assert missing is not None and missing.p == (0.8, None) and missing.gap is None
    assert "the gap was not recorded" in missing.text and "`sat`:" in missing.text


def test_same_titles_are_told_apart() -> None:
    found = divergence(ar([CAT]), ar([DOG]))
    assert found is not None and "the first has `cat`" in found.text and "the second `dog`" in found.text


def test_other_prompts_and_targets_are_refused() -> None:
    with pytest.raises(ConfigError, match="prompts"):
        divergence(ar([CAT]), ar([DOG], prompt_ids=[3]))
    with pytest.raises(ConfigError, match="targets"):
        divergence(ar([CAT]), ar([DOG], models={"target": {"id": "u"}}))
    wrong: Any = "ar.jsonl"
    for pair in ((wrong, ar([CAT])), (ar([CAT]), wrong), ([ar([CAT])], ar([CAT]))):
        with pytest.raises(ConfigError, match="A trace is wanted"):
            divergence(*pair)


def test_a_veto_elsewhere_in_the_tree_is_not_to_blame() -> None:
    tree = bush()
    tree.rounds[0].nodes[0].state = "vetoed"  # at depth 1; the difference is the correction at depth 3
    found = divergence(ar([DOG, IS, HAS]), tree)
    assert found is not None and (found.pos, found.cause) == (2, "unexplained")


def test_both_probabilities_are_of_one_row_where_one_has_both() -> None:
    """The second run's row has both tokens; the first's has only one, with another number."""
    one, two = base(), other()
    one.tokens[2].top_target = [(HAS, 0.9)]
    two.rounds[0].nodes[2].top_target, two.tokens[2].top_target = [(HAS, 0.2), (SAT, 0.6)], [(HAS, 0.2), (SAT, 0.6)]
    found = divergence(one, two)
    assert found is not None and found.p == (0.2, 0.6) and found.gap == pytest.approx(math.log(3))
    turned = divergence(two, one)
    assert turned is not None and turned.p == (0.6, 0.2) and turned.gap == pytest.approx(math.log(3))


@pytest.mark.parametrize("which", [0, 1])
def test_a_token_that_the_target_never_gives_has_no_gap(which: int) -> None:
    one = base()
    one.tokens[2].top_target = [(HAS, 0.0 if which == 0 else 0.4), (SAT, 0.0 if which == 1 else 0.4)]
    found = divergence(one, other())
    assert found is not None and found.gap is None and "the gap was not recorded" in found.text


@pytest.mark.parametrize("turned", [False, True])
def test_either_side_may_be_to_blame(turned: bool) -> None:
    """Each cause by one of two runs alone, whichever is named first."""

    def cause(one: Trace, two: Trace) -> str:
        found = divergence(two, one) if turned else divergence(one, two)
        assert found is not None
        return found.cause

    alone = other("aaa", IS, (CAT, DOG, SAT))
    alone.rounds[0].fed = 0
    for event in alone.rounds:
        event.drafted, event.nodes, event.accepted = 0, [], 0
    for token in alone.tokens:
        token.origin, token.node = "draft", None
    assert cause(base(), alone) == "draft alone"
    placed = other()
    placed.tokens[2].origin = "placed"
    assert cause(base(), placed) == "written in place"
    assert cause(base(), other("aav", SAT, (CAT, DOG, HAS), guarantee="lossy")) == "lossy rule"
    assert cause(base(), other(sampling=SAMPLED)) == "sampling draw"


def test_a_gap_as_wide_as_the_dtype_s_own_is_a_near_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    found = divergence(base(0.4, 0.3), other())
    assert found is not None and found.gap is not None
    monkeypatch.setitem(NEAR, "float32", found.gap)
    again = divergence(base(0.4, 0.3), other())
    assert again is not None and again.cause == "near-tie"
