"""A look at a pair tells what loading it would, before any weights are read."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import FalconConfig, GPT2Config, LlamaConfig, Qwen3Config

from engine import progress
from engine.cli import main
from engine.errors import AssetError, ConfigError
from engine.lab import Lab
from engine.lookup import room
from engine.methods import CARDS
from engine.model import devices, hub, load_model
from engine.model import outline as outlines
from engine.model.checkpoint import revision_of, weight_bytes
from engine.model.lean import LeanDecoder
from engine.model.network import cache_name
from engine.model.outline import POSITIONS
from engine.model.products import blocks_work, halves_work
from engine.model.seam import Seam
from engine.model.weights import Mlp
from engine.runs import preflight as looking
from engine.runs.findings import Preflight
from engine.runs.preflight import foreseen, preflight, sized
from tests.engine.crossed import SOURCE, Crossed
from tests.engine.model import tiny
from tests.engine.test_greedy import THIRD_PARTY
from tests.engine.zoo import make_model, save_tokenizer
from tests.typed import known

MADE = ("llama", "lfm2", "llava", "gemma4_text", "mistral3", "deepseek_v3", "falcon")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    root = tmp_path_factory.mktemp("looked")
    made = {kind: tiny.make(kind, root / kind, layers=2) for kind in MADE}
    shutil.copytree(made["llama"], root / "smaller")
    save_tokenizer(root / "smaller", 40)  # half of the pieces: another tokenizer
    return made | {"smaller": root / "smaller"}


def emptied(folder: Path, to: Path) -> Path:
    """A model whose weights nobody can read: names and shapes, and zeros for every number."""
    shutil.copytree(folder, to)
    weights = to / "model.safetensors"
    data = weights.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    weights.write_bytes(data[:begin] + bytes(len(data) - begin))
    return to


def in_parts(folder: Path, to: Path, stem: str = "model.safetensors") -> Path:
    """A model whose weights lie in two files, named as Qwen3.5's are."""
    shutil.copytree(folder, to)
    tensors = load_file(to / "model.safetensors")
    (to / "model.safetensors").unlink()
    placed = {name: f"{stem}-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(sorted(tensors))}
    for file in set(placed.values()):
        part = {name: tensor for name, tensor in tensors.items() if placed[name] == file}
        save_file(part, to / file, metadata={"format": "pt"})
    (to / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    return to


def said(found: Preflight, verdict: str) -> str:
    return " ".join(f"{one.about}: {one.words}" for one in found.findings if one.verdict == verdict)


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        ("llama", "llama"),
        ("lfm2", "smaller"),
        ("llava", ""),
        ("llama", "smaller"),
        ("gemma4_text", ""),
        ("mistral3", ""),
        ("deepseek_v3", ""),
        ("falcon", ""),
    ],
)
def test_a_look_tells_what_loading_does(folders: Mapping[str, Path], tmp_path: Path, target: str, draft: str) -> None:
    """Sizes, notes, the mapping of ids, and for each method why not and how otherwise: the loaded pair says the same."""
    pair = {role: str(folders[kind]) for role, kind in (("target", target), ("draft", draft)) if kind}
    lab = Lab.load(**pair, device="cpu")
    blind = [str(emptied(Path(path), tmp_path / role / Path(path).name)) for role, path in pair.items()]
    found = preflight(blind[0], "".join(blind[1:]), device="cpu")
    assert found.fits, found.findings
    for side, model in zip(found.models, (lab.target, *lab.models.values()), strict=True):
        assert (side.parameters, side.layers, side.width, side.vocab) == (
            model.parameters,
            model.layers,
            model.width,
            model.vocab,
        )
        assert (side.context, side.dtype, side.lean) == (model.context, model.dtype, model.lean)
        assert side.weights == model.bytes and side.download == 0
        assert set(model.notes) <= {one.words for one in found.findings if one.about == side.role}
    cache = lab.target.session(8)
    cache.forward([5, 6, 7])
    if not (lab.target.lean or lab.target.only_chains):
        held = sum(x.numel() * 4 for layer in cache._cache.kv.layers for x in (layer.keys, layer.values))
        text = min(lab.target.context, POSITIONS)
        assert found.needed == found.models[0].weights + held // 3 * text  # of one position, layers that differ too
    for role in lab.models:
        assert (lab.bridge(role).words() or "One tokenizer") in said(found, "note") + said(found, "good")
    told = {one.name: (one.against, one.here) for one in found.methods}
    assert told == {card.name: (why := lab.hindrance(card), "" if why else lab.otherwise(card)) for card in CARDS}


@pytest.mark.parametrize(
    ("family", "more"),
    [
        ("marian", {}),  # three layers of a decoder behind two of an encoder
        ("t5", {"d_kv": 12, "num_decoder_layers": 1}),
        ("bert2bert", {}),
    ],
)
@torch.inference_mode()
def test_memory_of_what_the_decoder_sees_of_source_and_text(crossed: Crossed, family: str, more: dict) -> None:
    """Keys and values of both, as transformers keeps them and as a session here does."""
    found, hf = preflight(str(crossed.path(family, **more)), device="cpu"), crossed.plain(family, **more)
    written = torch.tensor([[0, 5, 6]])
    kept = hf(input_ids=torch.tensor([SOURCE]), decoder_input_ids=written, use_cache=True)[cache_name(hf.forward)]
    caches = (kept.self_attention_cache, len(written[0])), (kept.cross_attention_cache, len(SOURCE))
    own, source = (sum(x.keys.nbytes + x.values.nbytes for x in cache.layers) // n for cache, n in caches)
    model = crossed.model(family, **more)
    assert found.models[0].lean == model.lean
    assert found.needed == found.models[0].weights + own * model.context + source * model.source_context
    assert f"{model.context + model.source_context} positions of source and text" in said(found, "good")
    if model.lean:
        session = model.session(40)
        session.forward([*SOURCE, *known(Seam, model.seam).opening, 5, 6])
        assert own == session._cache.kv.nbytes // session.slots
        assert source == sum(x.nbytes for x in session._cache.source) // len(SOURCE)


FALCON = {"new_decoder_architecture": False, "multi_query": False, "num_kv_heads": 3}
NUMBERS = (
    (Qwen3Config(hidden_size=64, num_attention_heads=8, num_key_value_heads=2, head_dim=32), 2 * 2 * 32),
    (LlamaConfig(hidden_size=64, num_attention_heads=8, num_key_value_heads=None), 2 * 64),
    (GPT2Config(n_embd=48, n_head=4), 2 * 48),
    (FalconConfig(hidden_size=64, num_attention_heads=8, **FALCON), 2 * 64),
    (FalconConfig(hidden_size=64, num_attention_heads=8, **FALCON | {"multi_query": True}), 2 * 8),
    (FalconConfig(hidden_size=64, num_attention_heads=8, **FALCON | {"new_decoder_architecture": True}), 2 * 3 * 8),
)


@pytest.mark.parametrize(("config", "numbers"), NUMBERS)
def test_a_layer_keeps_keys_and_values_of_as_many_heads_as_it_has(config: Any, numbers: int) -> None:
    assert outlines._numbers(config) == numbers


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_head_that_is_the_table_is_laid_out_a_second_time(tmp_path: Path, dtype: str) -> None:
    folder = make_model(tmp_path / "tied", layers=1, tie_word_embeddings=True)
    model = load_model(folder, "cpu", dtype)
    decoder = known(LeanDecoder, model.decoder)
    table, head = (x.untyped_storage() for x in (decoder.embedding, decoder.lm_head.weight))
    assert table.data_ptr() != head.data_ptr()
    assert outlines.outline(str(folder), "cpu", dtype).weights == model.bytes + head.nbytes()


def test_weights_that_stay_packed_take_what_their_files_do(folders: Mapping[str, Path], tmp_path: Path) -> None:
    """As bitnet's: no second copy of them is foreseen, whatever dtype is asked for."""
    folder = Path(shutil.copytree(folders["llama"], tmp_path / "packed"))
    config = json.loads((folder / "config.json").read_text()) | {"quantization_config": {"quant_method": "bitnet"}}
    (folder / "config.json").write_text(json.dumps(config))
    looked, size = outlines.outline(str(folder), "cpu"), (folder / "model.safetensors").stat().st_size
    assert (looked.packing, looked.unpacked, looked.lean, looked.weights) == ("bitnet", False, False, size)
    assert weight_bytes(str(folder)) == weight_bytes(str(folder), "bfloat16") == size


def test_what_speaks_against_a_pair_is_said(
    folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(name: str, **values: Any) -> str:
        folder = tmp_path / name
        shutil.copytree(folders["llama"], folder)
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))
        return str(folder)

    gptq = {"quant_method": "gptq", "bits": 5, "group_size": 32}
    wrong = {
        changed("nonsense", model_type="nonsense"): "nonsense",
        changed("sees", model_type="clip"): "no model that writes text",
        changed("wide", hidden_size=128): "its tensors have other shapes than its configuration says",
        changed("deep", num_hidden_layers=3): "9 tensors are missing or misshapen, such as model.layers.2.",
        changed("packed", quantization_config=gptq): "packed by gptq, which cannot be loaded here: 5 bits",
        str(tmp_path / "nowhere"): "Neither a folder here nor a model that the hub gives",
        "no such id/at all/": "A hub id is one or two names",
    }
    (Path(changed("bare")) / "model.safetensors").unlink()
    half = Path(changed("half")) / "model.safetensors"
    half.write_bytes(half.read_bytes()[:-1])
    sharded = Path(changed("sharded"))
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index))
    wrong |= {
        str(tmp_path / "bare"): "has no model.safetensors",
        str(tmp_path / "half"): "file not fully covered",
        str(sharded): "lacks model-00002-of-00002.safetensors.",
    }
    for ref, words in wrong.items():
        found = preflight(str(folders["llama"]), ref, device="cpu")
        assert not found.fits and found.methods == () and "draft: " in said(found, "against")
        assert words in said(found, "against"), found.findings
    monkeypatch.setattr(looking, "available", lambda _: 1000)
    found = preflight(str(folders["llama"]), device="cpu")
    assert not found.fits and "It does not fit" in said(found, "against") and found.needed > 1000
    monkeypatch.setattr(looking, "available", lambda _: int(found.needed * 1.1))
    tight = preflight(str(folders["llama"]), device="cpu")
    assert tight.fits and "It is tight" in said(tight, "note")


def test_a_draft_model_that_reads_less_than_its_target_is_told(folders: Mapping[str, Path], tmp_path: Path) -> None:
    """Beyond its context a run goes on without drafts."""
    short = make_model(tmp_path / "short", layers=2, max_position_embeddings=64)
    found = preflight(str(folders["llama"]), str(short), device="cpu")
    assert found.fits and "of a text beyond them it drafts nothing" in said(found, "note")
    assert "It reads 64 positions" in said(found, "note")
    other = preflight(str(short), str(folders["llama"]), device="cpu")
    assert other.fits and "drafts nothing" not in said(other, "note")
    lab = Lab.load(target=folders["llama"], draft=short, device="cpu")
    assert not any(one.drafted for one in lab.run("sd", [5] * 64, max_new_tokens=8).rounds)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (torch.float32, "float32"),
        (torch.bfloat16, "bfloat16"),
        (torch.float16, "float16"),
        (torch.bfloat16, None),
        (torch.float32, "bfloat16"),
    ],
)
def test_no_blocks_are_foreseen_of_what_fp16_holds(tmp_path: Path, dtype: torch.dtype, kind: str | None) -> None:
    """A checkpoint in a half type is multiplied in fp16 on a CPU, each matrix in place of the loaded one: up to twice its
    memory had been foreseen. The files decide, whatever the configuration tells."""
    folder = make_model(tmp_path / "made", hidden=256, layers=1)
    saved_as(folder, dtype, kind)
    model, (side,) = load_model(folder, "cpu"), preflight(str(folder), device="cpu").models
    decoder = known(LeanDecoder, model.decoder)
    found = [decoder.lm_head]
    for layer in decoder.layers:
        found += [layer.qkv, layer.out, known(Mlp, layer.mlp).gate_up, known(Mlp, layer.mlp).down]
    blocks = sum(4 * one.inputs * one.outputs for one in found if one.blocks is not None)
    assert side.lean and side.weights == model.bytes + blocks
    if halves_work() and blocks_work():
        assert (blocks > 0) == (dtype == torch.float32)


def test_a_dtype_that_is_told_of_all_parts_at_once_is_the_texts(
    folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text part of Gemma 3 names none: on a GPU twice the memory had been foreseen."""
    folder = Path(shutil.copytree(folders["llava"], tmp_path / "told"))
    config, file = json.loads((folder / "config.json").read_text()), folder / "model.safetensors"
    del config["text_config"]["dtype"]
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    save_file({name: x.bfloat16() for name, x in load_file(file).items()}, file, metadata={"format": "pt"})
    monkeypatch.setattr(devices, "_check", lambda device: None)
    monkeypatch.setattr("engine.model.load.dtype_on", lambda device, dtype: dtype)  # as on a GPU
    looked, model = outlines.outline(str(folder), "cuda:0"), load_model(folder, "cpu")
    assert looked.model.dtype == model.dtype == "bfloat16"
    assert looked.weights == weight_bytes(str(folder)) == model.bytes
    assert outlines.outline(str(folder), "cpu").model.dtype == "float32", "where another is asked for"


def saved_as(folder: Path, stored: torch.dtype, kind: str | None) -> None:
    """Weights that are stored in one dtype below a configuration that tells another, or none."""
    config, file = json.loads((folder / "config.json").read_text()), folder / "model.safetensors"
    (folder / "config.json").write_text(json.dumps(config | {"dtype": kind}))
    save_file({name: x.to(stored) for name, x in load_file(file).items()}, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("stored", "kind"), [(torch.bfloat16, None), (torch.float16, "float32"), (torch.float32, None)]
)
def test_files_tell_the_dtype_where_the_configuration_tells_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: torch.dtype, kind: str | None
) -> None:
    """As transformers reads it: on a GPU twice the memory had been foreseen."""
    folder = make_model(tmp_path / "made", layers=1)
    saved_as(folder, stored, kind)
    monkeypatch.setattr(devices, "_check", lambda device: None)
    monkeypatch.setattr("engine.model.load.dtype_on", lambda device, dtype: dtype)  # as on a GPU
    looked, model = outlines.outline(str(folder), "cuda:0"), load_model(folder, "cpu")
    assert looked.model.dtype == model.dtype == (kind or str(stored).removeprefix("torch."))
    assert looked.weights == model.bytes


@pytest.mark.parametrize("stem", ["model.safetensors", "model", "weights"])
def test_weights_in_parts_are_found_by_their_index(folders: Mapping[str, Path], tmp_path: Path, stem: str) -> None:
    folder = in_parts(folders["llama"], tmp_path / "parts", stem)
    found = preflight(str(folder), device="cpu")
    assert found.fits, found.findings
    assert found.models[0].weights == Lab.load(target=folder, device="cpu").target.bytes


def test_a_look_opens_each_file_to_see_that_it_is_whole_and_once_more(
    folders: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, opened = in_parts(folders["llama"], tmp_path / "parts", "model"), list[str]()

    def seen(path: Path, **options: Any) -> Any:
        opened.append(path.name)
        return safe_open(path, **options)

    monkeypatch.setattr(hub, "safe_open", seen)
    outlines.outline(str(folder), "cpu")
    assert sorted(opened) == sorted(2 * [file.name for file in folder.glob("*.safetensors")])


def test_memory_is_told_for_each_device(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where models go as loading would place them: beside each other, apart, spread, or as asked; none of the devices
    is here."""
    pair = [str(folders["llama"]), str(folders["smaller"])]
    one = preflight(pair[0], pair[1], device="cpu").needed // 2
    free = dict[str, int]()
    monkeypatch.setattr(devices, "_check", lambda device: None)
    monkeypatch.setattr("engine.runs.loading.accelerators", lambda: free)
    monkeypatch.setattr(devices, "accelerators", lambda: free)
    monkeypatch.setattr(looking, "available", lambda where: free.get(str(where), 10 * one))

    def told(memory: Mapping[str, int], **asked: str) -> tuple[bool, list[str]]:
        free.clear()
        free.update(memory)
        found = preflight(pair[0], "".join(pair[1:]), **asked)
        return found.fits, [x.words for x in found.findings if x.about == "memory"]

    fits, lines = told({"cuda:0": 10 * one, "cuda:1": 9 * one})
    assert fits and len(lines) == 1 and lines[0].endswith(f"{sized(10 * one)} are available on cuda:0.")
    fits, lines = told({"cuda:0": 11 * one // 10, "cuda:1": 11 * one // 10})
    assert fits and len(lines) == 2 and "weights of the target and" in lines[0] and "on cuda:0" in lines[0]
    assert "weights of the draft and" in lines[1] and f"{sized(11 * one // 10)} are available on cuda:1" in lines[1]
    fits, lines = told({"cuda:0": 10 * one, "cuda:1": one // 2}, draft_device="cuda:1")
    assert not fits and "of the draft" in lines[1] and "It does not fit" in lines[1] and "not fit" not in lines[0]
    assert preflight(pair[0], "no such id/at all/", target_device="cuda:1").available == one // 2
    fits, lines = told({"cuda:0": 10 * one}, target_device="cuda:0", draft_device="cpu")
    assert fits and "of the target" in lines[0] and lines[1].endswith("available on cpu.")
    third = {f"cuda:{i}": 11 * one // 20 for i in range(3)}  # too little for the weights of one
    fits, lines = told(third)
    assert not fits and len(lines) == 3 and "a part of the target and a part of the draft" in " ".join(lines)
    del pair[1]
    fits, lines = told(third)
    assert fits and len(lines) == 2 and all("a part of the target and" in x and "It is tight" in x for x in lines)
    pair.append(str(folders["smaller"]))
    free |= {"cuda:0": 10 * one, "cuda:1": one // 2}
    assert main(["preflight", *pair, "--target-device", "cuda:0", "--draft-device", "cuda:1"]) == 1
    out = capsys.readouterr().out
    assert "- memory: About" in out and "available on cuda:1. It does not fit" in out


def test_memory_is_that_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    for name, text in (("LIMIT", "5000\n"), ("USED", "2000\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(room, name, tmp_path / name)
    assert looking.available(cpu) == 3000
    (tmp_path / "USED").write_text("5001\n")
    assert looking.available(cpu) == 0, "and never less"
    (tmp_path / "LIMIT").write_text("max\n")
    assert looking.available(cpu) > 3000
    assert [sized(n) for n in (12, 1200, 3_400_000, 15_000_000_000)] == ["12 B", "1.2 kB", "3.4 MB", "15.0 GB"]


def test_the_command_prints_it(folders: Mapping[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["preflight", str(folders["lfm2"]), str(folders["smaller"]), "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "one running state" in out and "different tokenizers" in out and out.endswith("fits\n")
    assert main(["preflight", "", str(folders["smaller"])]) == 2
    assert "Name a target" in capsys.readouterr().err
    assert main(["preflight", str(tmp_path), "--json", "--device", "cpu"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["fits"] and found.keys() == asdict(preflight(str(tmp_path), device="cpu")).keys()


# --- the hub ----------------------------------------------------------------------------------------------------------


def test_bytes_of_a_download_are_told_and_it_can_be_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the hub's client does it: a bar of files, a bar of bytes, in threads of its own."""
    stop, seen = threading.Event(), list[int]()

    def snapshot(ref: str, **asked: Any) -> Any:
        if asked.get("dry_run"):
            return [SimpleNamespace(filename="model.safetensors", file_size=100, will_download=True)]
        if "tqdm_class" in asked:
            files, bits = asked["tqdm_class"](total=3), asked["tqdm_class"](total=0, unit="B", name="x")
            for n in (30, 50, 20):
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(files.update, 1).result()
                    pool.submit(bits.update, n).result()
                one = progress.now()
                assert one is not None and (one.size, one.doing, one.what) == (100, "Downloading", "target x/y")
                seen.append(one.read)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    hub.fetch("x/y", "target x/y")
    assert seen == [30, 80, 100] and progress.now() is None
    stop.set()
    with progress.stoppable(stop), pytest.raises(progress.Stopped):
        hub.fetch("x/y", "target x/y")
    assert len(seen) == 3 and progress.now() is None

    def refused(*_: Any, **__: Any) -> None:
        raise OSError("401 Client Error\nmore")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refused)
    with pytest.raises(AssetError, match=r"'x/y'.*\(401 Client Error\)"):
        hub.fetch("x/y", "target x/y")


def test_what_is_to_be_fetched_is_counted_and_what_was_is_told_by_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit = tmp_path / "0123456789"
    commit.mkdir()
    (commit / "config.json").write_text("{}")
    (commit / "chat_template.json").write_text(json.dumps({"chat_template": "its own"}))
    parts = {"model-00001-of-00002.safetensors": (70, False), "model-00002-of-00002.safetensors": (30, True)}

    def snapshot(ref: str, **asked: Any) -> Any:
        files = [SimpleNamespace(filename=name, file_size=n, will_download=new) for name, (n, new) in parts.items()]
        return files if asked.get("dry_run") else str(commit)

    def cached(ref: str, name: str) -> str | None:
        return str(commit / name) if ref == "x/y" else None

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", cached)
    found = hub.glance("x/y")
    assert (found.folder, found.size, found.missing, found.hub) == (commit, 100, 30, True)
    assert found.weights == {name: n for name, (n, _) in parts.items()}
    assert hub.commit_of("x/y") == revision_of("x/y") == commit.name and hub.local("x/y") == commit
    assert hub.commit_of("x/none") == "" and hub.local("x/none") is None
    assert hub.template_beside("x/y") == hub.template_beside(str(commit)) == "its own"
    assert hub.template_beside("x/none") == hub.template_beside(str(tmp_path)) == ""


def test_heads_of_the_hub_are_fetched_with_the_models(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = dict[str, tuple[str, ...]]()

    def snapshot(ref: str, **options: Any) -> Any:
        if ref == "owner/refused":
            raise OSError("401 Client Error")
        asked[ref] = tuple(options["allow_patterns"])
        return [] if options.get("dry_run") else str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    heads = {"medusa": "owner/medusa", "hydra": "owner/refused", "strata": "owner/bins", "dflash": str(tmp_path)}
    lab = Lab.load(target=folders["llama"], device="cpu", eagle="owner/eagle", **heads)
    assert asked.keys() == {"owner/eagle", "owner/medusa"}
    assert "medusa_lm_head.pt" in asked["owner/medusa"] and "model.safetensors" in asked["owner/eagle"]
    with pytest.raises(AssetError, match=r"'owner/refused'.*\(401 Client Error\)"):
        lab.run("hydra", "hi", max_new_tokens=2)


def test_bytes_that_are_read_are_told(folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[tuple[str, int, int | None]]()
    plain = progress.advance

    def spy(n: int) -> None:
        plain(n)
        one = progress.own()
        assert one is not None
        seen.append((one.what, one.read, one.size))

    monkeypatch.setattr(progress, "advance", spy)
    Lab.load(target=folders["llama"], device="cpu")
    size = (folders["llama"] / "model.safetensors").stat().st_size
    assert seen[-1] == (f"target {folders['llama']}", size, size)
    stop = threading.Event()
    stop.set()
    with progress.stoppable(stop), pytest.raises(progress.Stopped):
        Lab.load(target=folders["llama"], device="cpu")


@contextmanager
def a_hub(folder: Path, sent: list[tuple[str, str]]) -> Iterator[str]:
    """A server that gives a folder as the hub gives the repository owner/tiny; what is asked goes to `sent`."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    class Hub(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            sent.append((self.command, path))
            if path.startswith("/api/models/owner/tiny/tree/"):
                listed = [
                    {"type": "file", "path": name, "size": len(data), "oid": f"{i:040x}"}
                    for i, (name, data) in enumerate(files.items())
                ]
                return self.give(json.dumps(listed).encode(), body, "application/json")
            if path.startswith("/api/models/owner/tiny"):
                about = {"id": "owner/tiny", "sha": commit, "siblings": [], "tags": [], "private": False}
                return self.give(json.dumps(about).encode(), body, "application/json")
            name = path.rpartition("/")[2]
            if path.startswith("/owner/tiny/resolve/") and name in files:
                return self.give(files[name], body, "application/octet-stream", name)
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if "/owner/tiny/" in path else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def give(self, data: bytes, body: bool, kind: str, name: str = "") -> None:
            self.send_response(200)
            for key, value in (("Content-Type", kind), ("Content-Length", str(len(data)))):
                self.send_header(key, value)
            if name:
                self.send_header("X-Repo-Commit", commit)
                self.send_header("ETag", f'"{list(files).index(name):040x}"')
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


ASK = """
import json, sys
from engine import progress
from engine.runs.preflight import preflight
from engine.lab import Lab
from engine.methods import CARDS
before = preflight("owner/tiny", device="cpu")
none = preflight("owner/none", device="cpu")
seen = []
plain = progress.Loading.reached
progress.Loading.reached = lambda one, n: (plain(one, n), seen.append((one.doing, one.read, one.size)))[0]
lab = Lab.load(target="owner/tiny", device="cpu")
after = preflight("owner/tiny", device="cpu")
print(json.dumps([before.fits, before.download, none.findings[0].words, seen[-1], after.download, lab.target.describe()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("parts", [False, True])
def test_of_the_hub_no_weights_are_fetched_before_they_are_wanted(
    folders: Mapping[str, Path], tmp_path: Path, parts: bool
) -> None:
    """The hub's own client against a server of ours: a look asks for no weights; loading tells their bytes."""
    sent: list[tuple[str, str]] = []
    folder = in_parts(folders["llama"], tmp_path / "parts") if parts else folders["llama"]
    with a_hub(folder, sent) as address:
        env = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1", "OMP_NUM_THREADS": "1"}
        env["PATH"] = "/usr/bin:/bin"
        done = subprocess.run(
            [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=False, timeout=240
        )
    assert done.returncode == 0, done.stderr[-3000:]
    fits, download, none, last, after, about = json.loads(done.stdout.splitlines()[-1])
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert fits and download == size and after == 0 and "'owner/none'" in none
    assert last[0] == "Downloading" and last[1] >= size == last[2]
    assert about["id"] == "owner/tiny" and about["revision"].startswith("0123456789abcdef")
    fetched = [i for i, (verb, path) in enumerate(sent) if verb == "GET" and path.endswith(".safetensors")]
    unknown = max(i for i, (_, path) in enumerate(sent) if "none" in path)
    assert fetched and min(fetched) > unknown  # after both looks


@pytest.fixture
def third() -> Path:
    if not (root := os.environ.get(THIRD_PARTY)):
        pytest.skip(f"{THIRD_PARTY} names no folder of third-party models")
    return Path(root)


def test_a_pair_of_models_of_others(third: Path) -> None:
    """Two checkpoints with different tokenizers: what is said before holds of the pair that is loaded."""
    names = ("TinyStories-656K", "stories260K-hf")
    found = preflight(str(third / names[0]), str(third / names[1]), device="cpu")
    assert found.fits and "different tokenizers" in said(found, "note")
    lab = Lab.load(target=third / names[0], draft=third / names[1], device="cpu")
    assert {one.name for one in found.methods if not one.against} == {card.name for card in lab.methods()}
    assert [side.parameters for side in found.models] == [lab.target.parameters, lab.models["draft"].parameters]


@pytest.mark.thorough
@pytest.mark.parametrize("preset", ["tiny", "tiny_bf16", "crossed"])
def test_what_a_preset_cannot_run_is_foreseen_from_its_files_alone(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.load(preset, device="cpu")
    told = {card.name: (lab.hindrance(card), "" if lab.hindrance(card) else lab.otherwise(card)) for card in CARDS}
    monkeypatch.setattr("engine.runs.assets.load_asset", None)
    monkeypatch.setattr("engine.runs.loading.load_model", None)
    assert {one.name: (one.against, one.here) for one in foreseen(preset, device="cpu")} == told
    assert any(against for against, _ in told.values())


def test_a_head_that_is_named_and_another_draft_are_foreseen(folders: Mapping[str, Path]) -> None:
    target, smaller = str(folders["llama"]), str(folders["smaller"])
    bare, drafted, headed = (
        foreseen(target=target),
        foreseen(target=target, draft=smaller),
        foreseen("tiny", eagle="no"),
    )
    by_name = [{one.name: one for one in found} for found in (bare, drafted, headed)]
    assert "needs a draft model" in by_name[0]["sd"].against and not by_name[0]["pld"].against
    assert not by_name[1]["sd"].against and "different tokenizers" in by_name[1]["sd"].here
    assert "no is missing" in by_name[2]["eagle3"].against and not by_name[2]["medusa"].against


def test_nothing_is_foreseen_of_a_pair_of_which_one_still_lacks_its_weights(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, smaller, whole = str(folders["llama"]), str(folders["smaller"]), outlines.outline

    def outline(ref: str, *given: Any, **named: Any) -> Any:
        found = whole(ref, *given, **named)
        return replace(found, files=replace(found.files, missing=int(ref == smaller)))

    monkeypatch.setattr(looking, "outline", outline)
    assert foreseen(target=target) and foreseen(target=target, draft=smaller) == ()


def test_nothing_is_foreseen_or_fetched_of_models_that_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "outline", None)
    assert foreseen(target="nobody/has-this") == ()


LONG = "a" * 400  # more than a name of a file may have


@pytest.mark.parametrize("name", [LONG, f"a/{LONG}", f"assets/{LONG}", f"assets/{LONG}/x", f"/tmp/{LONG}"])
def test_a_name_that_no_file_can_have_is_that_of_a_model_that_is_not_here(name: str) -> None:
    for models in ((name, ""), ("assets/tiny/target", name)):
        found = preflight(*models, device="cpu")
        assert not found.fits and any(name[:20] in finding.words for finding in found.findings)
    with pytest.raises(AssetError):
        Lab.load(target=name, device="cpu")
    assert "is missing" in {one.name: one for one in foreseen("tiny", eagle=f"/tmp/{LONG}")}["eagle3"].against
    if not name.startswith("assets"):
        assert foreseen(target=name) == ()
    with pytest.raises(ConfigError, match="Unknown preset"):
        Lab.load(LONG)


@pytest.mark.parametrize("kind", ("cuda", "xpu"))
def test_the_memory_of_a_gpu_is_its_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver has left and what torch keeps there without use; that of one which shares the machine's is the
    machine's."""
    for name, told in (("mem_get_info", (123, 9456)), ("memory_reserved", 5000), ("memory_allocated", 2000)):
        monkeypatch.setattr(getattr(torch, kind), name, lambda device=None, told=told: told, raising=False)
    assert looking.available(torch.device(kind, 1)) == 3123 < looking.available(torch.device("mps"))
