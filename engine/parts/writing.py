"""A chain that a model writes token by token: what the drafters do that have a next-token distribution.

Dimension key: N drafted, V vocabulary.
"""

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft, chain
from engine.parts.protocols import ChainShape, Context, Ending
from engine.sampling import distribution, first_argmax, pick


def write_chain(
    context: Context,
    shape: ChainShape,
    left: int,
    stops: Collection[int],
    after: Callable[[list[int]], Tensor],
    source: Callable[[], dict[str, Any]],
) -> Draft:
    """A chain of at most `shape.limit()` tokens, and at most the context's room and space and what is `left`; a token
    that ends the text (`stops`) ends it, and where the shape asks for it the end of a step.

    Each is the argmax when greedy, else a draw from the processed distribution. `after` gives the raw logits [1, V]
    behind a sequence, and is asked with one token more each time; `source` where the last token came from.
    """
    tokens, rows, sources = list(context.tokens), list[Tensor](), list[dict[str, Any]]()
    drawn = list[Tensor]()
    start = len(tokens)
    limit = min(shape.limit(), context.room, context.space, left)
    ends = shape.ends if isinstance(shape, Ending) else None
    while len(tokens) - start < limit:
        row = after(tokens)
        if not shape.more(len(tokens) - start, row[0]):
            break
        rows.append(row)
        if context.sampling.greedy:
            token = int(first_argmax(row))
        else:
            drawn.append(distribution(row, context.sampling)[0])
            token = pick(drawn[-1], context.streams.uniform("draft"))
        tokens.append(token)
        if context.full:
            sources.append(source())
        if token in stops or (ends and ends(tokens[start:])):  # nothing can follow, or is to
            break
    if not rows:
        return EMPTY
    logits, made = torch.cat(rows), tokens[start:]
    return shape.keep(
        chain(
            made,
            draw="point" if context.sampling.greedy else "sample",
            distributions=torch.stack(drawn) if drawn else None,
            logits=logits,
            scores=_scores(logits, made) if context.full else None,
            sources=tuple(sources) if context.full else None,
        )
    )


def _scores(logits: Tensor, tokens: list[int]) -> tuple[float, ...]:
    """Cumulative log-probability of a chain, nats."""
    logp = torch.log_softmax(logits.float(), -1)
    return tuple(logp[torch.arange(len(tokens)), tokens].cumsum(0).tolist())
