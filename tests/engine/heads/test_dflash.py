"""DFlash drafters on random targets: what they compute, that they load or are refused, that the target's text comes
out. The reference is the published arithmetic over the whole text, without a cache, by transformers' parts of Qwen3."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3MLP, Qwen3RMSNorm, Qwen3RotaryEmbedding, apply_rotary_pos_emb

from engine.costs import Costs, Curve
from engine.errors import AssetError, LabError, ModelMismatch
from engine.heads import lean
from engine.heads.dflash_load import usual
from engine.lab import Lab
from engine.model import Model
from engine.runs import costs as measuring
from engine.runs.assets import load_asset
from engine.runs.running import prepare
from engine.sampling import entropy
from tests.engine.heads import made
from tests.engine.heads.made import SIZE, TAPPED
from tests.engine.zoo import EOS, Zoo

PROMPT = [5, 9, 33, 7, 60]
KINDS = {"llama": (4, 1), "qwen3": (4, 2), "gpt_neox": (2, 2)}  # target -> heads and key heads of its drafter


@torch.inference_mode()
def reference(
    target: Path, drafter: Path, tokens: list[int], masks: int, own: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Logits [masks, V] behind the last of the tokens; with embeddings and an output head of the drafter's own."""
    hf = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
    config = Qwen3Config(**json.loads((drafter / "config.json").read_text()))
    weights, n = load_file(drafter / "model.safetensors"), len(tokens) - 1
    states = hf(torch.tensor([tokens[:-1]]), output_hidden_states=True).hidden_states
    read = torch.cat([states[i + 1] for i in config.dflash_config["target_layer_ids"]], -1)

    def part(kind: Callable[..., torch.nn.Module], name: str, *sizes: Any) -> torch.nn.Module:
        module = kind(*sizes).eval()
        module.load_state_dict({k[len(name) + 1 :]: v for k, v in weights.items() if k.startswith(f"{name}.")})
        return module

    def norm(name: str, x: Tensor) -> Tensor:
        return part(Qwen3RMSNorm, name, x.shape[-1], config.rms_norm_eps)(x)

    def times(name: str, x: Tensor) -> Tensor:
        return x @ weights[f"{name}.weight"].T

    context = norm("hidden_norm", times("fc", read))
    embed, head = own or (hf.get_input_embeddings().weight, hf.get_output_embeddings().weight)
    x = embed[torch.tensor([[tokens[-1], *[config.dflash_config["mask_token_id"]] * masks]])]
    cos, sin = Qwen3RotaryEmbedding(config)(x, torch.arange(n + 1 + masks).unsqueeze(0))
    H, K, C = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    for i in range(config.num_hidden_layers):
        at = f"layers.{i}"
        h = norm(f"{at}.input_layernorm", x)
        both = torch.cat((context, h), 1)
        q = norm(f"{at}.self_attn.q_norm", times(f"{at}.self_attn.q_proj", h).view(1, -1, H, C)).transpose(1, 2)
        k = norm(f"{at}.self_attn.k_norm", times(f"{at}.self_attn.k_proj", both).view(1, -1, K, C)).transpose(1, 2)
        v = times(f"{at}.self_attn.v_proj", both).view(1, -1, K, C).transpose(1, 2)
        q, _ = apply_rotary_pos_emb(q, q, cos[:, n:], sin[:, n:])
        _, k = apply_rotary_pos_emb(k, k, cos, sin)
        k, v = (t.repeat_interleave(H // K, 1) for t in (k, v))
        looked = ((q @ k.mT) * C**-0.5).softmax(-1) @ v
        x = x + times(f"{at}.self_attn.o_proj", looked.transpose(1, 2).flatten(2))
        x = x + part(Qwen3MLP, f"{at}.mlp", config)(norm(f"{at}.post_attention_layernorm", x))
    return (norm("norm", x) @ head.T)[0, 1:]


@pytest.mark.thorough
@pytest.mark.parametrize("family", sorted(KINDS))
def test_a_block_is_what_the_published_arithmetic_makes_of_it(zoo: Zoo, family: str, tmp_path: Path) -> None:
    """Draft for draft through a run: keys and values kept from round to round, and none of a draft's."""
    folder = zoo.path(family, layers=4)
    lab = Lab.load(target=folder, device="cpu")
    drafter = made.dflash(tmp_path / "dflash", lab.target, KINDS[family])
    lab = Lab(lab.target, {}, {"dflash": str(drafter)})
    trace = lab.run("dflash", PROMPT, max_new_tokens=14)
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=14).token_ids
    rounds = [r for r in trace.rounds if r.nodes]
    assert len(rounds) >= 6
    for r in rounds:
        wanted = reference(folder, drafter, [*PROMPT, *trace.token_ids[: r.start]], SIZE - 1)[: r.drafted]
        assert [node.token for node in r.nodes] == wanted.argmax(-1).tolist()
        sure = wanted.softmax(-1).amax(-1).tolist()
        assert [node.q for node in r.nodes] == pytest.approx(sure, abs=1e-4)
    assert rounds[0].drafted == SIZE - 1 and rounds[0].nodes[3].source == {"kind": "head", "level": 1}


def test_fewer_tokens_are_fewer_masks_and_more_than_a_block_there_are_not(zoo: Zoo, tmp_path: Path) -> None:
    folder = zoo.path("llama", layers=4)
    target = zoo.load(folder)
    drafter = made.dflash(tmp_path, target)
    lab = Lab(target, {}, {"dflash": str(drafter)})
    for gamma, masks in ((2, 2), (100, SIZE - 1)):
        first = lab.run("dflash", PROMPT, max_new_tokens=14, gamma=gamma).rounds[0]
        assert [n.token for n in first.nodes] == reference(folder, drafter, PROMPT, masks).argmax(-1).tolist()
    whole = lab.run("dflash", PROMPT, max_new_tokens=14).rounds[0].nodes
    short = lab.run("dflash", PROMPT, max_new_tokens=3).rounds[0].nodes
    assert [n.token for n in short] == [n.token for n in whole][: len(short)] and len(short) < len(whole)
    assert lab.run("dflash", [7], max_new_tokens=4).rounds[0].drafted == 0, "no state comes before the only token"
    assert (
        lab.run("dflash", PROMPT, max_new_tokens=9, gamma=0).token_ids
        == lab.run("ar", PROMPT, max_new_tokens=9).token_ids
    )


def test_each_place_draws_from_its_own_distribution(zoo: Zoo, tmp_path: Path) -> None:
    """A place's q does not know the tokens before it in the draft: another seed draws others from the same."""
    folder = zoo.path("llama", layers=4)
    target = zoo.load(folder)
    drafter = made.dflash(tmp_path, target)
    lab = Lab(target, {}, {"dflash": str(drafter)})
    wanted = reference(folder, drafter, PROMPT, SIZE - 1).softmax(-1)
    seen = set[tuple[int, ...]]()
    for seed in range(12):
        nodes = lab.run("dflash", PROMPT, max_new_tokens=8, temperature=1.0, seed=seed).rounds[0].nodes
        assert [n.q for n in nodes] == pytest.approx([float(wanted[i, n.token]) for i, n in enumerate(nodes)], abs=1e-4)
        seen.add(tuple(n.token for n in nodes))
    assert len(seen) > 6


def test_a_memory_grows_with_what_was_written(zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.model("llama", layers=4)
    head = load_asset("dflash", str(made.dflash(tmp_path, target)), target)
    states = torch.randn(40, len(TAPPED) * target.width)
    with torch.inference_mode():
        small, large = head.memory(2), head.memory(64)
        for memory in (small, large):
            for part in states.split((3, 17, 20)):
                head.read(memory, part)
        assert torch.equal(head.fill(small, head.block(9, 5)), head.fill(large, head.block(9, 5)))
        assert small.length == 40 and small.slots >= 46


BROKEN: dict[str, tuple[dict[str, Any], type[LabError], str]] = {
    "no words of its own": ({"dflash_config": None}, AssetError, "has no dflash_config"),
    "another width": ({"hidden_size": 64}, ModelMismatch, "states 64 wide, but .* has 48"),
    "another vocabulary": ({"vocab_size": 7}, ModelMismatch, "7 tokens, but"),
    "another target": ({"num_target_layers": 36}, ModelMismatch, "a target of 36 layers, but .* has 4"),
    "bias": ({"attention_bias": True}, AssetError, "attention_bias = True; silu and false are known"),
    "a window": ({"layer_types": ["full_attention", "sliding_attention"]}, AssetError, "sliding window"),
    "kinds that are none": ({"layer_types": 3}, AssetError, "layer_types = 3; a list of names is needed"),
    "no size": ({"block_size": None}, AssetError, "block_size = None"),
    "no mask": ({"dflash_config": {"target_layer_ids": TAPPED}}, AssetError, "mask_token_id must be an id from 0"),
    "a mask beyond": (
        {"dflash_config": {"target_layer_ids": TAPPED, "mask_token_id": 10**6}},
        AssetError,
        "from 0 to 95, not 1000000",
    ),
    "layers that fall": ({"dflash_config": {"mask_token_id": 0, "target_layer_ids": [2, 0]}}, AssetError, "rising"),
    "the last layer": (
        {"dflash_config": {"mask_token_id": 0, "target_layer_ids": [0, 3]}},
        ModelMismatch,
        "reads what layer 3 writes for the next",
    ),
    "one layer more": ({"num_hidden_layers": 3}, AssetError, "lacks layers.2.input_layernorm.weight"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_refused_and_in_which_words(zoo: Zoo, what: str, tmp_path: Path) -> None:
    target = zoo.model("llama", layers=4)
    changed, error, said = BROKEN[what]
    with pytest.raises(error, match=said):
        load_asset("dflash", str(made.dflash(tmp_path, target, **changed)), target)


def test_a_drafter_of_the_second_kind_is_refused_by_its_names(zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.model("llama", layers=4)
    folder = made.dflash(tmp_path, target)
    weights = load_file(folder / "model.safetensors") | {"layers.0.attn_conv.base_kernel": torch.zeros(2, 4)}
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AssetError, match=r"tensors of unknown names: layers\.0\.attn_conv\.base_kernel"):
        load_asset("dflash", str(folder), target)


def test_layers_are_spread_as_the_published_code_does() -> None:
    assert usual(36, 5) == [1, 9, 17, 25, 33] and usual(12, 1) == [6] and usual(12, 3) == [1, 5, 9]


def test_no_state_comes_from_a_table_of_another_layer(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first layer's table of tokens changes nothing."""
    target = zoo.model("llama", layers=4)
    folder = str(made.dflash(tmp_path, target))
    states = torch.randn(6, len(TAPPED) * target.width)

    def filled() -> Tensor:
        head = load_asset("dflash", folder, target)
        memory = head.memory(16)
        with torch.inference_mode():
            head.read(memory, states)
            return head.fill(memory, head.block(EOS, 4))

    with_table = filled()
    monkeypatch.setattr(lean.Spoken, "fits", staticmethod(lambda *_: False))
    assert torch.allclose(filled(), with_table, atol=1e-4)


DEAR = Costs(Curve(((1, 2.0), (2, 2.6), (16, 9.0))), start=0.05, step=0.01, other=0.1)


def test_a_length_left_to_the_device_fills_all_masks_and_keeps_the_sure_ones(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: DEAR)
    folder = zoo.path("llama", layers=4)
    target = zoo.load(folder)
    drafter = made.dflash(tmp_path, target)
    lab = Lab(target, {}, {"dflash": str(drafter)})
    trace = lab.run("dflash", PROMPT, max_new_tokens=30, gamma="auto")
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=30).token_ids
    cut = [r for r in trace.rounds if 0 < r.drafted < SIZE - 1]
    assert len(cut) > 3
    for r in cut:
        wanted = reference(folder, drafter, [*PROMPT, *trace.token_ids[: r.start]], SIZE - 1)
        assert [n.token for n in r.nodes] == wanted[: r.drafted].argmax(-1).tolist(), "of all masks, not of fewer"
        following, least = r.extras["following"], r.extras["least"]
        assert following is not None and following < least
        assert r.extras["expected_ms"] == pytest.approx(DEAR.round(r.drafted, r.drafted + 1))


def test_another_shape_is_asked_place_by_place(zoo: Zoo, tmp_path: Path) -> None:
    """AdaEDL's bound on a block: the places before the first whose entropy is too large."""
    folder = zoo.path("llama", layers=4)
    target = zoo.load(folder)
    drafter = made.dflash(tmp_path, target)
    lab = Lab(target, {}, {"dflash": str(drafter)})
    bound = 1 - (0.2 * entropy(reference(folder, drafter, PROMPT, SIZE - 1))).sqrt()
    threshold = float(bound[3]) + 1e-3
    held = [True, *(bound[1:] >= threshold).tolist()].index(False)
    card = lab.compose(drafter="dflash", shape="entropy_stop", rule="exact", lambda0=threshold, entropy_factor=0.2)
    assert lab.run(card, PROMPT, max_new_tokens=20).rounds[0].drafted == held < SIZE - 1


def test_a_drafter_that_serves_again_begins_anew(zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.model("llama", layers=4)
    lab = Lab(target, {}, {"dflash": str(made.dflash(tmp_path, target))})
    living = prepare(lab, "dflash")
    first, again = (lab.run("dflash", PROMPT, reuse=living, max_new_tokens=12) for _ in range(2))
    drafts = [[n.token for n in r.nodes] for r in first.rounds]
    assert [[n.token for n in r.nodes] for r in again.rounds] == drafts and len(drafts) > 4


def speculators(folder: Path, target: Model, draft_vocab: int) -> Path:
    """The same drafter as speculators writes it, with embeddings and an output head of its own."""
    plain = json.loads((made.dflash(folder, target) / "config.json").read_text())
    own = plain.pop("dflash_config")
    del plain["num_target_layers"], plain["block_size"]
    config = {
        "speculators_model_type": "dflash",
        "transformer_layer_config": plain,
        "block_size": SIZE,
        "draft_vocab_size": draft_vocab,
        "mask_token_id": own["mask_token_id"],
        "aux_hidden_state_layer_ids": [i + 1 for i in own["target_layer_ids"]],
    }
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors")
    rng = torch.Generator().manual_seed(8)
    weights["embed_tokens.weight"] = torch.randn(target.vocab, target.width, generator=rng)
    weights["lm_head.weight"] = torch.randn(draft_vocab, target.width, generator=rng)
    weights["verifier_norm.weight"] = torch.ones(target.width)
    if draft_vocab < target.vocab:
        ids = torch.randperm(target.vocab, generator=rng)[:draft_vocab].sort().values
        weights |= {"d2t": ids - torch.arange(draft_vocab), "t2d": torch.zeros(target.vocab, dtype=torch.bool)}
        weights["t2d"][ids] = True
    save_file(weights, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("draft_vocab", [96, 40])
def test_a_drafter_of_speculators_brings_its_own_vocabulary(zoo: Zoo, tmp_path: Path, draft_vocab: int) -> None:
    """Against the reference with its embeddings and head put into the target, whose states are taken from before."""
    path = zoo.path("llama", layers=4)
    target = zoo.load(path)
    folder = speculators(tmp_path / "s", target, draft_vocab)
    lab = Lab(target, {}, {"dflash": str(folder)})
    weights = load_file(folder / "model.safetensors")
    ids = torch.arange(draft_vocab) + weights.get("d2t", torch.zeros(draft_vocab, dtype=torch.long))
    wanted = reference(
        path,
        made.dflash(tmp_path / "plain", target),
        PROMPT,
        SIZE - 1,
        (weights["embed_tokens.weight"], weights["lm_head.weight"]),
    )
    first = lab.run("dflash", PROMPT, max_new_tokens=9).rounds[0]
    assert [n.token for n in first.nodes] == ids[wanted.argmax(-1)].tolist()
    assert [n.q for n in first.nodes] == pytest.approx(wanted.softmax(-1).amax(-1).tolist(), abs=1e-4)
    drawn = lab.run("dflash", PROMPT, max_new_tokens=20, temperature=1.0)
    assert {n.token for r in drawn.rounds for n in r.nodes} <= set(ids.tolist())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"speculators_model_type": "dspark"}, "for 'dspark'; dflash is known"),
        ({"sample_from_anchor": True}, "sample_from_anchor"),
        ({"transformer_layer_config": None}, "must be a JSON object"),
        ({"aux_hidden_state_layer_ids": None}, "rising layer numbers"),
    ],
)
def test_what_of_speculators_is_refused(zoo: Zoo, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    target = zoo.model("llama", layers=4)
    folder = speculators(tmp_path, target, 96)
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(AssetError, match=said):
        load_asset("dflash", str(folder), target)
