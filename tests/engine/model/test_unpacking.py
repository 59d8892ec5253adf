"""Packed weights stand for the matrices that their formats' documentation says, and run as those.

The packing here is written from the formats, number by number and bit by bit, and shares nothing with the engine.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import ModelMismatch
from engine.lab import Lab
from engine.model import load_model
from engine.model.checkpoint import weight_bytes
from engine.model.outline import outline
from tests.engine.model import tiny
from tests.engine.model.families import PROMPT, TREE, plain_model, written

Tensors = dict[str, torch.Tensor]
Made = tuple[np.ndarray, Tensors]  # a matrix [O, I] in fp64, and what stands for it
PACKED = re.compile(r"\.(layers|h)\.0\..*(proj|w[123]|c_attn|c_fc)\.weight$")
RNG = np.random.default_rng(14)


def words(rows: np.ndarray, bits: int, order: tuple[int, ...] = ()) -> torch.Tensor:
    """Each row's numbers in int32, the first in the lowest bits, or in the given order."""
    n = 32 // bits
    order = order or tuple(range(n))
    packed = np.zeros((len(rows), -(-rows.shape[1] // n)), dtype=np.uint32)
    for r, row in enumerate(rows):
        for at in range(packed.shape[1]):
            word = 0
            for place, which in enumerate(order):
                number = int(row[at * n + which]) if at * n + which < len(row) else 0
                word |= number << (bits * place)
            packed[r, at] = word
    return torch.from_numpy(packed.view(np.int32))


def drawn(outputs: int, inputs: int, group: int, bits: int = 4, zero: int | None = None) -> tuple[Any, ...]:
    """Numbers [I, O], zero points and scales [G, O], the groups of the inputs in order."""
    groups = -(-inputs // group)
    q = RNG.integers(0, 2**bits, (inputs, outputs))
    zeros = RNG.integers(0, 2**bits, (groups, outputs)) if zero is None else np.full((groups, outputs), zero)
    scales = (RNG.uniform(0.02, 0.05, (groups, outputs)) * 16 / 2**bits).astype(np.float16)
    return q, zeros, scales, np.arange(inputs) // group


def meant(q: np.ndarray, zeros: np.ndarray, scales: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The matrix [O, I] by the definition, element by element."""
    return np.array(
        [
            [(int(q[i, o]) - int(zeros[at[i], o])) * float(scales[at[i], o]) for i in range(len(q))]
            for o in range(q.shape[1])
        ]
    )


def gptq(outputs: int, inputs: int, bits: int = 4, version: int = 1, shuffled: bool = False) -> Made:
    """The first version stores zero points less one and so cannot store 0; `desc_act` shuffles the groups."""
    q, zeros, scales, at = drawn(outputs, inputs, 32, bits)
    zeros = np.maximum(zeros, 1) if version == 1 else zeros
    at = RNG.permutation(at) if shuffled else at
    stored = zeros - 1 if version == 1 else zeros
    return meant(q, zeros, scales, at), {
        "qweight": words(q.T, bits).t().contiguous(),
        "qzeros": words(stored, bits),
        "scales": torch.from_numpy(scales),
        "g_idx": torch.from_numpy(at.astype(np.int32)),
    }


def awq(outputs: int, inputs: int) -> Made:
    q, zeros, scales, at = drawn(outputs, inputs, 32)
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return meant(q, zeros, scales, at), {
        "qweight": words(q, 4, order),
        "qzeros": words(zeros, 4, order),
        "scales": torch.from_numpy(scales),
    }


def compressed(outputs: int, inputs: int, bits: int = 4, group: int = 32, asym: bool = False) -> Made:
    """Numbers from -2^(b-1) on, stored with 2^(b-1) added, and so are zero points; the last group may be cut short."""
    half = 2 ** (bits - 1)
    q, zeros, scales, at = drawn(outputs, inputs, group, bits, None if asym else half)
    stored = {
        "weight_packed": words(q.T, bits),
        "weight_scale": torch.from_numpy(scales.T.copy()),
        "weight_shape": torch.tensor([outputs, inputs]),
    }
    if asym:
        at = RNG.permutation(at)
        stored |= {
            "weight_zero_point": words(zeros, bits).t().contiguous(),
            "weight_g_idx": torch.from_numpy(at.astype(np.int32)),
        }
    return meant(q - half, zeros - half, scales, at), stored


def ct(**weights: Any) -> dict[str, Any]:
    about = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32} | weights
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": about, "input_activations": None}},
        "ignore": ["lm_head"],
    }


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}
WAYS: dict[str, tuple[dict[str, Any], Callable[[int, int], Made]]] = {
    "gptq": (GPTQ, gptq),
    "gptq v2, desc_act": (
        GPTQ | {"checkpoint_format": "gptq_v2", "desc_act": True},
        lambda o, i: gptq(o, i, version=2, shuffled=True),
    ),
    "gptq, 8 bits": (GPTQ | {"bits": 8}, lambda o, i: gptq(o, i, bits=8)),
    "awq": (AWQ, awq),
    "compressed-tensors": (ct(), compressed),
    "compressed-tensors, asymmetric": (ct(symmetric=False, actorder="group"), lambda o, i: compressed(o, i, asym=True)),
    "compressed-tensors, a scale for each output": (
        ct(strategy="channel", group_size=None, num_bits=8),
        lambda o, i: compressed(o, i, bits=8, group=i),
    ),
}


def packed(plain: Path, folder: Path, about: Mapping[str, Any], make: Callable[[int, int], Made]) -> tuple[Path, Path]:
    """A checkpoint with its projections packed, and one of the matrices that they stand for."""
    with_bits, dense = (Path(shutil.copytree(plain, folder / name)) for name in ("packed", "meant"))
    weights = load_file(plain / "model.safetensors")
    stored = dict(weights)
    for name in [name for name in weights if PACKED.search(name)]:
        turned = ".c_" in name  # GPT-2 holds its matrices [I, O]
        matrix, parts = make(*(weights[name].t() if turned else weights[name]).shape)
        weights[name] = torch.from_numpy(matrix.T.copy() if turned else matrix).float()
        del stored[name]
        stored |= {name.removesuffix("weight") + part: x for part, x in parts.items()}
    save_file(stored, with_bits / "model.safetensors", {"format": "pt"})
    save_file(weights, dense / "model.safetensors", {"format": "pt"})
    configured(with_bits, about)
    return with_bits, dense


def configured(folder: Path, about: Mapping[str, Any]) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": about}))
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make("llama", tmp_path_factory.mktemp("plain") / "llama", layers=1)


MORE = ("gptq, 8 bits", "compressed-tensors, a scale for each output")


@pytest.mark.parametrize("way", [pytest.param(way, marks=[pytest.mark.slow] * (way in MORE)) for way in WAYS])
@torch.inference_mode()
def test_packed_weights_run_as_the_matrices_that_they_stand_for(plain: Path, tmp_path: Path, way: str) -> None:
    about, make = WAYS[way]
    folder, dense = packed(plain, tmp_path, about, make)
    model, whole = load_model(folder, "cpu"), load_model(dense, "cpu")
    found, wanted = (one.session(80).forward(PROMPT, TREE).logits for one in (model, whole))
    assert model.lean and torch.equal(found, wanted)
    assert (model.parameters, model.bytes, model.dtype) == (whole.parameters, whole.bytes, "float32")
    how = about["quant_method"]
    assert model.notes == (f"The weights are stored packed by {how} and unpacked at load.",)
    looked = outline(str(folder), "cpu")
    assert looked.lean and looked.unpacked and looked.weights == outline(str(dense), "cpu").weights
    assert looked.model.parameters == model.parameters
    assert weight_bytes(str(folder)) == whole.bytes > (folder / "model.safetensors").stat().st_size


def test_greedy_text_is_that_of_the_matrices(plain: Path, tmp_path: Path) -> None:
    folder, dense = packed(plain, tmp_path, *WAYS["gptq v2, desc_act"])
    lab = Lab(load_model(folder, "cpu"), {"draft": load_model(plain, "cpu")})
    text = written(plain_model(dense), tokens=24)
    assert len(set(text)) > 3
    for method in ("ar", "sd"):
        assert list(lab.run(method, PROMPT, max_new_tokens=24, record="light").token_ids) == text
    half = load_model(folder, "cpu", "bfloat16")
    assert half.dtype == "bfloat16" and half.bytes == lab.target.bytes / 2


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("llava", "gptq"),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("mixtral", "awq"), ("gpt2", "gptq"))),
    ],
)
@torch.inference_mode()
def test_parts_of_models_are_unpacked(tmp_path: Path, kind: str, way: str) -> None:
    """What writes the text of a multimodal model; experts, which transformers lays together; matrices held [I, O]."""
    folder, dense = packed(tiny.make(kind, tmp_path / kind, layers=1), tmp_path, *WAYS[way])
    found, wanted = (load_model(one, "cpu").session(80).forward(PROMPT, TREE).logits for one in (folder, dense))
    assert torch.equal(found, wanted)


REFUSED: dict[str, dict[str, Any]] = {
    "3 bits, where 2 or 4 or 8 are understood": GPTQ | {"bits": 3},
    "laid out for marlin, where gptq and gptq_v2": GPTQ | {"checkpoint_format": "marlin"},
    "laid out for gemv, where gemm is": AWQ | {"version": "gemv"},
    "8 bits, where 4 are": AWQ | {"bits": 8},
    "3 bits of int": ct(num_bits=3),
    "scales go by tensor": ct(strategy="tensor"),
    "its keys and values would have to be rounded": ct() | {"kv_cache_scheme": {"num_bits": 8}},
    "invalid literal": GPTQ | {"bits": "four"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_varieties_that_are_not_understood_are_refused_in_words(plain: Path, tmp_path: Path, words: str) -> None:
    """At a look already, and when loaded."""
    folder = configured(Path(shutil.copytree(plain, tmp_path / "odd")), REFUSED[words])
    for attempt in (outline, load_model):
        with pytest.raises(ModelMismatch, match=f"cannot be loaded here: .*{words}.*The same model unpacked can be"):
            attempt(str(folder), "cpu")


def test_what_does_not_fit_is_refused_in_words(plain: Path, tmp_path: Path) -> None:
    """Tensors that are cut, missing, or beside what a plain model has; AutoGPTQ's biases of zeros are let pass."""
    folder, _ = packed(plain, tmp_path, *WAYS["gptq"])
    file = folder / "model.safetensors"
    weights, at = load_file(file), "model.layers.0.mlp.down_proj"

    def wrong(changed: Mapping[str, torch.Tensor | None], words: str) -> None:
        save_file({n: x for n, x in (weights | changed).items() if x is not None}, file, {"format": "pt"})  # type: ignore[operator]
        with pytest.raises(ModelMismatch, match=words):
            load_model(folder, "cpu")

    wrong(
        {f"{at}.scales": weights[f"{at}.scales"][:, :8].contiguous()}, "down_proj: 96 inputs and 64 outputs do not fit"
    )
    wrong({f"{at}.qzeros": None}, "down_proj: qzeros is missing")
    wrong({f"{at}.g_idx": weights[f"{at}.g_idx"] + 1}, "4 groups, and there are scales for 3")
    wrong({f"{at}.qweight": weights[f"{at}.qweight"].float()}, "where a matrix of int32 is understood")
    short = {f"{at}.qweight": weights[f"{at}.qweight"][:8].contiguous(), f"{at}.g_idx": weights[f"{at}.g_idx"][:64]}
    wrong(short, r"stands for \(64, 64\) numbers, not for \(64, 96\)")
    wrong({f"{at}.bias": torch.ones(64)}, "down_proj.bias stands beside its packed weights")
    wrong({"model.layers.0.mlp.act_fn.scales": torch.ones(96)}, "stands beside its packed weights")
    save_file(weights | {f"{at}.bias": torch.zeros(64)}, file, {"format": "pt"})
    assert load_model(folder, "cpu").lean
