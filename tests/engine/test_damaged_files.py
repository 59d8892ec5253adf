"""Files that claim what cannot be: each is refused in a sentence before anything is computed with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.cli import main
from engine.errors import AssetError, LabError
from engine.files.documents import fits, read_object
from engine.files.places import ROOT
from engine.files.presets import read_preset
from engine.judge.store import read_mined
from engine.model import Model, load_model
from engine.model.outline import outline
from engine.runs.assets import load_asset
from engine.trees.template import load_template
from tests.engine.once import loaded_once

TINY = ROOT / "assets" / "tiny"
HEADS = ("eagle2", "eagle3", "medusa", "hydra")
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def target() -> Model:
    return load_model(str(TINY / "target"), "cpu", "float32")


def changed_json(folder: Path, name: str, **values: Any) -> Path:
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | values))
    return folder


def copy(name: str, goal: Path) -> Path:
    return Path(shutil.copytree(TINY / name, goal / name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in ("sweep", "thresholds_by_recall", "mining", "auc")),
        ("sweep", []),
        ("sweep", "abc"),
        ("mining", 3),
        ("mining", {"temperature": "x"}),
        ("thresholds_by_recall", {"0.95": "high"}),
    ],
)
def test_a_judge_that_does_not_tell_its_training_is_not_evaluated(
    name: str, value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed_json(copy("judge-arithmetic", tmp_path), "judge.json", **{name: value})
    given = ["--asset", f"judge={folder}", "--tasks", "arithmetic", "--out", str(tmp_path / "out"), "--threads", "1"]
    with loaded_once():
        assert main(["judge-eval", *given]) == 2
    told = capsys.readouterr().err
    assert f"{folder} does not tell how the judge was trained" in told and name in told


@pytest.mark.parametrize("role", HEADS)
@pytest.mark.parametrize(("number", "where"), [(NAN, "all"), (NAN, "one"), (INF, "one"), (-INF, "one")])
def test_weights_that_are_no_numbers(role: str, number: float, where: str, target: Model, tmp_path: Path) -> None:
    folder = copy(role, tmp_path)
    weights = load_file(folder / "model.safetensors")
    name = sorted(name for name, tensor in weights.items() if tensor.is_floating_point())[-1]
    (weights[name] if where == "all" else weights[name].view(-1)[-1:]).fill_(number)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(AssetError, match="infinite or not a number"):
        load_asset(role, str(folder), target)


@pytest.mark.parametrize("role", [*HEADS, "prm"])
def test_half_a_file_is_told_by_one_error(role: str, target: Model, tmp_path: Path) -> None:
    folder = copy(role, tmp_path)
    (file,) = folder.glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(AssetError, match=file.name) as told:
        load_asset(role, str(folder), target)
    assert told.value.__cause__ is None and told.value.__suppress_context__


@pytest.mark.parametrize("role", HEADS)
def test_whole_numbers_for_weights(role: str, target: Model, tmp_path: Path) -> None:
    folder = copy(role, tmp_path)
    weights = load_file(folder / "model.safetensors")
    name = sorted(name for name, tensor in weights.items() if tensor.is_floating_point())[0]
    save_file(weights | {name: weights[name].to(torch.int32)}, folder / "model.safetensors")
    with pytest.raises(AssetError, match="no type for it"):
        load_asset(role, str(folder), target)


@pytest.mark.parametrize(
    ("role", "values", "said"),
    [
        ("medusa", {"medusa_num_layers": 10**9}, "medusa_num_layers = 1000000000; it must be an integer from 1 to"),
        ("medusa", {"bottleneck": 0.5}, "bottleneck = 0.5; it must be an integer from 1"),
        ("medusa", {"bottleneck": 7}, "lacks 0.0.out.weight"),
        ("hydra", {"hydra_num_layers": 10**8}, "hydra_num_layers = 100000000; it must be an integer"),
        ("hydra", {"num_attention_heads": 0.5}, "must be an integer from 1"),
        ("eagle3", {"hidden_size": 10**30}, "an integer must be from -9007199254740992 to 9007199254740992, not 1000"),
        ("eagle3", {"hidden_size": NAN}, "a number must be finite, not NaN"),
        ("eagle2", {"rms_norm_eps": INF}, "a number must be finite, not Infinity"),
        ("eagle2", {"intermediate_size": 1.5}, "intermediate_size = 1.5; it must be an integer"),
        ("eagle2", {"num_attention_heads": "4"}, "num_attention_heads = '4'; a positive number"),
        ("eagle2", {"rms_norm_eps": True}, "rms_norm_eps = True; a positive number"),
        ("eagle2", {"num_key_value_heads": 3}, "no multiple of its 3 key-value heads"),
        ("eagle2", {"head_dim": 2}, "head_dim is 2; an even number from 4"),
        ("eagle3", {"head_dim": 33}, "head_dim is 33"),
        ("eagle3", {"rope_scaling": "linear"}, "must be JSON objects"),
        ("eagle3", {"rope_parameters": [1]}, "must be JSON objects"),
    ],
)
def test_sizes_of_a_head(role: str, values: dict[str, Any], said: str, target: Model, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=said):
        load_asset(role, str(changed_json(copy(role, tmp_path), "config.json", **values)), target)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"threshold": NAN}, "must be finite, not NaN"),
        ({"threshold": 2}, "threshold = 2; a number from 0 to 1"),
        ({"threshold": "0.5"}, "threshold = '0.5'"),
        ({"task": 5}, "does not say for which task"),
        ({"models": {}}, "does not say for which task and models"),
        ({"models": {"target": {"id": 1, "revision": "x"}, "draft": {"id": "a", "revision": "x"}}}, "does not say"),
    ],
)
def test_what_a_judge_says(values: dict[str, Any], said: str, target: Model, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=said):
        load_asset("judge", str(changed_json(copy("judge-arithmetic", tmp_path), "judge.json", **values)), target)


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_judge_of_no_numbers(name: str, target: Model, tmp_path: Path) -> None:
    folder = copy("judge-arithmetic", tmp_path)
    weights = load_file(folder / "judge.safetensors")
    weights[name].view(-1)[:1] = NAN
    save_file(weights, folder / "judge.safetensors")
    with pytest.raises(AssetError, match="infinite or not a number"):
        load_asset("judge", str(folder), target)


@pytest.mark.parametrize("thresholds", [[True], ["1"], [1, NAN], [10**400], {"a": 1}, [[1]]])
def test_thresholds_of_strata(thresholds: Any, target: Model, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="cannot be used"):
        load_asset("strata", str(changed_json(copy("strata", tmp_path), "strata.json", thresholds=thresholds)), target)


TREE = {"kind": "tree", "parents": [-1, -1, 0], "ranks": [0, 1, 0]}
USAGE = {"nodes": 3, "depth": 2, "ranks": 2, "first": 0.7, "ratio": 0.5, "counts": [3, 2, 1], "kept": [0, 1]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"parents": [-1, "-1", 0]}, "must be integers"),
        ({"parents": [-1, -1.0, 0]}, "must be integers"),
        ({"parents": [-1, -1, True]}, "must be integers"),
        ({"parents": [-1, -1, 7]}, "each parent before its child"),
        ({"ranks": [0, 10**9, 0]}, "a rank must be below 4096"),
        ({"parents": [-1] * 5000, "ranks": [0] * 5000}, "more than 4096"),
        ({"usage": 5}, "usage must be an object"),
        ({"usage": USAGE | {"nodes": 10**9}}, "usage.nodes must be an integer from 1 to 4096"),
        ({"usage": USAGE | {"ranks": 10**9}}, "usage.ranks"),
        ({"usage": USAGE | {"first": 2}}, "usage.first must be a number between 0 and 1"),
        ({"usage": USAGE | {"kept": [5]}}, "must name places"),
        ({"usage": USAGE | {"counts": [1, -1, 0]}}, "must not be negative"),
        ({"card": "\ud800"}, "cannot be read"),
    ],
)
def test_trees(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(TREE | {"usage": USAGE}))
    assert len(load_template(file)) == 3
    file.write_text(json.dumps(TREE | values))
    with pytest.raises(AssetError, match=said):
        load_template(file)


MINED = ROOT / "presets" / "mined" / "arithmetic.jsonl"
Edit = Callable[[list[dict[str, Any]]], Any]


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: lines[0].update(task=5),
        lambda lines: lines[0].update(problem_seed="0"),
        lambda lines: lines[0].update(equivalence=3),
        lambda lines: lines[0].update(temperature="0"),
        lambda lines: lines[0].update(eagle_online=["eagle2"]),
        lambda lines: lines[0].update(mined_with=3),
        lambda lines: lines[1].update(seconds=-1),
        lambda lines: lines[1].update(seconds=NAN),
        lambda lines: lines[1].update(answer=5),
        lambda lines: lines[1].update(pieces=[1]),
        lambda lines: lines[1].update(final=[2**40]),
        lambda lines: lines[1]["labels"][0].update(t=2**31),
        lambda lines: lines[1]["labels"][0].update(t=True),
        lambda lines: lines[1]["labels"][0].update(score=1.5),
        lambda lines: lines[1]["labels"][0].update(target_text=None),
    ],
)
def test_mined_sets(edit: Edit, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in MINED.read_text("utf-8").splitlines()][:3]
    file = tmp_path / "mined.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(read_mined(file)[1]) == 2
    edit(lines)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(AssetError):
        read_mined(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 5", "title must be a text, not 5"),
        ('order = "1"', "order must be a whole number, not '1'"),
        ("seed = true", "seed must be a whole number, not True"),
        ("lanes = 5", "each of its lanes names a method"),
        ('lanes = ["sd"]', "each of its lanes names a method"),
        ('lanes = [{method = "sd", knobs = {gamma = [1]}}]', "a lane has a method, knobs of"),
        ('lanes = [{method = "sd", trajectory = -1}]', "a trajectory from 0"),
        ("sampling = {temperature = nan}", "temperature"),
        ("sampling = {heat = 1}", "Unknown sampling setting"),
        ("max_new_tokens = 0", "max_new_tokens must be an integer from 1"),
        ('kind = "trio"', "Unknown kind"),
        ('traces = ["../../etc/passwd"]', "must lie in the folder"),
        ('traces = ["/etc/passwd"]', "must lie in the folder"),
        ("models = {target = 5}", "models must be a table, each value a text, not "),
    ],
)
def test_presets(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(LabError, match=said):
        read_preset(tmp_path / "x.toml")


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"5", b"{", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5000 + b"}", b'{"a": "\\ud800"}'],
)
def test_objects(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(AssetError):
        read_object(tmp_path / "x.json")


def test_deep_and_wide_objects(tmp_path: Path) -> None:
    for data in (b'{"a": ' * 100_000, b'{"a": [' + b"[]," * 2_000_001 + b"1]}"):
        (tmp_path / "x.json").write_bytes(data)
        with pytest.raises(AssetError):
            read_object(tmp_path / "x.json")


def test_values_by_their_types() -> None:
    assert (
        fits(1, float) and fits([1, 2], list[int]) and fits(None, str | None) and fits({"a": 1}, dict[str, int | bool])
    )
    for value, kind in ((True, int), (1.0, int), (NAN, float), ([1, "a"], list[int]), (2**60, int), (None, str)):
        assert not fits(value, kind), (value, kind)
    for wrong in ({"a": "b"}, {"a": 1, "b": None}, {1: 1}, [1], 1):
        assert not fits(wrong, dict[str, int]), wrong


def only_pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def only_gguf(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model.gguf")


def adapter_with_a_configuration(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")


def only_an_adapter(folder: Path) -> None:
    adapter_with_a_configuration(folder)
    (folder / "config.json").unlink()


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def without_a_configuration(folder: Path) -> None:
    (folder / "config.json").unlink()


def in_two_files(folder: Path) -> None:
    """The weights in two files, with their index."""
    found = sorted(load_file(folder / "model.safetensors").items())
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for name, part in zip(names, (found[:3], found[3:]), strict=True):
        save_file(dict(part), folder / name, {"format": "pt"})
    placed = {tensor: names[place > 2] for place, (tensor, _) in enumerate(found)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    (folder / "model.safetensors").unlink()


def without_an_index(folder: Path) -> None:
    in_two_files(folder)
    (folder / "model.safetensors.index.json").unlink()


def with_one_file_lost(folder: Path) -> None:
    in_two_files(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()


def with_half_a_file(folder: Path) -> None:
    in_two_files(folder)
    file = folder / "model-00002-of-00002.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def as_git_lfs_leaves_it(folder: Path) -> None:
    """A clone of the hub's repository without its large files."""
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (as_git_lfs_leaves_it, "model.safetensors is what Git LFS puts in the place of a large file"),
        (only_pickled, "are pickled"),
        (only_gguf, "is a GGUF file"),
        (only_an_adapter, "holds an adapter alone. Merge it into its model"),
        (adapter_with_a_configuration, "holds an adapter alone. Merge it into its model"),
        (without_weights, "has no model.safetensors, and other formats of weights are not read at load"),
        (without_a_configuration, "it has no config.json"),
        (without_an_index, "lie in several files, and model.safetensors.index.json, .* is missing"),
        (with_one_file_lost, "it lacks model-00002-of-00002.safetensors"),
        (with_half_a_file, "model-00002-of-00002.safetensors is damaged, or was not written to its end"),
    ],
)
@pytest.mark.parametrize("read", [load_model, outline])
def test_weights_of_another_kind_are_named_alike_before_and_while_they_are_loaded(
    read: Callable[[str], Any], change: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    folder = copy("draft", tmp_path)
    change(folder)
    with pytest.raises(AssetError, match=f"{folder}.* {told}"):
        read(str(folder))
