"""Multi-token prediction: the layer that a model was trained with to write further ahead drafts for it. DeepSeek-V3
(2412.19437); docs/methods/mtp.md.

Alignment as for EAGLE: with committed tokens t_1 .. t_n the head has read (t_2, f_1) .. (t_n, f_{n-1}) at positions 0
.. n-2, and its last state predicts what follows t_n. Further draft tokens read the head's own states; the target's
replace them once they are committed. Dimension key: D width.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.heads.follow import Follower
from engine.heads.graphs import levels_of
from engine.heads.mtp import Head
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_chain
from engine.sampling import sent


class Mtp:
    """A chain from one head that is asked again for each further token."""

    NAME: ClassVar[str] = "mtp"
    TITLE: ClassVar[str] = "Multi-token prediction"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("mtp",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    DECODER_ONLY: ClassVar[str] = "the further layer comes with a decoder-only target."
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.head: Head = kit.assets["mtp"]
        self.taps = (kit.target.layers,) if self.head.unnormed else ()
        self.vocab, self.device, self.capacity = kit.vocab, kit.target.device, kit.capacity
        self.stops = frozenset(kit.target.tokenizer.stop_ids)
        self.levels = levels_of(kit.target.decoder, self.head)
        make, size = self.head.memory, kit.capacity
        self.memory: Any = make(size) if self.levels is None else self.levels.memory(self, make, size)
        self.follower = Follower()
        self._read = 0  # committed pairs in the memory
        self._state: Tensor | None = None  # after the last of them [1, D]
        self._root = self._level = 0  # tokens before the chain being written; tokens of it that the head has read
        self._reached = torch.empty(0, dtype=torch.float32, device=self.device)  # state after the last of those [1, D]

    def begin(self, tokens: Sequence[int]) -> None:
        self._read, self._state = 0, None
        if self.levels is None:
            self.memory = self.head.memory(self.capacity)
        self.follower.begin(len(tokens))

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """A chain; empty while there is no state yet (a prompt of one token)."""
        last = context.last
        states = None if last is None else (last.taps if self.taps else last.last)
        fresh = self.follower.fresh(last, context.path, len(context.tokens), states)
        if fresh is not None:
            self.head.look(self.memory, context.target, context.tokens)
            first = self._read + 1
            ids = sent(context.tokens[first : first + fresh.shape[0]], self.device)
            self._state = self.head.run(self.memory, ids, fresh, self._read, last=True)
            self._read += fresh.shape[0]
        if self._state is None:
            return EMPTY
        self._reached, self._root, self._level = self._state, len(context.tokens), 0
        return write_chain(context, shape, context.space, self.stops, self._after, self._source, self)

    def _after(self, tokens: list[int]) -> Tensor:
        if len(tokens) > self._root:
            return self.step(tokens[-1])
        return self.head.logits(self._reached)[:, : self.vocab]

    def ahead(self, id_1: Tensor) -> Tensor:
        """Logits [1, V] after one more token of the chain."""
        head, vocab, at = self.head, self.vocab, self._read + self._level

        def work(memory: Any, ids: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            out = head.run(memory, ids, state, at)
            return out, head.logits(out)[:, :vocab]

        if self.levels is None:
            self._reached, logits = work(self.memory, id_1, self._reached)
        else:
            self._reached, logits = self.levels.step(self.memory, work, id_1, self._reached, at, at, None)
        self._level += 1
        return logits

    def step(self, token: int) -> Tensor:
        """The same of a token whose id the host knows."""
        return self.ahead(sent([token], self.device))

    def told(self, ids: list[int]) -> None:
        """Nothing: the next round reads the target's own states."""

    def _source(self) -> dict[str, Any]:
        return {"kind": "head", "level": self._level + 1}

    def observe(self, outcome: Outcome) -> None:
        """Nothing: states are read off the next context."""
