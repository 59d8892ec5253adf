"""Settings that are left to the device: the text is the target's own, and the trace tells what was chosen and why."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.analysis.explain import why
from engine.config import Card, RunConfig, Sampling
from engine.costs import Costs, Curve
from engine.costs.chains import ChainChoice
from engine.costs.trees import TreeChoice
from engine.errors import ConfigError
from engine.lab import Lab
from engine.runs import costs as measuring
from engine.runs.pair import Pair
from engine.runs.running import prepare
from engine.trace.events import Round
from tests.engine.drafters.test_tree_distributions import toy_with_heads
from tests.engine.toy import joint_distribution, toy_lab
from tests.engine.zoo import make_model

DEAR = Costs(Curve(((1, 2.0), (2, 2.3), (16, 6.0), (64, 20.0))), start=0.05, step=0.25, row=0.03, other=0.1)
TREE = {"total_token": "auto", "depth": "auto"}


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs that are the same on every machine."""
    monkeypatch.setattr(measuring, "_measured", lambda *_: DEAR)


def test_greedy_text_is_the_targets_and_the_trace_tells_the_choice(toy: Lab, dear: None) -> None:
    want = toy.run("ar", "abcab", max_new_tokens=40)
    for method in ("sd", "pld"):
        trace = toy.run(method, "abcab", max_new_tokens=40, gamma="auto")
        assert trace.token_ids == want.token_ids and trace.head.knobs["gamma"] == "auto"
        assert Costs.from_json(trace.head.extras["costs"]) == DEAR
    told = [event for event in toy.run("sd", "abcab", max_new_tokens=40, gamma="auto").rounds if event.drafted]
    assert len({event.drafted for event in told}) > 1
    stopped = next(event for event in told if event.extras["following"] is not None)
    assert 0 <= (stopped.extras["following"] or 0) < stopped.extras["least"]
    assert "Drafting stopped there" in why(trace.head, stopped)
    assert all(event.extras["expected_ms"] > 2 and 1 <= event.extras["expected"] <= event.drafted + 1 for event in told)


def test_a_draft_ends_before_the_token_that_is_not_worth_its_time(
    toy: Lab, dear: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChainChoice, "more", lambda self, drafted, share: drafted < 2)
    monkeypatch.setattr(ChainChoice, "ends", lambda self, drafted: False)
    rounds = toy.run("sd", "abcab", max_new_tokens=12, gamma="auto").rounds
    assert max(event.drafted for event in rounds) == 2


def test_the_length_is_asked_for_once_a_round_and_first_of_drafters_that_write_at_once(
    toy: Lab, dear: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, limit = list[bool](), ChainChoice.limit

    def spy(self: ChainChoice, *, stepwise: bool = False) -> int:
        asked.append(stepwise)
        return limit(self, stepwise=stepwise)

    monkeypatch.setattr(ChainChoice, "limit", spy)
    for method, stepwise in (("sd", True), ("layer_skip", True), ("pld", False)):
        asked.clear()
        trace = toy.run(method, "abcab", max_new_tokens=12, gamma="auto")
        assert asked == [stepwise] * len(trace.rounds)


def test_what_is_learnt_ends_with_the_run_unless_its_method_lives_on(toy: Lab, tmp_path: Path, dear: None) -> None:
    for lab, method, knobs in ((toy, "sd", {"gamma": "auto"}), (toy_with_heads(tmp_path), "eagle3", TREE)):
        want = lab.run("ar", [1, 2], max_new_tokens=40).token_ids
        living, told = prepare(lab, method, **knobs), list[list[object]]()
        for given in ({}, {}, {"reuse": living}, {"reuse": living}):
            trace = lab.run(method, [1, 2], max_new_tokens=40, **knobs, **given)
            assert trace.token_ids == want
            told.append([event.extras.get("expected") for event in trace.rounds])
        assert told[0] == told[1] == told[2] != told[3]


def test_a_tree_is_chosen_too(tmp_path: Path, dear: None) -> None:
    lab = toy_with_heads(tmp_path)
    want = lab.run("ar", [1, 2], max_new_tokens=40).token_ids
    for knobs in (TREE, {"total_token": "auto"}, {"depth": "auto"}):
        trace = lab.run("eagle3", [1, 2], max_new_tokens=40, **knobs)
        assert trace.token_ids == want and all(event.fed == event.extras["n_verify"] for event in trace.rounds[1:-1])
    rounds = lab.run("eagle3", [1, 2], max_new_tokens=40, **TREE).rounds
    sizes = [event.drafted for event in rounds]
    assert max(sizes) <= 20 and len(set(sizes)) > 1


@pytest.mark.parametrize("knobs", [TREE, {"depth": "auto"}, {**TREE, "tree_top_k": 1}])
def test_what_is_learnt_of_a_tree_are_the_chances_of_its_nodes_in_their_order(
    tmp_path: Path, dear: None, monkeypatch: pytest.MonkeyPatch, knobs: dict[str, Any]
) -> None:
    seen, observe = list[tuple[list[float], list[float]]](), TreeChoice.observe

    def spy(self: TreeChoice, kids: Any, scores: Any, chances: Any, *more: Any, **named: Any) -> None:
        seen.append((list(scores), list(chances)))
        observe(self, kids, scores, chances, *more, **named)

    monkeypatch.setattr(TreeChoice, "observe", spy)
    monkeypatch.setattr(TreeChoice, "trust", lambda self: (1.0, 1.0))  # the drafter is believed
    toy_with_heads(tmp_path).run("eagle3", [1, 2], max_new_tokens=12, **knobs)
    assert max(len(scores) for scores, _ in seen) > 1
    for scores, chances in seen:
        assert chances == pytest.approx(np.exp(scores).tolist(), rel=1e-4, abs=1e-5)


def test_a_chain_in_place_of_a_tree_is_told_with_what_branches_would_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: replace(DEAR, fork=3.0, spread=3.0))
    trace = toy_with_heads(tmp_path).run("eagle3", [1, 2], max_new_tokens=90, **TREE)
    chains = [event for event in trace.rounds if "branches" in event.extras]
    assert chains and all(event.levels == event.drafted for event in chains)
    assert all(event.extras["branches"] <= event.extras["branches_least"] for event in chains)
    assert "branches" in trace.rounds[0].extras, "by the costs alone"
    assert any(event.levels < event.drafted for event in trace.rounds if "branches" not in event.extras)
    assert "It has no branches: by what is known so far they would bring" in why(trace.head, chains[0])
    for knobs in ({"depth": "auto"}, {**TREE, "tree_top_k": 1}):  # where that is not left to the device
        rounds = toy_with_heads(tmp_path).run("eagle3", [1, 2], max_new_tokens=40, **knobs).rounds
        assert len(rounds) > 3 and not any("branches" in event.extras for event in rounds)


def test_a_chosen_tree_ends_where_the_text_does(tmp_path: Path, dear: None) -> None:
    lab = toy_with_heads(tmp_path, stop=[3])
    below = {}
    for knobs in ({"total_token": 20}, {"total_token": "auto"}, {"depth": "auto"}, TREE):
        rounds = [
            event
            for seed in range(12)
            for event in lab.run("eagle3", [1, 2], seed=seed, temperature=1.0, **knobs).rounds
        ]
        nodes = [(event.nodes, node) for event in rounds for node in event.nodes]
        assert any(node.token == 3 for _, node in nodes)
        below[str(knobs)] = sum(others[node.parent].token == 3 for others, node in nodes if node.parent >= 0)
    assert below.pop(str({"total_token": 20})) > 0 and set(below.values()) == {0}


def test_costs_can_be_measured_on_a_text_that_ends_at_once(tmp_path: Path) -> None:
    first = toy_with_heads(tmp_path).run("ar", [1, 2], max_new_tokens=1).token_ids
    lab = toy_with_heads(tmp_path, stop=list(first))
    trace = lab.run("eagle3", [1, 2], **TREE)
    assert trace.token_ids == first and trace.end is not None and trace.end.reason == "eos"
    assert lab.costs("eagle3").verify(8) > 0


@pytest.mark.parametrize("shorter", ["target", "draft"])
def test_a_prompt_up_to_the_end_of_the_context_spoils_no_costs(tmp_path: Path, shorter: str) -> None:
    """The first such run had taught all that followed what passes over two tokens take, and that a step takes nothing."""
    contexts = {"target": 512, "draft": 512, shorter: 256}
    models = {
        role: make_model(tmp_path / role, layers=1, hidden=16, max_position_embeddings=n)
        for role, n in contexts.items()
    }
    lab = Lab.load(**{role: str(path) for role, path in models.items()}, device="cpu", threads=1)
    lab.run("sd", [5, 9] * 127, max_new_tokens=8, gamma="auto")
    costs = lab.costs("sd")
    assert costs.passes.samples[-1][0] == measuring.SIZES[-1] and costs.step > 0


def test_drafts_of_every_size_are_timed_wherever_the_text_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = dict[tuple[int, int], int]()
    timed = measuring._Drafts.round

    def watched(self: measuring._Drafts) -> None:
        timed(self)
        seen[self.levels, self.rows] = self.steps

    monkeypatch.setattr(measuring._Drafts, "round", watched)
    lab = toy_with_heads(tmp_path, stop=[0, 1, 2, 3])
    costs = lab.costs("eagle3", max_new_tokens=40)
    assert seen == {(1, 0): 1, (7, 0): 7, (7, 1): 7, (7, 8): 7}
    assert costs.step > 0 and costs.row >= 0 and costs.fork >= 0 and costs.spread >= 0


def test_a_chain_is_timed_at_its_length_though_its_text_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = list[tuple[int, int]]()
    timed = measuring._Drafts.round

    firsts = list[bool]()

    def watched(self: measuring._Drafts) -> None:
        timed(self)
        grown.append((self.levels, self.steps))
        firsts.append(self._rounds[-1].index == 0)

    monkeypatch.setattr(measuring._Drafts, "round", watched)
    lab = toy_lab(stop=[0, 1, 2, 3])
    costs = lab.costs("sd", gamma="auto", max_new_tokens=40)
    assert set(grown) == {(1, 1), (7, 7)} and costs.step > 0
    assert not any(firsts), "the first round of a text takes longer than others"
    assert len(lab.run("sd", [1]).token_ids) == 1, "and the lab's own texts end as before"


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["sd", "mtp", "dflash"])
def test_a_step_of_a_chain_is_timed_while_it_is_asked_for(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drafter that is not asked works ahead, so its steps cost less than those of a chain that is chosen."""
    asked, lab = Counter[tuple[int, int]](), toy_lab(4) if method == "sd" else Lab.load("tiny", device="cpu")
    asking = measuring._PlantedChain.more

    def more(self: measuring._PlantedChain, drafted: int, share: float) -> bool:
        asked[self.levels, drafted] += 1
        return asking(self, drafted, share)

    monkeypatch.setattr(measuring._PlantedChain, "more", more)
    monkeypatch.setattr(measuring, "TURNS", 2)
    assert lab.costs(method, [0, 1, 2, 0, 1], gamma="auto", max_new_tokens=40).step >= 0
    assert {at for levels, at in asked if levels == 7} >= set(range(7)) and asked[1, 0] > 1


def test_drafts_are_timed_where_their_length_is_asked_for_not_where_they_are_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown, timed = list[tuple[int, object]](), measuring._Drafts.round

    def watched(self: measuring._Drafts) -> None:
        timed(self)
        grown.append((self._rounds[-1].levels, self._rounds[-1].extras["where"]))

    monkeypatch.setattr(measuring._Drafts, "round", watched)
    lab, prompt, knobs = toy_lab(4), [0, 1, 2, 0, 1, 2, 0, 1], {"min_match": 1, "alpha": 20.0}
    copied = lab.run("mixed", prompt, max_new_tokens=40, gamma=7, **knobs)
    assert {event.extras["where"] for event in copied.rounds} == {"dynamic", "model"}
    assert lab.costs("mixed", prompt, gamma="auto", max_new_tokens=40, **knobs).step > 0
    drafted = {one for one in grown if one[0]}
    assert {(1, "model"), (7, "model")} <= drafted and {where for _, where in drafted} == {"model"}


def test_a_method_that_lives_on_is_measured_on_a_prompt_of_some_length(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, prompts = toy_lab(), list[tuple[int, ...]]()

    def measured(pair: Pair, card: Card, kind: str, config: RunConfig) -> Costs:
        prompts.append(config.prompt_ids)
        return DEAR

    monkeypatch.setattr(measuring, "_measured", measured)
    prepare(lab, "sd", gamma="auto")
    assert len(prompts) == 1 and len(prompts[0]) > 8


def test_all_is_timed_in_turns_and_a_slow_model_seldomer(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, timed, passing = list[str](), measuring._Drafts.round, measuring._Passes.turns

    def drafted(self: measuring._Drafts) -> None:
        calls.append(f"draft {self.levels}")
        timed(self)

    def turns_of(self: measuring._Passes) -> Iterator[int]:
        for turn in passing(self):
            calls.append("passes")
            yield turn

    monkeypatch.setattr(measuring._Drafts, "round", drafted)
    monkeypatch.setattr(measuring._Passes, "turns", turns_of)
    for long, turns in ((1e9, measuring.TURNS), (-1.0, measuring.FEW)):
        monkeypatch.setattr(measuring, "LONG", long)
        calls.clear()
        toy.measured.clear()
        toy.costs("sd", gamma="auto")
        assert calls == ["passes", "draft 1", "draft 7"] * (1 + turns)


def test_what_is_timed_comes_behind_one_like_it(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind another a pass takes 100 ms more here, and a draft 50; what is long is not done twice for that."""
    last, next_round, passed = list[object](), measuring._Drafts._next, list[int]()

    def took(self: measuring._Passes, tokens: int) -> float:
        passed.append(tokens)
        last.append(tokens)
        return tokens + (100.0 if last[-2:-1] != [tokens] else 0.0)

    def drafted(self: measuring._Drafts) -> Round | None:
        last.append(self)
        found, cold = next_round(self), last[-2] is not self
        return found and replace(found, draft_ms=self.levels + (50.0 if cold else 0.0), verify_ms=float(found.fed))

    monkeypatch.setattr(measuring, "LONG", 0.2)
    monkeypatch.setattr(measuring._Passes, "_pass", took)
    monkeypatch.setattr(measuring._Drafts, "_next", drafted)
    costs = toy.costs("sd", gamma="auto")
    assert costs.passes.samples == tuple((n, float(n)) for n in measuring.SIZES)
    assert (costs.start, costs.step) == (0.0, 1.0)
    assert passed == [n for _ in range(1 + measuring.TURNS) for n in measuring.SIZES for _ in range(2)]
    monkeypatch.setattr(measuring, "LONG", 0.1)
    passed.clear()
    toy.measured.clear()
    assert toy.costs("sd", gamma="auto").passes.at(1) == 101.0
    assert passed == [n for _ in range(1 + measuring.FEW) for n in measuring.SIZES]


def test_costs_are_measured_once_and_only_where_they_are_wanted(toy: Lab) -> None:
    toy.run("sd", "abc", max_new_tokens=4)
    assert not toy.measured
    first = toy.costs("sd")
    assert first is toy.costs("sd") and first.step > 0 and first.verify(64) > 0
    times = [ms for _, ms in first.passes.samples]
    assert times == sorted(times) and first.passes.samples[0][0] == 1


def test_only_some_knobs_can_be_left_to_the_device(toy: Lab) -> None:
    with pytest.raises(ConfigError, match=r"gamma must be an integer from 0 to 128 tokens, not 'sometimes'.*auto"):
        toy.run("sd", "abc", gamma="sometimes")
    with pytest.raises(ConfigError, match="gamma must be an integer"):
        toy.run("adaedl", "abc", gamma="auto")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "knobs"), [("sd", {"gamma": "auto"}), ("dflash", {"gamma": "auto"}), ("eagle3", TREE)]
)
def test_sampled_text_follows_the_targets_distribution(
    tmp_path: Path, dear: None, method: str, knobs: dict[str, str]
) -> None:
    """Five tokens, so that rounds of several chosen lengths follow each other."""
    from scipy.stats import chi2  # scikit-learn brings it

    runs, n = 4000, 5
    lab = toy_lab(V=4) if method == "sd" else toy_with_heads(tmp_path)
    n = n if method == "sd" else 4
    want = joint_distribution(lab.target, [1, 2], n, Sampling(1.0))
    seen, lengths = Counter[tuple[int, ...]](), Counter[int]()
    for seed in range(runs):
        trace = lab.run(method, [1, 2], max_new_tokens=n, temperature=1.0, seed=seed, record="light", **knobs)
        seen[tuple(trace.token_ids)] += 1
        lengths.update(event.drafted for event in trace.rounds)
    kept = {text: runs * p for text, p in want.items() if runs * p >= 5}
    rest = runs - sum(kept.values())
    cells = [(seen[text], wanted) for text, wanted in kept.items()] + [(runs - sum(seen[t] for t in kept), rest)]
    value = sum((got - wanted) ** 2 / wanted for got, wanted in cells)
    assert chi2.sf(value, len(cells) - 1) > 1e-4 and len([c for c in lengths.values() if c > 100]) > 1
