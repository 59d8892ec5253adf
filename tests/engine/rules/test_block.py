"""Block verification emits the target's distribution exactly, and accepts more than token by token: enumerated."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from engine.analysis.explain import why
from engine.analysis.replay import replay
from engine.config import Sampling
from engine.draft import Draft, chain
from engine.errors import ConfigError
from engine.lab import Lab
from engine.rules.block import Block, rest, weigh
from engine.trace.store import Trace
from engine.verify import Verdict, walk
from engine.view import RoundView
from tests.engine.distributions import Rule, Tree, distance, outcomes, pairs, worst
from tests.engine.test_sampled import SETTINGS, pair_test
from tests.engine.toy import toy_lab

EXACT = 1e-12


def decide(view: RoundView) -> Verdict:
    return Block(None, {}).decide(view)  # type: ignore[arg-type]


def accepted(rule: Rule, model: Tree, drafts: Iterator[tuple[Draft, float]]) -> float:
    """Mean number of accepted draft tokens."""
    return sum(
        mass * weight * len(verdict.path)
        for draft, mass in drafts
        for weight, verdict, _ in outcomes(rule, draft, model.rows(draft))
    )


MODELS = [(3, 1, 0, False), (3, 2, 1, True), (3, 3, 2, False), (3, 3, 7, True), (4, 2, 5, True), (2, 4, 3, False)]


def check_block_distribution() -> None:
    """Chains of one to four draft tokens: the joint distribution of three tokens is the target's."""
    for V, gamma, seed, holes in MODELS:
        model = Tree(V, depth=max(3, gamma), seed=seed, holes=holes)
        assert worst(model.emitted(decide, model.chains(gamma), 3), model.joint(3)) < EXACT


def test_blocks_leave_the_joint_distribution_of_the_target() -> None:
    check_block_distribution()


def stopped(model: Tree, most: int) -> Iterator[tuple[Draft, float]]:
    """Chains whose length hangs on what was drafted so far, as AdaEDL's: after an even sum of tokens no more is drafted."""
    for draft, mass in model.chains(most):
        sums = [sum(draft.tokens[: n + 1]) % 2 for n in range(most)]
        n = next((i + 1 for i, odd in enumerate(sums) if not odd), most)
        assert draft.distributions is not None
        cut = chain(draft.tokens[:n], draw="sample", distributions=draft.distributions[:n])  # type: ignore[index]
        yield cut, mass


def test_lengths_that_hang_on_the_draft_before_leave_it_too() -> None:
    for seed, holes in ((0, False), (4, True)):
        model = Tree(3, depth=3, seed=seed, holes=holes)
        assert worst(model.emitted(decide, stopped(model, 3), 3), model.joint(3)) < EXACT


def test_no_fewer_are_accepted_than_token_by_token_and_one_alone_is_tested_alike() -> None:
    gains = []
    for V, gamma, seed, holes in MODELS:
        model = Tree(V, depth=gamma, seed=seed, holes=holes)
        ours, theirs = (accepted(rule, model, model.chains(gamma)) for rule in (decide, walk))
        gains.append(ours - theirs)
        assert ours - theirs == pytest.approx(0, abs=EXACT) if gamma == 1 else ours > theirs - EXACT
    assert max(gains) > 0.03


def test_the_weight_of_a_prefix_is_the_probability_that_it_stays() -> None:
    """Over all that may be drafted behind it: accepted alone, or with more."""
    for V, gamma, seed, holes in MODELS:
        model = Tree(V, depth=gamma, seed=seed, holes=holes)
        drafted, stays, told = (defaultdict[tuple[int, ...], float](float) for _ in range(3))
        for draft, mass in model.chains(gamma):
            for weight, verdict, _ in outcomes(decide, draft, model.rows(draft)):
                for i, check in verdict.checks.items():
                    prefix = tuple(draft.tokens[: i + 1])
                    told[prefix] = float(check.reason["weight"])
                    drafted[prefix] += mass * weight
                    stays[prefix] += mass * weight * (i in verdict.path)
        assert len(told) >= gamma
        for prefix, weight in told.items():
            assert stays[prefix] / drafted[prefix] == pytest.approx(weight, abs=1e-9), prefix


def test_the_paper_s_first_example() -> None:
    """Sun et al. 2025, section 2: 11/9 tokens where single tests accept 10/9."""
    model = Tree(2, depth=2, seed=0)
    for text in model.p:
        model.p[text], model.q[text] = torch.tensor([1, 2]).double() / 3, torch.tensor([2, 1]).double() / 3
    assert accepted(decide, model, model.chains(2)) == pytest.approx(11 / 9, abs=EXACT)
    assert accepted(walk, model, model.chains(2)) == pytest.approx(10 / 9, abs=EXACT)


def test_equal_distributions_pass_whole_and_zero_mass_never_does() -> None:
    p = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]).double()
    draft = chain([0, 2], draw="sample", distributions=p[:2])
    verdict = decide(RoundView(draft, p.log(), Sampling(1.0), [1 - 1e-6] * 2, 0.5, 3))
    assert verdict.path == [0, 1] and verdict.origin == "bonus" and verdict.emit == 0
    never = chain([2, 0], draw="sample", distributions=p[[1, 0]])
    verdict = decide(RoundView(never, p[[0, 1, 2]].log(), Sampling(1.0), [0.0] * 2, 0.5, 3))
    assert verdict.path == [] and verdict.origin == "correction" and verdict.emit in (0, 1)


def test_no_chance_is_above_one_where_hardly_any_mass_is_left() -> None:
    """A sum of 1 and 1e-15 is rounded by a tenth of the latter, which must not be divided by what is left of it."""
    half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for tiny in (2e-16, 3e-16, 7e-16, 1.3e-15, 7e-15, 1.17e-14):
        q = torch.stack([half, half + torch.tensor([-tiny, tiny], dtype=torch.float64)])
        *_, weights, chances = weigh(torch.stack([half] * 3), q, torch.tensor([0, 0]))
        assert float(weights[0]) == 1 and float(chances[0]) == 1


def test_a_token_that_fails_alone_is_carried_by_one_behind_it() -> None:
    p = torch.tensor([[0.25, 0.75], [0.9, 0.1], [0.5, 0.5]]).double()
    q = torch.tensor([[0.5, 0.5], [0.6, 0.4]]).double()
    *_, weights, chances = weigh(p, q, torch.tensor([0, 0]))
    assert weights.tolist() == pytest.approx([0.5, 0.75])
    assert chances.tolist() == pytest.approx([0, 0.75])  # (0.5 p - q)_+ has no mass behind the first token
    draft = chain([0, 0], draw="sample", distributions=q)
    view = RoundView(draft, p.log(), Sampling(1.0), [0.9, 0.7], 0.5, 2)
    verdict = decide(view)
    assert verdict.path == [0, 1] and verdict.checks[0].accept_prob == pytest.approx(0)
    assert walk(view).path == []
    assert distance(rest(p[0], q[0], 1.0), torch.tensor([0.0, 1.0]).double()) < EXACT
    assert distance(rest(q[0], q[0], 1.0), q[0]) == 0, "no mass left: p itself"


def test_the_rest_is_a_distribution_whatever_the_weight() -> None:
    for p, q in pairs(20):
        for weight in (1.0, 0.6, 0.01, 0.0):
            assert float(rest(p, q, weight).sum()) == pytest.approx(1, abs=EXACT)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return toy_lab(V=4, seed=3, draft="far")


def run(lab: Lab, method: Any = "block_verify", **more: Any) -> Trace:
    return lab.run(method, [0, 1], **{"max_new_tokens": 60, "gamma": 4, "temperature": 1.0, **more})


def test_a_greedy_run_is_speculative_decoding(lab: Lab) -> None:
    ours, theirs = run(lab, temperature=0.0), run(lab, "sd", temperature=0.0)
    assert [event.path for event in ours.rounds] == [event.path for event in theirs.rounds]
    assert ours.token_ids == theirs.token_ids


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", SETTINGS)
def test_whole_runs_draw_the_distribution_of_the_target(lab: Lab, sampling: Sampling) -> None:
    assert pair_test(lab, "block_verify", sampling, 1400, gamma=4) > 1e-4


def test_what_was_recorded_gives_every_decision_again_and_its_sentence(lab: Lab) -> None:
    trace = run(lab, seed=2, max_new_tokens=200)
    found = replay(trace, None)
    assert found.agrees and found.checked == sum(event.drafted for event in trace.rounds) and not found.unknown
    said = {
        node.state: why(trace.head, event, node=node, pieces=trace.pieces)
        for event in trace.rounds[:-1]
        for node in event.nodes
    }
    assert said["accepted"].startswith("Accepted: draft gave") and "the block up to here weighs" in said["accepted"]
    rejected = [
        (node.depth == event.drafted, why(trace.head, event, node=node, pieces=trace.pieces))
        for event in trace.rounds[:-1]
        for node in event.nodes
        if node.state == "rejected"
    ]
    assert {last for last, _ in rejected} == {True, False}
    for last, words in rejected:
        assert ("and none behind it passed. Replaced" in words) is not last, "behind the last there is none"
        assert " Replaced from the residual by" in words
    assert said["discarded"].startswith("Rejected with the block: draft gave")
    carried = [
        why(trace.head, event, node=node)
        for event in trace.rounds
        for node in event.nodes
        if node.state == "accepted" and (node.u or 0) >= (node.accept_prob or 0)
    ]
    assert carried and all(words.endswith("too much, but a draft token behind it passed.") for words in carried)


@pytest.mark.parametrize("changed", [{"state": "rejected"}, {"u": 0.999999}, {"reason": {"weight": 0.1234}}])
def test_a_recording_that_was_changed_does_not_agree(lab: Lab, changed: dict[str, Any]) -> None:
    trace = run(lab, seed=2)
    event = next(one for one in trace.rounds if one.accepted == one.drafted)
    node = event.nodes[-1]
    whole = {"reason": {**(node.reason or {}), **changed["reason"]}} if "reason" in changed else changed
    event.nodes[-1] = replace(node, **whole)
    assert not replay(trace, None).agrees


@pytest.mark.parametrize("missing", ["u", "accept_prob", "reason"])
def test_what_was_not_recorded_of_a_block_is_unknown_not_wrong(lab: Lab, missing: str) -> None:
    trace = run(lab, seed=2)
    event = next(one for one in trace.rounds if one.drafted > 1)
    gone: dict[str, Any] = {missing: None}
    event.nodes[-1] = replace(event.nodes[-1], **gone)
    found = replay(trace, None)
    assert found.agrees and found.unknown == (0 if missing == "reason" else event.drafted)


def test_a_block_that_is_cut_by_the_end_of_the_response_agrees_too(lab: Lab) -> None:
    ends = 0
    for seed in range(12):
        trace = run(lab, seed=seed, max_new_tokens=50, stop=["cb"])
        ends += trace.rounds[-1].emitted == trace.rounds[-1].accepted
        assert replay(trace, None).agrees
    assert ends


def test_drafts_without_distributions_and_trees_are_refused(lab: Lab) -> None:
    with pytest.raises(ConfigError, match="compares the draft's distributions, and drafter 'pld' has none"):
        lab.compose(drafter="pld", shape="chain", rule="block")
    with pytest.raises(ConfigError, match="Rule 'block' cannot judge shape 'dynamic_tree'"):
        lab.compose(drafter="eagle3", shape="dynamic_tree", rule="block")
    assert lab.compose(drafter="model", shape="entropy_stop", rule="block").guarantee == "lossless"
