"""Pretended devices: CPU tensors that say they are on `cuda:0` or `cuda:1`, and behave as if they were.

A label on the tensor is its device. Factories, `.to` and whatever is computed from a tensor carry it; an operation on
two of them raises, as it would on the real ones; what makes the host wait for a device is counted: what it reads there,
and what it sends there as torch does unless told otherwise. So the branches for accelerators run, and placement is
checked, where there is none.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import dispatch_model
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, _pop_mode_temporarily
from transformers import AutoConfig, PreTrainedModel

from engine.drafters import DRAFTERS
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.lab import Lab
from engine.methods import CARDS
from engine.model import Model, devices, graphs, load, load_model, splitkv
from engine.model.network import auto_class
from engine.parts import decoder_only
from engine.rules import RULES
from engine.sampling import NARROW
from engine.shapes import SHAPES

CPU = torch.device("cpu")
READS = {  # methods and functions that give the host a value of a tensor
    *(
        "item",
        "tolist",
        "numpy",
        "is_nonzero",
        "nonzero",
        "equal",
        "allclose",
        "masked_select",
        "unique",
        "unique_consecutive",
    ),
    *("__bool__", "__int__", "__float__", "__index__", "__contains__", "__array__"),
}
COPIES = {"copy_", "set_", "type_as"}  # take from one device to another
MADE = {"tensor", "as_tensor", "asarray", "new_tensor"}  # of numbers that the host has
ASKED = {"_parse_to", "_has_compatible_shallow_copy_type"}  # by `Module.to`, which calls `Tensor.to` then
PROMPTS = {
    "tiny": "Question: Mia has 34 pens. She buys 3 bags with 12 in each. How many pens does Mia have now?\nAnswer:",
    "crossed": "Translate: This cousin forgets to cook the bright wallet in the city.",
}
EMBEDDED = {  # embedded pair -> the methods that run on its kind of models
    "tiny": [card.name for card in CARDS if card.writer != "nat"],
    "crossed": [
        card.name
        for card in CARDS
        if not any(map(decoder_only, (DRAFTERS[card.drafter], SHAPES[card.shape], RULES[card.rule])))
    ],
}
ROOT = str(Path(__file__).resolve().parents[3])


class MixedDevices(RuntimeError):
    """An operation on tensors of two devices."""


class Pretend(TorchFunctionMode):
    """While it is entered, tensors have pretended devices. `waits` names the lines that made the host wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name, owner = getattr(func, "__name__", ""), getattr(func, "__self__", None)
        if name in ASKED:
            return func(*args, **kwargs)
        if owner is torch.Tensor.device:
            return device_of(args[0])
        if owner is torch.Tensor.is_cuda:
            return device_of(args[0]).type == "cuda"
        if name == "get_device":
            return device_of(args[0]).index if device_of(args[0]) != CPU else -1
        if name in ("to", "cpu", "cuda"):
            return self._moved(func, name, args, kwargs)
        given = kwargs.pop("device", None)
        if given is not None and torch.device(given).type == "meta":
            return func(*args, **kwargs, device=given)
        mine = list(tensors((args, kwargs)))
        if owner is torch.Tensor.data and name == "__set__":
            func(*args)
            label(args[0], device_of(args[1]))
            return None
        at = self._common(func, name, mine)
        if at != CPU and name == "scaled_dot_product_attention":
            check_mask(kwargs.get("attn_mask", args[3] if len(args) > 3 else None))
        if (at != CPU and (name in READS or indexed(name, args))) or sends(name, args, kwargs, given, at):
            self._wait()
        out = func(*args, **kwargs)
        if name == "__iter__":
            out = list(out)
        if given is not None and any(out is one for one in mine) and device_of(out) != torch.device(given):
            out = out.clone()  # of `as_tensor`, which gives a tensor that is there already as it is
        if name in COPIES and mine:
            at = device_of(mine[0])
        if given is not None:
            at = torch.device(given)
        for one in tensors(out):
            label(one, at)
        check_width(out, at)
        return iter(out) if name == "__iter__" else out

    def _common(self, func: Any, name: str, mine: list[Tensor]) -> torch.device:
        """The one device of an operation; a single number on the CPU goes with any."""
        found = {device_of(one) for one in mine if one.dim() or device_of(one) != CPU}
        if len(found) > 1 and name not in COPIES:
            places = ", ".join(sorted(map(str, found)))
            raise MixedDevices(f"{name or func} of tensors on {places}, at {caller()}")
        return found.pop() if found else CPU

    def _moved(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        x, rest = args[0], list(args[1:])
        goal: Any = {"cpu": CPU, "cuda": torch.device("cuda", 0)}.get(name, kwargs.pop("device", None))
        if name == "to" and rest and isinstance(rest[0], str | torch.device | Tensor):
            first = rest.pop(0)
            goal = device_of(first) if isinstance(first, Tensor) else first
            rest = [first.dtype, *rest] if isinstance(first, Tensor) else rest
        goal = device_of(x) if goal is None else full(torch.device(goal))
        flags = [one for one in rest if isinstance(one, bool)]  # whether it need not be waited for, and is a copy
        kwargs |= {"non_blocking": flags[0]} if flags else {}
        rest = [one for one in rest if isinstance(one, torch.dtype)]
        if goal != device_of(x) and CPU in (goal, device_of(x)) and not (goal != CPU and kwargs.get("non_blocking")):
            self._wait()
        out: Tensor = torch.Tensor.to(x, *rest, **kwargs) if rest or kwargs else x
        if goal != device_of(x):
            out = out.clone() if out is x else out
        check_width(out, goal)
        return label(out, goal)

    def _wait(self) -> None:
        self.waits.append(caller())


def check_width(out: Any, at: torch.device) -> None:
    """Refuse what some devices do not have.

    Raises:
        TypeError: fp64 or complex numbers on such a device.
    """
    if at.type in NARROW and any(one.dtype == torch.float64 or one.is_complex() for one in tensors(out)):
        raise TypeError(f"{at.type} has no float64 and no complex numbers, at {caller()}")


def check_mask(mask: Tensor | None) -> None:
    """Refuse a mask that fused kernels would read where they cannot: they load 16 bytes at once, and torch copies masks
    to where they may only if their width is no multiple of 16.

    Raises:
        RuntimeError: "misaligned address", which on a GPU ends the process's work there for good.
    """
    if mask is None or mask.shape[-1] % 16:
        return
    starts = [
        mask.storage_offset(),
        *(n for n, size in zip(mask.stride()[:-1], mask.shape[:-1], strict=True) if size > 1),
    ]
    if any(n * mask.element_size() % 16 for n in starts):
        raise RuntimeError(f"misaligned address: a mask of strides {mask.stride()}, at {caller()}")


def full(device: torch.device) -> torch.device:
    """With its number."""
    return device if device.type == "cpu" or device.index is not None else torch.device(device.type, 0)


def device_of(x: Tensor) -> torch.device:
    """Where a tensor pretends to be."""
    found: torch.device = x.__dict__.get("_pretended", CPU)
    return found


def label(x: Tensor, device: torch.device) -> Tensor:
    """Let a tensor pretend to be there."""
    x.__dict__["_pretended"] = full(device)
    return x


def tensors(tree: Any) -> Iterator[Tensor]:
    """All tensors in nested lists, tuples and mappings."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from tensors(one)
    elif isinstance(tree, dict):
        yield from tensors(list(tree.values()))


def indexed(name: str, args: tuple[Any, ...]) -> bool:
    """Whether `x[index]`, or `x[index] = value`, of an `x` on a device makes the host wait.

    It does to learn of what size a mask is, for an index that is a list or lies on the CPU, and for one place that a
    tensor on the device names. A value that is a number fills what a slice gives, which waits for nothing; a single
    place, or places that are listed, it is copied to.
    """
    if name not in ("__getitem__", "__setitem__"):
        return False
    x, index = args[:2]
    parts = index if isinstance(index, tuple) else (index,)
    listed = [one for one in parts if isinstance(one, list | range | np.ndarray | Tensor)]
    if any(not isinstance(one, Tensor) or device_of(one) == CPU or not one.dim() for one in listed):
        return True
    number = name == "__setitem__" and not (isinstance(args[2], Tensor) and device_of(args[2]) != CPU)
    if any(one.dtype == torch.bool for one in tensors(listed)):
        return not number  # a number fills where the mask holds
    return number and (bool(listed) or (all(isinstance(one, int) for one in parts) and len(parts) == x.dim()))


def sends(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any, at: torch.device) -> bool:
    """Whether a function sends numbers of the host to a device, or copies them from there, and waits for it; `given` is
    the device it was asked for, `at` that of its tensors."""
    if name in MADE:
        goal = torch.device(given) if given is not None else at if name == "new_tensor" else CPU
        return goal.type != "cpu" and (at == CPU or name == "new_tensor")
    if name != "copy_":
        return False
    into, source = device_of(args[0]), device_of(args[1])
    waits = not (into != CPU and (kwargs.get("non_blocking") or args[2:3] == (True,)))
    return into != source and CPU in (into, source) and waits


def caller() -> str:
    """File and line of the innermost frame of this repository outside this file."""
    for frame in reversed(traceback.extract_stack(limit=40)):
        if frame.filename.startswith(ROOT) and frame.filename != __file__ and "/.venv/" not in frame.filename:
            return f"{frame.filename[len(ROOT) + 1 :]}:{frame.lineno}"
    return "elsewhere"


@contextmanager
def pretended() -> Iterator[Pretend]:
    """Devices `cuda:0`, `cuda:1`, ... are there for `load_model`, and for all tensors of the block.

    Weights are read on the CPU; those of a model that is spread are then shared out as accelerate does it. Passes that a
    device would capture are done again where it would replay them.
    """
    mode = Pretend()
    with pytest.MonkeyPatch.context() as patch:
        plain = PreTrainedModel.from_pretrained.__func__

        def from_pretrained(cls: Any, /, *given: Any, device_map: Any = None, **more: Any) -> Any:
            with _pop_mode_temporarily():
                found = plain(cls, *given, device_map=device_map and {"": CPU}, **more)
            settle(found[0] if isinstance(found, tuple) else found, device_map or {"": CPU})
            return found

        patch.setattr(PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
        patch.setattr(devices, "_check", lambda device: None)
        patch.setattr(graphs.CudaCapturer, "capture", lambda self, work: graphs.Again().capture(work))
        patch.setattr(splitkv, "on_gpu", splitkv.on_cpu)
        patch.setattr(splitkv, "processors", lambda device: 132)
        for kind in (torch.cuda, torch.xpu, torch.mps):
            patch.setattr(kind, "synchronize", lambda device=None: None)
        with mode:
            yield mode


def settle(hf: Any, places: dict[str, Any]) -> None:
    """Give a network's weights and tables their devices: of all modules under a name, the longest name first. What has
    two names on two devices is there twice."""
    seen = dict[int, torch.device]()
    for kind in (hf.named_parameters(remove_duplicate=False), hf.named_buffers(remove_duplicate=False)):
        for name, x in list(kind):
            owner = max((m for m in places if not m or name == m or name.startswith(f"{m}.")), key=len)
            place = torch.device(places[owner])
            if seen.setdefault(id(x), place) != place:
                at, _, leaf = name.rpartition(".")
                x = type(x)(x.detach().clone(), requires_grad=False)
                setattr(hf.get_submodule(at), leaf, x)
            label(x, place)
    if len(set(places.values())) > 1:
        named = {name: str(place) for name, place in places.items()}
        dispatch_model(hf, named, main_device=next(iter(named.values())), force_hooks=True)


def spread(path: Path, first: str = "cuda:0", second: str = "cuda:1") -> dict[str, str]:
    """A network's modules over two devices: of each stack of layers half on each, what is defined before a stack on the
    first, what is behind it on the second."""
    config = AutoConfig.from_pretrained(path)
    with _pop_mode_temporarily(), torch.device("meta"):
        hf = auto_class(config).from_config(config)
    places = dict[str, str]()

    def stacked(module: nn.Module) -> bool:
        return isinstance(module, nn.ModuleList) and len(module) > 1

    def put(module: nn.Module, before: str) -> None:
        place, own = first, (*module._parameters, *module._buffers)
        places.update({f"{before}{name}": first for name in own})
        for name, child in module.named_children():
            at = f"{before}{name}"
            if stacked(child):
                half = len(list(child.children())) // 2
                places.update({f"{at}.{i}": first if int(i) < half else second for i, _ in child.named_children()})
            elif any(map(stacked, child.modules())):
                put(child, f"{at}.")
            else:
                places[at] = place
                continue
            place = second

    put(hf, "")
    return places


def loaded(path: Path, place: str, apart: str = "cuda:1") -> Model:
    """A model on a pretended device; at "spread" half of its layers on `cuda:0`, half on `apart`."""
    if place != "spread":
        return load_model(path, place, "float32")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "placement", lambda places: {"device_map": spread(path, *map(str, places))})
        return load_model(path, f"cuda:0,{apart}", "float32")


def embedded(name: str, target: str, draft: str) -> Lab:
    """An embedded pair with all its heads, its models on pretended devices."""
    preset = get_preset(name)
    models = [
        loaded(Path(locate(preset.models[role])), place) for role, place in (("target", target), ("draft", draft))
    ]
    return Lab(models[0], {"draft": models[1]}, dict(preset.assets), name)
