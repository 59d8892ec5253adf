"""Packed weights stand for the matrices that their formats' documentation says, and run as those.

The packing here is written from the formats, number by number and bit by bit, and shares nothing with the engine.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedConfig
from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING

from engine.errors import ModelMismatch
from engine.lab import Lab
from engine.model import load_model
from engine.model.checkpoint import weight_bytes
from engine.model.fewbits import Packing
from engine.model.outline import outline
from engine.model.unpacking import packing_of
from tests.engine.model import tiny
from tests.engine.model.families import CLOSE, PROMPT, TREE, apart, plain_model, written

Tensors = dict[str, torch.Tensor]
Made = tuple[np.ndarray, Tensors]  # a matrix [O, I] in fp64, and what stands for it
Maker = Callable[[str, int, int], Made | None]  # of a weight's name, outputs and inputs; None: it stays plain
PACKED = re.compile(r"\.(layers|h)\.0\..*(proj|w[123]|c_attn|c_fc)\.weight$")
RNG = np.random.default_rng(14)


def words(rows: np.ndarray, bits: int, order: tuple[int, ...] = ()) -> torch.Tensor:
    """Each row's numbers in int32, as many as have room, the first in the lowest bits, or in the given order."""
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


def stream(rows: np.ndarray, bits: int, less: int = 0) -> torch.Tensor:
    """Each row's numbers bit after bit, the first in the lowest, cut into int32; from each of these `less` is taken."""
    strings = ["".join(f"{int(number):0{bits}b}" for number in reversed(row)) for row in rows]
    found = [[int(one[max(end - 32, 0) : end], 2) for end in range(len(one), 0, -32)] for one in strings]
    return torch.from_numpy((np.array(found, dtype=np.int64) - less).astype(np.uint32).view(np.int32))


def planes(rows: np.ndarray, bits: int) -> torch.Tensor:
    """As `gptq_p` lays 32 numbers: of 3 bits the lower two of each, one after another, then the highest of each; of 5 to
    7 bits the lower four of each, and then the others likewise."""
    low, *higher = {3: (2, 1), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1)}[bits]
    parts = list[torch.Tensor]()
    for block in np.split(rows, rows.shape[1] // 32, axis=1):
        parts.append(stream(block % 2**low, low))
        above = block >> low
        for width in higher:
            parts.append(stream(above % 2**width, width))
            above = above >> width
    return torch.cat(parts, 1)


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


def gptq(
    outputs: int,
    inputs: int,
    bits: int = 4,
    version: int = 1,
    shuffled: bool = False,
    group: int = 32,
    sym: bool = False,
    told: bool = True,
    lay: Callable[[np.ndarray, int], torch.Tensor] = stream,
) -> Made:
    """The first version takes 1 from every zero point: from a whole int32 at once, or, of 3 bits, from each, where a 0
    becomes 7. `desc_act` shuffles the groups; `told`: there is `g_idx`. Symmetric ones (AutoRound's full range) have a
    zero point in the middle, and scales of either sign."""
    q, zeros, scales, at = drawn(outputs, inputs, group, bits, 2 ** (bits - 1) if sym else None)
    scales = scales * RNG.choice([-1, 1], scales.shape).astype(np.float16) if sym else scales
    at = RNG.permutation(at) if shuffled else at
    less = sum(1 << place for place in range(0, 32, bits)) if version == 1 and bits != 3 else 0
    stored = (zeros - 1) % 8 if version == 1 and bits == 3 else zeros
    return meant(q, zeros, scales, at), {
        "qweight": lay(q.T, bits).t().contiguous(),
        "qzeros": stream(stored, bits, less) if lay is stream else lay(stored, bits),
        "scales": torch.from_numpy(scales),
        **({"g_idx": torch.from_numpy(at.astype(np.int32))} if told else {}),
    }


def awq(outputs: int, inputs: int) -> Made:
    q, zeros, scales, at = drawn(outputs, inputs, 32)
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return meant(q, zeros, scales, at), {
        "qweight": words(q, 4, order),
        "qzeros": words(zeros, 4, order),
        "scales": torch.from_numpy(scales),
    }


def compressed(
    outputs: int, inputs: int, bits: int = 4, group: int = 32, asym: bool = False, bytewise: bool = False
) -> Made:
    """Numbers from -2^(b-1) on, stored with 2^(b-1) added, and so are zero points, except those that earlier versions
    wrote in a byte each; the last group may be cut short."""
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
            "weight_zero_point": (torch.from_numpy((zeros - half).astype(np.int8)) if bytewise else words(zeros, bits))
            .t()
            .contiguous(),
            "weight_g_idx": torch.from_numpy(at.astype(np.int32)),
        }
    return meant(q - half, zeros - half, scales, at), stored


def every(pack: Callable[..., Made], **options: Any) -> Maker:
    return lambda name, outputs, inputs: pack(outputs, inputs, **options)


def ct(**weights: Any) -> dict[str, Any]:
    about = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32} | weights
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": about, "input_activations": None}},
        "ignore": ["lm_head"],
    }


def by_name(**ways: Mapping[str, Any] | None) -> Maker:
    """GPTQ as `every` says, except for layers whose names hold one of the others; None leaves them plain."""

    def make(name: str, outputs: int, inputs: int) -> Made | None:
        how = next((how for part, how in ways.items() if part in name), ways["every"])
        return None if how is None else gptq(outputs, inputs, **how)

    return make


def auto_round(packing_format: str, **about: Any) -> dict[str, Any]:
    """As AutoRound writes it: which layers, and what some have instead, by names and by regular expressions."""
    return {
        "quant_method": "auto-round",
        "packing_format": packing_format,
        "bits": 4,
        "group_size": 32,
        "sym": True,
        "data_type": "int",
        "autoround_version": "0.14.2",
        "block_name_to_quantize": "model.layers",
        "extra_config": {
            "model.layers.0.self_attn.v_proj": {"bits": 16, "data_type": "float", "group_size": None},
            "lm_head": {"bits": 4, "group_size": None, "act_bits": None},
            r".*mlp\.down_proj$": {"bits": 8, "group_size": 16},
        },
    } | about


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}
OLD = {"quant_method": "intel/auto-round", "backend": "auto_round:gptq:exllamav2", "packing_format": None}
DYNAMIC = {
    "-:.*k_proj": {},
    r"+:.*\.down_proj": {"bits": 8, "group_size": 16, "sym": True},
    r".*\.0\.self_attn\.o_proj": {"bits": 3, "desc_act": True},
}
V2: dict[str, Any] = {"version": 2, "told": False, "sym": True}
WAYS: dict[str, tuple[dict[str, Any], Maker]] = {
    "gptq": (GPTQ, every(gptq)),
    "gptq v2, desc_act": (
        GPTQ | {"checkpoint_format": "gptq_v2", "desc_act": True},
        every(gptq, version=2, shuffled=True),
    ),
    "gptq, 8 bits": (GPTQ | {"bits": 8}, every(gptq, bits=8)),
    "gptq, 3 bits": (GPTQ | {"bits": 3}, every(gptq, bits=3)),
    "gptq, 2 bits": (GPTQ | {"bits": 2}, every(gptq, bits=2)),
    **{
        f"gptq, {bits} bits in planes": (
            GPTQ | {"bits": bits, "format": "gptq_p", "checkpoint_format": "gptq_p"},
            every(gptq, bits=bits, version=2, lay=planes),
        )
        for bits in (3, 5, 6, 7)
    },
    "gptq, layers that differ": (
        GPTQ | {"dynamic": DYNAMIC},
        by_name(k_proj=None, down_proj={"bits": 8, "group": 16}, o_proj={"bits": 3, "shuffled": True}, every={}),
    ),
    "awq": (AWQ, every(awq)),
    "awq, by earlier names": ({"quant_method": "awq", "w_bit": 4, "q_group_size": 32, "version": "GEMM"}, every(awq)),
    "auto-round": (
        auto_round("auto_round:auto_gptq"),
        by_name(
            v_proj=None,
            down_proj={"bits": 8, "group": 16, "told": False, "sym": True},
            every={"told": False, "sym": True},
        ),
    ),
    "auto-round, zero points as they are": (
        auto_round("auto_round:gptqmodel", sym=False),
        by_name(v_proj=None, down_proj=V2 | {"bits": 8, "group": 16}, every=V2 | {"sym": False}),
    ),
    "auto-round, 3 bits for exllamav2": (
        auto_round("auto_round:exllamav2", bits=3, group_size=-1, extra_config=None),
        lambda name, o, i: gptq(o, i, bits=3, group=i, **V2),
    ),
    "auto-round, awq": (auto_round("auto_round:auto_awq", extra_config={}), every(awq)),
    "auto-round of 2024": (auto_round("", extra_config=None) | OLD, every(gptq, told=False)),
    "compressed-tensors": (ct(), every(compressed)),
    "compressed-tensors, asymmetric": (ct(symmetric=False, actorder="group"), every(compressed, asym=True)),
    "compressed-tensors, zero points in bytes": (
        ct(symmetric=False, actorder="group"),
        every(compressed, asym=True, bytewise=True),
    ),
    "compressed-tensors, 5 bits": (ct(num_bits=5), every(compressed, bits=5)),
    "compressed-tensors, a scale for each output": (
        ct(strategy="channel", group_size=None, num_bits=8),
        lambda name, o, i: compressed(o, i, bits=8, group=i),
    ),
    "compressed-tensors, layers that differ": (
        ct()
        | {
            "config_groups": ct()["config_groups"]
            | {"group_1": ct(num_bits=3, group_size=16)["config_groups"]["group_0"]}
        },
        lambda name, o, i: compressed(o, i, bits=3, group=16) if "mlp" in name else compressed(o, i),
    ),
}


def packed(
    plain: Path, folder: Path, about: Mapping[str, Any], make: Maker, which: re.Pattern[str] = PACKED
) -> tuple[Path, Path]:
    """A checkpoint with its projections packed, and one of the matrices that they stand for."""
    with_bits, dense = (Path(shutil.copytree(plain, folder / name)) for name in ("packed", "meant"))
    weights = load_file(plain / "model.safetensors")
    stored = dict(weights)
    for name in [name for name in weights if which.search(name)]:
        turned = ".c_" in name or "embed" in name  # GPT-2 holds its matrices [I, O], and so do tables of embeddings
        made = make(name, *(weights[name].t() if turned else weights[name]).shape)
        if made is None:
            continue
        matrix, parts = made
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


def told(about: Mapping[str, Any]) -> Packing | None:
    return packing_of(PreTrainedConfig(quantization_config=dict(about)), "m")


@pytest.mark.parametrize("way", WAYS)
def test_each_way_stands_for_its_matrices(way: str) -> None:
    about, make = WAYS[way]
    packing = told(about)
    assert packing
    for layer in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.o_proj", "mlp.down_proj"):
        for inputs in (96, 84) if packing.layout == "pack-quantized" else (96,):
            if made := make(f"model.layers.0.{layer}.weight", 32, inputs):
                matrix, parts = made
                assert torch.equal(packing.matrix(parts), torch.from_numpy(matrix).float())


def test_what_configurations_leave_unsaid() -> None:
    assert told({"quant_method": "gptq"}) == Packing("gptq", (4,), (-1,))
    assert told({"quant_method": "awq"}) == Packing("gemm", (4,), (128,))
    assert told({"quant_method": "auto-round"}) == Packing("gptq", (4,), (128,))
    early = {"quant_method": "intel/auto-round", "backend": "auto_round:exllamav2", "bits": 2, "group_size": 64}
    assert told(early) == Packing("gptq_v2", (2,), (64,))
    some = {"+:.*o_proj": {"desc_act": True}, "-:.*k_proj": {"desc_act": True, "bits": 8, "group_size": 8}}
    assert told(GPTQ | {"dynamic": some}) == Packing("gptq", (4,), (32,), shuffled=True)
    unordered = {"static": False, "weight": False, "group": True, "dynamic": True}  # by compressed-tensors' `actorder`
    for order, shuffled in unordered.items():
        assert told(ct(actorder=order)) == Packing("pack-quantized", (4,), (32,), shuffled=shuffled)
    assert told(ct() | {"format": "int-quantized"}) is None, "which is left to its own package"


@pytest.mark.parametrize("way", ["gptq", "compressed-tensors"])
def test_inputs_in_any_order_are_not_taken_for_ordered_ones(way: str) -> None:
    about, make = WAYS[way]
    packing, made = told(about), make("q_proj.weight", 32, 96)
    assert packing and made
    parts = {name: x for name, x in made[1].items() if "g_idx" not in name}
    assert torch.equal(packing.matrix(parts), torch.from_numpy(made[0]).float())
    with pytest.raises(ValueError, match="no tensor tells it"):
        replace(packing, shuffled=True).matrix(parts)
    with pytest.raises(ValueError, match="inputs belong to"):
        packing.matrix(
            parts
            | {"weight_g_idx" if "weight_packed" in parts else "g_idx": torch.arange(-1, 95, dtype=torch.int32) // 32}
        )


SOME = ("gptq v2, desc_act", "gptq, layers that differ", "awq", "auto-round", "compressed-tensors, asymmetric")


@pytest.mark.parametrize("way", [pytest.param(way, marks=[pytest.mark.slow] * (way not in SOME)) for way in WAYS])
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


FP4 = (0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6)  # of the OCP Microscaling formats


@torch.inference_mode()
def test_mxfp4_of_gpt_oss_is_unpacked(tmp_path: Path) -> None:
    """As published: numbers of four bits, two in a byte, and a power of two for each 32 of an input; by transformers."""
    plain = tiny.make("gpt_oss", tmp_path / "plain", layers=1)
    with_bits, weights = Path(shutil.copytree(plain, tmp_path / "packed")), load_file(plain / "model.safetensors")
    stored = dict(weights)
    for name in [name for name in weights if re.search(r"experts\.\w+_proj$", name)]:
        experts, inputs, outputs = weights[name].shape
        codes = RNG.integers(0, 16, (experts, outputs, inputs // 32, 32))
        powers = RNG.integers(122, 126, (experts, outputs, inputs // 32))
        matrix = np.take(FP4, codes) * 2.0 ** (powers - 127)[..., None]
        weights[name] = torch.from_numpy(matrix.reshape(experts, outputs, inputs)).float().mT.contiguous()
        del stored[name]
        blocks = codes[..., 0::2] + 16 * codes[..., 1::2]
        stored |= {f"{name}_blocks": torch.from_numpy(blocks.astype(np.uint8))}
        stored |= {f"{name}_scales": torch.from_numpy(powers.astype(np.uint8))}
    save_file(stored, with_bits / "model.safetensors", {"format": "pt"})
    save_file(weights, plain / "model.safetensors", {"format": "pt"})
    configured(with_bits, {"quant_method": "mxfp4", "modules_to_not_convert": ["self_attn", "router", "lm_head"]})
    model, whole = load_model(with_bits, "cpu"), load_model(plain, "cpu")
    found, wanted = (one.session(80).forward(PROMPT, TREE).logits for one in (model, whole))
    assert model.lean and torch.equal(found, wanted) and model.bytes == whole.bytes == weight_bytes(str(with_bits))
    assert model.notes == ("The weights are stored packed by mxfp4 and unpacked at load.",)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="transformers compiles what unpacks them")
def test_weights_of_bitnet_run_packed(tmp_path: Path) -> None:
    """-1, 0 and 1, four in a byte, row r of each quarter of the outputs in the r-th byte; by transformers."""
    folder = tiny.make("bitnet", tmp_path, layers=1)
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if name.endswith("proj.weight")]:
        quarters = np.split(RNG.integers(0, 3, tuple(weights[name].shape)), 4)
        stored = np.sum([one << 2 * i for i, one in enumerate(quarters)], axis=0)
        weights[name] = torch.from_numpy(stored.astype(np.uint8))
        weights[name.replace("weight", "weight_scale")] = torch.tensor([3.0])
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    configured(folder, {"quant_method": "bitnet", "modules_to_not_convert": ["lm_head"]})
    model = load_model(folder, "cpu")
    assert not model.lean and apart(model, plain_model(folder)) <= CLOSE
    assert model.notes == ("The weights are packed by bitnet.",)


@pytest.mark.slow
@torch.inference_mode()
def test_tables_and_heads_are_unpacked(plain: Path, tmp_path: Path) -> None:
    """GPTQModel packs the output head, and the table of embeddings, where asked."""
    which = re.compile(r"proj\.weight|lm_head|embed")
    folder, dense = packed(plain, tmp_path, GPTQ | {"lm_head": True}, every(gptq), which)
    found, wanted = (load_model(one, "cpu").session(80).forward(PROMPT, TREE).logits for one in (folder, dense))
    assert torch.equal(found, wanted)


UNKNOWN = ("exl2", "modelopt", "quip", "unpacked")


@pytest.mark.thorough
@pytest.mark.parametrize("how", sorted({*AUTO_QUANTIZATION_CONFIG_MAPPING, *UNKNOWN}))
def test_every_way_of_packing_loads_or_is_refused_in_words(plain: Path, tmp_path: Path, how: str) -> None:
    """By its name alone, over plain weights: what needs a package, a GPU or other tensors says so; what nobody knows is
    not taken for plain."""
    method, bits = (how.split("_")[0], how[-4:]) if how.startswith("bits") else (how, "")
    folder = configured(
        Path(shutil.copytree(plain, tmp_path / "odd")),
        {"quant_method": method} | ({f"load_in_{bits}": True} if bits else {}),
    )
    words = f"odd is packed by {method}, which cannot be loaded here: .{{20,}}[.] The same model unpacked can be"
    try:
        model = load_model(folder, "cpu")
    except ModelMismatch as refused:
        assert re.match(words, str(refused)) and "ignore_mismatched_sizes" not in str(refused)
    else:
        assert how not in UNKNOWN and any(f"packed by {method}" in note for note in model.notes)
        assert outline(str(folder), "cpu").packing == method


def test_scales_without_a_word_about_packing_are_refused(plain: Path, tmp_path: Path) -> None:
    """As of checkpoints in FP8 whose packing is told in a file of their own: their weights are no plain ones."""
    folder = Path(shutil.copytree(plain, tmp_path / "odd"))
    weights, at = load_file(folder / "model.safetensors"), "model.layers.0.mlp.down_proj"
    weights |= {f"{at}.weight": weights[f"{at}.weight"].to(torch.float8_e4m3fn), f"{at}.weight_scale": torch.ones(())}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        ModelMismatch, match=f"odd is packed in a way .* does not say how, and there is {at}.weight_scale"
    ):
        load_model(folder, "cpu")


ROUNDED = ct()["config_groups"]["group_0"] | {"output_activations": {"num_bits": 8}}
REFUSED: dict[str, dict[str, Any]] = {
    "5 bits, where 2 or 3 or 4 or 8 are understood": GPTQ | {"bits": 5},
    "6 bits, where 2 or 3": GPTQ | {"dynamic": {"+:.*mlp": {"bits": 6}}},
    "laid out for marlin, where gptq, gptq_v2 and gptq_p are": GPTQ | {"checkpoint_format": "marlin"},
    "it is laid out for marlin, where": GPTQ | {"is_marlin_format": True},
    "laid out in several ways: gptq, gptq_v2": GPTQ | {"format": "gptq_v2", "checkpoint_format": "gptq"},
    "would have to be turned, too .rotation.": GPTQ | {"rotation": "hadamard"},
    "laid out for auto_round:fp8_static, where auto_round, auto_round:auto": auto_round("auto_round:fp8_static"),
    "would have to be turned, too .spinquant_config.": auto_round("auto_round", spinquant_config={"r1": True}),
    "its numbers are mx_fp, where int is": auto_round(
        "auto_round", extra_config={"a": {"bits": 4, "data_type": "mx_fp"}}
    ),
    "its layers would have to be rounded": auto_round("auto_round", act_bits=8),
    "its quantization_config names no quant_method": {"bits": 4, "group_size": 64},
    "laid out for gemv, where gemm is": AWQ | {"version": "gemv"},
    "8 bits, where 4 are": AWQ | {"bits": 8},
    "9 bits of int, where 2 to 8": ct(num_bits=9),
    "scales go by tensor": ct(strategy="tensor"),
    "its keys and values would have to be rounded": ct() | {"kv_cache_scheme": {"num_bits": 8}},
    "its layers would have to be rounded, too": ct() | {"config_groups": {"a": ROUNDED}},
    "its weights are sparse or turned, too": ct() | {"sparsity_config": {"format": "sparse-24-bitmask"}},
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

    halved, zeros = (weights[f"{at}.{part}"][:2].contiguous() for part in ("scales", "qzeros"))
    wrong(
        {f"{at}.scales": weights[f"{at}.scales"][:, :8].contiguous()}, "down_proj: 96 inputs and 64 outputs do not fit"
    )
    wrong({f"{at}.g_idx": None, f"{at}.scales": halved, f"{at}.qzeros": zeros}, "of 32 inputs of a group none fits")
    wrong({f"{at}.qzeros": None}, "down_proj: qzeros is missing")
    wrong({f"{at}.g_idx": weights[f"{at}.g_idx"] + 1}, "4 groups, and there are scales for 3")
    wrong({f"{at}.qweight": weights[f"{at}.qweight"].float()}, "where a matrix of int32 is understood")
    short = {f"{at}.qweight": weights[f"{at}.qweight"][:8].contiguous(), f"{at}.g_idx": weights[f"{at}.g_idx"][:64]}
    wrong(short, r"stands for \(64, 64\) numbers, not for \(64, 96\)")
    wrong({f"{at}.bias": torch.ones(64)}, "down_proj.bias stands beside its packed weights")
    wrong({"model.layers.0.mlp.act_fn.scales": torch.ones(96)}, "stands beside its packed weights")
    save_file(weights | {f"{at}.bias": torch.zeros(64)}, file, {"format": "pt"})
    assert load_model(folder, "cpu").lean
