"""HeteroSpec's cumulative meta-path entropy of a grown tree (section 4.1, eq. 1)."""

import torch
from torch import Tensor

from engine.sampling import read, wide
from engine.trees.growth import Growth


def meta_path(grown: Growth, k: int, cumulative: bool = False) -> tuple[float, list[int]]:
    """Phi of HeteroSpec, eq. 1, in nats, and the meta-path's tokens: the summed entropy of the renormalised first k
    probabilities along that path.

    The meta-path ends at the frontier node whose last token has the highest conditional probability (register H7), or
    the highest cumulative one.
    """
    tops = [_top(grown, level, k) for level in range(grown.levels)]
    logp = torch.log_softmax(torch.cat(tops), -1)
    last = grown.values[-1].flatten()[grown.picks[-1]]
    entropies, tokens, picks, (surest,) = read(
        -(logp.exp() * logp).nan_to_num_(0.0).sum(-1), grown.tokens, torch.cat(grown.picks), last.argmax()
    )
    row = 0 if cumulative else surest
    total, path = 0.0, list[int]()
    first, before, chosen = len(entropies), len(tokens), len(picks)  # where the level below begins in each list
    for level in reversed(range(grown.levels)):
        values = grown.values[level]
        first, before, chosen = first - len(tops[level]), before - values.numel(), chosen - len(grown.picks[level])
        place = picks[chosen + row]
        path.append(tokens[before + place])
        row = place // values.shape[1]
        total += entropies[first + row]
        row = int(grown.kept_rows[level][row]) if level in grown.kept_rows else row
    return total, path[::-1]


def _top(grown: Growth, level: int, k: int) -> Tensor:
    values = grown.values[level]
    if k <= values.shape[1]:
        return values[:, :k]
    x = wide(grown.logits[level])
    return x.topk(min(k, x.shape[1]), -1).values
