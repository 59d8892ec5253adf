"""A Gumbel field: noise that depends on seed and prefix alone, so that sampling is deterministic and can be shared.

AutoJudge appendix A: y = argmax_i log P(i | prefix) + G(seed, prefix)_i. Target and draft see the same noise at the
same prefix, in GENERATE and in the argmax of FORWARD (register A14). Dimension key: M rows, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from engine.config import Sampling
from engine.sampling import distribution, exactly, first_argmax

GREEDY = Sampling()


@dataclass(frozen=True)
class GumbelField:
    """Standard Gumbel vectors from a counter-based generator (Philox) keyed by the seed and the ids of a prefix."""

    seed: int

    def at(self, prefix: Sequence[int], n: int) -> Tensor:
        """The n numbers at a prefix [n], float64. Any change to the prefix gives other noise."""
        digest = blake2b(np.asarray(prefix, dtype=np.int64).tobytes(), digest_size=16, key=str(self.seed).encode()[:64])
        generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest(), "little")))
        return torch.from_numpy(-np.log(np.maximum(generator.standard_exponential(n), np.finfo(np.float64).tiny)))


@dataclass(frozen=True)
class Chooser:
    """The next token at given prefixes: the argmax when greedy, else the field's draw from the distribution."""

    sampling: Sampling = GREEDY
    seed: int = 0

    def pick(self, logits_MV: Tensor, prefixes: Sequence[Sequence[int]]) -> list[int]:
        """One token a row; `prefixes[i]` holds all ids before it, prompt included."""
        if self.sampling.greedy:
            return first_argmax(logits_MV).tolist()  # type: ignore[no-any-return]
        field, logp = GumbelField(self.seed), exactly(distribution(logits_MV, self.sampling)).log().cpu()
        noise = torch.stack([field.at(prefix, logp.shape[1]) for prefix in prefixes])
        return first_argmax(logp + noise).tolist()  # type: ignore[no-any-return]
