"""GGUF files and pickled weights as folders: what llama.cpp's own writer made of the embedded target is that again."""

import json
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from engine.cli import main
from engine.errors import AssetError, ConfigError, LabError, ModelMismatch
from engine.files.places import ROOT
from engine.lab import Lab
from engine.model import load_model, rewritten
from engine.model.outline import outline
from engine.model.rewritten import Contents, contents_of, source_of, unpack
from tests.engine.zoo import make_model

TARGET, DRAFT = ROOT / "assets/tiny/target", ROOT / "assets/tiny/draft"
PROMPT = "Question: Emma starts with 66 coins. She gives 9 to each of 3 friends."
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def paired(rows: np.ndarray, heads: int) -> np.ndarray:
    """Queries and keys as llama.cpp has them: channels that turn together lie side by side."""
    return rows.reshape(heads, 2, len(rows) // heads // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def write(file: Path, kind: str, architecture: str = "llama", parts: int = 1, layers: int = 0) -> Path:
    """The embedded target as a GGUF file with matrices of a type; of all its layers, or some."""
    about = json.loads((TARGET / "config.json").read_text())
    tokenizer = json.loads((TARGET / "tokenizer.json").read_text())
    heads, kv = about["num_attention_heads"], about["num_key_value_heads"]
    out = gguf.GGUFWriter(file, architecture)
    out.add_block_count(about["num_hidden_layers"])
    out.add_context_length(about["max_position_embeddings"])
    out.add_embedding_length(about["hidden_size"])
    out.add_feed_forward_length(about["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(kv)
    out.add_key_length(about["head_dim"])
    out.add_value_length(about["head_dim"])
    out.add_rope_dimension_count(about["head_dim"])
    out.add_layer_norm_rms_eps(about["rms_norm_eps"])
    out.add_rope_freq_base(about["rope_parameters"]["rope_theta"])
    out.add_vocab_size(about["vocab_size"])
    if parts > 1:
        out.add_uint16("split.count", parts)
    vocab = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    special = {token["content"] for token in tokenizer["added_tokens"]}
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("default")
    out.add_token_list(vocab)
    out.add_token_types([3 if token in special else 1 for token in vocab])
    out.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    out.add_bos_token_id(about["bos_token_id"])
    out.add_eos_token_id(about["eos_token_id"])
    out.add_pad_token_id(about["pad_token_id"])
    out.add_add_bos_token(True)
    stored = gguf.GGMLQuantizationType[kind]
    for name, tensor in load_file(TARGET / "model.safetensors").items():
        rows = tensor.float().numpy()
        if name.startswith("model.layers."):
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            if layers and int(layer) >= layers:
                continue
            turned = {"self_attn.q_proj": heads, "self_attn.k_proj": kv}.get(part)
            rows = paired(rows, turned) if turned else rows
            name = f"blk.{layer}.{NAMES[part]}.weight"
        else:
            name = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]
        if rows.ndim == 1 or kind == "F32":
            out.add_tensor(name, rows)
        else:
            out.add_tensor(name, gguf.quantize(rows, stored), raw_dtype=stored)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return file


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "dtype", "off"), [("F32", "float32", 0.0), ("BF16", "bfloat16", 0.0), ("Q8_0", "float16", 0.02)]
)
def test_a_file_is_the_model_that_it_was_made_of(kind: str, dtype: str, off: float, tmp_path: Path) -> None:
    file, folder = write(tmp_path / "tiny.gguf", kind), tmp_path / "tiny"
    found, kept = unpack(file, folder)
    assert (found.architecture, kept) == ("llama", dtype) and found.size == 8_263_936
    ours, theirs = load_model(folder, "cpu", "float32"), load_model(TARGET, "cpu", "float32")
    ids = theirs.tokenizer.encode(PROMPT)
    assert ours.tokenizer.encode(PROMPT) == ids and ours.tokenizer.stop_ids == theirs.tokenizer.stop_ids
    mine, wanted = (model.session(64).forward(ids).logits for model in (ours, theirs))
    apart = float((mine - wanted).abs().max() / wanted.abs().max())
    assert apart <= off if off else torch.equal(mine, wanted)
    lab = Lab(load_model(folder, "cpu"), {"draft": load_model(DRAFT, "cpu")})
    plain, drafted = (lab.run(method, PROMPT, max_new_tokens=40) for method in ("ar", "sd"))
    assert plain.token_ids == drafted.token_ids and len(drafted.rounds) < 20


@pytest.mark.thorough
def test_blocks_are_told_and_a_dtype_may_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "tiny.gguf", "Q4_0")
    assert contents_of(file).weights["Q4_0"] > 0.99 * contents_of(file).size
    folder = tmp_path / "made/tiny"
    assert main(["unpack", str(file), "--out", str(folder), "--dtype", "bfloat16"]) == 0
    told = capsys.readouterr().out
    assert told == f"tiny.gguf: llama, 8.3 M weights (Q4_0 100 %, F32 < 1 %), as bfloat16\n--target {folder}\n"
    assert {x.dtype for x in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}


def test_types_are_told_with_their_shares_the_largest_first() -> None:
    found = Contents("llama", {"F32": 1, "Q6_K": 100, "Q4_K": 299})
    assert (found.size, found.dtype, found.told()) == (400, "float16", "Q4_K 75 %, Q6_K 25 %, F32 < 1 %")


def test_loading_a_file_names_the_command(tmp_path: Path) -> None:
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for ref in (file, tmp_path):
        for way in (load_model, outline, lambda ref: Lab.load(target=ref)):
            with pytest.raises(AssetError, match=r"some\.gguf is a GGUF file.*engine unpack .*some\.gguf --out"):
                way(str(ref))


@pytest.mark.thorough
def test_what_cannot_be_unpacked_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(file: Path, error: type[LabError], says: str, dtype: str = "auto", out: str = "out") -> None:
        with pytest.raises(error, match=says):
            unpack(file, tmp_path / out, dtype)

    whole = write(tmp_path / "tiny.gguf", "Q8_0")
    (tmp_path / "plain.gguf").write_text("words")
    (tmp_path / "cut.gguf").write_bytes(whole.read_bytes()[:1000])
    refused(tmp_path / "none.gguf", AssetError, "There is no file")
    refused(tmp_path / "plain.gguf", ConfigError, "no GGUF file")
    refused(tmp_path / "cut.gguf", AssetError, "is damaged")
    refused(write(tmp_path / "part.gguf", "Q8_0", parts=3), ConfigError, "one of 3 parts")
    refused(write(tmp_path / "clip.gguf", "Q8_0", "clip"), ModelMismatch, "architecture 'clip', and transformers")
    refused(write(tmp_path / "few.gguf", "Q8_0", layers=9), ModelMismatch, "lacks 27 of the tensors")
    refused(whole, ConfigError, "Did you mean 'float16'", "float17")
    refused(whole, ConfigError, "is not empty", out=".")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10**6}))
    refused(whole, ConfigError, r"0\.0 GB are needed .* 0\.0 GB are free", out="small")
    monkeypatch.setitem(sys.modules, "gguf", None)
    refused(whole, ConfigError, "pip install gguf")


def test_pickled_weights_are_written_anew_and_run_no_code(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(TARGET, old)
    weights = load_file(old / "model.safetensors")
    (old / "model.safetensors").unlink()
    names = sorted(weights)
    for i, part in enumerate((names[:50], names[50:])):
        tensors, file = {name: weights[name] for name in part}, old / f"pytorch_model-0000{i + 1}-of-00002.bin"
        torch.save(tensors, file, _use_new_zipfile_serialization=i == 1)  # the first as torch wrote them before 1.6
    index = {name: f"pytorch_model-0000{1 + (name in names[50:])}-of-00002.bin" for name in names}
    (old / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    for way in (load_model, outline):
        with pytest.raises(AssetError, match=r"are pickled\. Write it anew first: python -m engine unpack .*old --out"):
            way(str(old))
    found, kept = unpack(old, new)
    assert (found.architecture, kept, dict(found.weights)) == ("llama", "bfloat16", {"bfloat16": 8_263_936})
    assert all(torch.equal(load_file(new / "model.safetensors")[name], weights[name]) for name in names)
    assert load_model(new, "cpu").tokenizer.encode(PROMPT) == load_model(TARGET, "cpu").tokenizer.encode(PROMPT)
    torch.save({"model.norm.weight": Path("/")}, old / "pytorch_model-00002-of-00002.bin")
    with pytest.raises(AssetError, match="cannot be read: Weights only load failed"):
        unpack(old, tmp_path / "worse")
    with pytest.raises(AssetError, match="has no pytorch_model"):
        unpack(TARGET, tmp_path / "none")


def test_masks_and_positions_beside_the_weights_change_no_dtype(tmp_path: Path) -> None:
    """Older checkpoints hold such, and transformers leaves them out."""
    old = make_model(tmp_path / "old", layers=1)
    weights = load_file(old / "model.safetensors")
    beside = {"model.position_ids": torch.arange(64), "model.bias": torch.ones(8, 8).bool()}
    (old / "model.safetensors").unlink()
    torch.save(weights | beside, old / "pytorch_model.bin")
    found, kept = unpack(old, tmp_path / "new")
    size = sum(tensor.numel() for tensor in weights.values())
    assert (kept, dict(found.weights)) == ("float32", {"float32": size})
    assert all(torch.equal(x, weights[name]) for name, x in load_file(tmp_path / "new/model.safetensors").items())


def test_weights_that_a_dtype_cannot_hold_or_a_disk_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_model(tmp_path / "old", layers=1)
    weights = load_file(old / "model.safetensors")
    weights["model.norm.weight"][3] = 1e5  # beyond float16
    torch.save(weights, old / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=r"float16 cannot hold all weights of model\.norm\.weight\. Use --dtype bf"):
        unpack(old, tmp_path / "half", "float16")
    assert not list((tmp_path / "half").iterdir())
    size = sum(tensor.numel() for tensor in weights.values())
    for free, fits in ((4 * size, True), (4 * size - 1, False)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with nullcontext() if fits else pytest.raises(ConfigError, match="GB are needed"):
            unpack(old, tmp_path / f"whole{free}")


def test_a_tokenizer_that_reads_otherwise_once_it_is_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = make_model(tmp_path / "old", layers=1)
    torch.save(load_file(old / "model.safetensors"), old / "pytorch_model.bin")
    monkeypatch.setattr(rewritten, "read_tokenizer", lambda folder: lambda text: {"input_ids": [5]})
    with pytest.raises(ModelMismatch, match="tokenizer of old reads a text otherwise once it is written"):
        unpack(old, tmp_path / "new")


def test_files_of_the_hub_are_fetched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[str, list[str]]]()

    def snapshot(ref: str, allow_patterns: list[str], **_: object) -> str:
        asked.append((ref, allow_patterns[-1:]))
        if ref == "nobody/nothing":
            raise OSError("404 Client Error")
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert (
        source_of("owner/name/some.Q4_K_M.gguf") == tmp_path / "some.Q4_K_M.gguf"
        and source_of("owner/name") == tmp_path
    )
    assert asked == [("owner/name", ["some.Q4_K_M.gguf"]), ("owner/name", ["pytorch_model*.bin"])]
    assert source_of(str(tmp_path)) == tmp_path and source_of("here.gguf") == Path("here.gguf") and len(asked) == 2
    for ref in ("nobody/nothing", "nobody/nothing/some.gguf", "a/b/c"):
        with pytest.raises(AssetError, match="Neither a folder here nor a model that the hub gives"):
            source_of(ref)
