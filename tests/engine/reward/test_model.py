"""Reward models of every kind are read as transformers computes them, and a growing text is read once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    ModernBertConfig,
    Qwen3NextConfig,
)

from engine.errors import AssetError, ConfigError, EngineFault, ModelMismatch
from engine.model import Model
from engine.reward.model import ASKED, MARK, RewardModel, load_reward
from engine.reward.steps import BLANK_LINE, SENTENCES, ended, step_ends
from tests.engine.reward.made import make_reward
from tests.engine.zoo import Zoo, save_tokenizer

CHAT = "<{{ messages[0].content }}|{{ messages[1].content }}>"
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


def test_qwens_are_read_at_their_mark(target: Model, tmp_path: Path) -> None:
    """As published: a chat, a mark behind each step and no blank lines; read once, whatever of it grows."""
    folder = make_reward(tmp_path / "qwen", "two_layers", "qwen2")
    words = AutoTokenizer.from_pretrained(folder)
    words.add_special_tokens({"additional_special_tokens": [MARK]})
    assert words.convert_tokens_to_ids(MARK) < 100
    words.chat_template = CHAT
    words.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.embed_tokens.weight"] = torch.randn(100, 32)
    weights.pop("lm_head.weight", None)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 100, "tie_word_embeddings": True}))
    loaded = load_reward(folder, target)
    assert isinstance(loaded, RewardModel) and loaded.mark == MARK
    assert loaded.text("q", "a b.\n\n\n\nc\nd.\n\n") == f"<{ASKED}|q>a b.{MARK}c\nd.{MARK}"
    reader = loaded.reader()
    for text in ("a b.\n\n", "a b.\n\nc is dd.\n\n", "a b.\n\ne."):
        plain = loaded.text(QUESTION, text)
        assert loaded.tokenizer(plain)["input_ids"][-1] == words.convert_tokens_to_ids(MARK)
        assert reader.score(QUESTION, text) == pytest.approx(expected(folder, "two_layers", loaded, plain), abs=1e-5)
    assert reader.read < 8


def test_running_states_are_read_anew(target: Model, tmp_path: Path) -> None:
    sizes = {
        "linear_num_value_heads": 2,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    config = Qwen3NextConfig(
        vocab_size=96,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        shared_expert_intermediate_size=16,
        layer_types=["linear_attention", "full_attention"],
        num_labels=1,
        pad_token_id=0,
        **sizes,
        **experts,
    )
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, 96)
    loaded = load_reward(tmp_path, target)
    assert isinstance(loaded, RewardModel)
    reader = loaded.reader()
    for text in STEPS:
        assert reader.score(QUESTION, text) == pytest.approx(
            expected(tmp_path, "scalar", loaded, f"{QUESTION}\n{text}"), abs=1e-5
        )


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
    with pytest.raises(
        AssetError, match=r"max_position_embeddings in its config\.json must be an integer >= 1, not 0\."
    ):
        load_reward(make_reward(tmp_path / "short", "scalar", max_position_embeddings=0), target)
    three = make_reward(tmp_path / "three", "two_layers")
    found = load_file(three / "model.safetensors")
    cut: dict[str, Any] = {name: value for name, value in found.items() if not name.startswith("score.")}
    save_file(cut | {"score.weight": torch.randn(3, 32)}, three / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelMismatch, match="gives 3 numbers"):
        load_reward(three, target)


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("tokens2", "score.weight", "holds numbers that are infinite or not a number"),
        ("two_layers", "score.0.bias", "holds numbers that are infinite or not a number"),
        ("value", "v_head.summary.weight", "holds numbers that are infinite or not a number"),
        ("tokens1", "model.layers.0.mlp.up_proj.weight", "gave a reward that is not a number"),
    ],
)
def test_a_reward_that_is_no_number_is_no_refusal_of_a_step(
    target: Model, tmp_path: Path, kind: str, name: str, words: str
) -> None:
    """NaN is below every threshold: all steps had gone to the target, without a word."""
    file = make_reward(tmp_path / "damaged", kind) / "model.safetensors"
    weights = load_file(file)
    weights[name].view(-1)[0] = float("nan")
    save_file(weights, file, {"format": "pt"})
    with pytest.raises((AssetError, EngineFault), match=words):
        load_reward(file.parent, target).reader().score(QUESTION, STEPS[0])


def test_heads_that_read_something_else_than_the_last_state_are_refused(target: Model, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    bert = BertConfig(vocab_size=96, num_labels=2, **sizes)
    special = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 0)
    modern = ModernBertConfig(vocab_size=96, num_labels=2, **sizes, **special)

    def loaded(name: str, network: Any) -> Any:
        network.save_pretrained(tmp_path / name)
        save_tokenizer(tmp_path / name, 96)
        return load_reward(tmp_path / name, target)

    with pytest.raises(ModelMismatch, match="judges a whole text by its first token"):
        loaded("bert", AutoModelForSequenceClassification.from_config(bert))
    for cls in (AutoModelForSequenceClassification, AutoModelForTokenClassification):
        with pytest.raises(ModelMismatch, match=r"has more before its head than is read here: head\."):
            loaded("modern", cls.from_config(modern))
    assert isinstance(loaded("tokens", AutoModelForTokenClassification.from_config(bert)), RewardModel)


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
    assert step_ends([ord("."), ord("a")], decode, ["."]) == [1, 2], "one token may be a step"
    assert not ended("\n\n ", BLANK_LINE) and ended("\n\na\n\n", BLANK_LINE)


@pytest.mark.parametrize(("given", "delimiters"), [("\n\n", ("\n\n",)), ([".", ";"], (".", ";")), (None, BLANK_LINE)])
def test_what_ends_a_step_may_be_one_text(
    given: object, delimiters: tuple[str, ...], target: Model, tmp_path: Path
) -> None:
    loaded = load_reward(make_reward(tmp_path / "own", "tokens1", step_delimiters=given), target)
    assert loaded.delimiters == delimiters


@pytest.mark.parametrize("given", [5, [""], [".", 5], {"a": 1}])
def test_what_cannot_end_a_step_is_refused(given: object, target: Model, tmp_path: Path) -> None:
    folder = make_reward(tmp_path / "own", "tokens1", step_delimiters=given)
    with pytest.raises(AssetError, match="step_delimiters"):
        load_reward(folder, target)
