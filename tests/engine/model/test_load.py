"""What cannot work is refused with a sentence that says why; what loads is what was saved."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, ReformerConfig, ViTConfig, ViTModel

from engine.docstrings import docstrings
from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.files.places import ROOT
from engine.lab import Lab
from engine.model import load, load_model
from engine.model.checkpoint import hash_of, revision_of, weight_bytes
from engine.model.devices import pick_device
from engine.model.outline import outline, spoken
from engine.training import __main__ as training
from tests.engine.model import tiny
from tests.engine.zoo import EOS, Zoo, make_model, save_tokenizer

Edit = Callable[[Path], object]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("source"), "llama", layers=2)


def edited(source: Path, folder: Path, edit: Edit) -> Path:
    """A copy of a model folder with something done to it."""
    shutil.copytree(source, folder)
    edit(folder)
    return folder


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Edit:
    def edit(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return edit


def settings(**values: Any) -> Edit:
    def edit(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return edit


def halved(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


DAMAGE: list[tuple[str, Edit, str]] = [
    ("half the weights", halved, "not a complete model"),
    ("no safetensors", lambda f: (f / "model.safetensors").write_bytes(b"something else"), "not a complete model"),
    ("no weights", lambda f: (f / "model.safetensors").unlink(), "model.safetensors"),
    ("a pickle instead", pickled, r"are pickled\. Write it anew first"),
    ("a tensor missing", weights(lambda t: t.pop("model.layers.1.mlp.up_proj.weight")), "layers.1.mlp.up_proj"),
    ("a tensor misshapen", weights(lambda t: t.update({"model.norm.weight": torch.ones(7)})), "not (a )?complete"),
    ("more layers than are told", settings(num_hidden_layers=1), r"hold more layers .*, such as model\.layers\.1\."),
    ("fewer layers than are told", settings(num_hidden_layers=3), r"not complete.*model\.layers\.2\."),
    ("no configuration", lambda f: (f / "config.json").unlink(), "not a complete model"),
    ("a broken configuration", lambda f: (f / "config.json").write_text("{"), "not a complete model"),
    ("an unknown architecture", settings(model_type="nonsense"), "nonsense"),
    ("a field of another kind", settings(vocab_size=None), "'vocab_size': TypeError: .* expected int, got NoneType"),
    (
        "an unknown activation",
        settings(hidden_act="silux"),
        r"config\.json .* Unknown hidden_act 'silux'.* 'silu'\? Known",
    ),
    ("an unknown dtype", settings(dtype="bf16"), "Unknown dtype 'bf16'. Did you mean 'bfloat16'"),
    (
        "an unknown kind of positions",
        settings(rope_parameters={"rope_type": "yarrn", "rope_theta": 1e4}),
        r"Unknown rope_parameters\.rope_type 'yarrn'\. Did you mean 'yarn'\? Known: default, .* yarn\.$",
    ),
    *(
        (
            f"{field} of {value}",
            settings(**{field: value}),
            rf"model: {field} in its config\.json must be an integer >= 1, "
            rf"not {value}\.$",
        )
        for field, value in (
            ("hidden_size", 0),
            ("hidden_size", -4),
            ("num_attention_heads", 0),
            ("num_attention_heads", -2),
            ("num_key_value_heads", 0),
            ("num_key_value_heads", -1),
            ("vocab_size", 0),
            ("vocab_size", -1),
            ("num_hidden_layers", 0),
            ("num_hidden_layers", -1),
            ("intermediate_size", 0),
            ("head_dim", 0),
            ("max_position_embeddings", 0),
            ("max_position_embeddings", -1),
        )
    ),
    ("fields that do not fit", settings(hidden_size=31), r"The hidden size \(31\) is not a multiple"),
    (
        "a tokenizer in code",
        lambda f: (f / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": ["own.Own", null]}}'),
        "its tokenizer is code that it brings, and no such code is run",
    ),
    (
        "a network in code",
        settings(auto_map={"AutoConfig": "own.Own"}, model_type="own"),
        "its model is code that it br",
    ),
    ("no tokenizer", lambda f: [x.unlink() for x in f.glob("*token*")], "tokenizer"),
    *(
        (
            f"a tokenizer of {text}",
            lambda f, text=text: (f / "tokenizer.json").write_text(text),
            "tokenizer.json. is mis",
        )
        for text in ("{}", "[]", "nonsense", '{"version": "1.0"}', '{"added_tokens": 1, "model": {}}')
    ),
]


@pytest.mark.parametrize(("edit", "says"), [x[1:] for x in DAMAGE], ids=[x[0] for x in DAMAGE])
def test_damaged_folders_are_refused(source: Path, tmp_path: Path, edit: Edit, says: str) -> None:
    folder = edited(source, tmp_path / "copy", edit)
    for way in (load_model, lambda path: outline(str(path))):
        with pytest.raises(AssetError, match=says) as told:
            way(folder)
        assert alone(told.value), "a file's fault"


def test_types_whose_tokenizers_can_be_made_of_nothing_need_theirs_too(tmp_path: Path) -> None:
    """Of Qwen's, transformers makes one that knows no text, by which every prompt is empty."""
    folder = make_model(tmp_path / "qwen3", "qwen3", layers=1)
    for file in folder.glob("*token*"):
        file.unlink()
    for way in (load_model, lambda path: outline(str(path))):
        with pytest.raises(AssetError, match=r"its tokenizer .* is missing"):
            way(folder)


@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
def test_settings_of_generation_that_are_not_applied_are_told(source: Path, tmp_path: Path, name: str) -> None:
    """Before its weights are read too, and of early checkpoints, which have no file of their own for them; those that do
    nothing, and those that a run is given, are not."""
    told = {"repetition_penalty": 1.3, "suppress_tokens": [7], "min_new_tokens": 0, "do_sample": True, "top_k": 20}

    def edit(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "generation_config.json").unlink(missing_ok=True)
        (folder / name).write_text(json.dumps(config | told if name == "config.json" else told))

    folder = edited(source, tmp_path / "copy", edit)
    for notes in (load_model(folder, "cpu").notes, outline(str(folder)).model.notes):
        assert notes == (
            "Settings of its checkpoint that are not applied: repetition_penalty=1.3, suppress_tokens=[7].",
        )


@pytest.mark.parametrize(
    "damage", [{"vocab_size": None}, {"num_attention_heads": 0}, {"hidden_act": "nonsense"}, {"quantization_config": 3}]
)
def test_weights_are_not_counted_by_a_damaged_configuration(
    source: Path, tmp_path: Path, damage: dict[str, Any]
) -> None:
    folder = edited(source, tmp_path / "copy", settings(**damage))
    with pytest.raises(AssetError, match="not a complete model"):
        weight_bytes(str(folder), "bfloat16")


@pytest.mark.parametrize("ids", [[1, "2"], "2", [[1]], 2.5, True])
def test_ids_that_are_none_end_no_text(source: Path, tmp_path: Path, ids: Any) -> None:
    """A text would go on to its limit, or a list of both kinds could not be sorted."""

    def edit(folder: Path) -> None:
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ids}))

    with pytest.raises(AssetError, match="eos_token_id of a model is an id or a list of ids, not"):
        load_model(edited(source, tmp_path / "copy", edit))


def test_weights_of_what_writes_no_text_are_counted_by_their_files(tmp_path: Path) -> None:
    """Loading says why such a model cannot be used."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    ViTModel(ViTConfig(**sizes)).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, 96)
    assert weight_bytes(str(tmp_path), "bfloat16") == (tmp_path / "model.safetensors").stat().st_size
    with pytest.raises(ModelMismatch, match="no model that writes text"):
        load_model(tmp_path)


def alone(error: BaseException) -> bool:
    """Whether no other traceback is printed before an error's own."""
    return error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)


@pytest.mark.parametrize("way", [load_model, outline, lambda ref: Lab.load(target=ref)])
def test_an_unknown_id_without_network(way: Callable[[str], object]) -> None:
    says = r"Neither a folder here nor a model that the hub gives: 'nobody/nothing'.*local folder"
    with pytest.raises(AssetError, match=says) as told:
        way("nobody/nothing")
    assert alone(told.value)


def test_a_fault_of_code_is_shown_where_it_was(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("rope")

    monkeypatch.setattr(load, "unpacking", fails)
    with pytest.raises(AssetError, match="rope") as told:
        load_model(source)
    assert isinstance(told.value.__cause__, KeyError)


@pytest.mark.parametrize("way", [load_model, outline, spoken, weight_bytes])
def test_no_code_of_a_checkpoint_is_run(source: Path, tmp_path: Path, way: Callable[[str], object]) -> None:
    def edit(folder: Path) -> None:
        settings(auto_map={"AutoConfig": "own.Own"}, model_type="own")(folder)
        (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Own: pass\n")

    with pytest.raises(AssetError, match=r"no such code is run|contains custom code"):
        way(str(edited(source, tmp_path / "copy", edit)))
    assert not (tmp_path / "ran").exists()


def test_the_revision_of_a_folder_is_that_of_its_weights_in_the_order_of_their_names(tmp_path: Path) -> None:
    for i in reversed(range(9)):
        (tmp_path / f"model-{i}.safetensors").write_bytes(bytes([i]) * 9)
    (tmp_path / "config.json").write_text("{}")
    digest = hashlib.sha256(b"".join(bytes([i]) * 9 for i in range(9))).hexdigest()
    assert hash_of(tmp_path) == revision_of(tmp_path) == f"sha256:{digest[:16]}"
    assert hash_of("nobody/nothing") == revision_of("nobody/nothing") == "", "which the hub's commit is to tell"


SMALL = {"vocab_size": 96, "hidden_size": 32, "bos_token_id": 1, "eos_token_id": EOS}
FOREIGN = [
    (tiny.config_of("xlm"), "sees what follows a token"),
    (tiny.config_of("paligemma"), "both directions"),
    (tiny.config_of("roberta"), "own generate"),
    (ReformerConfig(axial_pos_embds=False, is_decoder=True, attn_layers=["local", "lsh"], **SMALL), "at random"),
]


@pytest.mark.parametrize(("config", "says"), FOREIGN, ids=[c.model_type for c, _ in FOREIGN])
def test_networks_that_nobody_can_check_are_refused(tmp_path: Path, config: Any, says: str) -> None:
    tiny.whole_class(config).from_config(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path, 96)
    with pytest.raises(ModelMismatch, match=says):
        load_model(tmp_path, "cpu")


def test_devices_and_dtypes_have_names() -> None:
    assert pick_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="Did you mean 'cpu'"):
        pick_device("cpuu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            pick_device("cuda:0")
    with pytest.raises(ConfigError, match="Did you mean 'float32'"):
        load_model("anything", "cpu", "float31")


def test_a_model_says_what_it_is(zoo: Zoo) -> None:
    model = zoo.model("qwen2")
    about = model.describe()
    assert (about["layers"], about["width"], about["vocab"], about["context"]) == (8, 48, 96, 512)
    assert about["revision"].startswith("sha256:") and model.dtype == "float32" and model.tokenizer.stop_ids == {EOS}
    assert model.revision != zoo.model("llama").revision
    assert str(zoo.root) not in json.dumps(about)  # a trace never carries the folders of a machine


def test_every_stop_id_of_every_file_counts(source: Path, tmp_path: Path) -> None:
    def edit(folder: Path) -> None:
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 9]}))

    assert load_model(edited(source, tmp_path / "copy", edit), "cpu").tokenizer.stop_ids == {EOS, 7, 9}


def test_a_chat_template_may_lie_beside_the_tokenizer(source: Path, tmp_path: Path) -> None:
    """As multimodal checkpoints keep it."""

    def edit(folder: Path) -> None:
        told = {"chat_template": "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"}
        (folder / "chat_template.json").write_text(json.dumps(told))

    tokenizer = load_model(edited(source, tmp_path / "copy", edit), "cpu").tokenizer
    assert tokenizer.decode(tokenizer.encode("hi", chat=True)) == "[hi]"


@pytest.mark.parametrize("kind", ["gemma2", "gemma3_text"])
@torch.inference_mode()
def test_scores_are_capped_where_transformers_caps_them(tmp_path: Path, kind: str) -> None:
    """The configuration of Gemma 3 has the field too, and its attention does not read it."""
    folder = edited(tiny.make(kind, tmp_path / "made"), tmp_path / "capped", settings(attn_logit_softcapping=2.0))
    model, ids = load_model(folder, dtype="float32"), [5, 9, 33, 7, 60, 21]
    assert model.lean
    want = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    plain = want(torch.tensor([ids])).logits[0, -1]
    torch.testing.assert_close(model.session(16).forward(ids).logits[0], plain, atol=2e-4, rtol=2e-4)


def test_python_without_docstrings_is_told_where_models_are_made(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is whole was called no complete model, for a docstring of transformers that -OO leaves out."""
    code = "from engine.docstrings import docstrings; docstrings()"
    kept, left = (
        subprocess.run([sys.executable, flag, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
        for flag in ("-O", "-OO")
    )
    assert (kept.returncode, kept.stderr) == (0, "") and "-OO, or PYTHONOPTIMIZE=2" in left.stderr
    monkeypatch.setattr(docstrings, "__defaults__", (2,))
    for loads in (partial(load_model, source, "cpu"), partial(outline, str(source)), training.main):
        with pytest.raises(ConfigError, match="without docstrings"):
            loads()
