"""Products of rows with a matrix that stays, as fast as this CPU has them.

For a few rows torch's own product brings the matrix into blocks anew each time, which costs more than the product. On
an x86 CPU oneDNN, which comes with torch, keeps the blocks: 4 to 60 rows of fp32 take about half of the time. One row
needs no blocks, a few rows of a small matrix are less than what a call of oneDNN costs, and matrices beyond `BYTES` are
not kept twice.
"""

import platform
from functools import cache

import torch
from torch import Tensor

LEAST, BYTES = 1 << 15, 1 << 24  # elements from which on, and bytes up to which, a matrix is kept in blocks too
WORK = 600_000  # rows times elements from which on blocks are faster: 10 rows of 256 x 256, 3 of 256 x 1024


class Product:
    """X W of a matrix W [I, O]; `blocks` is W once more, for `rows` rows and more, None where W alone serves."""

    def __init__(self, weight_IO: Tensor) -> None:
        self.weight = weight_IO
        twice = second(weight_IO.numel(), weight_IO.dtype, weight_IO.device)
        self.blocks = in_blocks(weight_IO) if twice else None
        self.rows = max(2, -(-WORK // max(1, weight_IO.numel())))

    def __call__(self, x_TI: Tensor, bias_O: Tensor | None = None) -> Tensor:
        """X W (+ b) [T, O]."""
        if self.blocks is None or len(x_TI) < self.rows:
            return torch.mm(x_TI, self.weight) if bias_O is None else torch.addmm(bias_O, x_TI, self.weight)
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x_TI, self.blocks, bias_O, "none", [], "")
        return out

    def onto(self, y_TO: Tensor, x_TI: Tensor) -> Tensor:
        """Y + X W [T, O]; Y stays as it is."""
        if self.blocks is None or len(x_TI) < self.rows:
            return torch.addmm(y_TO, x_TI, self.weight)
        out: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x_TI, y_TO, self.blocks, None, "add")
        return out


def second(size: int, dtype: torch.dtype, device: torch.device) -> int:
    """Bytes that a matrix of so many elements takes in blocks; 0 where it is not kept so."""
    suits = device.type == "cpu" and dtype == torch.float32
    size_B = size * dtype.itemsize
    return size_B if suits and size >= LEAST and size_B <= BYTES and blocks_work() else 0


def in_blocks(weight_IO: Tensor) -> Tensor:
    """The matrix as oneDNN wants it for small numbers of rows; a copy."""
    blocks: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_IO.t().contiguous(), 8)
    return blocks


@cache
def blocks_work() -> bool:
    """Whether this torch and this CPU have such products. Their names are torch's own, so they are tried."""
    here = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not here or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    x, w = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    try:
        blocks = in_blocks(w)
        plain = torch.ops.mkldnn._linear_pointwise(x, blocks, None, "none", [], "")
        added = torch.ops.mkldnn._linear_pointwise.binary(x, plain, blocks, None, "add")
    except (AttributeError, RuntimeError, TypeError):  # another torch, or a build without it
        return False
    return torch.equal(plain, x @ w) and torch.equal(added, 2 * (x @ w))
