import torch
from torch.nn import Identity
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

from engine.heads.block import Block, Memory, Spec, rope, shapes
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
    memory = Memory(SPEC, 16, x)
    block = Block(weights, "b", SPEC)
    ours = block.close(x, memory.attend(block, x, slice(0, 9), 0, None, causal=True))
    torch.testing.assert_close(ours, theirs(x, weights), atol=2e-5, rtol=1e-4)


def test_memory_grows_and_forgets_nothing() -> None:
    weights = fill(shapes(SPEC, "b", 32))
    x = torch.randn(9, 32, generator=torch.Generator().manual_seed(1))
    block, whole, grown = Block(weights, "b", SPEC), Memory(SPEC, 16, x), Memory(SPEC, 4, x)
    want = whole.attend(block, x, slice(0, 9), 0, None, causal=True)
    grown.attend(block, x[:4], slice(0, 4), 0, None, causal=True)
    grown.reserve(9)
    for i in range(4, 9):
        got = grown.attend(block, x[i : i + 1], slice(i, i + 1), i, None)
        torch.testing.assert_close(got[:, 0], want[:, i], atol=1e-5, rtol=1e-4)


def test_rope_scaling_of_the_two_known_kinds() -> None:
    like = torch.zeros(1, dtype=torch.float64)
    plain, _ = rope(SPEC, 8, like)
    half, _ = rope(Spec(32, 64, 4, 2, 8, stretch=2.0), 8, like)
    torch.testing.assert_close(half[6], plain[3])
    inside, _ = rope(Spec(32, 64, 4, 2, 8, dynamic=2.0, context=8), 8, like)
    beyond, _ = rope(Spec(32, 64, 4, 2, 8, dynamic=2.0, context=4), 8, like)
    torch.testing.assert_close(inside, plain)
    assert not torch.allclose(beyond, plain)
