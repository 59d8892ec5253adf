"""Prepared attention masks for a growing tree, kept for each tree size (HeteroSpec's dynamic computational adaptation,
4.27).

On CUDA a kept mask could hold a captured graph of the same (levels, nodes); on a CPU it saves allocations and views.
Dimension key: R frontier rows, k width, S slots of committed pairs.
"""

import torch
from torch import Tensor


class TreeMask:
    """Columns for S committed pairs, all visible, then k a level: at first each node of a level sees itself only."""

    def __init__(self, levels: int, width: int, slots: int, like: Tensor) -> None:
        self.width, self.slots = width, slots
        blank = like.new_full((width, levels * width), -torch.inf)
        blank.view(width, levels, width).diagonal(dim1=0, dim2=2).fill_(0)
        self._blank = blank
        self._mask = torch.cat((like.new_zeros(width, slots), blank), -1)
        self._tree = self._mask[:, slots:]
        self._before = [self._tree[:, : level * width] for level in range(levels)]  # what each level inherits

    def wipe(self) -> None:
        """Ready for a new tree."""
        self._tree.copy_(self._blank)

    def select(self, rows: Tensor) -> None:
        """Only these rows of the last level go on."""
        self._tree[: rows.shape[0]] = self._tree[rows]

    def take(self, other: "TreeMask") -> None:
        """Go on from a smaller mask."""
        self._tree[:, : other._tree.shape[1]] = other._tree

    def level(self, rows: Tensor, level: int, stable: int) -> Tensor:
        """The mask [R, stable + level * k + R] of a new level whose nodes hang under `rows` of the level before."""
        R, done = rows.shape[0], level * self.width
        if level:
            before = self._before[level]
            (before if self.width == R else before[:R]).copy_(before.index_select(0, rows))
        return self._mask[:R, self.slots - stable : self.slots + done + R]


class TreeMasks:
    """A mask for each (levels, nodes), made when first wanted; `made` and `reused` count."""

    def __init__(self) -> None:
        self.made = self.reused = 0
        self._kept: dict[tuple[int, ...], TreeMask] = {}

    def get(self, levels: int, nodes: int, width: int, slots: int, like: Tensor, keep: bool = True) -> TreeMask:
        """A wiped mask of that size; a fresh one if nothing is to be kept."""
        key = (levels, nodes, width, slots)
        if keep and key in self._kept:
            self.reused += 1
            self._kept[key].wipe()
            return self._kept[key]
        self.made += 1
        tree_mask = TreeMask(levels, width, slots, like)
        if keep:
            self._kept[key] = tree_mask
        return tree_mask
