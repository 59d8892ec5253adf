"""MTP heads under their published names, on random targets: what they compute, that they load or are refused, that the
target's text comes out. The references are transformers' own layers over the whole text, without a cache."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, DeepseekV3Config, Glm4MoeConfig, Qwen3NextConfig
from transformers.generation.candidate_generator import MTPCandidateGenerator

from engine.errors import AssetError, ModelMismatch
from engine.heads.mtp import MtpHead
from engine.heads.mtp_load import brings
from engine.heads.mtp_wrapped import WrappedHead
from engine.lab import Lab
from engine.model import hub
from engine.runs.assets import load_asset
from engine.runs.loading import Wanted, with_heads
from tests.engine.drafters.heads import decoding
from tests.engine.zoo import EOS, Zoo, save_tokenizer

PROMPT = [5, 9, 33, 7, 60]
NAMES = {  # of what is around the layer: embedding's norm, state's norm, mixture, last norm
    "deepseek": ("enorm", "hnorm", "eh_proj", "shared_head.norm"),
    "mimo": ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm"),
    "qwen3_next": ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "fc", "norm"),
}
BASE = {
    "vocab_size": 96,
    "hidden_size": 48,
    "intermediate_size": 64,
    "moe_intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
    "eos_token_id": EOS,
    "pad_token_id": 0,
    "bos_token_id": None,
    "tie_word_embeddings": False,
}
EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 12}
CONFIGS: dict[str, Any] = {
    "deepseek_v3": lambda: DeepseekV3Config(**BASE | EXPERTS | LATENT),
    "glm4_moe": lambda: Glm4MoeConfig(**BASE | EXPERTS | {"num_key_value_heads": 2, "head_dim": 12}),
}


def noise(tensor: Tensor, seed: int) -> Tensor:
    return tensor + 0.3 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(seed)).to(tensor.dtype)


def with_head(folder: Path, layout: str, layers: int, files: int = 1) -> Path:
    """A saved model with a random head of its own kind of layer, under the names of a layout; in so many files."""
    weights = load_file(folder / "model.safetensors")
    last, D = (
        f"model.layers.{layers - 1}.",
        next(t.shape[-1] for n, t in weights.items() if n.endswith("embed_tokens.weight")),
    )
    at, outer = {
        "deepseek": (f"model.layers.{layers}.",) * 2,
        "mimo": ("model.mtp_layers.0.",) * 2,
        "qwen3_next": ("mtp.layers.0.", "mtp."),
    }[layout]
    weights |= {at + n[len(last) :]: noise(t, i) for i, (n, t) in enumerate(weights.items()) if n.startswith(last)}
    for name in [n for n in weights if ".mlp.experts." in n and n.startswith(at) and weights[n].dim() == 3]:
        fused, before = weights.pop(name), name.rsplit(".", 1)[0]  # published expert by expert
        parts = {"gate_proj": 0, "up_proj": 1} if name.endswith("gate_up_proj") else {"down_proj": 0}
        for e, expert in enumerate(fused):
            for kind, i in parts.items():
                weights[f"{before}.{e}.{kind}.weight"] = expert.chunk(len(parts))[i].contiguous()
    for i, (name, shape) in enumerate(zip(NAMES[layout], [(D,), (D,), (D, 2 * D), (D,)], strict=True)):
        weights[f"{outer}{name}.weight"] = noise(torch.zeros(shape) if len(shape) == 2 else torch.ones(shape), 90 + i)
    if layout == "deepseek":
        weights[f"{at}embed_tokens.weight"] = torch.zeros(4, D)  # published copies, which are the target's own
    (folder / "model.safetensors").unlink()
    names, placed = sorted(weights), dict[str, str]()
    for part in range(files):
        name = "model.safetensors" if files == 1 else f"model-{part + 1:05d}-of-{files:05d}.safetensors"
        mine = names[part::files]
        save_file({n: weights[n].contiguous() for n in mine}, folder / name, {"format": "pt"})
        placed |= dict.fromkeys(mine, name)
    if files > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    return folder


def copied(zoo: Zoo, folder: Path, family: str) -> Path:
    for file in zoo.path(family, layers=3).iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def reference(folder: Path, layout: str, layers: int, ids: list[int], states: Tensor) -> Tensor:
    """The head's states over all pairs at once, through transformers' layer of the target's kind."""
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    weights: dict[str, Tensor] = {}
    for file in folder.glob("*.safetensors"):
        weights |= load_file(file)
    body = hf.get_decoder()
    layer, outer = body.layers[-1], "model.mtp_layers.0." if layout == "mimo" else f"model.layers.{layers}."
    layer.load_state_dict({n: weights[outer + n] for n in layer.state_dict()})
    e, h, mix, last = (weights[f"{outer}{n}.weight"] for n in NAMES[layout])
    eps = hf.config.rms_norm_eps
    sides = [F.rms_norm(body.embed_tokens(torch.tensor(ids[1:])), e.shape, e, eps), F.rms_norm(states, h.shape, h, eps)]
    x = torch.cat(sides[::-1] if layout == "mimo" else sides, -1) @ mix.T
    pos = torch.arange(len(x)).unsqueeze(0)
    mask = torch.full((len(x), len(x)), -torch.inf).triu(1)[None, None]
    out = layer(x[None], attention_mask=mask, position_ids=pos, position_embeddings=body.rotary_emb(x[None], pos))
    out = out[0] if isinstance(out, tuple) else out
    return F.rms_norm(out[0], last.shape, last, eps)


@pytest.mark.parametrize(("family", "layout"), [("llama", "deepseek"), ("qwen2", "mimo"), ("qwen2", "deepseek")])
@pytest.mark.parametrize("files", [1, 2])
def test_a_llama_like_head_computes_what_its_layer_does(
    zoo: Zoo, family: str, layout: str, files: int, tmp_path: Path
) -> None:
    folder = with_head(copied(zoo, tmp_path, family), layout, 3, files)
    lab = Lab.load(target=folder, device="cpu")
    head = lab.asset("mtp")
    assert isinstance(head, MtpHead) and head.card["layout"] == layout
    ids = [*PROMPT, 8, 11, 4]
    states = lab.target.session(16).forward(ids).last[:-1]
    want = reference(folder, layout, 3, ids, states)
    memory = head.memory(4)
    with torch.inference_mode():
        got = torch.cat([head.run(memory, torch.tensor(ids[1:4]), states[:3], 0)])
        wrong = head.run(memory, torch.tensor([70, 71]), states[:2], 3)  # a draft, forgotten by the next
        more = head.run(memory, torch.tensor(ids[4:]), states[3:], 3)
    assert wrong.shape == (2, lab.target.width)
    assert torch.allclose(torch.cat((got, more)), want, atol=2e-4)


@pytest.mark.parametrize(("family", "layout"), [("llama", "deepseek"), ("qwen2", "mimo")])
def test_the_targets_text_comes_out(zoo: Zoo, family: str, layout: str, tmp_path: Path) -> None:
    lab = Lab.load(target=with_head(copied(zoo, tmp_path, family), layout, 3), device="cpu")
    for prompt in ([7], PROMPT):
        want = lab.run("ar", prompt, max_new_tokens=16).token_ids
        trace = lab.run("mtp", prompt, max_new_tokens=16, gamma=3)
        assert trace.token_ids == want and sum(r.drafted for r in trace.rounds) > 10
    assert trace.rounds[1].nodes[0].source == {"kind": "head", "level": 1} and trace.rounds[1].nodes[2].source == {
        "kind": "head",
        "level": 3,
    }
    rounds = lab.run("mtp", PROMPT, max_new_tokens=16, gamma=3, temperature=1.0).rounds
    assert all((n.reason or {})["id"].split("_")[0] in ("ratio", "untested") for r in rounds for n in r.nodes)


def test_a_head_of_mimo_reads_states_before_the_last_norm(zoo: Zoo, tmp_path: Path) -> None:
    folder = with_head(copied(zoo, tmp_path, "qwen2"), "mimo", 3)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = torch.linspace(-2, 3, len(weights["model.norm.weight"]))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    lab = Lab.load(target=folder, device="cpu")
    run = decoding(lab, "mtp", PROMPT, gamma=1)
    run.method.drafter.begin(PROMPT)
    with torch.inference_mode():
        run.last = run.target.forward(PROMPT[:-1])
        draft = run.method.drafter.propose(run._context(), run.method.shape)
        states = lab.target.session(16, [3]).forward(PROMPT[:-1]).taps
        assert states is not None
        head = lab.asset("mtp")
        want = head.logits(reference(folder, "mimo", 3, PROMPT, states)[-1:])
        normed = lab.target.session(16).forward(PROMPT[:-1]).last
        other = head.logits(reference(folder, "mimo", 3, PROMPT, normed)[-1:])
    assert draft.tokens[0] == int(want.argmax()) != int(other.argmax())


def made(folder: Path, kind: str) -> Path:
    torch.manual_seed(3)
    hf = AutoModelForCausalLM.from_config(CONFIGS[kind](), dtype=torch.float32)
    hf.save_pretrained(folder)
    save_tokenizer(folder, 96)
    return with_head(folder, "deepseek", 3)


@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_a_head_with_experts_drafts_what_transformers_drafts(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token for token and draft for draft: its own MTP decoding asks the head once a round."""
    folder = made(tmp_path, kind)
    lab = Lab.load(target=folder, device="cpu")
    assert isinstance(lab.asset("mtp"), WrappedHead)
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    hf._keys_to_ignore_on_load_unexpected = [r"model\.layers\.3\."]  # it looks at the published numbers only
    seen: list[list[int]] = []
    plain = MTPCandidateGenerator.get_candidates

    def spy(self: Any, ids: Tensor, *args: Any, **more: Any) -> Any:
        found = plain(self, ids, *args, **more)
        seen.append(found[0][0, ids.shape[1] :].tolist())
        return found

    monkeypatch.setattr(MTPCandidateGenerator, "get_candidates", spy)
    out = hf.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=14, use_mtp=True)[0, len(PROMPT) :]
    ours = lab.run("mtp", PROMPT, max_new_tokens=14, gamma=1)
    assert ours.token_ids == out.tolist() == lab.run("ar", PROMPT, max_new_tokens=14).token_ids
    drafts = [draft for r in ours.rounds[1:] if (draft := [n.token for n in r.nodes])]  # theirs begin a call later
    assert len(drafts) >= 8 and drafts == [draft for draft in seen if draft][: len(drafts)]
    deep = lab.run("mtp", PROMPT, max_new_tokens=14, gamma=4)
    assert deep.token_ids == ours.token_ids and max(r.drafted for r in deep.rounds) == 4


def test_of_two_heads_the_first_is_used(tmp_path: Path) -> None:
    folder = made(tmp_path, "glm4_moe")
    alone = Lab.load(target=folder, device="cpu").run("mtp", PROMPT, max_new_tokens=14, gamma=3)
    weights = load_file(folder / "model.safetensors")
    second = {n.replace("layers.3.", "layers.4."): noise(t, 7) for n, t in weights.items() if ".layers.3." in n}
    save_file(weights | second, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_nextn_predict_layers": 2}))
    both = Lab.load(target=folder, device="cpu").run("mtp", PROMPT, max_new_tokens=14, gamma=3)
    assert [[n.token for n in r.nodes] for r in both.rounds] == [[n.token for n in r.nodes] for r in alone.rounds]


def test_a_head_is_found_beside_towers_and_in_what_was_fetched(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = with_head(copied(zoo, tmp_path, "qwen2"), "deepseek", 3)
    found = Wanted({"target": "owner/model"}, {"medusa": "m"}, "auto", named=False)
    assert with_heads(found) == {"medusa": "m"}
    monkeypatch.setattr(hub, "_fetched", lambda ref, name: folder / name if ref == "owner/model" else None)
    assert with_heads(found) == {"medusa": "m", "mtp": "owner/model"}
    assert with_heads(replace(found, assets={"mtp": "other"})) == {"mtp": "other"}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3_5", "text_config": config}))
    assert brings(folder)


def qwen3_next(folder: Path) -> Path:
    """Two layers with running states, one of full attention, and a head of the latter kind."""
    torch.manual_seed(4)
    more = {"num_experts": 4, "num_experts_per_tok": 2, "shared_expert_intermediate_size": 24, "head_dim": 12}
    linear = {
        "linear_num_value_heads": 2,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    config = Qwen3NextConfig(**BASE | more | linear | {"layer_types": ["linear_attention"] * 2 + ["full_attention"]})
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    save_tokenizer(folder, 96)
    return with_head(folder, "qwen3_next", 3)


def test_a_head_of_qwen3_next_runs_on_its_kind_of_layer(tmp_path: Path) -> None:
    """Full attention with gates and experts, zero-centred norms: loaded by its names, and causal."""
    assert brings(qwen3_next(tmp_path))
    head = WrappedHead(
        AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval(), tmp_path, r"mtp\.", {}
    )
    stored = load_file(tmp_path / "model.safetensors")
    assert torch.equal(head.model.layers[0].eh_proj.weight, stored["mtp.fc.weight"])
    assert torch.equal(
        head.model.layers[0].mtp_block.self_attn.q_proj.weight, stored["mtp.layers.0.self_attn.q_proj.weight"]
    )
    ids, states = torch.tensor([5, 9, 33, 7]), torch.randn(4, 48)
    with torch.inference_mode():
        whole = head.run(head.memory(8), ids, states, 0)
        memory = head.memory(8)
        parts = [head.run(memory, ids[:2], states[:2], 0), head.run(memory, ids[1:2], states[1:2], 2)]
        parts[1] = head.run(memory, ids[2:], states[2:], 2)
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5) and head.logits(whole).shape == (4, 96)


@pytest.mark.thorough
def test_the_text_of_a_qwen3_next_comes_out(tmp_path: Path) -> None:
    """A whole checkpoint, running states and head: what is written is what `generate` writes, whatever is rejected."""
    folder = qwen3_next(tmp_path)
    lab = Lab.load(target=folder, device="cpu")
    assert lab.target.only_chains and isinstance(lab.asset("mtp"), WrappedHead) and "mtp" not in lab.unavailable()
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    drafted = list[int]()
    for prompt in (PROMPT, [7], PROMPT * 6):
        ids = torch.tensor([prompt])
        out = hf.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20)
        ours = lab.run("mtp", prompt, max_new_tokens=20, gamma=3)
        assert ours.token_ids == out[0, len(prompt) :].tolist()
        drafted += [r.drafted for r in ours.rounds]
    assert sum(drafted) > 30 and max(drafted) == 3


def test_what_is_no_head_of_this_target_is_refused(zoo: Zoo, tmp_path: Path) -> None:
    plain = zoo.model("llama", layers=3)
    assert not brings(zoo.path("llama", layers=3)) and not brings(tmp_path / "none")
    with pytest.raises(AssetError, match="holds no MTP head"):
        load_asset("mtp", str(zoo.path("llama", layers=3)), plain)
    folder = with_head(copied(zoo, tmp_path, "llama"), "deepseek", 3)
    with pytest.raises(ModelMismatch, match="another target"):
        load_asset("mtp", str(folder), zoo.model("llama", layers=3, hidden=32))
    with pytest.raises(AssetError, match=r"neither model\.layers\.4\.eh_proj"):
        load_asset("mtp", str(folder), zoo.model("llama", layers=4))
    weights = load_file(folder / "model.safetensors")
    save_file({n: t for n, t in weights.items() if not n.endswith("3.enorm.weight")}, folder / "model.safetensors")
    with pytest.raises(AssetError, match=r"lacks enorm\.weight"):
        load_asset("mtp", str(folder), plain)
