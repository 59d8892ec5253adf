"""A toy network behind the Decoder face whose distributions are a table, so that the distribution of a whole run can be summed exactly.

The logits after a token depend on that token, on the one before it, and on whether its position is odd: so a wrong
cache slot, a wrong tree mask and a position that is off by one each change the distribution.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer as Core
from tokenizers import decoders, models, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from engine.config import Sampling
from engine.lab import Lab
from engine.model import Model, Tokenizer
from engine.model.decoder import New, Rows
from engine.sampling import distribution


class ToyCache:
    """Token ids in slots."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def gather(self, start: int, slots: Sequence[int]) -> None:
        self.ids[start : start + len(slots)] = [self.ids[i] for i in slots]

    def crop(self, n: int) -> None:
        del self.ids[n:]

    def back(self, n: int) -> int:
        return n


class ToyDecoder:
    """`table` [2, V + 1, V, V]: by parity of the position, by the token before (V at the start), by the token itself."""

    why_chains = ""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self.V = table.shape[-1]

    def cache(self, capacity: int) -> ToyCache:
        return ToyCache()

    def run(self, cache: ToyCache, new: New, taps: Sequence[int], want: int) -> Rows:
        cache.crop(new.start)
        ids, T = new.ids.tolist(), len(new.ids)
        pos = list(range(new.start, new.start + T)) if new.pos is None else new.pos.tolist()
        sees = [[j <= t for j in range(T)] for t in range(T)] if new.block is None else new.block.tolist()
        rows = []
        for t in range(T):
            before = [j for j in range(T) if j != t and sees[t][j] and pos[j] == pos[t] - 1]
            last = self.V if pos[t] == 0 else (ids[before[0]] if before else cache.ids[pos[t] - 1])
            rows.append(self.table[pos[t] % 2, last, ids[t]])
        cache.ids += ids
        logits = torch.stack(rows)
        return Rows(logits[T - want :], logits, torch.cat([logits for _ in taps], -1) if taps else None)

    def head(self, last_TD: Tensor) -> Tensor:
        return last_TD

    def embed(self, ids_T: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(ids_T, self.V).double()

    def distribution_after(self, sequence: Sequence[int], sampling: Sampling) -> Tensor:
        """The processed distribution [V] of the token that follows a sequence."""
        before = sequence[-2] if len(sequence) > 1 else self.V
        return distribution(self.table[(len(sequence) - 1) % 2, before, sequence[-1]][None], sampling)[0]


@cache
def letters(n: int) -> PreTrainedTokenizerFast:
    """A tokenizer of the first n letters; none of them is special."""
    core = Core(models.WordLevel({chr(97 + i): i for i in range(n)}, unk_token="a"))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=core)


def toy_table(V: int, seed: int, spread: float = 1.5, near: Tensor | None = None) -> Tensor:
    """Random logits [2, V + 1, V, V] in float64; `near` mixes in another table, so that the two agree often."""
    noise = torch.randn(2, V + 1, V, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return spread * noise if near is None else 0.7 * near + 0.6 * spread * noise


def toy_model(table: Tensor, name: str = "toy", stop: Sequence[int] = ()) -> Model:
    """The table as a Model."""
    V = table.shape[-1]
    return Model(
        name=name,
        decoder=ToyDecoder(table),
        tokenizer=Tokenizer(letters(V), stop),
        layers=8,
        width=V,
        vocab=V,
        context=4096,
        parameters=table.numel(),
        bytes=8 * table.numel(),
        dtype="float64",
        device=torch.device("cpu"),
        revision="table",
        lean=False,
    )


def toy_lab(V: int = 5, seed: int = 0, stop: Sequence[int] = (), draft: Any = "near") -> Lab:
    """A toy pair. `draft`: "near" (accepted about as often as not), "far" (unrelated), "copy", or None."""
    target = toy_table(V, seed)
    drafts = {"near": toy_table(V, seed + 1, near=target), "far": toy_table(V, seed + 1), "copy": target}
    models = {} if draft is None else {"draft": toy_model(drafts[draft], "toy-draft", stop)}
    return Lab(toy_model(target, stop=stop), models)


def joint_distribution(
    model: Model, prompt: Sequence[int], steps: int, sampling: Sampling
) -> dict[tuple[int, ...], float]:
    """Exact probability of every continuation of `steps` tokens under autoregressive decoding."""
    decoder = model.decoder
    assert isinstance(decoder, ToyDecoder)
    distributions: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(steps):
        grown: dict[Any, Any] = {}
        for tail, mass in distributions.items():
            p = decoder.distribution_after([*prompt, *tail], sampling).tolist()
            grown |= {(*tail, v): mass * p[v] for v in range(len(p)) if p[v] > 0}
        distributions = grown
    return distributions
