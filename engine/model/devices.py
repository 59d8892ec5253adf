"""Devices: which there are, how much memory they have left, which of them a model's weights go to, and of what dtype.

The choice itself is a function of numbers (`place`), so that it is tested where there is no accelerator.
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from engine.errors import ConfigError, shown, unknown

ROOM = 1.15  # of a model's weights: what its cache, masks and rows take besides, at least
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
KINDS = ("cuda", "xpu", "mps")


def place(
    needed: Mapping[str, int], free: Mapping[str, int], asked: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """The devices of each model. `needed` is bytes of weights by role, the target among them; `free` bytes of memory by
    device; `asked` what the user named for roles, several devices with commas between.

    Each model goes on one device where one has room for it: the target where most is left, the others beside it if they
    fit there too, else where most is left then. Only what fits no single device is spread, over as few as hold it. What
    fits nowhere goes over all of them, and loading tells if that is too little.
    """
    left, placed, asked = dict(free), dict[str, tuple[str, ...]](), asked or {}
    for role, size in sorted(needed.items(), key=lambda item: item[0] != "target"):
        wanted = int(size * ROOM)
        beside = placed.get("target", ())[:1]
        placed[role] = tuple(asked[role].split(",")) if role in asked else _choose(wanted, left, beside)
        taken = {device: max(left[device], 0) for device in placed[role] if device in left}
        for device, has in taken.items():
            left[device] -= wanted * has // max(sum(taken.values()), 1)
    return placed


def _choose(wanted: int, left: Mapping[str, int], beside: Sequence[str]) -> tuple[str, ...]:
    emptiest = sorted(left, key=lambda device: -left[device])  # of equals the first
    for device in (*beside, *emptiest):
        if wanted <= left[device]:
            return (device,)
    few = next((n for n in range(2, len(left)) if wanted <= sum(left[device] for device in emptiest[:n])), len(left))
    return tuple(device for device in left if device in emptiest[:few])


def accelerators() -> dict[str, int]:
    """The devices that "auto" may choose, and the bytes that each has free; none where there is only the CPU."""
    if torch.cuda.is_available():
        return {f"cuda:{i}": free(torch.device("cuda", i)) for i in range(torch.cuda.device_count())}
    return {}


def pick_device(device: str) -> torch.device:
    """ "auto" is the first CUDA device, else the CPU.

    Raises:
        ConfigError: a device that torch does not know or have, or that has no use here.
    """
    if device == "auto":
        return torch.device(next(iter(accelerators()), "cpu"))
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(unknown("device", device, ("auto", "cpu", *KINDS, "cuda:0"))) from None
    if chosen.type not in ("cpu", *KINDS):
        raise ConfigError(f"device={device!r} cannot be used: the lab runs on {', '.join(('cpu', *KINDS))}.")
    if chosen.type != "cpu":
        _check(chosen)
    return chosen


def _check(chosen: torch.device) -> None:
    """See that a device is there.

    Raises:
        ConfigError: it is not.
    """
    kind = chosen.type
    there = torch.backends.mps.is_available() if kind == "mps" else getattr(torch, kind).is_available()
    if not there:
        raise ConfigError(
            f"device='{chosen}' was asked for, but torch sees no {kind.upper()} device here; use 'cpu' or 'auto'."
        )
    count = 1 if kind == "mps" else getattr(torch, kind).device_count()
    if (chosen.index or 0) >= count:
        raise ConfigError(f"device='{chosen}' was asked for, but there are {count} of that kind, counted from 0.")


def homes(device: str) -> list[torch.device]:
    """The devices that a text names: one, or several with commas between, over which a model is spread.

    Raises:
        ConfigError: as `pick_device`; or several that are not of one kind of GPU.
    """
    if not isinstance(device, str):
        raise ConfigError(f"A device is named by a text, such as 'cpu' or 'cuda:0', not {shown(device)}.")
    found = [pick_device(name.strip()) for name in device.split(",")]
    if len(found) > 1 and ({one.type for one in found} not in ({"cuda"}, {"xpu"}) or len(set(found)) < len(found)):
        raise ConfigError(f"device={device!r} must name different GPUs of one kind, such as 'cuda:0,cuda:1'.")
    return found


def described(device: torch.device) -> str:
    """A device with what its speed hangs on: the name of a GPU, the vector instructions that torch uses of a CPU."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    if device.type == "cpu":
        return f"{device} ({platform.machine()}, {torch.backends.cpu.get_cpu_capability()})"
    return str(device)


def free(device: torch.device) -> int:
    """Bytes of memory that a GPU has left, with those that torch keeps there and nothing uses."""
    gpu = getattr(torch, device.type)
    kept = gpu.memory_reserved(device) - gpu.memory_allocated(device)
    return int(gpu.mem_get_info(device)[0] + kept)


def placement(places: Sequence[torch.device]) -> dict[str, Any]:
    """Where transformers puts the layers: all in one place, or spread over several GPUs."""
    if len(places) == 1:
        return {"device_map": {"": places[0]}}
    return {"device_map": "auto", "max_memory": {place.index or 0: free(place) for place in places}}


def dtype_on(device: torch.device, dtype: str) -> "torch.dtype | str":
    """What "auto" means on a device, or the dtype of that name.

    Raises:
        ConfigError: unknown dtype.
    """
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    if dtype not in DTYPES:
        raise ConfigError(unknown("dtype", dtype, ("auto", *DTYPES)))
    return DTYPES[dtype]


def synchronise(devices: Iterable[torch.device]) -> None:
    """Wait until these devices have done all that they were given."""
    for device in devices:
        if device.type == "mps":
            torch.mps.synchronize()
        elif device.type != "cpu":
            getattr(torch, device.type).synchronize(device)


def aligned(mask: Tensor) -> Tensor:
    """A mask that fused attention can read on a GPU: a slice of a kept one may begin or go on where its kernels cannot
    load ("misaligned address", H200, torch 2.11, bf16). On a CPU as it is."""
    if mask.device.type == "cpu" or (mask.storage_offset() == 0 and mask.is_contiguous()):
        return mask
    return mask.clone(memory_format=torch.contiguous_format)
