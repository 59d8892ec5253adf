"""Logits to distribution, entropy, top-n and single draws. Pure: uniforms come from outside.

Dimension key: V vocabulary, M rows, n entries kept.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.config import Sampling
from engine.errors import EngineFault

CPU = torch.device("cpu")
NO_MASS = "A distribution to draw from has no mass: the model's logits are NaN or infinite. Try dtype='float32'."
NUCLEI = (64, 1024, 16384)  # tokens among which a nucleus is looked for before all are sorted
NARROW = ("mps", "xpu")  # kinds of devices that may have no float64


def distribution(logits_MV: Tensor, sampling: Sampling) -> Tensor:
    """The processed distribution [M, V]: temperature, then top-k, then top-p, renormalised, at least in fp32.

    Greedy (temperature 0) gives one-hot rows at the argmax and applies no other processor. The order is that of
    Hugging Face transformers; tokens tied with the k-th stay, as there; of tokens tied where the nucleus ends the
    lowest ids stay, where it may keep others.
    """
    x = wide(logits_MV)
    if sampling.greedy:
        return torch.zeros_like(x).scatter_(-1, first_argmax(x).unsqueeze(-1), 1.0)
    if sampling.temperature != 1.0:
        x = x / sampling.temperature
    if 0 < sampling.top_k < x.shape[-1]:
        kth = x.topk(sampling.top_k, dim=-1).values[..., -1:]
        x = x.masked_fill(x < kth, -torch.inf)
    if sampling.top_p < 1.0:
        x = _top_p(x, sampling.top_p)
    return torch.softmax(x, dim=-1)


def _top_p(x: Tensor, top_p: float) -> Tensor:
    """What is left of logits [M, V]: the smallest sets of likeliest tokens whose mass reaches `top_p`."""
    if x.device.type == "cpu":
        for k in NUCLEI:
            if 8 * k <= x.shape[-1] and (left := _few_likeliest(x, top_p, k)) is not None:
                return left
    order = x.sort(dim=-1, descending=True, stable=True)
    p = torch.softmax(order.values, dim=-1)
    cut = p.cumsum(dim=-1) - p >= top_p  # mass strictly before a token reaches top_p: drop it
    cut[..., 0] = False
    return x.masked_fill(torch.zeros_like(cut).scatter(-1, order.indices, cut), -torch.inf)


def _few_likeliest(x: Tensor, top_p: float, k: int) -> Tensor | None:
    """The same where fewer than `k` tokens of each row hold the mass, else None: a CPU finds them ten times sooner than
    it sorts a large vocabulary."""
    values, ids = x.topk(k, dim=-1)
    mass = torch.softmax(x, dim=-1).gather(-1, ids).cumsum(dim=-1)
    size = 1 + (mass < top_p).sum(dim=-1, keepdim=True)  # of the set: the mass before each of it is too little
    if int(size.max()) >= k:
        return None
    least, next_ = values.gather(-1, size - 1), values.gather(-1, size)
    if bool((least == next_).any()):  # of those tied with the last some go
        if bool((least == values[..., -1:]).any()):
            return None  # not all of them are here
        ids = ids.sort(dim=-1).values
        values, places = x.gather(-1, ids).sort(dim=-1, descending=True, stable=True)
        ids = ids.gather(-1, places)
    beyond = torch.arange(k, device=CPU) >= size
    return torch.full_like(x, -torch.inf).scatter_(-1, ids, values.masked_fill_(beyond, -torch.inf))


def wide(x: Tensor) -> Tensor:
    """The tensor in fp32, or untouched when it is wider already."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def first_argmax(x_MV: Tensor) -> Tensor:
    """Index of the first maximum of each row [M], or of one row. On a CPU argmax returns the first, and numpy's is
    ten times as fast as torch's; CUDA promises nothing, so ask."""
    if x_MV.device.type == "cpu":
        known = x_MV.dtype in (torch.float32, torch.float64)
        return torch.as_tensor(x_MV.detach().numpy().argmax(-1), device=CPU) if known else x_MV.argmax(dim=-1)
    V = x_MV.shape[-1]
    place = torch.arange(V, 0, -1, device=x_MV.device)
    return ((x_MV == x_MV.amax(dim=-1, keepdim=True)) * place).argmax(dim=-1)


def surest(logits_MV: Tensor) -> Tensor:
    """The largest probability of softmax(logits), per row [M]."""
    return torch.softmax(wide(logits_MV), -1).amax(-1)


def sureness(logits_V: Tensor, largest: int | None = None) -> float:
    """The largest probability of softmax(logits), of one row; on a CPU numpy finds it sooner than torch, and soonest
    where it is known which logit is `largest`."""
    if logits_V.device.type != "cpu":
        return float(surest(logits_V))
    p = torch.softmax(wide(logits_V), -1).numpy()
    return float(p.item(p.argmax() if largest is None else largest))


def entropy(logits_MV: Tensor, temperature: float = 1.0) -> Tensor:
    """Shannon entropy of softmax(logits / temperature) per row [M], nats, at least fp32; 0 log 0 = 0."""
    x = wide(logits_MV)
    logp = torch.log_softmax(x if temperature == 1.0 else x / temperature, dim=-1)
    return -(logp.exp() * logp).masked_fill_(logp == -torch.inf, 0.0).sum(-1)


def pick(p_V: Tensor, u: float) -> int:
    """The token that the uniform `u` in [0, 1) draws from `p_V` by inverse transform; never one of zero probability.

    `p_V` need not be normalised. The sum is taken in fp64. One transfer.

    Raises:
        EngineFault: the distribution has no mass, or is NaN.
    """
    if p_V.device.type == "cpu":
        return _picked(p_V, p_V.double().cumsum(-1).numpy(), u)
    at = drawn(p_V, u)
    (index,), (mass,) = read(at, p_V[at])
    if not mass > 0:
        raise EngineFault(NO_MASS)
    return int(index)


def _picked(p_V: Tensor, cdf: NDArray[np.float64], u: float) -> int:
    """`pick` on a CPU, by the sums [V] up to each token."""
    if not 0 < cdf[-1] < np.inf:
        raise EngineFault(NO_MASS)
    at = int(cdf.searchsorted(cdf[-1] * u, side="right"))
    return at if at < len(cdf) else int(p_V.nonzero()[-1])  # u so near 1 that it rounds to the total


def drawn(p_V: Tensor, u: float) -> Tensor:
    """The token that `pick` gives, as a tensor [1] where `p_V` is; any one where there is no mass."""
    return _place(exactly(p_V), u).to(p_V.device)


def exactly(x: Tensor) -> Tensor:
    """In fp64, on the CPU where a device has none."""
    return x.cpu().double() if x.device.type in NARROW else x.double()


def _place(p_V: Tensor, u: float) -> Tensor:
    cdf = p_V.cumsum(-1)
    at = torch.searchsorted(cdf, cdf[-1:] * u, right=True).clamp_(max=len(p_V) - 1)
    if p_V.device.type == "cpu" and p_V[at] > 0:
        return at
    alive = p_V > 0
    last = (alive * torch.arange(1, len(p_V) + 1, device=p_V.device)).argmax(-1, keepdim=True)
    return torch.where(alive[at], at, last)  # u so near 1 that it rounds to the total


def sent(values: Any, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers of the host, a list of any depth, an array or a tensor on the CPU, as a tensor on a device, without the
    host waiting.

    `torch.tensor(values, device=...)`, a plain `.to` and a list as an index copy too, and wait until the device has
    come so far. Here CUDA has the numbers staged before the call returns, so that they may go at once; on other devices
    a copy that does not wait might outlive them, so there it waits. On a CPU an array or tensor is taken as it is.
    """
    x = values.to(dtype=dtype) if isinstance(values, Tensor) else _held(values, dtype)
    return x if device == CPU else x.to(device, non_blocking=device.type == "cuda")


def _held(values: Any, dtype: torch.dtype | None) -> Tensor:
    """A list or an array as a tensor; a list becomes an array, and that a tensor, in a quarter of the time that it
    takes to become one at once."""
    if isinstance(values, np.ndarray):
        return torch.as_tensor(values, dtype=dtype, device=CPU)
    array = np.array(values)
    if dtype is None and array.dtype == np.int64:  # token ids, at each step of a draft: a third of the time
        return torch.from_numpy(array)
    kind = dtype if dtype or array.dtype.kind != "f" else torch.float32
    return torch.as_tensor(array, dtype=kind, device=CPU)


def read(*parts: Tensor) -> list[list[Any]]:
    """Tensors as flat lists, floats or whole numbers, by one transfer from their device for all of them.

    A device works on while the host does other things; each transfer makes the host wait for it.
    """
    if parts[0].device.type == "cpu":
        return [part.flatten().tolist() for part in parts]
    return [part.tolist() for part in arrays(*parts)]


def arrays(*parts: Tensor) -> list[NDArray[Any]]:
    """The same as flat arrays, which on a CPU share the tensors' memory; for types that numpy has."""
    home = parts[0].device
    if home.type == "cpu":
        return [part.flatten().numpy() for part in parts]
    kind = torch.float32 if home.type in NARROW else torch.float64  # holds ids and fp32 exactly
    flat = torch.cat([part.flatten().to(home, kind) for part in parts]).cpu().numpy()
    split = np.split(flat, np.cumsum([part.numel() for part in parts])[:-1])
    return [
        some if part.is_floating_point() else some.astype(np.int64) for part, some in zip(parts, split, strict=True)
    ]
