"""Products of rows with a matrix that stays, as fast as this CPU has them.

For a few rows torch's own product brings the matrix into blocks anew each time, which costs more than the product. Two
parts that come with torch keep them on an x86 CPU:

- FBGEMM, in fp16. Checkpoints in bf16 and fp16 fit into it as they are, and are multiplied and summed in fp32; so the
  product is that of fp32 while half of the bytes are read, and the matrix in fp32 need not be kept. A call costs 3
  microseconds, or 12 to 25 where all threads work, and 35 to 65 more where they went to sleep since the last. With
  AVX-512 a row's product is the same to the bit however many rows there are; with AVX2 one or two rows are summed in
  another order than more of them.
- oneDNN, in fp32, for matrices that do not fit. A call costs 14 microseconds, so one row, and few rows of a small
  matrix, stay with torch's own product, and matrices beyond `BYTES`, which would be kept twice, altogether.
"""

import platform
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from math import floor, log2

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEAST = 1 << 15  # elements from which on a matrix is kept in another form
BYTES = 1 << 24  # up to which it is kept in two
WORK = 600_000  # rows times elements from which on oneDNN's blocks are faster: 10 rows of 256 x 256, 3 of 256 x 1024
ALONE = 7_000_000  # (rows + 3) times elements up to which one thread alone is faster in fp16, of a large matrix
ROWS_ALONE = 10  # and of any: of more rows a pass shares all products, between which the other threads stay awake
LOST = 2**-22  # of the largest element: the most that an element may lose in fp16, two units of fp32's last place there
SMALL = 0.125  # elements that are all below lose more in fp16 than that
PART = 1 << 22  # elements that are looked at in one go
Array = NDArray[np.float32]


class Halves:
    """X W of a matrix W [I, O] that fp16 holds, in fp32. Where all of it is small it is lifted by a power of two."""

    def __init__(self, weight_IO: Tensor) -> None:
        self._lift = lift(weight_IO)
        rows_OI = (weight_IO if self._lift == 1 else weight_IO * self._lift).t().contiguous()
        self.rows = rows_alone(weight_IO.numel())
        self._alone = torch.fbgemm_pack_gemm_matrix_fp16(rows_OI) if self.rows else None
        self._shared = torch.ops.quantized.linear_prepack_fp16(rows_OI, None)

    def __call__(self, x_TI: Tensor) -> Tensor:
        """X W [T, O]."""
        alone = self._alone is not None and (x_TI.shape[0] <= self.rows or torch.get_num_threads() == 1)
        out = self.by_one(x_TI) if alone else self.by_all(x_TI)
        return out if self._lift == 1 else out.mul_(1 / self._lift)

    def by_one(self, x_TI: Tensor) -> Tensor:
        """X W, lifted, by one thread; of a matrix for which that pays for some number of rows."""
        assert self._alone is not None
        return torch.fbgemm_linear_fp16_weight_fp32_activation(x_TI, self._alone, None)

    def by_all(self, x_TI: Tensor) -> Tensor:
        """X W, lifted, by all threads; a call takes some 10 microseconds more."""
        out: Tensor = torch.ops.quantized.linear_dynamic_fp16(x_TI, self._shared)
        return out

    def few(self, scale_I: Array | None) -> Callable[[Array], Array]:
        """What multiplies few rows [T, I] that are an array, after `scale_I` where there is one: X diag(s) W [T, O]."""
        multiply, packed = torch.fbgemm_linear_fp16_weight_fp32_activation, self._alone
        assert packed is not None
        factors = scale_I if self._lift == 1 else np.float32(1 / self._lift) * (1 if scale_I is None else scale_I)

        def of(x_TI: Array) -> Array:
            rows = torch.from_numpy(x_TI if factors is None else x_TI * factors)
            product: Array = multiply(rows, packed, None).numpy()
            return product

        return of


def rows_alone(size: int) -> int:
    """Up to how many rows one thread works alone on a matrix of so many elements; reading it takes as long as three."""
    return min(ROWS_ALONE, max(0, ALONE // max(1, size) - 3))


class Product:
    """X diag(s) W of a matrix W [I, O]; s [I] are the weights of the norm before it, where there is one.

    W is kept in fp16 (`halves`), or as it is (`weight`, which then holds s too, and else nothing) and perhaps in
    `blocks` for `rows` rows and more.
    """

    def __init__(self, weight_IO: Tensor, scale_I: Tensor | None = None) -> None:
        self.device, (self.inputs, self.outputs) = weight_IO.device, weight_IO.shape
        size = weight_IO.numel()
        self.weight, self.scale = weight_IO.new_empty(0), scale_I
        self.halves: Halves | None = None
        self.blocks: Tensor | None = None
        if shrinks(size, weight_IO.dtype, self.device) and fits(weight_IO):
            self.halves = Halves(weight_IO)
            return
        self.weight = weight_IO if scale_I is None else weight_IO * scale_I.unsqueeze(1)
        self.rows = max(2, -(-WORK // max(1, size)))
        if second(size, weight_IO.dtype, self.device):
            self.blocks = in_blocks(self.weight)

    @property
    def bytes(self) -> int:
        """What a product with one row reads of W."""
        size = self.inputs * self.outputs
        return 2 * size if self.halves is not None else self.weight.element_size() * size

    @property
    def alone(self) -> int:
        """Up to how many rows one thread works alone on it."""
        return 0 if self.halves is None else self.halves.rows

    @cached_property
    def whole(self) -> Tensor:
        """diag(s) W in fp32 [I, O], for gradients, which FBGEMM has none of."""
        if self.halves is None:
            return self.weight
        every = torch.eye(self.inputs, dtype=torch.float32, device="cpu")
        return self.halves(every if self.scale is None else every * self.scale)

    @cached_property
    def few(self) -> Callable[[Array], Array]:
        """What multiplies few rows [T, I] that are an array (`engine.model.few`): X diag(s) W [T, O]."""
        if self.halves is not None and self.halves.rows:
            return self.halves.few(None if self.scale is None else self.scale.numpy())
        whole: Array = self.whole.contiguous().numpy()
        return lambda x_TI: x_TI.dot(whole)

    def __call__(self, x_TI: Tensor, bias_O: Tensor | None = None) -> Tensor:
        """X diag(s) W (+ b) [T, O]; gradients of X go through."""
        if self.halves is not None and not x_TI.requires_grad:
            out: Tensor = self.halves(x_TI if self.scale is None else x_TI * self.scale)
            return out if bias_O is None else out.add_(bias_O)
        if self.blocks is None or x_TI.shape[0] < self.rows or x_TI.requires_grad:
            return torch.mm(x_TI, self.whole) if bias_O is None else torch.addmm(bias_O, x_TI, self.whole)
        out = torch.ops.mkldnn._linear_pointwise(x_TI, self.blocks, bias_O, "none", [], "")
        return out

    def onto(self, y_TO: Tensor, x_TI: Tensor) -> Tensor:
        """Y + X diag(s) W [T, O]; Y stays as it is."""
        if self.halves is not None:
            return self(x_TI).add_(y_TO)
        if self.blocks is None or x_TI.shape[0] < self.rows:
            return torch.addmm(y_TO, x_TI, self.weight)
        out: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x_TI, y_TO, self.blocks, None, "add")
        return out


def shrinks(size: int, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether a matrix of so many elements is kept in fp16 where it fits; it then takes no more memory than in fp32,
    and a large one half."""
    return device.type == "cpu" and dtype == torch.float32 and size >= LEAST and halves_work()


def second(size: int, dtype: torch.dtype, device: torch.device) -> int:
    """Bytes that a matrix of so many elements takes besides in blocks, where fp16 does not hold it; 0 where it is kept
    once."""
    suits = device.type == "cpu" and dtype == torch.float32
    size_B = size * dtype.itemsize
    return size_B if suits and size >= LEAST and size_B <= BYTES and blocks_work() else 0


def fits(weight: Tensor) -> bool:
    """Whether fp16 holds a matrix: each element but for what fp32 has in the last place of the largest."""
    up, most = lift(weight), LOST * largest(weight)
    parts = (part * up for part in torch.split(weight.flatten(), PART))
    return all(bool((part.half().float() - part).abs().max() <= most * up) for part in parts)  # not of a NaN


def largest(weight: Tensor) -> float:
    """The largest element, signs aside."""
    low, high = torch.aminmax(weight)
    return max(-float(low), float(high))


def lift(weight: Tensor) -> float:
    """A power of two: 1, or what brings the largest element of a matrix of small ones to between 1 and 2, as the
    smallest numbers of fp16 are few."""
    most = largest(weight)
    return 1.0 if not 0 < most < SMALL else 2.0 ** -floor(log2(most))


def in_blocks(weight_IO: Tensor) -> Tensor:
    """The matrix as oneDNN wants it for small numbers of rows; a copy."""
    blocks: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_IO.t().contiguous(), 8)
    return blocks


def _tried() -> tuple[Tensor, Tensor]:
    """Small factors, of the dtype and on the device that these products are for, whatever the defaults are."""
    given = torch.arange(12, dtype=torch.float32, device="cpu")
    return given[:6].view(2, 3), given.view(3, 4)


@cache
def halves_work() -> bool:
    """Whether this torch and this CPU have FBGEMM's products. Torch means to take one of them away, so they are
    tried."""
    x, w = _tried()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it will be taken away
        try:
            halves = Halves(w)
            return torch.equal(halves.by_one(x), x @ w) and torch.equal(halves.by_all(x), x @ w)
        except (AttributeError, RuntimeError, TypeError):  # another torch, or a build without it
            return False


@cache
def blocks_work() -> bool:
    """Whether this torch and this CPU have oneDNN's products. Their names are torch's own, so they are tried."""
    here = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not here or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    x, w = _tried()
    try:
        blocks = in_blocks(w)
        plain = torch.ops.mkldnn._linear_pointwise(x, blocks, None, "none", [], "")
        added = torch.ops.mkldnn._linear_pointwise.binary(x, plain, blocks, None, "add")
    except (AttributeError, RuntimeError, TypeError):  # another torch, or a build without it
        return False
    return torch.equal(plain, x @ w) and torch.equal(added, 2 * (x @ w))
