"""What a Session needs of a network. Dimension key: T rows fed, S slots in the cache, D width, V vocabulary, K taps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True)
class New:
    """Rows to compute: ids [T], the slot of the first, and for trees their positions and who sees whom among them."""

    ids: Tensor
    pos: Tensor | None  # [T]; None is start, start + 1, ...
    start: int
    block: Tensor | None  # [T, T] bool, true = sees; None is plainly causal
    skip: frozenset[int] = frozenset()  # layers that are left out
    proposes: bool = (
        False  # nothing but draft tokens hangs on the numbers, so a row may round otherwise when it is alone
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """Outputs of one pass: logits of the last `want` rows [want, V], final-normed hidden rows [T, D].

    When asked for, also the tapped layer inputs [T, K * D], and where the rows looked in the source [T, Z].
    """

    logits: Tensor
    last: Tensor
    taps: Tensor | None
    looks: Tensor | None = None


def chains_told(why: str) -> list[str]:
    """What a reader is told of a model that checks chains only, for a reason; nothing of others."""
    return [f"{why[0].upper()}{why[1:]}: drafts are chains, never trees."] if why else []


class Cache(Protocol):
    """Keys and values of one sequence, in slots 0..n-1."""

    def gather(self, start: int, slots: Sequence[int]) -> None:
        """Move the given slots (ascending, all >= start) to start, start + 1, ... in place."""

    def crop(self, n: int) -> None:
        """Forget all slots from n on."""

    def back(self, n: int) -> int:
        """Make ready for a pass that starts at slot n or, where only an earlier place can be gone on from, at that."""


class Decoder(Protocol):
    """A causal network that can run new rows against a cache."""

    @property
    def why_chains(self) -> str:
        """Why it can run no branching draft, as a clause; empty where it can."""

    def cache(self, capacity: int) -> Cache:
        """An empty cache for at most `capacity` slots."""

    def run(self, cache: Any, new: "New", taps: Sequence[int], want: int) -> Rows:
        """Run new rows against the cache, and give logits of the last `want` of them."""

    def head(self, last_TD: Tensor) -> Tensor:
        """Logits [T, V] of final-normed rows."""

    def embed(self, ids_T: Tensor) -> Tensor:
        """Input embeddings [T, D]."""
