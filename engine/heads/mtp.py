"""Multi-token prediction (MTP) heads: one more decoder layer that a model was trained with. It writes the state after
the next token from the final-normed state before it and that token's embedding.

DeepSeek-V3 (2412.19437, section 2.2); published alike for GLM-4-MoE, Qwen3-Next and MiMo (`mtp_load` knows the names).
Embeddings and output head are the target's. What the head writes is normed as the target's own states are, so it is
asked again for the token after that one. Dimension key: T rows, D width, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Block, Spec, shapes
from engine.heads.lean import LeanBlock, Memory, Norm, Slots, Spoken
from engine.model.decoder import Decoder
from engine.model.few import FEW, normed, quiet
from engine.model.few import Block as FewBlock
from engine.model.products import Array, Product
from engine.model.session import Session
from engine.model.weights import transposed


class Head(Protocol):
    """What the drafter asks of a head."""

    @property
    def uncaptured(self) -> str:
        """Why its levels cannot be captured, as the end of a sentence; empty when they can."""

    @property
    def unnormed(self) -> bool:
        """Whether it reads the target's states as they are before its last norm."""

    def memory(self, capacity: int) -> Any:
        """An empty cache for one run."""

    def look(self, memory: Any, target: Session, tokens: Sequence[int]) -> None:
        """Read of the target's own cache what the head needs, before a chain behind `tokens`."""

    def run(self, memory: Any, ids_T: Tensor, state_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        """States [T, D] after the tokens `ids_T`, given the states before them, or with `last` the last of these [1,
        D]; their keys go to slots from `at` on, and what was there is forgotten."""

    def logits(self, state_TD: Tensor) -> Tensor:
        """Raw logits [T, V]."""


class Layer(Protocol):
    """The decoder layer of a head."""

    def memory(self, capacity: int) -> Any:
        """An empty cache for one run."""

    def run(self, memory: Any, x_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        """The layer's output rows [T, D], or with `last` the last of them [1, D]; row i is at position `at` + i and
        sees all before it."""


class LlamaLayer:
    """A Llama-like layer over named weights; the same functions train it."""

    def __init__(self, weights: Mapping[str, Tensor], spec: Spec, at: str = "block") -> None:
        self.weights, self.spec, self.at = weights, spec, at
        self.norm = weights[f"{at}.input_layernorm.weight"]

    @cached_property
    def block(self) -> Block:
        """The block as training runs it."""
        return Block(self.weights, self.at, self.spec)

    @cached_property
    def _lean(self) -> tuple[LeanBlock, Norm, Product]:
        """The block as drafting runs it, the norm before the attention, and the projection that holds its weights."""
        block, norm = LeanBlock(self.weights, self.at, self.spec), Norm(self.norm, self.spec.eps)
        return block, norm, norm.product(block.qkv)

    @staticmethod
    def wanted(spec: Spec, at: str = "block", *, biased: bool = False) -> dict[str, tuple[int, ...]]:
        """Names and shapes of its weights."""
        return {f"{at}.input_layernorm.weight": (spec.width,), **shapes(spec, at, spec.width, biased=biased)}

    def memory(self, capacity: int) -> Memory:
        return Memory(self.spec, capacity, self.norm)

    def normed(self, x_TD: Tensor) -> Tensor:
        """What the attention reads [T, D]."""
        return F.rms_norm(x_TD, (self.spec.width,), self.norm, self.spec.eps)

    def few(self, *before: Product) -> FewBlock | None:
        """See `LeanBlock.few`."""
        block, _, qkv = self._lean
        return block.few(*before, qkv) if block.bias is None else None

    def step(self, block: FewBlock, memory: Memory, x_TD: Array, at: int, *, last: bool = False) -> Array:
        """`run` for few rows."""
        _, norm, qkv = self._lean
        kv, turns = memory.arrays
        return block(x_TD, qkv.few(normed(x_TD, norm.few_eps)), kv, at, turns[at : at + x_TD.shape[0]], last=last)

    def run(self, memory: Slots, x_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        (block, norm, qkv), end = self._lean, at + x_TD.shape[0]
        memory.reserve(end)
        attended = memory.attend(qkv(norm(x_TD), block.bias), slice(at, end), at, last=last)
        return block.close(x_TD[-1:] if last else x_TD, attended)


JOINTS = ("enorm.weight", "hnorm.weight", "eh_proj.weight", "norm.weight")  # around the layer, as DeepSeek names them


def joints(width: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what is around the layer: norms of embedding and state, their mixture, the last norm."""
    return dict(zip(JOINTS, ((width,), (width,), (width, 2 * width), (width,)), strict=True))


class MtpHead:
    """A head's weights and its pure functions."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        layer: Layer,
        target: Decoder,
        eps: float,
        *,
        state_first: bool = False,
        unnormed: bool = False,
        card: dict[str, Any] | None = None,
        vocab: int = 0,
    ) -> None:
        """`state_first`: the mixture reads the state before the embedding, `unnormed`: the target's states are those
        before its last norm (MiMo does both); `vocab` counts the target's ids."""
        self.weights, self.layer, self.target, self.eps = weights, layer, target, eps
        self.state_first, self.unnormed, self.card, self.vocab = state_first, unnormed, card or {}, vocab

    @cached_property
    def _lean(self) -> tuple[Spoken, Norm, Product, Norm]:
        """The mixture as drafting runs it: what tokens bring, the norm of states, and what multiplies these; then the
        last norm."""
        parts = transposed(self.weights["eh_proj.weight"]).chunk(2)
        token, state = parts[::-1] if self.state_first else parts
        norms = [Norm(self.weights[name], self.eps) for name in ("enorm.weight", "hnorm.weight")]
        spoken = Spoken(self.target.embed, norms[0], norms[0].into(token), None, self.vocab)
        return spoken, norms[1], norms[1].product(state), Norm(self.weights["norm.weight"], self.eps)

    @property
    def uncaptured(self) -> str:
        """See `Spec.uncaptured`."""
        return self.layer.spec.uncaptured if isinstance(self.layer, LlamaLayer) else "its layer is of a kind of its own"

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], self.weights[name], self.eps)

    def memory(self, capacity: int) -> Any:
        """An empty cache for one run."""
        return self.layer.memory(capacity)

    def look(self, memory: Any, target: Session, tokens: Sequence[int]) -> None:
        """Nothing: it keeps its own keys."""

    def mix(self, embedded_TD: Tensor, state_TD: Tensor) -> Tensor:
        """The layer's input [T, D]."""
        sides = [self._norm(embedded_TD, "enorm.weight"), self._norm(state_TD, "hnorm.weight")]
        return F.linear(torch.cat(sides[::-1] if self.state_first else sides, -1), self.weights["eh_proj.weight"])

    def close(self, x_TD: Tensor) -> Tensor:
        """States [T, D] from the layer's output, normed as the target's final ones."""
        return self._norm(x_TD, "norm.weight")

    def run(self, memory: Any, ids_T: Tensor, state_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        """States [T, D] after the tokens `ids_T`, given the states before them; their keys go to slots from `at` on.
        With `last` the last of them [1, D]: of the others keys and values are made, and nothing else."""
        spoken, norm, mixture, closing = self._lean
        if ids_T.shape[0] <= FEW and self.few and isinstance(memory, Memory) and isinstance(self.layer, LlamaLayer):
            return self._few(self.layer, self.few, memory, ids_T, state_TD, at, last=last)
        return closing.whole(self.layer.run(memory, mixture.onto(spoken(ids_T), norm(state_TD)), at, last=last))

    @cached_property
    def few(self) -> FewBlock | None:
        """The layer for few rows, where it is small and plain."""
        if not isinstance(self.layer, LlamaLayer) or not self._lean[0].small:
            return None
        return self.layer.few(self._lean[2])

    def _few(
        self,
        layer: LlamaLayer,
        block: FewBlock,
        memory: Memory,
        ids_T: Tensor,
        state_TD: Tensor,
        at: int,
        *,
        last: bool,
    ) -> Tensor:
        """`run` for few rows."""
        spoken, norm, mixture, closing = self._lean
        memory.reserve(at + ids_T.shape[0])
        with quiet():
            x = spoken.few(ids_T)
            x += mixture.few(normed(state_TD.numpy(), norm.few_eps))
            rows = normed(layer.step(block, memory, x, at, last=last), closing.few_eps)
            rows *= closing.few_factors
            return torch.from_numpy(rows)

    def logits(self, state_TD: Tensor) -> Tensor:
        """Raw logits [T, V], from the target's own head."""
        return self.target.head(state_TD)
