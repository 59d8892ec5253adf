"""What is told of a network by its configuration and its modules: which part writes text, how far it reads, its size."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    Gemma3Config,
    GraniteConfig,
    LlamaConfig,
    LlavaConfig,
    PreTrainedConfig,
    SiglipVisionConfig,
)

from engine.model import network

SMALL = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 48}
SCALED = GraniteConfig(vocab_size=96, logits_scaling=8.0, **SMALL)
SEEN = SiglipVisionConfig(image_size=8, patch_size=4, **SMALL)


def ways(config: Any) -> list[tuple[Any, type]]:
    return [(auto, type(part)) for auto, part, _ in network.auto_classes(config)]


def test_the_text_model_alone_is_tried_first_where_it_says_all_of_its_logits() -> None:
    """LLaVA does not scale them as its Granite does."""
    whole = (AutoModelForImageTextToText, LlavaConfig)
    assert network.auto_classes(llama := LlamaConfig()) == [(AutoModelForCausalLM, llama, {})]
    assert ways(LlavaConfig(text_config=LlamaConfig())) == [(AutoModelForCausalLM, LlamaConfig), whole]
    assert ways(LlavaConfig(text_config=SCALED)) == [whole]
    first, second = network.auto_classes(Gemma3Config())
    assert first[2] == network.TEXT_NAMES and second[1].vision_config and second[2] == network.INNER_NAMES


def test_what_sees_is_not_counted() -> None:
    config = LlavaConfig(text_config=SCALED, vision_config=SEEN)
    with torch.device("meta"):
        whole = AutoModelForImageTextToText.from_config(config)
    seeing = ("model.vision_tower.", "model.multi_modal_projector.")
    written = sum(p.numel() for name, p in whole.named_parameters() if not name.startswith(seeing))
    assert network.count(config) == written < sum(p.numel() for p in whole.parameters())


@pytest.mark.parametrize(
    ("told", "context"),
    [
        ({}, 2048),
        ({"max_position_embeddings": 77}, 77),
        ({"max_position_embeddings": 640, "rope_parameters": {"rope_type": "yarn", "factor": 5.0}}, 640),
        ({"max_position_embeddings": 640, "rope_parameters": {"rope_type": "longrope"}}, 640),
        ({"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 128}}, 128),
        ({"rope_parameters": {"rope_type": "longrope"}, "original_max_position_embeddings": 128}, 128),
    ],
)
def test_positions_that_are_read(told: dict[str, Any], context: int) -> None:
    """With LongRoPE those before its rotation changes: greedy text would be another from there on."""
    assert network.context_of(SimpleNamespace(**told)) == context


class Packed(nn.Module):
    """A network of one matrix 4 x 8, and a layer within with buffers that are stored and that are not."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config, self.within = config, nn.Module()
        self.matrix = nn.Linear(8, 4)
        self.within.register_buffer("kept", torch.zeros(3))
        self.within.register_buffer("made", torch.zeros(5), persistent=False)


def test_packed_weights_count_as_what_they_stand_for_and_weigh_what_they_take() -> None:
    hf: Any = Packed(PreTrainedConfig())
    assert network.size_of(hf) == (36, 4 * 36)
    del hf.matrix.weight
    hf.matrix.register_buffer("words", torch.zeros(2, 4, dtype=torch.int32))
    hf.matrix.register_parameter("scales", nn.Parameter(torch.zeros(4, dtype=torch.float16)))
    hf.hf_quantizer = SimpleNamespace(quantization_config=SimpleNamespace(quant_method="packed"))
    assert network.quantised(hf) == "packed" and not network.plain(hf)
    assert network.size_of(hf) == (36, 32 + 8 + 4 * 4 + 4 * 3)  # words, scales, biases and what is kept


def test_weights_wait_where_the_innermost_entry_of_the_map_says() -> None:
    with torch.device("meta"):
        hf: Any = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(3, 1, bias=False), nn.Linear(4, 1, bias=False)])})
    hf["head"] = nn.Linear(5, 1, bias=False)
    hf.hf_device_map = {"layers": "cpu", "layers.1": "disk", "head": 0}
    assert network.offloaded(hf) == {"cpu": 3 / 12, "disk": 4 / 12}
    assert network.offloaded(nn.Linear(2, 2)) == {}


@torch.inference_mode()
def test_forwards_that_were_put_in_place_of_a_body_are_there_again() -> None:
    """As accelerate puts them, of a model that is spread."""
    hf = AutoModelForCausalLM.from_config(LlamaConfig(vocab_size=96, **SMALL)).eval()
    own, ids = hf.model.forward, torch.tensor([[3, 4]])
    hf.model.forward = lambda *given, **named: own(*given, **named)
    put, before = hf.model.forward, hf(ids).logits
    network.logits_of(hf, torch.zeros(2, 32), input_ids=ids)
    assert hf.model.__dict__["forward"] is put and torch.equal(hf(ids).logits, before)
    del hf.model.forward
    network.logits_of(hf, torch.zeros(2, 32), input_ids=ids)
    assert "forward" not in hf.model.__dict__ and torch.equal(hf(ids).logits, before)
