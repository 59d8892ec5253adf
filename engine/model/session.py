"""Session: one model, one sequence. The cache is a memo, not a state: forward() is a function of its arguments.

No caller says crop, roll back or commit. The session keeps the slots of the longest prefix it already has, the
accepted path of the last draft included, and computes only what is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.draft import EMPTY, Draft
from engine.errors import ConfigError, EngineFault
from engine.model.decoder import Decoder, New, Rows
from engine.model.inferring import inferring
from engine.model.tokens import common_prefix
from engine.sampling import sent

PIECE = 1024  # rows of a long prompt that are run together: masks and layers then take memory linear in its length


def nan(whose: str = "model") -> str:
    """That `whose` logits are no numbers, and what may help."""
    return (
        f"The {whose} returned NaN logits; this run ends here. In a half type its numbers may be too large: try "
        "dtype='float32'. Where they are in that already, its weights are at fault."
    )


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
        self.proposes = False  # whether nothing but draft tokens hangs on its numbers (see New)
        self.fed = 0  # rows computed so far, for tests and the bench
        self._ahead = 0  # tokens read behind these, whose ids only the device knows
        self._skimmed: list[int] = []  # tokens behind the committed slots, read by some of the layers only
        self._left_out: frozenset[int] = frozenset()

    @inferring
    def forward(self, tokens: Sequence[int], draft: Draft = EMPTY, *, checked: bool = False) -> Forward:
        """Logits after the last of `tokens` and after every draft node.

        `checked`: whoever asks looks for NaN when it reads of these logits what it needs, so that the host need not
        wait here.

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
        if (why := self.decoder.why_chains) and not draft.is_chain:
            raise ConfigError(f"this model can check chains only: {why}.")
        start = self._cache.back(self._reuse(tokens))
        self._forget(tokens[:start])  # stays true if the pass fails
        pieces, at = list[Rows](), start
        while n - at > PIECE:
            ids = sent(tokens[at : at + PIECE], self.device)
            pieces.append(self.decoder.run(self._cache, New(ids, None, at, None), self.taps, 1))
            at += PIECE
            self._tokens = tokens[:at]
        ids = sent([*tokens[at:], *draft.tokens], self.device)
        pos, block = self._layout(at, n, draft)
        rows = self.decoder.run(self._cache, New(ids, pos, at, block, proposes=self.proposes), self.taps, size + 1)
        if not checked or rows.logits.device.type == "cpu":
            check_finite(rows.logits, "draft model" if self.proposes else "model")
        self._tokens, self._draft = tokens, draft
        self.fed += n - start + size
        last, taps = rows.last, rows.taps
        if pieces:
            last = torch.cat([*(piece.last for piece in pieces), last])
            tapped = [piece.taps for piece in pieces if piece.taps is not None]
            taps = None if taps is None else torch.cat([*tapped, taps])
        looks = None if rows.looks is None else rows.looks[-size - 1 :]
        return Forward(rows.logits[:, : self.vocab], last, taps, n - start, looks)

    @property
    def onward(self) -> "Session | None":
        """Itself, where it can read `ahead`."""
        return self

    @inferring
    def ahead(self, id_1: Tensor) -> Tensor:
        """Logits [1, V] after one more token, whose id [1] is still on the device only: the host does not wait, and
        nobody has looked for NaN. It is read as the last pass was, with all layers or some. `told` ends it.

        Raises:
            ConfigError: no position is left.
        """
        at = len(self._tokens) + len(self._skimmed) + self._ahead
        if at >= self.slots:
            raise ConfigError(f"{at + 1} tokens do not fit the {self.slots} positions of this run.")
        self._draft = EMPTY
        skip = self._left_out if self._skimmed else frozenset[int]()
        rows = self.decoder.run(self._cache, New(id_1, None, at, None, skip, self.proposes), (), 1)
        self._ahead += 1
        self.fed += 0 if skip else 1
        return rows.logits[:, : self.vocab]

    def step(self, token: int) -> Tensor:
        """`ahead` of a token that the host knows, which a small draft model on a CPU reads without torch's calls."""
        at = len(self._tokens) + self._ahead
        if self._steps is None or self._skimmed or at >= self.slots:
            return self.ahead(sent([token], self.device))
        self._draft = EMPTY
        row = self._steps(token, at)
        self._ahead += 1
        self.fed += 1
        return row[:, : self.vocab]

    @cached_property
    def _steps(self) -> Callable[[int, int], Tensor] | None:
        """What reads one token in a slot, where the decoder has a short way to that for rows that only propose."""
        stepping = getattr(self.decoder, "stepping", None)
        return stepping(self._cache) if stepping and self.proposes else None

    def told(self, ids: Sequence[int]) -> None:
        """The ids of the tokens that were read ahead."""
        known = list(ids[: self._ahead])
        if self._skimmed:
            self._skimmed += known
        else:
            self._tokens = self._tokens + known
        self._ahead = 0

    def _forget(self, tokens: list[int]) -> None:
        self._tokens, self._draft, self._skimmed, self._ahead = tokens, EMPTY, [], 0

    def unread(self) -> Forward:
        """What a round has in which the model was not called: no row."""
        none = torch.empty(0, self.vocab, dtype=torch.float32, device=self.device)
        return Forward(none, none, None, 0)

    @inferring
    def skim(self, tokens: Sequence[int], skip: frozenset[int], *, checked: bool = False) -> Tensor:
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
        self._forget(tokens[:start])
        self._left_out = skip
        ids = sent(tokens[at:], self.device)
        rows = self.decoder.run(self._cache, New(ids, None, at, None, skip), (), 1)
        if not checked or rows.logits.device.type == "cpu":
            check_finite(rows.logits)
        self._skimmed = tokens[start:]
        return rows.logits[:, : self.vocab]

    def _layout(self, start: int, n: int, draft: Draft) -> tuple[Tensor | None, Tensor | None]:
        """Positions of the new rows, and who sees whom among them; both None when plainly one after the other."""
        tail, size = n - start, len(draft)
        if draft.is_chain:
            return None, None
        pos = sent([*range(start, n), *(n - 1 + depth for depth in draft.depths)], self.device)
        block = torch.from_numpy(np.tri(tail + size, dtype=bool))
        block[tail:, tail:] = draft.ancestors()
        return pos, sent(block, self.device)

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

    @inferring
    def settled(self, tokens: Sequence[int]) -> tuple[Any, int]:
        """The cache, and how many of `tokens` have their keys and values in its first slots, at most all but the last;
        what was drafted is forgotten."""
        tokens = list(tokens)
        n = self._reuse(tokens)
        self._forget(tokens[:n])
        return self._cache, n

    def left(self, tokens: Sequence[int]) -> int:
        """How many tokens can follow these."""
        return self.capacity - len(tokens)

    @property
    def cached(self) -> list[int]:
        """Tokens whose keys and values are in committed slots; for tests."""
        return list(self._tokens)


def check_finite(logits: Tensor, whose: str = "model") -> None:
    """Raise when a run has gone numerically wrong, and tell `whose` numbers.

    Raises:
        EngineFault: a logit is NaN.
    """
    if logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64) and logits.numel():
        rows = logits.numpy()
        faulty = isnan(rows.item(rows.argmax()))  # numpy takes the first NaN for the largest, if there is one
    else:
        faulty = bool(torch.isnan(logits.sum()) and torch.isnan(logits).any())  # sums are NaN of infinities too
    if faulty:
        raise EngineFault(nan(whose))
