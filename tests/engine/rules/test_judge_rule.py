"""AutoJudge as a rule: its reductions, its features, the window's edge, trees, and refusals."""

import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from engine.config import Sampling
from engine.draft import Draft
from engine.errors import ConfigError, ModelMismatch
from engine.judge.kind import FeatureKind
from engine.judge.weights import Judge
from engine.lab import Lab
from engine.methods import get_card
from engine.parts import Kit
from engine.rules.judge import JudgeRule, choose
from engine.trace.events import Node
from engine.view import RoundView
from tests.engine.judge.chance import give_judge
from tests.engine.zoo import Zoo
from tests.typed import some

PROMPTS = ([5], [5, 9, 20, 33, 5, 9, 20], list(range(10, 40)))


@pytest.fixture
def judged(lab: Lab, tmp_path: Path) -> Lab:
    give_judge(lab, tmp_path / "judge")
    return lab


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9, "seed": 4}])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_threshold_zero_is_speculative_decoding(judged: Lab, prompt: list[int], sampling: dict) -> None:
    sd = judged.run("sd", prompt, gamma=6, max_new_tokens=30, **sampling)
    own = judged.run("autojudge", prompt, gamma=6, judge_threshold=0, max_new_tokens=30, **sampling)
    assert own.token_ids == sd.token_ids and len(own.rounds) == len(sd.rounds)
    assert [n.u for r in own.rounds for n in r.nodes] == [n.u for r in sd.rounds for n in r.nodes]


@pytest.mark.parametrize("limit", [1, 6, 7, 30])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_keeping_all_without_bonus_is_the_draft_model(judged: Lab, prompt: list[int], limit: int) -> None:
    alone = Lab(judged.models["draft"])
    wanted = alone.run("ar", prompt, max_new_tokens=limit).token_ids
    assert wanted != judged.run("ar", prompt, max_new_tokens=limit).token_ids or limit < 7
    knobs = {"gamma": 6, "bonus": False}
    trace = judged.run("autojudge", prompt, judge_threshold=1.01, max_new_tokens=limit, **knobs)
    assert trace.token_ids == wanted
    assert judged.run("topk_lossy", prompt, accept_k=1_000_000, max_new_tokens=limit, **knobs).token_ids == wanted
    assert all(token.origin in ("draft", "relaxed") for token in trace.tokens)


def test_decisions_follow_scores_and_say_so(judged: Lab) -> None:
    trace = judged.run("autojudge", PROMPTS[1], gamma=8, judge_threshold=0.5, max_new_tokens=60)
    asked = [n for r in trace.rounds for n in r.nodes if n.judge is not None]
    assert {n.state for n in asked} == {"relaxed", "rejected"}
    for node in asked:
        kept = some(node.judge) < 0.5
        assert node.state == ("relaxed" if kept else "rejected")
        assert some(node.reason)["id"] == ("judge_relaxed" if kept else "judge_refused")
        assert (some(node.reason)["score"], some(node.reason)["threshold"]) == (node.judge, 0.5)
    assert all(r.extras["judge_threshold"] == 0.5 for r in trace.rounds)


def check_threshold(zoo: Zoo) -> None:
    """A4: a score that equals the threshold is rejected."""
    with tempfile.TemporaryDirectory() as folder:
        lab = zoo.lab("llama", draft="noise")
        give_judge(lab, Path(folder) / "judge")

        def first(threshold: float) -> Node:
            trace = lab.run("autojudge", PROMPTS[1], gamma=8, judge_threshold=threshold, max_new_tokens=60)
            return next(node for r in trace.rounds for node in r.nodes if node.judge is not None)

        score = first(0.5).judge
        assert score is not None and first(score).state == "rejected" and first(score + 1e-9).state == "relaxed"


def test_a_score_at_the_threshold_is_rejected(zoo: Zoo) -> None:
    check_threshold(zoo)


def check_features(zoo: Zoo) -> None:
    with tempfile.TemporaryDirectory() as folder:
        test_scores_are_of_the_sequence_with_the_draft_token(
            zoo.lab("llama", draft="noise"), Path(folder), FeatureKind("draft", "target")
        )


@pytest.mark.parametrize(
    "kind", [FeatureKind(), FeatureKind("prev", "both"), FeatureKind("draft", "target"), FeatureKind("prev", "draft")]
)
def test_scores_are_of_the_sequence_with_the_draft_token(lab: Lab, tmp_path: Path, kind: FeatureKind) -> None:
    judge = give_judge(lab, tmp_path / "judge", kind)
    trace = lab.run("autojudge", PROMPTS[1], gamma=5, judge_threshold=0.5, max_new_tokens=40)
    models, ids, checked = {"target": lab.target, **lab.models}, list(PROMPTS[1]), 0
    for round_ in trace.rounds:
        chain = [node.token for node in round_.nodes]
        for i, node in enumerate(round_.nodes):
            if node.judge is not None:
                prefix = [*ids, *chain[: i + 1]] if kind.token == "draft" else [*ids, *chain[:i]]
                rows = [models[block.split(":")[0]].session(128).forward(prefix).hidden[0] for block in kind.blocks]
                assert node.judge == pytest.approx(judge.score(torch.cat(rows)), abs=2e-4)
                checked += 1
        ids += [token.token for token in round_.tokens]
    assert checked > 5


def test_the_judge_s_own_threshold_is_the_default(judged: Lab) -> None:
    knobs = {"gamma": 6, "max_new_tokens": 30}
    assert (
        judged.run("autojudge", PROMPTS[1], **knobs).token_ids
        == judged.run("autojudge", PROMPTS[1], judge_threshold=0.5, **knobs).token_ids
    )


def test_the_window_edge_may_be_rejected_unasked(judged: Lab) -> None:
    trace = judged.run("autojudge", PROMPTS[1], gamma=3, judge_threshold=1.01, edge="reject", max_new_tokens=40)
    last = [r.nodes[-1] for r in trace.rounds if r.nodes]
    assert all(n.state in ("accepted", "rejected") for n in last)
    edge = [n for n in last if some(n.reason)["id"] == "judge_refused"]
    assert edge and all(n.judge is None and some(n.reason)["edge"] for n in edge)
    assert any(n.state == "relaxed" for r in trace.rounds for n in r.nodes[:-1])


def test_the_edge_of_a_tree_is_its_last_level(judged: Lab) -> None:
    """A branch that ends above it is asked about like any other; so is the last level of a tree under "encode"."""
    card = judged.compose(drafter="recycle", shape="static_tree", rule="judge")

    def asked(edge: str) -> list[tuple[bool, Node]]:
        """Whether each draft token that the exact rule refused lies on its round's last level."""
        trace = judged.run(card, PROMPTS[1], judge_threshold=1.01, edge=edge, max_new_tokens=60)
        every = [(n.depth == r.levels, n) for r in trace.rounds for n in r.nodes]
        assert any(last and n.depth > 1 for last, n in every)
        return [(last, n) for last, n in every if some(n.reason)["id"].startswith("judge")]

    strict, free = asked("reject"), asked("encode")
    assert {(last, n.state) for last, n in strict} == {(True, "rejected"), (False, "relaxed")}
    assert all((n.judge is None) == last == bool(some(n.reason).get("edge")) for last, n in strict)
    assert {n.state for _, n in free} == {"relaxed"} and any(last for last, _ in free)


@pytest.mark.parametrize("kind", [FeatureKind(), FeatureKind("prev", "draft")])
@pytest.mark.parametrize(("drafter", "shape"), [("pld", "chain"), ("layer_skip", "chain"), ("recycle", "static_tree")])
@pytest.mark.parametrize("context", [6, 50])
def test_a_draft_model_that_the_text_outgrows(
    zoo: Zoo, tmp_path: Path, kind: FeatureKind, drafter: str, shape: str, context: int
) -> None:
    """Of a draft as of a tree that it has room for its states are read; beyond its context the rule is the exact one."""
    lab = zoo.lab("llama", draft="noise")
    lab.models["draft"] = replace(lab.models["draft"], context=context)
    give_judge(lab, tmp_path / "judge", kind)
    card = lab.compose(drafter=drafter, shape=shape, rule="judge")
    trace = lab.run(card, PROMPTS[1], judge_threshold=1.01, max_new_tokens=60)
    assert some(trace.end).reason == "limit"
    whole, beyond = (some(trace.head).prompt_ids, [])
    for round_ in trace.rounds:
        fits = len(whole) + max((n.depth for n in round_.nodes), default=0) <= context
        refused = [n for n in round_.nodes if some(n.reason)["id"] == "judge_refused"]
        assert not refused if fits else all(n.judge is None and not some(n.reason)["edge"] for n in refused)
        assert fits or not any(n.state == "relaxed" for n in round_.nodes)
        beyond += refused
        whole = [*whole, *(token.token for token in round_.tokens)]
    assert beyond
    assert (context == 6) != any(n.state == "relaxed" for round_ in trace.rounds for n in round_.nodes)


def test_a_judge_of_other_models_is_refused_unless_forced(zoo: Zoo, tmp_path: Path) -> None:
    lab, other = zoo.lab("llama"), zoo.lab("llama", seed=9)
    give_judge(lab, tmp_path / "judge")
    other.asset_paths["judge"] = str(tmp_path / "judge")
    with pytest.raises(ModelMismatch, match="trained on"):
        other.run("autojudge", PROMPTS[1], max_new_tokens=8)
    assert other.run("autojudge", PROMPTS[1], max_new_tokens=8, force=True).token_ids


def test_a_judge_that_needs_a_second_target_pass_is_refused(lab: Lab, tmp_path: Path) -> None:
    give_judge(lab, tmp_path / "judge", FeatureKind("both", "both"))
    with pytest.raises(ConfigError, match="second target pass"):
        lab.run("autojudge", PROMPTS[1], max_new_tokens=8)


def test_judges_are_chosen_by_name(lab: Lab, tmp_path: Path) -> None:
    assert "autojudge" in lab.unavailable()
    for name in ("arithmetic", "functions"):
        give_judge(lab, tmp_path / name, role=f"judge:{name}", task=name)
    assert "autojudge" not in lab.unavailable()
    assert lab.run("autojudge", PROMPTS[1], max_new_tokens=8, judge="functions").token_ids
    with pytest.raises(ConfigError, match="there is arithmetic, functions"):
        lab.run("autojudge", PROMPTS[1], max_new_tokens=8, judge="own")


def test_on_trees_rejected_children_are_tried_by_draft_score(judged: Lab) -> None:
    """Extension: three children of the root, none the target's; the judge is asked in score order until one is kept."""
    card = get_card("autojudge")
    config_kit = judged.kit(card, _config(judged, card))
    rule = JudgeRule(config_kit, card.resolve({"judge_threshold": 0.5}))
    tokens = PROMPTS[1]
    want = int(judged.target.session(64).forward(tokens).logits[0].argmax())
    candidates = [t for t in range(10, 14) if t != want][:3]
    draft = Draft((*candidates, 20), (-1, -1, -1, 1), group=(0, 0, 0, 1), scores=(-3.0, -1.0, -2.0, -1.5))
    forward = judged.target.session(64).forward(tokens, draft)
    view = RoundView(draft, forward.logits, Sampling(), [0.5] * 4, 0.5, 5, forward.hidden, tokens)
    verdict = rule.decide(view)
    asked = [(n, verdict.checks[n].judge) for n in (1, 2, 0)]
    kept = next((n for n, score in asked if score is not None and score < 0.5), None)
    order = [n for n, score in asked if score is not None]
    assert order == [1, 2, 0][: len(order)] and order
    assert verdict.path[:1] == ([] if kept is None else [kept])


def _config(lab: Lab, card):
    from engine.config import RunConfig

    return RunConfig("autojudge", tuple(PROMPTS[1]), knobs=card.resolve({}))


def test_left_to_itself_the_rule_takes_your_own_judge_then_that_of_the_task_then_the_first() -> None:
    judges = {
        name: Judge(torch.zeros(1), 0.0, FeatureKind(), 0.5, {"task": name}) for name in ("functions", "arithmetic")
    }
    loaded: dict[str, Judge] = {f"judge:{name}": judge for name, judge in judges.items()}

    def taken(assets: dict[str, Judge], task: str) -> Judge:
        return choose(cast(Kit, SimpleNamespace(assets=assets, task=task)), "auto")

    own = Judge(torch.zeros(1), 0.0, FeatureKind(), 0.5, {"task": "translation"})
    assert taken(loaded | {"judge": own}, "arithmetic") is own
    assert taken(loaded, "arithmetic") is judges["arithmetic"] and taken(loaded, "chat") is judges["functions"]


def test_the_judge_of_the_prompts_task_is_taken_and_another_refused(lab: Lab, tmp_path: Path) -> None:
    first, second = (give_judge(lab, tmp_path / task, task=task) for task in ("arithmetic", "functions"))
    del lab.asset_paths["judge"]
    lab.asset_paths |= {f"judge:{judge.task}": str(tmp_path / judge.task) for judge in (first, second)}
    lab._assets["judge:functions"] = replace(second, threshold=0.25)

    def threshold(task: str, **knobs: object) -> float:
        trace = lab.run("autojudge", PROMPTS[0], gamma=4, max_new_tokens=8, extras={"task": task}, **knobs)
        return trace.rounds[0].extras["judge_threshold"]

    assert threshold("functions") == 0.25 != threshold("arithmetic") == threshold("")
    with pytest.raises(ModelMismatch, match="trained for arithmetic, not for functions"):
        threshold("functions", judge="arithmetic")
    assert threshold("functions", judge="arithmetic", force=True) == first.threshold
