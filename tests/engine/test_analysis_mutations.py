"""Deliberate faults in what is read out of a trace: sentences, idle thresholds, verdicts, intervals, identities, judges'
curves. Each must be noticed by a named check; see test_mutations.py."""

from collections.abc import Callable

import pytest

from tests.engine.analysis import (
    test_divergence,
    test_explain,
    test_identities,
    test_idle,
    test_intervals,
    test_judge_curves,
    test_verdict,
)
from tests.engine.faults import Fault


def area() -> None:
    """The body of the generated test on one example with a tie."""
    body = test_judge_curves.test_the_area_is_that_of_scikit_learn.hypothesis.inner_test  # type: ignore[attr-defined]
    body([(0.1, False), (0.9, True), (0.9, False), (0.4, True)])


FAULTS: list[tuple[Fault, Callable[[], object]]] = [
    # sentences of thresholds
    (
        Fault("sides exchanged", "engine.analysis.comparisons:_side", "0 if found.holds", "1 if found.holds"),
        test_explain.test_typical,
    ),
    (
        Fault(
            "no words for the number",
            "engine.analysis.comparisons:_clauses",
            "WORDS.get(found.name, _plain)",
            "_plain",
        ),
        test_explain.test_lossy_overrides,
    ),
    (
        Fault(
            "a limit without what it was calculated from",
            "engine.analysis.comparisons:_limit",
            "if not made",
            "if True",
        ),
        test_explain.test_gap,
    ),
    (
        Fault(
            "both entropies though their limits differ",
            "engine.analysis.comparisons:_both_entropies",
            "(draft.sign, draft.limit, draft.holds) != (target.sign, target.limit, target.holds)",
            "draft.holds != target.holds",
        ),
        lambda: test_explain.test_veto_ablations_name_only_what_was_asked("no_overlap", "exceed 2.0;"),
    ),
    (
        Fault(
            "inputs of a choice between two limits forgotten",
            "engine.threshold.evaluate:calculated_from",
            "parts = [_expression(part, knobs) for part in expression.of]",
            "parts = list(expression.of)",
        ),
        test_explain.test_gap,
    ),
    (
        Fault(
            "a draw told as a preference",
            "engine.analysis.reasons:_against",
            "ratio is not None and not scene.greedy",
            "False",
        ),
        test_explain.test_an_override_of_a_draw_speaks_of_the_draw,
    ),
    (
        Fault(
            "an override's refusal unsaid",
            "engine.analysis.reasons:_limits",
            'scene.threshold.effect != "override"',
            "True",
        ),
        test_explain.test_lossy_overrides,
    ),
    # idle thresholds
    (
        Fault("the other extreme", "engine.analysis.idle:idle", "max(values) if one.sign", "min(values) if one.sign"),
        test_idle.test_a_veto_beyond_every_target_entropy,
    ),
    (
        Fault("idle though one node meets it", "engine.analysis.idle:idle", "not any(t.holds", "not all(t.holds"),
        test_idle.test_a_recorded_run_says_so_and_one_that_fires_does_not,
    ),
    (
        Fault(
            "accepted tokens put before an override",
            "engine.analysis.idle:asked",
            'node.state == "accepted"',
            "False",
        ),
        test_idle.test_an_override_is_asked_only_about_what_the_exact_rule_rejects,
    ),
    (
        Fault("exact matches counted", "engine.analysis.idle:asked", "is not True", "is not None"),
        test_idle.test_a_rule_that_decides_alone_may_always_accept_an_exact_match,
    ),
    (
        Fault(
            "any way taken for the only one",
            "engine.analysis.idle:necessary",
            "len(condition.parts) == 1",
            "True",
        ),
        test_idle.test_one_of_several_ways_is_no_obstacle,
    ),
    (
        Fault("entropy without a bound", "engine.analysis.idle:possible", "math.log(vocab)", "math.inf"),
        test_idle.test_a_threshold_that_no_number_can_reach_at_all,
    ),
    (
        Fault(
            "one limit for all", "engine.analysis.idle:_same", "if len(limits) == 1 else None", "if limits else None"
        ),
        test_idle.test_a_rule_that_decides_alone_may_always_accept_an_exact_match,
    ),
    # runs beside each other
    (
        Fault("a position late", "engine.analysis.divergence:_bent", "pos - event.start + 1", "pos - event.start + 2"),
        test_divergence.test_a_lossy_rule_is_blamed_only_where_it_acted,
    ),
    (
        Fault("the finer dtype", "engine.analysis.divergence:divergence", "max(near(one)", "min(near(one)"),
        test_divergence.test_the_coarser_dtype_counts,
    ),
    (
        Fault(
            "the smaller cost named", "engine.analysis.verdict:_cause", "most > shares.draft:", "most < shares.draft:"
        ),
        test_verdict.test_the_larger_of_two_costs_is_named,
    ),
    (
        Fault(
            "a ratio upside down",
            "engine.analysis.verdict:_speed",
            "speedup, word, ends = 1 / speedup,",
            "_, word, ends = 1,",
        ),
        test_verdict.test_draft_too_costly,
    ),
    # statistics
    (
        Fault("population deviation", "engine.analysis.intervals:mean_interval", "ddof=1", "ddof=0"),
        test_intervals.test_mean_interval,
    ),
    (
        Fault("bounds that know no small samples", "engine.analysis.intervals:_score", " + z * z / (4 * m * m)", ""),
        test_intervals.test_wilson,
    ),
    (
        Fault(
            "ties broken by their order",
            "engine.analysis.judge:roc",
            "np.flatnonzero(np.diff(s, append=-np.inf))",
            "np.arange(len(s))",
        ),
        area,
    ),
    (
        Fault(
            "more tested than drafted allowed",
            "engine.analysis.identities:_run",
            '["discarded"] < 0',
            '["discarded"] < -99',
        ),
        test_identities.test_more_tested_than_drafted,
    ),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=[fault.name for fault, _ in FAULTS])
def test_a_fault_is_noticed(fault: Fault, check: Callable[[], object]) -> None:
    check()
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        with pytest.raises((AssertionError, KeyError)):
            check()
