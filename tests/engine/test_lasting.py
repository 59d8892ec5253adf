"""What a run must not take from another, and what it must not ask of the machine: methods that live on, knobs that were
given, prompts and limits at the edge.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.config import Calibration, Card
from engine.errors import ConfigError, EngineFault
from engine.lab import Lab
from engine.model import Model
from engine.reward.likelihood import LikelihoodReward
from engine.runs import costs as measuring
from engine.runs import running
from engine.trace.events import Round
from engine.trace.metrics import metrics
from tests.engine.analysis.made import sd
from tests.engine.judge.chance import give_judge
from tests.engine.once import loaded_once
from tests.engine.zoo import Zoo

PROMPT = "Question: Ana has 4 pens and buys 9. How many has she?\nAnswer:"


def entropy(knobs: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"drafter": "model", "shape": "chain", "rule": "entropy_veto", **(knobs or {})}


@pytest.mark.parametrize("value", [2.0, 0.5, 20.0])  # the published one among them
def test_knobs_of_a_composed_card_are_not_replaced_by_calibrated_ones(toy: Lab, value: float) -> None:
    toy.calibrated = {"entropy_veto": Calibration({"tau_entropy": 0.7}, "a command")}
    card = toy.compose(**entropy({"tau_entropy": value}))
    assert toy.run(card, "abc", max_new_tokens=3).head.knobs["tau_entropy"] == value
    assert toy.living(card).knobs["tau_entropy"] == value
    assert toy.run(toy.compose(**entropy()), "abc", max_new_tokens=3).head.knobs["tau_entropy"] == 0.7
    (given,) = (knob for knob in toy.fitted(card).knobs if knob.name == "tau_entropy")
    assert (given.default, given.usual, given.calibrated) == (value, 2.0, "")


def test_a_knob_that_was_given_replaces_what_it_replaces(toy: Lab) -> None:
    def needs(**knobs: Any) -> tuple[str, ...]:
        card: Card = toy.compose(drafter="eagle3", shape="entropy_binned", rule="exact", **knobs)
        return card.still_needs(card.resolve({}))

    assert "strata" in needs() and "strata" in needs(thresholds="")
    assert "strata" not in needs(thresholds="0.5,1.5,4")


def test_steps_are_those_that_were_written_verified_or_not() -> None:
    """A chain that was cut behind its writing, and a tree of which the deepest levels were left out."""
    for name in ("made", "levels"):
        trace = sd()
        for event in trace.rounds:
            event.extras[name] = 2 * event.levels
        assert metrics(trace)["cost_ratio"] == pytest.approx(some(metrics(sd())["cost_ratio"]) / 2)


def some(number: float | None) -> float:
    assert number is not None
    return number


def test_costs_are_those_of_the_drafter_s_own_knobs(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()
    monkeypatch.setattr(
        measuring, "_measured", lambda *given: asked.append(given[-1].knobs["layers"]) or measuring.NOTHING
    )
    for layers in ("every:2", "first:1", "every:2"):
        toy.costs("layer_skip", "abc", gamma="auto", layers=layers)
    assert asked == ["every:2", "first:1"]


THRESHOLDS = {"arithmetic": 0.25, "functions": 0.5}


def judged(zoo: Zoo, folder: Path) -> Lab:
    """A lab with a judge for each of two tasks, known by their thresholds."""
    lab = zoo.lab("llama", draft="noise")
    for seed, (task, threshold) in enumerate(THRESHOLDS.items()):
        judge = give_judge(lab, folder / task, role=f"judge:{task}", seed=seed, task=task)
        replace(judge, threshold=threshold).save(folder / task)
    return lab


@pytest.mark.parametrize("reused", [True, False])
def test_a_method_that_lives_on_takes_the_judge_of_each_task(zoo: Zoo, tmp_path: Path, reused: bool) -> None:
    lab = judged(zoo, tmp_path)
    living = lab.living("autojudge")
    for task in ("functions", "arithmetic", "functions"):
        given: dict[str, Any] = {"max_new_tokens": 8, "extras": {"task": task}, "record": "full"}
        if reused:
            trace = lab.run("autojudge", [5, 6], reuse=living, **given)
        else:
            (trace,) = lab.trajectories("autojudge", [5, 6], 1, temperature=0.0, **given)
        alone = lab.run("autojudge", [5, 6], **given)
        assert trace.token_ids == alone.token_ids
        assert {event.extras["judge_threshold"] for event in trace.rounds} == {THRESHOLDS[task]}


def test_runs_that_are_prepared_side_by_side_each_have_their_own_task_s_judge(zoo: Zoo, tmp_path: Path) -> None:
    lab = judged(zoo, tmp_path)
    living = lab.living("autojudge")
    prepared = {
        task: lab.stream("autojudge", [5, 6], reuse=living, max_new_tokens=4, extras={"task": task})
        for task in THRESHOLDS
    }
    for task, events in prepared.items():
        rounds = [event for event in events if isinstance(event, Round)]
        assert {event.extras["judge_threshold"] for event in rounds} == {THRESHOLDS[task]}


def test_trajectories_ask_for_the_room_of_their_texts(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, made = zoo.lab("llama", draft="noise"), list[int]()
    plain = type(lab).kit

    def kit(self: Any, card: Card, config: Any) -> Any:
        made.append(plain(self, card, config).capacity)
        return plain(self, card, config)

    monkeypatch.setattr("engine.runs.pair.TREE_ROOM", 8)
    monkeypatch.setattr("engine.runs.pair.Pair.kit", kit)
    list(lab.trajectories("sd", [5, 6], 2, max_new_tokens=4))
    assert max(made) < lab.target.longest


@pytest.mark.parametrize("call", ["living", "trajectories", "costs", "run"])
def test_a_lack_of_memory_is_told(toy: Lab, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("torch's own words")

    monkeypatch.setattr(running, "build", none)
    monkeypatch.setattr(measuring, "_measured", none)
    calls = {
        "living": lambda: toy.living("sd"),
        "trajectories": lambda: list(toy.trajectories("sd", "abc", 2)),
        "costs": lambda: toy.costs("sd", "abc"),
        "run": lambda: toy.run("sd", "abc"),
    }
    with pytest.raises(EngineFault, match="The device is out of memory"):
        calls[call]()


def test_a_draft_that_writes_alone_reads_no_more_than_it_can(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = zoo.lab("llama", draft="noise")
    monkeypatch.setattr(lab.models["draft"], "context", 4)
    assert lab.run("draft_alone", [5, 6, 7], max_new_tokens=1).tokens
    with pytest.raises(ConfigError, match="The prompt has 4 tokens, and the draft model reads 4 in all, so at most 3"):
        lab.run("draft_alone", [5, 6, 7, 8])
    assert lab.run("sd", [5, 6, 7, 8], max_new_tokens=2).tokens, "the target reads more"


@pytest.mark.thorough
def test_beams_ask_for_no_more_room_than_a_text_can_have(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, asked, plain = zoo.lab("llama"), list[int](), Model.session
    monkeypatch.setattr(Model, "session", lambda *given: asked.append(given[3]) or plain(*given))
    lab.run("beam", [5, 6, 7], beams=2, max_new_tokens=10**9)
    assert asked == [3 + 2 * (lab.target.longest - 3)]


@pytest.mark.thorough
@pytest.mark.parametrize("short", [3, 4, 6])
def test_beams_of_an_encoder_decoder_end_where_its_context_does(short: int) -> None:
    with loaded_once():
        lab = Lab.load("crossed", device="cpu", threads=1)
    source, target = lab.target.tokenizer.encode("translate: the red cat sees a dog"), lab.target
    told = [token for token in lab.run("ar", source).token_ids if token not in target.tokenizer.stop_ids]
    assert target.seam is not None
    prefix = (told * 200)[: target.context - len(target.seam.opening) - short]
    trace = lab.run("beam", [*source, *target.seam.opening, *prefix], max_new_tokens=30)
    assert trace.end is not None and trace.end.reason in ("context", "eos"), trace.end


def test_a_reward_of_another_question_is_no_part_of_this_one() -> None:
    with loaded_once():
        lab = Lab.load("tiny", device="cpu", threads=1)
    reward = lab.asset("prm")
    assert isinstance(reward, LikelihoodReward)
    reader, longer = reward.reader(), f"{PROMPT} 4 + 9"
    reader.score(PROMPT, " 4 + 9 = 13 pens.")
    assert reader.score(longer, " = 13 pens.") == pytest.approx(reward.reader().score(longer, " = 13 pens."), rel=1e-3)


def test_a_chain_that_lives_on_knows_whether_each_run_draws(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: measuring.NOTHING)
    living = toy.living("sd", gamma="auto")
    for temperature, greedy in ((0.5, False), (0.0, True)):
        toy.run("sd", "abc", temperature=temperature, max_new_tokens=4, reuse=living)
        assert living.shape.greedy is greedy


def int_of(number: int) -> Any:
    """A number as another library has it."""
    return np.int64(number)


def test_numbers_and_prompts_of_other_libraries_are_taken_everywhere(toy: Lab, zoo: Zoo) -> None:
    assert len(list(toy.trajectories("sd", "abc", int_of(2), seed=int_of(3), max_new_tokens=3))) == 2
    (row,) = zoo.lab("llama", draft="noise").run_batch("sd", [[5, 6]], seed=int_of(3), max_new_tokens=3)
    assert row.head.seed == 3
    for prompt in (torch.tensor([1, 2]), np.array([1, 2])):
        assert toy.costs("sd", prompt).step >= 0  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="n must be an integer >= 1"):
        toy.trajectories("sd", "abc", True)
