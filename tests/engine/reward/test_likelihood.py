"""The embedded kind of reward model: what it computes, how it is trained, and what the shipped one can do."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.files.places import ROOT
from engine.reward import likelihood
from engine.reward.likelihood import LINE, LikelihoodReward, load_likelihood, save_likelihood
from engine.reward.model import load_reward
from engine.tasks import load_problems
from engine.training.prm import PrmSettings, PrmTrainer, area, bounds, read, scores
from engine.training.prmcommands import _page
from engine.training.rollouts import Labelled, Labeller, Plan, labelled_in
from tests.engine.zoo import Zoo

SHIPPED = ROOT / "assets/tiny/prm"


@pytest.mark.parametrize("room", [6, likelihood.ROOM])
def test_it_is_the_product_over_the_tokens_whatever_was_read_before(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(likelihood, "ROOM", room)
    target, weight = zoo.model("llama"), 0.1 * torch.randn(50, generator=torch.Generator().manual_seed(0))
    save_likelihood(tmp_path, weight, 0.5, {"target": target.revision, "step_delimiters": ["."]})
    loaded = load_reward(tmp_path, target)
    assert isinstance(loaded, LikelihoodReward) and loaded.delimiters == (".",)
    reader, hf = loaded.reader(), AutoModelForCausalLM.from_pretrained(zoo.path("llama")).eval()
    for text in ("ab.", "ab.cde.", "ab.xy.", ""):
        ids = torch.tensor([target.tokenizer.encode("Q?" + text)])
        with torch.no_grad():
            out = hf(ids, output_hidden_states=True)
        logp, wanted = out.logits[0].log_softmax(-1), 1.0
        for at in range(2, ids.shape[1]):
            row = logp[at - 1]
            more = torch.stack([row[ids[0, at]], -(row.exp() * row).sum()])
            wanted *= float(torch.sigmoid(torch.cat([out.hidden_states[-1][0, at - 1], more]) @ weight + 0.5))
        assert reader.score("Q?", text) == pytest.approx(wanted, rel=1e-4)
    assert reader.score("Q?", "ab.cde.") and reader.score("Q?", "ab.cde.f.") and reader.read == 3


def test_another_target_or_a_damaged_file_is_refused(zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.model("llama")
    with pytest.raises(ModelMismatch, match="reads states of the target"):
        load_likelihood(SHIPPED, target)
    save_likelihood(tmp_path, torch.zeros(7), 0.0, {"target": target.revision, "step_delimiters": ["."]})
    with pytest.raises(AssetError, match="is not complete"):
        load_likelihood(tmp_path, target)
    for weight, bias in ((float("nan"), 0.0), (0.1, float("inf"))):
        told = {"target": target.revision, "step_delimiters": ["."]}
        save_likelihood(tmp_path, torch.full((target.width + 2,), weight), bias, told)
        with pytest.raises(AssetError, match="infinite or not a number"):
            load_likelihood(tmp_path, target)
    (tmp_path / LINE).write_bytes(b"nothing")
    with pytest.raises(AssetError, match="holds no reward model"):
        load_likelihood(tmp_path, target)


def test_the_shipped_one_tells_steps_apart() -> None:
    """On what its own card says was measured: both writers, and enough steps of either kind."""
    found = json.loads((SHIPPED / "card.json").read_text())["evaluation"]
    assert found["both"]["auc"] >= 0.85 and found["both"]["steps"] >= 1000 and found["both"]["wrong_steps"] >= 100
    assert found["draft"]["steps"] + found["target"]["steps"] == found["both"]["steps"]
    fresh = json.loads((SHIPPED / "card.json").read_text())["fresh"]["evaluation"]
    assert fresh["both"]["auc"] >= 0.85 and fresh["both"]["steps"] >= 1000, "on problems that no choice was made on"
    assert fresh["draft"]["auc_low"] > fresh["target"]["auc_high"], (
        "it knows the draft's mistakes, not the target's own"
    )


def test_the_shipped_page_is_its_card_s() -> None:
    assert (SHIPPED / "README.md").read_text() == _page(json.loads((SHIPPED / "card.json").read_text()), "tiny")


def test_intervals_are_over_problems() -> None:
    """Many responses to one problem are one unit: twice the same ones say no more than once."""
    once = [
        Labelled(f"problem {i}", "?", "a.b.", "draft", (2, 4), (1, i % 3 > 0), 1)  # every third ends wrong
        for i in range(24)
    ]
    given = [0.9 - 0.02 * (i % 7) - 0.03 * (step and i % 3 == 0) for i in range(24) for step in range(2)]
    ends = bounds(given, once)
    assert bounds([*given, *given], [*once, *once]) == ends
    assert ends["auc_low"] < (area(given, once)["auc"] or 0) < ends["auc_high"]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> list[Labelled]:
    """Two problems, greedy rollouts of the draft in the target's place: it is the smaller model."""
    folder = ROOT / "assets/tiny/draft"
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    labeller = Labeller(
        {"target": model, "draft": model}, AutoTokenizer.from_pretrained(folder), Plan((("draft", 0.0),), 1, 0.0)
    )
    place = tmp_path_factory.mktemp("labels")
    problems = load_problems("arithmetic", "train", 3, 11)
    said: list[str] = []
    labeller.write(problems, place, said.append)
    labeller.write(problems, place, said.append)
    assert len(said) == 1  # the second time nothing is left to do
    return list(labelled_in(place))


@pytest.mark.thorough
def test_greedy_rollouts_of_the_writer_go_on_as_it_did(labelled: list[Labelled]) -> None:
    """So every prefix of a response has the label of the whole: right or wrong throughout."""
    assert len(labelled) == 3 and {len(set(one.right)) for one in labelled} == {1}
    for one in labelled:
        assert one.text[one.ends[0] - 1] == "." and one.ends[-1] == len(one.text) and len(one.ends) >= 4


def test_training_goes_on_where_it_stopped(labelled: list[Labelled], zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.load(ROOT / "assets/tiny/draft")
    halves = [
        Labelled(one.key, one.prompt, one.text, "draft", one.ends, tuple(i % 2 for i in range(len(one.ends))), 1)
        for one in labelled
    ]
    data = read(target, halves)
    whole, first = (PrmTrainer(PrmSettings(20, 0.01, 0.1), data) for _ in range(2))
    losses = [whole.step() for _ in range(20)]
    for _ in range(10):
        first.step()
    first.save(tmp_path)
    again = PrmTrainer(PrmSettings(20, 0.01, 0.1), data)
    again.load(torch.load(tmp_path / "prm.pt", weights_only=True))
    again.run(lambda line: None, lambda: None)
    assert torch.equal(again.line()[0], whole.line()[0]) and losses[-1] < losses[0]
    for settings, rows, words in (
        (PrmSettings(30, 0.02, 0.1), data, "trained with lr 0.01, decay 0.1: give the same"),
        (PrmSettings(30, 0.01, 0.1), read(target, halves[:2]), "trained on other labels"),
    ):
        with pytest.raises(ConfigError, match=words):
            PrmTrainer(settings, rows).load(again.state())
    longer = PrmTrainer(PrmSettings(30, 0.01, 0.1), data)
    longer.load(again.state())
    assert longer.done == 20
    given = scores(data, *again.line())
    assert len(given) == sum(len(one.ends) for one in halves)
    ends = bounds(given, halves)
    assert bounds(given, halves, "both") == ends != bounds([0.5 for _ in given], halves)
    assert ends["auc_low"] <= (area(given, halves)["auc"] or 0) <= ends["auc_high"]
    found = area(given, halves)
    assert found["steps"] == len(given) and found["wrong_steps"] == sum(one.right.count(0) for one in halves)
