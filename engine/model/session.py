"""Session: one model, one sequence. The cache is a memo, not a state: forward() is a function of its arguments.

No caller says crop, roll back or commit. The session keeps the slots of the longest prefix it already has, the
accepted path of the last draft included, and computes only what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft
from engine.errors import ConfigError, EngineFault
from engine.model.decoder import Decoder, New
from engine.model.tokens import common_prefix


@dataclass(frozen=True, eq=False, slots=True)
class Forward:
    """One pass over `tail` committed tokens that were not in the cache, then the draft's N nodes.

    `logits` [N + 1, V]: row 0 follows the last committed token, row i + 1 follows node i. `last` and `taps` have
    a row for each of the tail + N rows fed.
    """

    logits: Tensor
    last: Tensor  # final-normed hidden rows [tail + N, D]
    taps: Tensor | None  # tapped layer inputs [tail + N, K * D], low to high
    tail: int
    looks: Tensor | None = None  # shares of the attention to the source [N + 1, Z], of a session that watches it

    @property
    def hidden(self) -> Tensor:
        """Final-normed rows [N + 1, D] in the row convention of `logits`."""
        return self.last[self.tail - 1 :]


class Session:
    """A sequence running on a model, with a preallocated cache of `capacity` slots."""

    def __init__(
        self,
        decoder: Decoder,
        vocab: int,
        device: torch.device,
        capacity: int,
        taps: Sequence[int] = (),
        slots: int = 0,
    ) -> None:
        """`capacity` bounds positions; `slots` may be more, for trees that are wider than the text is long."""
        self.decoder, self.vocab, self.device, self.capacity = decoder, vocab, device, capacity
        self.taps = tuple(taps)
        self.slots = max(slots, capacity)
        self._cache: Any = decoder.cache(self.slots)
        self._tokens: list[int] = []  # committed tokens in slots 0..
        self._draft: Draft = EMPTY  # nodes in the slots after them
        self.fed = 0  # rows computed so far, for tests and the bench
        self._skimmed: list[int] = []  # tokens behind the committed slots, read by some of the layers only
        self._left_out: frozenset[int] = frozenset()

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], draft: Draft = EMPTY) -> Forward:
        """Logits after the last of `tokens` and after every draft node.

        Raises:
            ConfigError: no tokens, more than the capacity holds, or a tree where only chains can be run.
            EngineFault: a logit is NaN.
        """
        tokens = list(tokens)
        n, size = len(tokens), len(draft)
        if not tokens:
            raise ConfigError("a forward pass needs at least one token")
        if n + size > self.slots:
            raise ConfigError(f"{n} tokens and a draft of {size} do not fit the {self.slots} positions of this run.")
        if self.decoder.only_chains and not draft.is_chain:
            raise ConfigError("this model can check chains only: some of its layers keep one running state.")
        start = self._cache.back(self._reuse(tokens))
        self._tokens, self._draft, self._skimmed = tokens[:start], EMPTY, []  # stays true if the pass fails
        ids = torch.tensor([*tokens[start:], *draft.tokens], device=self.device)
        pos, block = self._layout(start, n, draft)
        rows = self.decoder.run(self._cache, New(ids, pos, start, block), self.taps, size + 1)
        check_finite(rows.logits)
        self._tokens, self._draft = tokens, draft
        self.fed += len(ids)
        return Forward(
            rows.logits[:, : self.vocab],
            rows.last,
            rows.taps,
            n - start,
            None if rows.looks is None else rows.looks[-size - 1 :],
        )

    def unread(self) -> Forward:
        """What a round has in which the model was not called: no row."""
        none = torch.empty(0, self.vocab, device=self.device)
        return Forward(none, none, None, 0)

    @torch.inference_mode()
    def skim(self, tokens: Sequence[int], skip: frozenset[int]) -> Tensor:
        """Logits [1, V] after the last of `tokens` from a pass that leaves the layers `skip` out (self-drafting).

        What whole passes have read stays; the rows of this one lie behind it, serve the next of the same layers, and
        are written over by the next whole pass.

        Raises:
            ConfigError, EngineFault: as `forward`.
        """
        tokens = list(tokens)
        if not tokens or len(tokens) > self.slots:
            raise ConfigError(f"{len(tokens)} tokens do not fit the {self.slots} positions of this run.")
        start = self._reuse(tokens)
        rest = tokens[start:]
        same = tokens[:start] == self._tokens and skip == self._left_out
        known = common_prefix(rest, self._skimmed, min(len(rest) - 1, len(self._skimmed))) if same else 0
        at = self._cache.back(start + known)
        start = min(start, at)
        self._tokens, self._draft, self._skimmed, self._left_out = tokens[:start], EMPTY, [], skip
        ids = torch.tensor(tokens[at:], device=self.device)
        rows = self.decoder.run(self._cache, New(ids, None, at, None, skip), (), 1)
        check_finite(rows.logits)
        self._skimmed = tokens[start:]
        return rows.logits[:, : self.vocab]

    def _layout(self, start: int, n: int, draft: Draft) -> tuple[Tensor | None, Tensor | None]:
        """Positions of the new rows, and who sees whom among them; both None when plainly one after the other."""
        tail, size = n - start, len(draft)
        if draft.is_chain:
            return None, None
        depths = torch.tensor(draft.depths, device=self.device)
        pos = torch.cat((torch.arange(start, n, device=self.device), n - 1 + depths))
        block = torch.ones(tail + size, tail + size, dtype=torch.bool).tril()
        block[tail:, tail:] = draft.ancestors()
        return pos, block.to(self.device)

    def _reuse(self, tokens: list[int]) -> int:
        """How many leading tokens are in the cache once the path they take through the last draft is moved in place."""
        limit, m = len(tokens) - 1, len(self._tokens)  # the last token is always fed: its logits are wanted
        if m > limit or tokens[:m] != self._tokens:
            return common_prefix(tokens, self._tokens, min(limit, m))
        slots: list[int] = []
        at = -1
        while m + len(slots) < limit:
            at = next((k for k in self._draft.kids[at + 1] if self._draft.tokens[k] == tokens[m + len(slots)]), -2)
            if at == -2:
                break
            slots.append(m + at)
        self._cache.gather(m, slots)
        return m + len(slots)

    def left(self, tokens: Sequence[int]) -> int:
        """How many tokens can follow these."""
        return self.capacity - len(tokens)

    @property
    def cached(self) -> list[int]:
        """Tokens whose keys and values are in committed slots; for tests."""
        return list(self._tokens)


def check_finite(logits: Tensor) -> None:
    """Raise when a run has gone numerically wrong.

    Raises:
        EngineFault: a logit is NaN.
    """
    if torch.isnan(logits).any():
        raise EngineFault("The model returned NaN logits; this run ends here. Try dtype='float32'.")
