import json
import os
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import AssetError, ModelMismatch
from engine.heads.eagle import EagleHead
from engine.heads.files import block_of
from engine.heads.hydra import wanted as hydra_names
from engine.model import Model, load_model
from engine.runs.assets import load_asset
from tests.engine.heads import made
from tests.engine.zoo import Zoo


@pytest.fixture(params=["llama", "qwen2"])
def target(request: pytest.FixtureRequest, zoo: Zoo) -> Model:
    return zoo.model(request.param, vocab=32)


@pytest.fixture
def llama(zoo: Zoo) -> Model:
    return zoo.model("llama", vocab=32)


def change(folder: Path, **weights: Any) -> Path:
    """The same head with some tensors replaced; None takes one away."""
    found = load_file(folder / "model.safetensors") | weights
    save_file({n: t for n, t in found.items() if t is not None}, folder / "model.safetensors")
    return folder


def configured(folder: Path, **values: Any) -> Path:
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_official_names_load(tmp_path: Path, target: Model, file: str) -> None:
    two = load_asset("eagle2", str(made.eagle(tmp_path / "2", target, "eagle2", qkv_bias=True, file=file)), target)
    three = load_asset("eagle3", str(made.eagle(tmp_path / "3", target, "eagle3", draft_vocab=20, file=file)), target)
    assert isinstance(two, EagleHead) and two.names is None
    other_word = configured(tmp_path / "2", qkv_bias=None, attention_bias=True)
    assert load_asset("eagle2", str(other_word), target).spec == two.spec and two.spec.qkv_bias
    assert isinstance(three, EagleHead) and three.names is not None and len(three.names) == 20
    assert three.names.tolist() == sorted(set(three.names.tolist()))


def test_a_mixture_without_a_bias_says_so(tmp_path: Path, target: Model) -> None:
    folder = made.eagle(tmp_path, target, "eagle2")
    change(folder, **{"fc.bias": None})
    with pytest.raises(AssetError, match=r"lacks fc\.bias"):
        load_asset("eagle2", str(folder), target)
    head = load_asset("eagle2", str(configured(folder, bias=False)), target)
    assert not head.spec.bias and "fc.bias" not in head.weights


def test_a_full_draft_vocabulary_has_no_maps(tmp_path: Path, target: Model) -> None:
    folder = made.eagle(tmp_path, target, "eagle3")
    assert "d2t" not in load_file(folder / "model.safetensors")
    assert load_asset("eagle3", str(folder), target).names is None


def test_rope_is_the_heads_own(tmp_path: Path, llama: Model) -> None:
    folder = made.eagle(tmp_path, llama, "eagle3")
    assert load_asset("eagle3", str(folder), llama).spec.block.theta == 10000.0
    assert load_asset("eagle3", str(configured(folder, rope_theta=500000.0)), llama).spec.block.theta == 500000.0
    linear = configured(folder, rope_scaling={"type": "linear", "factor": 4.0})
    assert load_asset("eagle3", str(linear), llama).spec.block.stretch == 4.0
    for kind in ("longrope", ["linear"], None):
        scaling = {"type": kind, "factor": 4.0}
        with pytest.raises(AssetError, match=f"Unknown rope scaling of a head {re.escape(repr(kind))}"):
            load_asset("eagle3", str(configured(folder, rope_scaling=scaling)), llama)


def test_a_renamed_tensor_is_refused_by_name(tmp_path: Path, llama: Model) -> None:
    folder = made.eagle(tmp_path, llama, "eagle3", draft_vocab=20)
    fc = load_file(folder / "model.safetensors")["fc.weight"]
    with pytest.raises(AssetError, match=r"lacks fc\.weight"):
        load_asset("eagle3", str(change(folder, **{"fc.weight": None, "fcc.weight": fc})), llama)


def test_an_unknown_tensor_is_refused(tmp_path: Path, llama: Model) -> None:
    folder = change(made.eagle(tmp_path, llama, "eagle2"), **{"extra.weight": torch.zeros(2)})
    with pytest.raises(AssetError, match="unknown names: extra"):
        load_asset("eagle2", str(folder), llama)


def test_a_wrong_shape_is_refused(tmp_path: Path, llama: Model) -> None:
    folder = change(made.eagle(tmp_path, llama, "eagle3"), **{"norm.weight": torch.ones(5)})
    with pytest.raises(AssetError, match=r"norm\.weight has shape \[5\]"):
        load_asset("eagle3", str(folder), llama)


def test_d2t_holds_offsets_not_ids(tmp_path: Path, llama: Model) -> None:
    folder = made.eagle(tmp_path, llama, "eagle3", draft_vocab=20)
    ids = load_file(folder / "model.safetensors")["d2t"] + torch.arange(20)
    with pytest.raises(AssetError, match="offsets"):
        load_asset("eagle3", str(change(folder, d2t=ids)), llama)
    with pytest.raises(AssetError, match=r"d2t holds torch\.float32, which is no type for it"):
        load_asset("eagle3", str(change(folder, d2t=ids.float(), t2d=None)), llama)


@pytest.mark.parametrize(
    ("kind", "change_of"),
    [
        ("eagle2", {"hidden_size": 64}),
        ("eagle3", {"hidden_size": 64}),
        ("eagle2", {"vocab_size": 33}),
        ("eagle3", {"vocab_size": 33}),
    ],
)
def test_a_head_of_another_target_is_refused(
    tmp_path: Path, llama: Model, kind: Any, change_of: dict[str, int]
) -> None:
    folder = configured(made.eagle(tmp_path, llama, kind), **change_of)
    with pytest.raises(ModelMismatch, match="another target"):
        load_asset(kind, str(folder), llama)


@pytest.mark.parametrize("kind", ["eagle2", "eagle3", "medusa", "hydra"])
@pytest.mark.parametrize(
    ("file", "record"),
    [
        ("training.json", {"target": "sha256:0123"}),
        ("card.json", {"role": "head", "training": {"target": "sha256:0123"}}),
    ],
)
def test_a_head_trained_on_another_target_of_the_same_shape_is_refused(
    tmp_path: Path, llama: Model, kind: Any, file: str, record: dict[str, Any]
) -> None:
    make = {"medusa": made.medusa, "hydra": made.hydra}.get(kind) or partial(made.eagle, kind=kind)
    folder = make(tmp_path, llama)
    load_asset(kind, str(folder), llama)  # official heads name no target
    (folder / file).write_text(json.dumps(record))
    with pytest.raises(ModelMismatch, match=f"sha256:0123, not on {llama.name} .{llama.revision}.. Train one"):
        load_asset(kind, str(folder), llama)
    (folder / file).write_text(json.dumps(record).replace("sha256:0123", llama.revision))
    load_asset(kind, str(folder), llama)
    for odd in ("", "[]", '{"target": 3}', '{"training": []}', '{"target": {"id": "x"}}'):
        (folder / file).write_text(odd)
        load_asset(kind, str(folder), llama)


def test_eagle3_needs_seven_layers(tmp_path: Path, zoo: Zoo) -> None:
    small = zoo.model("llama", vocab=32, layers=6)
    with pytest.raises(ModelMismatch, match="at least 7"):
        load_asset("eagle3", str(made.eagle(tmp_path, small, "eagle3")), small)


def test_one_kind_given_as_the_other(tmp_path: Path, llama: Model) -> None:
    with pytest.raises(AssetError, match="EAGLE-3 head"):
        load_asset("eagle2", str(made.eagle(tmp_path, llama, "eagle3")), llama)


def test_own_embeddings_are_used_where_the_head_brings_them(tmp_path: Path, llama: Model) -> None:
    own = torch.arange(32.0).unsqueeze(1).expand(32, llama.width).contiguous()
    folder = made.eagle(tmp_path, llama, "eagle3")
    ids = torch.tensor([3, 7])
    assert torch.equal(load_asset("eagle3", str(folder), llama).embed(ids), llama.decoder.embed(ids))
    head = load_asset("eagle3", str(change(folder, **{"embed_tokens.weight": own})), llama)
    assert head.embed(ids)[:, 0].tolist() == [3, 7]


class Evil:
    """Writes a file when it is unpickled by something that runs what it is told."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch '{self.file}'",)


def test_a_pickle_runs_nothing(tmp_path: Path, llama: Model) -> None:
    folder = made.eagle(tmp_path, llama, "eagle3", file="pytorch_model.bin")
    torch.save({"fc.weight": Evil(tmp_path / "evil")}, folder / "pytorch_model.bin")
    with pytest.raises(AssetError, match="cannot be read"):
        load_asset("eagle3", str(folder), llama)
    assert not (tmp_path / "evil").exists()


def test_nothing_there(tmp_path: Path, llama: Model) -> None:
    with pytest.raises(AssetError, match="does not exist"):
        load_asset("eagle3", str(tmp_path / "none"), llama)
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssetError, match=r"config\.json"):
        load_asset("eagle3", str(tmp_path / "empty"), llama)
    (tmp_path / "empty" / "config.json").write_text("[1]")
    with pytest.raises(AssetError, match="JSON object"):
        load_asset("eagle3", str(tmp_path / "empty"), llama)


def test_medusa_and_hydra_load_and_refuse(tmp_path: Path, target: Model, zoo: Zoo) -> None:
    medusa, hydra = made.medusa(tmp_path / "m", target), made.hydra(tmp_path / "h", target)
    assert load_asset("medusa", str(medusa), target).heads == 4
    assert load_asset("hydra", str(hydra), target).heads == 4
    other = zoo.model("llama", vocab=40)
    for role, folder in (("medusa", medusa), ("hydra", hydra)):
        with pytest.raises(ModelMismatch, match="another target"):
            load_asset(role, str(folder), other)
    with pytest.raises(AssetError, match="unknown names"):
        load_asset("medusa", str(change(medusa, **{"0.0.odd": torch.zeros(1)})), target)
    with pytest.raises(AssetError, match="lacks"):
        load_asset("hydra", str(change(hydra, **{"hydra_mlp.1.1.linear.bias": None})), target)
    for role, folder, cut, key in (
        ("medusa", made.medusa(tmp_path / "cut m", target), ("1.", "2.", "3."), "medusa_num_heads"),
        ("hydra", made.hydra(tmp_path / "cut h", target), ("hydra_mlp.3.", "hydra_lm_head.3."), "hydra_num_heads"),
    ):
        gone = dict.fromkeys(n for n in load_file(folder / "model.safetensors") if n.startswith(cut))
        with pytest.raises(AssetError, match=rf"holds \d of the \d heads that its config.json names \({key}\)"):
            load_asset(role, str(change(folder, **gone)), target)
    assert load_asset("medusa", str(made.medusa(tmp_path / "pt", target, file="medusa_lm_head.pt")), target).heads == 4


def test_a_published_hydra_has_a_layer_as_the_target_has(tmp_path: Path, zoo: Zoo) -> None:
    """Its configuration says nothing of the layer, rotation included."""
    rope = {"rope_theta": 20000.0, "rope_type": "linear", "factor": 4.0}
    shutil.copytree(zoo.path("llama", vocab=32), tmp_path / "target")
    target = load_model(configured(tmp_path / "target", rope_parameters=rope))
    own = block_of(target.config, target.width)
    assert (own.theta, own.stretch, own.kv_heads) == (20000.0, 4.0, target.config["num_key_value_heads"])
    config = {"hydra_num_heads": 2, "hydra_num_layers": 1, "hydra_head_arch": "prefix-mlp", "hidden_state_offset": 0}
    folder = made.save(tmp_path / "head", config, made.fill(hydra_names(own, 2, 1, target.vocab), 0))
    head = load_asset("hydra", str(folder), target)
    assert head.spec == own and head.heads == 2
    made.save(folder, config | {"hidden_state_offset": 1}, made.fill(hydra_names(own, 2, 1, target.vocab), 0))
    with pytest.raises(AssetError, match="1 layers before the last"):
        load_asset("hydra", str(folder), target)
    with pytest.raises(AssetError, match=r"'mlp'.*prefix-mlp"):
        load_asset("hydra", str(configured(folder, hidden_state_offset=0, hydra_head_arch="mlp")), target)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("bottleneck", [0, 5])
def test_heads_may_share_the_targets_matrix_and_be_narrow(
    tmp_path: Path, target: Model, zoo: Zoo, shared: bool, bottleneck: int
) -> None:
    """What they compute, written out; the heads together are what each is alone; a file that says otherwise is no
    head."""
    folder = made.medusa(tmp_path / "m", target, heads=3, layers=2, shared=shared, bottleneck=bottleneck)
    head, w = load_asset("medusa", str(folder), target), load_file(folder / "model.safetensors")
    states = torch.randn(4, target.width, generator=torch.Generator().manual_seed(0))
    for i in range(3):
        x = states
        for j in (0, 1):
            h = x @ w[f"{i}.{j}.linear.weight"].T + w[f"{i}.{j}.linear.bias"]
            h = h * h.sigmoid()
            x = x + (h @ w[f"{i}.{j}.out.weight"].T if bottleneck else h)
        want = target.decoder.head(x) if shared else x @ w[f"{i}.2.weight"].T
        torch.testing.assert_close(head.logits(states, i), want, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(head.first(states, i + 1)[:, i], want, atol=1e-4, rtol=1e-4)
    assert head.first(states, 2).shape == (4, 2, target.vocab)
    with pytest.raises(ModelMismatch, match="another target"):
        load_asset("medusa", str(folder), zoo.model("llama", hidden=64))
    said = {"medusa_num_layers": 2} | ({} if shared else {"shared_output": True})
    (folder / "config.json").write_text(json.dumps(said | ({"bottleneck": bottleneck} if bottleneck else {})))
    with pytest.raises(AssetError, match="does not say that they share" if shared else "unknown names"):
        load_asset("medusa", str(folder), target)
    (folder / "config.json").write_text(json.dumps({"shared_output": 1}))
    with pytest.raises(AssetError, match="shared_output = 1; it must be true or false"):
        load_asset("medusa", str(folder), target)
