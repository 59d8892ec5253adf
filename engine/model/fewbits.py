"""Weights packed into few bits by GPTQ, AWQ, AutoRound or compressed-tensors: what matrices they stand for.

All hold a matrix as whole numbers q below 2^bits, several in one int32, with a scale s and a zero point z for each
output and group of inputs: w = (q - z) s. They differ in how numbers lie:

- GPTQ (AutoGPTQ, GPTQModel): `qweight` [I bits / 32, O], the numbers going down the inputs; `qzeros` [G, O bits / 32],
  going along the outputs; `scales` [G, O]; `g_idx` [I], the group of each input, which with `desc_act` is in no order.
  Where 32 is no multiple of the bits, 32 numbers fill as many int32 as a number has bits: one bit after another, or, in
  the format `gptq_p`, the lower bits of all of them first. Zero points of the first version of the format are one less
  than they mean: each int32 of them was lessened by 1 at the place of each number, so that a 0 borrows from its
  neighbour (with 3 bits, a 0 was stored as 7 instead).
- AWQ (AutoAWQ's "gemm"): `qweight` [I, O / 8] and `qzeros` [G, O / 8], both along the outputs, the eight of an int32
  in the order 0, 2, 4, 6, 1, 3, 5, 7; `scales` [G, O].
- AutoRound writes one or the other, with or without the 1 that zero points lack, as its `packing_format` says; without
  `g_idx`.
- compressed-tensors (`pack-quantized`): `weight_packed` [O, I / n] along the inputs, n = 32 // bits of an int32,
  `weight_scale` [O, G], `weight_zero_point` [O / n, G] or, symmetric, none; `weight_shape` without padding, and perhaps
  `weight_g_idx`.

Single layers may have other bits and groups than most (`dynamic` of GPTQModel, `extra_config` of AutoRound), or not be
packed at all. Their configurations name these by regular expressions, each after rules of its own, for names that
transformers changes as it reads. None of this is needed: which tensors there are tells what is packed, and their shapes
tell which of the bits and groups that a configuration names a weight has.

Dimension key: I inputs, O outputs, G groups of inputs, n numbers of an int32.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # where in its int32 each output of eight lies
PLANES = {3: (2, 1), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1)}  # bits of a number in gptq_p, lowest first
GPTQ = ("qweight", "qzeros", "scales", "g_idx")
NAMES = {
    "gptq": GPTQ,
    "gptq_v2": GPTQ,
    "gptq_p": GPTQ,
    "gemm": ("qweight", "qzeros", "scales"),
    "pack-quantized": (
        "weight_packed",
        "weight_scale",
        "weight_zero_point",
        "weight_shape",
        "weight_g_idx",
    ),
}  # layout -> the tensors that stand for a weight
Parts = Mapping[str, Tensor]


@dataclass(frozen=True)
class Packing:
    """How the weights of one checkpoint are packed."""

    layout: str
    bits: tuple[int, ...]  # of a number, in some weight or other
    groups: tuple[int, ...]  # inputs of a group, likewise; -1 for all
    shuffled: bool = False  # inputs belong to groups in any order, which has to be there
    faults: list[str] = field(default_factory=list)  # found while weights were read; transformers only logs them

    def __deepcopy__(self, memo: object) -> "Packing":
        """Itself: transformers copies configurations, and faults are to be found where they are looked for."""
        return self

    def matrix(self, parts: Parts) -> Tensor:
        """The matrix that some tensors stand for [O, I], in fp32.

        Raises:
            ValueError: they do not fit together.
        """
        return (self._compressed if self.layout == "pack-quantized" else self._grouped)(parts).t()

    def _grouped(self, parts: Parts) -> Tensor:
        """[I, O] of GPTQ and AWQ."""
        qweight, zeros, scales = (_part(parts, name) for name in ("qweight", "qzeros", "scales"))
        bits = _told("bits of a number", self.bits, lambda b: 32 * zeros.shape[-1] == b * scales.shape[-1])
        even = 32 % bits == 0
        lessened = self.layout == "gptq"
        if lessened and even:
            zeros = zeros + sum(1 << at for at in range(0, 32, bits))
        if even:
            awq = self.layout == "gemm"
            order = AWQ_ORDER if awq else range(32 // bits)
            q_IO, zeros_GO = _numbers(qweight, bits, int(awq), order), _numbers(zeros, bits, 1, order)
        else:
            planes = PLANES[bits] if self.layout == "gptq_p" else (bits,)
            q_IO, zeros_GO = _blocks(qweight, planes, 0), _blocks(zeros, planes, 1)
        if lessened and not even:
            zeros_GO = (zeros_GO + 1) & (2**bits - 1)
        return self._restored(q_IO, zeros_GO, scales, parts.get("g_idx"))

    def _compressed(self, parts: Parts) -> Tensor:
        """[I, O] of compressed-tensors."""
        stored, (rows, columns) = _part(parts, "weight_packed"), _part(parts, "weight_shape").tolist()
        bits = _told("bits of a number", self.bits, lambda b: stored.shape[-1] == -(-columns // (32 // b)))
        order, scales = range(32 // bits), _part(parts, "weight_scale").t()
        q = _numbers(stored, bits, 1, order)[:rows, :columns]
        if tuple(q.shape) != (rows, columns):
            raise ValueError(f"weight_packed holds {tuple(q.shape)} numbers, where weight_shape says {rows, columns}")
        zeros = parts.get("weight_zero_point")
        if zeros is None:
            found = torch.full_like(scales, 2 ** (bits - 1), dtype=torch.uint8)
        elif zeros.dtype == torch.int32:
            found = _numbers(zeros, bits, 0, order)[:rows].t()
        else:
            found = (zeros.t().to(torch.int16) + 2 ** (bits - 1)).to(torch.uint8)
        return self._restored(q.t(), found, scales, parts.get("weight_g_idx"))

    def _restored(self, q_IO: Tensor, zeros_GO: Tensor, scales_GO: Tensor, group_I: Tensor | None) -> Tensor:
        """(q - z) s [I, O], in fp32."""
        inputs, outputs = q_IO.shape
        if group_I is None:
            group_I = torch.arange(inputs, device=q_IO.device) // self._group(inputs, len(scales_GO))
        groups = int(group_I.max()) + 1
        if scales_GO.shape != zeros_GO.shape or scales_GO.shape[1] != outputs or len(group_I) != inputs:
            raise ValueError(
                f"{inputs} inputs and {outputs} outputs do not fit scales {tuple(scales_GO.shape)}, zero points "
                f"{tuple(zeros_GO.shape)} and groups {tuple(group_I.shape)}"
            )
        if int(group_I.min()) < 0 or groups > len(scales_GO):
            raise ValueError(f"inputs belong to {groups} groups, and there are scales for {len(scales_GO)}")
        group_I = group_I.long()
        return q_IO.float().sub_(zeros_GO[group_I]).mul_(scales_GO[group_I])

    def _group(self, inputs: int, groups: int) -> int:
        """Inputs of a group, of a weight whose tensors do not tell each input's."""
        if self.shuffled:
            raise ValueError("its inputs belong to groups in any order, and no tensor tells it")
        sizes = sorted({inputs if size < 1 else min(size, inputs) for size in self.groups})
        return _told("inputs of a group", sizes, lambda size: -(-inputs // size) == groups, strict=True)


def _told(what: str, named: Sequence[int], fits: Callable[[int], bool], *, strict: bool = False) -> int:
    """That of some numbers named by a configuration which the shapes of a weight fit; the only one need not, unless
    `strict`.

    Raises:
        ValueError: none fits, or several do.
    """
    found = [one for one in named if (len(named) == 1 and not strict) or fits(one)]
    if len(found) != 1:
        fitting = f"{either(found)} fit" if found else "none fits"
        raise ValueError(f"of {either(named)} {what} {fitting} the shapes of its tensors")
    return found[0]


def either(numbers: Sequence[int]) -> str:
    """Some numbers in words."""
    return " or ".join(map(str, numbers))


def _part(parts: Parts, name: str) -> Tensor:
    if name not in parts:
        raise ValueError(f"{name} is missing")
    return parts[name]


def _words(x: Tensor) -> Tensor:
    """A matrix of int32 as it is.

    Raises:
        ValueError: none.
    """
    if x.dtype != torch.int32 or x.dim() != 2:
        raise ValueError(f"packed numbers are {x.dtype} {tuple(x.shape)}, where a matrix of int32 is understood")
    return x


def _numbers(x: Tensor, bits: int, dim: int, order: Sequence[int]) -> Tensor:
    """The whole numbers that the int32 of a matrix hold, spread along a dimension, as uint8; `order` tells the place of
    each in its int32, counted from the lowest bits.

    Raises:
        ValueError: no matrix of int32.
    """
    x, mask = _words(x), 2**bits - 1
    return torch.stack([((x >> bits * place) & mask).to(torch.uint8) for place in order], dim + 1).flatten(dim, dim + 1)


def _blocks(x: Tensor, planes: Sequence[int], dim: int) -> Tensor:
    """The whole numbers that a matrix of int32 holds in blocks of 32 along a dimension, spread, as uint8. A number has
    its lowest bits in the first plane, and so on; in a plane of w bits the 32 parts fill w int32 one after another.

    Raises:
        ValueError: no matrix of int32, or of other blocks.
    """
    bits = sum(planes)
    if _words(x).shape[dim] % bits:
        raise ValueError(f"{x.shape[dim]} int32 are no blocks of {bits}")
    words = x.movedim(dim, 0).long().bitwise_and(2**32 - 1).reshape(-1, bits, x.shape[1 - dim])
    found = list[Tensor]()
    for i in range(32):
        number, below = torch.zeros_like(words[:, 0]), 0
        for width in planes:
            word, bit = divmod(i * width, 32)
            part = words[:, below + word] >> bit
            if bit + width > 32:
                part = part | (words[:, below + word + 1] << (32 - bit))
            number |= (part & (2**width - 1)) << below
            below += width
        found.append(number.to(torch.uint8))
    return torch.stack(found, 1).flatten(0, 1).movedim(0, dim)
