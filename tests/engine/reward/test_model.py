"""Reward models of every kind are read as transformers computes them, and a growing text is read once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoModelForTokenClassification

from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.model import Model
from engine.reward.model import RewardModel, load_reward
from engine.reward.steps import BLANK_LINE, SENTENCES, ended, step_ends
from tests.engine.reward.made import make_reward
from tests.engine.zoo import Zoo

QUESTION, STEPS = "2 plus 2?", ["a is b.", "a is b. c is dd.", "a is b. Then e."]


@pytest.fixture(scope="module")
def target(zoo: Zoo) -> Model:
    return zoo.model("llama")


def expected(folder: Path, kind: str, loaded: RewardModel, text: str) -> float:
    """The same by transformers' own classes, in one pass over the whole text."""
    ids = torch.tensor([loaded.tokenizer(text)["input_ids"]])
    if kind in ("tokens1", "tokens2"):
        logits = AutoModelForTokenClassification.from_pretrained(folder).eval()(ids).logits[0, -1]
    elif kind == "scalar":
        logits = AutoModelForSequenceClassification.from_pretrained(folder).eval()(ids).logits[0]
    else:
        hidden = AutoModelForCausalLM.from_pretrained(folder).eval()(ids, output_hidden_states=True).hidden_states[-1]
        logits = loaded.head(hidden[0, -1])
    logits = logits.detach()
    return float(torch.sigmoid(logits[0]) if len(logits) == 1 else torch.softmax(logits, -1)[1])


@pytest.mark.parametrize(
    ("kind", "family"),
    [("tokens2", "llama"), ("tokens1", "gpt_neox"), ("scalar", "qwen2"), ("value", "qwen2"), ("two_layers", "llama")],
)
def test_every_kind_is_read_as_transformers_computes_it(target: Model, tmp_path: Path, kind: str, family: str) -> None:
    loaded = load_reward(make_reward(tmp_path / kind, kind, family), target)
    assert isinstance(loaded, RewardModel)
    reader = loaded.reader()
    found = [reader.score(QUESTION, text) for text in STEPS]
    wanted = [expected(tmp_path / kind, kind, loaded, f"{QUESTION}\n{text}") for text in STEPS]
    assert found == pytest.approx(wanted, abs=1e-5) and len({round(one, 4) for one in found}) == 3
    assert reader.read < len(STEPS[-1]) and loaded.delimiters == BLANK_LINE


def test_the_configuration_says_how_a_step_ends_and_what_stands_before_it(target: Model, tmp_path: Path) -> None:
    folder = make_reward(tmp_path / "own", "tokens2", step_delimiters=list(SENTENCES), step_joint="")
    loaded = load_reward(folder, target)
    assert isinstance(loaded, RewardModel) and loaded.delimiters == SENTENCES and loaded.joint == ""
    assert loaded.reader().score("ab", "c.") == loaded.reader().score("", "abc.")


def test_what_is_no_reward_model_is_refused(target: Model, zoo: Zoo, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="no reward model that can be read"):
        load_reward(tmp_path / "nothing", target)
    with pytest.raises(ModelMismatch, match="is no reward model: its weights hold none of score"):
        load_reward(zoo.path("llama"), target)
    three = make_reward(tmp_path / "three", "two_layers")
    found = load_file(three / "model.safetensors")
    cut: dict[str, Any] = {name: value for name, value in found.items() if not name.startswith("score.")}
    save_file(cut | {"score.weight": torch.randn(3, 32)}, three / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelMismatch, match="gives 3 numbers"):
        load_reward(three, target)


def test_a_text_that_is_too_long_is_refused(target: Model, tmp_path: Path) -> None:
    loaded = load_reward(make_reward(tmp_path / "short", "scalar", max_position_embeddings=16), target)
    with pytest.raises(ConfigError, match="reads at most 16"):
        loaded.reader().score("a" * 10, "b" * 10)


def decode(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


def test_where_steps_end() -> None:
    ids = [ord(char) for char in " 1 + 1 = 2.\n\n Then x.\n\nend"]
    assert step_ends(ids, decode, SENTENCES) == [11, 21, 26]
    assert step_ends(ids, decode, BLANK_LINE) == [13, 23, 26]
    assert not ended("\n\n ", BLANK_LINE) and ended("\n\na\n\n", BLANK_LINE)
