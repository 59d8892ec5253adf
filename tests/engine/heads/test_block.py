from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.nn import Identity
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

from engine.heads.block import Block, Spec, rope, shapes
from engine.heads.lean import LeanBlock, Memory, Norm, Turns
from engine.model.products import Product
from tests.engine.heads.made import fill

SPEC = Spec(width=32, mlp=64, heads=4, kv_heads=2, channels=8)


def theirs(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """transformers' own layer, without the input norm that EAGLE-2's first layer lacks."""
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="eager",
    )
    layer = LlamaDecoderLayer(config, 0)
    layer.load_state_dict(
        {n.removeprefix("b."): t for n, t in weights.items()} | {"input_layernorm.weight": torch.ones(32)}
    )
    layer.input_layernorm = Identity()
    pos = torch.arange(len(x)).unsqueeze(0)
    mask = torch.full((len(x), len(x)), -torch.inf).triu(1)[None, None]
    out = layer(
        x[None], attention_mask=mask, position_ids=pos, position_embeddings=LlamaRotaryEmbedding(config)(x, pos)
    )
    return (out[0] if isinstance(out, tuple) else out).squeeze(0).detach()


def test_the_block_is_transformers_own_layer() -> None:
    weights = fill(shapes(SPEC, "b", 32))
    x = torch.randn(9, 32, generator=torch.Generator().manual_seed(1))
    block = Block(weights, "b", SPEC)
    q, k, v = block.project(x, *rope(SPEC, 9, x))
    attended = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
    torch.testing.assert_close(block.close(x, attended), theirs(x, weights), atol=2e-5, rtol=1e-4)


def lean(block: LeanBlock, memory: Memory, x: torch.Tensor, at: int) -> torch.Tensor:
    attended = memory.attend(Product(block.qkv)(x, block.bias), slice(at, at + len(x)), at)
    return block.close(x, attended)


@pytest.mark.parametrize("spec", [SPEC, replace(SPEC, kv_heads=1), replace(SPEC, kv_heads=4)])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("biased", [False, True])
def test_drafting_runs_the_block_that_was_trained(spec: Spec, kind: torch.dtype, biased: bool) -> None:
    weights = {n: w.to(kind) for n, w in fill(shapes(spec, "b", 32, biased=biased)).items()}
    x = torch.randn(9, 32, generator=torch.Generator().manual_seed(1)).to(kind)
    block, memory = Block(weights, "b", spec), Memory(spec, 4, x)
    q, k, v = block.project(x, *rope(spec, 9, x))
    attended = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
    want, found = block.close(x, attended), list[torch.Tensor]()
    own = LeanBlock(weights, "b", spec)
    memory.reserve(3)
    for start, end in ((0, 3), (3, 4), (4, 9)):  # a prompt, one token, several behind what is there
        memory.reserve(end)
        found.append(lean(own, memory, x[start:end], start))
    tight = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 0.15}[kind]
    torch.testing.assert_close(torch.cat(found), want, atol=tight, rtol=tight)


def test_a_norm_and_the_product_behind_it() -> None:
    x, weight, after = (torch.randn(*s, dtype=torch.float64) for s in ((5, 16), (16,), (16, 7)))
    for given in (weight, weight.bfloat16()):
        norm = Norm(given, 1e-6)
        own = x.to(given)
        want = F.rms_norm(own, (16,), given, 1e-6) @ after.to(given)
        torch.testing.assert_close(norm(own) @ norm.into(after.to(given)), want)
        torch.testing.assert_close(norm.whole(own), F.rms_norm(own, (16,), given, 1e-6))


def test_a_rotation_that_grows_with_the_text_is_left_to_torch() -> None:
    weights = fill(shapes(SPEC, "b", 32))
    plain, dynamic = (LeanBlock(weights, "b", spec) for spec in (SPEC, replace(SPEC, dynamic=2.0)))
    assert plain.few() is not None and dynamic.few() is None


def test_memory_grows_and_forgets_nothing() -> None:
    weights = fill(shapes(SPEC, "b", 32))
    x = torch.randn(9, 32, generator=torch.Generator().manual_seed(1))
    block, whole, grown = LeanBlock(weights, "b", SPEC), Memory(SPEC, 16, x), Memory(SPEC, 4, x)
    want = lean(block, whole, x, 0)
    lean(block, grown, x[:4], 0)
    grown.reserve(9)
    for i in range(4, 9):
        torch.testing.assert_close(lean(block, grown, x[i : i + 1], i)[0], want[i], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("room", [40, 4])
def test_a_dynamic_rotation_is_that_of_the_text_so_far(kind: torch.dtype, room: int) -> None:
    """Within the context the plain one, whatever room a run has; beyond it transformers' own, whose base grows with the
    text: rows that are read together are turned alike, keys stay as they were turned."""
    spec = Spec(32, 64, 4, 2, 8, dynamic=2.0, context=12)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "max_position_embeddings": 12}
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    theirs = LlamaRotaryEmbedding(LlamaConfig(**sizes, rope_parameters=scaling))
    like = torch.zeros(0, dtype=kind)
    memory = Memory(spec, room, like)
    for start, end in ((0, 7), (7, 8), (8, 12), (12, 13), (13, 18), (18, 19)):
        memory.reserve(end)
        x = torch.randn(end - start, 8, 8, dtype=kind, generator=torch.Generator().manual_seed(end))
        cos, sin = (t[0, :, None] for t in theirs(x.double(), torch.arange(start, end)[None]))
        halves = x.double().view(-1, 8, 4, 2).transpose(2, 3).flatten(2)  # as transformers has the pairs of channels
        want = halves * cos + halves.roll(4, -1) * sin * torch.tensor([-1.0] * 4 + [1.0] * 4)
        turned = memory._turned(x.flatten(1).clone(), slice(start, end))[:, :6].double()
        tight = 1e-5 if kind == torch.float64 else 0.05
        torch.testing.assert_close(
            turned.unflatten(-1, (4, 2)).transpose(2, 3).flatten(2), want[:, :6], atol=tight, rtol=tight
        )


def test_rope_scaling_of_the_two_known_kinds() -> None:
    like = torch.zeros(1, dtype=torch.float64)
    plain, _ = rope(SPEC, 8, like)
    half, _ = rope(Spec(32, 64, 4, 2, 8, stretch=2.0), 8, like)
    torch.testing.assert_close(half[6], plain[3])
    inside, _ = rope(Spec(32, 64, 4, 2, 8, dynamic=2.0, context=8), 8, like)
    beyond, _ = rope(Spec(32, 64, 4, 2, 8, dynamic=2.0, context=4), 8, like)
    torch.testing.assert_close(inside, plain)
    assert not torch.allclose(beyond, plain)


def test_runs_of_about_one_length_share_their_rotations() -> None:
    """And what is made as a text grows pushes none of them out."""
    plain, like = Spec(32, 64, 4, 2, 8), torch.zeros(1)
    first, second, longer = Turns(plain, 100, like), Turns(plain, 180, like), Turns(plain, 400, like)
    assert first.table is second.table and len(first.table) >= 180
    assert longer.table is not first.table and len(longer.table) >= 400
    growing = Turns(Spec(32, 64, 4, 2, 8, dynamic=2.0, context=4), 400, like)
    for end in range(5, 40):
        growing(torch.zeros(1, 4, 8), slice(end - 1, end))
    assert Turns(plain, 120, like).table is first.table
