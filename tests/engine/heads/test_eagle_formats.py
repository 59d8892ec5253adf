"""EAGLE-3 heads as others publish them: speculators' names and configuration, several files, own embeddings, other layers
tapped, newer rope scalings. One head in two formats drafts the same; ropes are those of transformers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from engine.errors import AssetError, ModelMismatch
from engine.heads.block import Spec, rope
from engine.heads.files import rotary
from engine.lab import Lab
from engine.runs.assets import load_asset
from tests.engine.drafters.heads import decoding, reference
from tests.engine.heads import made
from tests.engine.heads.test_eagle_load import change, configured
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 21, 7]
OUTSIDE = (
    "draft_vocab_size",
    "target_hidden_size",
    "norm_before_residual",
    "norm_output",
    "eagle_aux_hidden_state_layer_ids",
)


def speculators(folder: Path, out: Path, files: int = 2, **more: Any) -> Path:
    """The same head as speculators writes it, in several files."""
    out.mkdir()
    config = json.loads((folder / "config.json").read_text()) | more
    outside = {name: config.pop(name) for name in OUTSIDE if name in config}
    top = {"speculators_model_type": "eagle3", "architectures": ["Eagle3Speculator"], "target_hidden_size": None}
    (out / "config.json").write_text(json.dumps(top | outside | {"transformer_layer_config": config}))
    weights = {n.replace("midlayer.", "layers.0."): t for n, t in load_file(folder / "model.safetensors").items()}
    names, placed = sorted(weights), dict[str, str]()
    for part in range(files):
        name = f"model-{part + 1:05d}-of-{files:05d}.safetensors"
        save_file({n: weights[n] for n in names[part::files]}, out / name)
        placed |= dict.fromkeys(names[part::files], name)
    (out / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    return out


def drafts(lab: Lab, folder: Path) -> list[list[int]]:
    lab.asset_paths["eagle3"], lab._assets = str(folder), {}
    trace = lab.run("eagle3", PROMPT, max_new_tokens=16, total_token=12)
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=16).token_ids
    return [[n.token for n in r.nodes] for r in trace.rounds]


def test_one_head_in_both_formats_drafts_the_same(zoo: Zoo, tmp_path: Path) -> None:
    lab = zoo.lab("llama", draft=None, vocab=32)
    plain = made.eagle(tmp_path / "plain", lab.target, "eagle3", draft_vocab=20)
    own = lab.target.decoder.embed(torch.arange(32)).clone()
    change(plain, **{"embed_tokens.weight": own})
    other = speculators(plain, tmp_path / "other")
    assert drafts(lab, plain) == drafts(lab, other)
    other = speculators(change(plain, **{"embed_tokens.weight": own.flip(0)}), tmp_path / "flipped")
    assert drafts(lab, plain) == drafts(lab, other) != drafts(lab, change(plain, **{"embed_tokens.weight": own}))
    change(plain, t2d=None)
    assert torch.equal(
        load_asset("eagle3", str(plain), lab.target).names, load_asset("eagle3", str(other), lab.target).names
    )


@pytest.mark.parametrize(
    ("more", "tensors"),
    [
        ({"norm_before_residual": True}, {}),
        ({}, {"fc.bias": torch.linspace(-1, 1, 48)}),
        ({}, {"input_norm.weight": torch.linspace(0.5, 2, 144)}),
    ],
)
def test_options_of_speculators_change_the_head(
    zoo: Zoo, more: dict[str, Any], tensors: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    target = zoo.model("llama", vocab=32)
    folder = made.eagle(tmp_path / "plain", target, "eagle3", draft_vocab=20)
    before = load_asset("eagle3", str(folder), target)
    head = load_asset("eagle3", str(speculators(change(folder, **tensors), tmp_path / "other", **more)), target)
    states, embedded = torch.randn(3, 144), torch.randn(3, 48)
    residual, x = head.mix(embedded, head.feature(states))
    plain = before.feature(states)
    if "fc.bias" in tensors:
        assert torch.allclose(residual, plain + tensors["fc.bias"], atol=1e-5)
    elif tensors:
        normed = states * (states.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * tensors["input_norm.weight"]
        assert torch.allclose(residual, before.feature(normed), atol=1e-4)
    else:
        normed = plain * (plain.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        want = normed * head.weights["midlayer.hidden_norm.weight"]
        assert torch.allclose(residual, want, atol=1e-4) and torch.allclose(x[:, 48:], want, atol=1e-4)


def test_a_norm_that_the_configuration_names_must_be_there(zoo: Zoo, tmp_path: Path) -> None:
    """Without it the head would draft from states of another size than those that it was trained on."""
    target = zoo.model("llama", vocab=32)
    folder = configured(made.eagle(tmp_path, target, "eagle3"), norm_before_fc=True)
    with pytest.raises(AssetError, match=r"lacks input_norm\.weight"):
        load_asset("eagle3", str(folder), target)
    change(folder, **{"input_norm.weight": torch.ones(144)})
    assert load_asset("eagle3", str(folder), target).spec.norm_taps


@pytest.mark.parametrize("nested", [False, True])
def test_the_layers_that_the_config_names_are_read(zoo: Zoo, nested: bool, tmp_path: Path) -> None:
    """Not the usual three, and on a target too shallow for those; the draft is that of a head on these features.
    Nested they are layers by their outputs."""
    lab, ids = zoo.lab("llama", draft=None, vocab=32, layers=5), [1, 3, 5]
    given: dict[str, Any] = {"eagle_aux_hidden_state_layer_ids": [i - nested for i in ids]}
    folder = made.eagle(tmp_path / "head", lab.target, "eagle3", draft_vocab=20)
    with pytest.raises(ModelMismatch, match="at least 7"):
        load_asset("eagle3", str(folder), lab.target)
    configured(folder, **({"eagle_config": given} if nested else given))
    lab.asset_paths["eagle3"] = str(folder)
    head = lab.asset("eagle3")
    assert head.spec.taps == (1, 3, 5)
    run = decoding(lab, "eagle3", PROMPT, total_token=12, depth=1)
    run.method.drafter.begin(PROMPT)
    with torch.inference_mode():
        run.last = run.target.forward(PROMPT[:-1])
        draft = run.method.drafter.propose(run._context(), run.method.shape)
        taps = lab.target.session(8, ids).forward(PROMPT[:-1]).taps
        assert taps is not None
        want = reference(head, PROMPT, taps, [])
    assert draft.tokens[0] == int(head.names[int(want.argmax())])
    assert lab.run("eagle3", PROMPT, max_new_tokens=12).token_ids == lab.run("ar", PROMPT, max_new_tokens=12).token_ids


@pytest.mark.parametrize(
    ("ids", "error", "says"),
    [
        ([2, 4, 9], ModelMismatch, "layer 9, but .* has 8"),
        ([4, 2, 6], AssetError, "rising"),
        ([], AssetError, "rising"),
        ("2,4,6", AssetError, "rising"),
        ([2, 4.5, 6], AssetError, "rising"),
        ([2, 4], AssetError, r"fc.weight has shape \[48, 144\]; its config says \[48, 96\]"),
    ],
)
def test_other_layer_numbers_are_refused(zoo: Zoo, ids: Any, error: Any, says: str, tmp_path: Path) -> None:
    target = zoo.model("llama", vocab=32)
    folder = configured(made.eagle(tmp_path, target, "eagle3"), eagle_aux_hidden_state_layer_ids=ids)
    with pytest.raises(error, match=says):
        load_asset("eagle3", str(folder), target)


def test_other_methods_and_damaged_indices_are_refused(zoo: Zoo, tmp_path: Path) -> None:
    target = zoo.model("llama", vocab=32)
    folder = speculators(made.eagle(tmp_path / "plain", target, "eagle3"), tmp_path / "other")
    load_asset("eagle3", str(folder), target)
    index = folder / "model.safetensors.index.json"
    whole = json.loads(index.read_text())
    for odd, says in (
        ([], "JSON object"),
        ({"weight_map": []}, "weight_map"),
        ({"weight_map": {"fc.weight": "../x.safetensors"}}, "beside it"),
        ({"weight_map": whole["weight_map"] | {"fc.weight": "none.safetensors"}}, "cannot be read"),
        ({"weight_map": whole["weight_map"] | {"more.weight": "model-00001-of-00002.safetensors"}}, "lack more.weight"),
    ):
        index.write_text(json.dumps(odd))
        with pytest.raises(AssetError, match=says):
            load_asset("eagle3", str(folder), target)
    index.write_text(json.dumps(whole))
    with pytest.raises(AssetError, match="'peagle'; eagle3 is known"):
        load_asset("eagle3", str(configured(folder, speculators_model_type="peagle")), target)
    with pytest.raises(AssetError, match="use_aux_hidden_state"):
        more = {"speculators_model_type": "eagle3", "eagle_config": {"use_aux_hidden_state": False}}
        load_asset("eagle3", str(configured(folder, **more)), target)


SCALINGS: list[dict[str, Any]] = [
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0},
    {"rope_type": "yarn", "factor": 16.0, "beta_fast": 20.0, "beta_slow": 2.0, "attention_factor": 1.3},
]


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_ropes_are_those_of_transformers(scaling: dict[str, Any], key: str) -> None:
    given = scaling | {"original_max_position_embeddings": 256}
    sizes = {"hidden_size": 256, "num_attention_heads": 4, "max_position_embeddings": 4096}
    theirs = LlamaConfig(**sizes, rope_parameters=given | {"rope_theta": 10000.0})
    slow, scale = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](theirs, "cpu")
    fields = rotary({"rope_theta": 10000.0, key: given, "max_position_embeddings": 4096})
    cos, sin = rope(Spec(256, 512, 4, 4, 64, **fields), 300, torch.zeros(1, dtype=torch.float64))
    angle = torch.arange(300, dtype=torch.float64).unsqueeze(1) * slow.double()
    assert torch.allclose(cos[:, :32], angle.cos() * scale, atol=1e-4)
    assert torch.allclose(sin[:, 32:], angle.sin() * scale, atol=1e-4)


def test_scalings_without_their_numbers_are_refused() -> None:
    for given, says in (
        ({"type": "llama3", "factor": 8.0}, "low_freq_factor"),
        ({"type": "yarn"}, "factor"),
        ({"type": "yarn", "factor": 2.0, "mscale": 1.0, "original_max_position_embeddings": 256}, "mscale"),
        ({"type": "longrope", "factor": 2.0}, "longrope"),
        (
            SCALINGS[0] | {"low_freq_factor": 4.0, "original_max_position_embeddings": 256},
            "must be larger",
        ),
    ):
        with pytest.raises(AssetError, match=says):
            rotary({"rope_scaling": given})
