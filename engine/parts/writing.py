"""A chain that a model writes, token by token or all in one pass: what the drafters do that have distributions.

Dimension key: N drafted, V vocabulary.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft, chain
from engine.errors import EngineFault
from engine.model.session import check_finite, nan
from engine.parts.protocols import ChainShape, Context, Weighing
from engine.sampling import distribution, drawn, first_argmax, pick, read, sent
from engine.trace.records import RoundExtras


class Ahead(Protocol):
    """What can read a token whose id only the device knows, so that the host need not wait for each (`Session`)."""

    def ahead(self, id_1: Tensor) -> Tensor:
        """Raw logits [1, V] after one more token."""

    def step(self, token: int) -> Tensor:
        """The same of a token whose id the host knows."""

    def told(self, ids: list[int]) -> None:
        """The ids of the tokens so read, now that the host knows them."""


@dataclass(slots=True)
class Chain:
    """A chain in the making: its tokens, the raw logits [1, V] and distributions [V] they came from, their sources."""

    tokens: list[int]
    rows: list[Tensor]
    drawn: list[Tensor]
    sources: list[dict[str, Any]]
    gauged: tuple[float, ...] | None = None


@runtime_checkable
class Gauging(Protocol):
    """What a chain shape has besides where it weighs a whole chain by its logits: the numbers come with the tokens."""

    def gauge(self, logits_NV: Tensor) -> Tensor:
        """A number a draft token [N], which the draft then has as its `confidence`."""


@runtime_checkable
class Surveying(Protocol):
    """What a chain shape has besides where it can be asked about all places at once."""

    def among(self, logits_NV: Tensor) -> int:
        """In place of `more`: how many of the places of a draft that was made in one pass are taken."""


def write_chain(
    context: Context,
    shape: ChainShape,
    left: int,
    stops: Collection[int],
    after: Callable[[list[int]], Tensor],
    source: Callable[[], dict[str, Any]],
    onward: Ahead | None = None,
) -> Draft:
    """A chain of as many tokens as the shape allows, and at most the context's room and space and what is `left`; a
    token that ends the text (`stops`) ends it, and where the shape asks for it the end of a step.

    Each is the argmax when greedy, else a draw from the processed distribution. `after` gives the raw logits [1, V]
    behind a sequence, and is asked with one token more each time, or `onward` is where there is one; `source` where the
    last token came from, in which a number may be a tensor still. On another device than the CPU, a shape that does not
    look at logits has the chain written `onward` without a stop; the tokens are then read all at once.

    Raises:
        EngineFault: a logit is NaN.
    """
    limit = min(most_of(shape), context.room, context.space, left)
    if limit < 1:
        return EMPTY
    row = after(list(context.tokens))
    if onward is not None and not getattr(shape, "looks", True) and row.device.type != "cpu":
        made = _at_once(context, shape, limit, stops, row, source, onward)
    else:
        here = onward if row.device.type == "cpu" else None
        made = _step_by_step(context, shape, limit, stops, row, after, source, here)
    if not made.rows:
        return EMPTY
    logits = torch.cat(made.rows)
    if logits.device.type == "cpu":
        check_finite(logits, "draft model")
    return _kept(context, shape, made, logits)


def write_block(
    context: Context,
    shape: ChainShape,
    rows_NV: Tensor,
    stops: Collection[int],
    source: Callable[[], dict[str, Any]],
) -> Draft:
    """A chain from raw logits that one pass made for all its places, up to a token that ends the text.

    Each place takes its argmax when greedy, else draws from its own processed distribution. How many do is told by the
    shape, by the logits alone, before any is drawn.

    Raises:
        EngineFault: a logit is NaN.
    """
    rows = rows_NV[: min(context.room, context.space)]
    n = shape.among(rows) if isinstance(shape, Surveying) else asked(shape, rows)
    if not n:
        return EMPTY
    rows = rows[:n]
    dists = None if context.sampling.greedy else distribution(rows, context.sampling)
    if dists is None:
        tokens, _ = sound(first_argmax(rows), rows)
    else:
        us = context.streams.coming("draft", n)
        tokens, _ = sound(torch.cat([drawn(p_V, u) for p_V, u in zip(dists, us, strict=True)]), rows)
    n = next((i for i, token in enumerate(tokens, 1) if token in stops), n)
    if dists is not None:
        context.streams.uniforms("draft", n)
    sources = [source() for _ in range(n)] if context.full else []
    made = Chain(tokens[:n], [], [] if dists is None else list(dists[:n]), sources)
    return _kept(context, shape, made, rows[:n], {"passes": 1})


def asked(shape: ChainShape, rows_NV: Tensor) -> int:
    """How many of the places a shape wants that is asked for one after the other; what it looks at of rows on another
    device than the CPU comes by one transfer."""
    if not getattr(shape, "looks", True):
        return len(rows_NV)
    if rows_NV.device.type == "cpu" or not isinstance(shape, Weighing):
        return next((i for i, row in enumerate(rows_NV) if not shape.more(i, row)), len(rows_NV))
    weights: list[float] = shape.weigh(rows_NV).tolist()
    each = enumerate(zip(weights, rows_NV, strict=True))
    return next((i for i, (weight, row) in each if not shape.goes_on(i, weight, row)), len(rows_NV))


def most_of(shape: ChainShape) -> int:
    """Most tokens of a draft whose drafter is stopped by what it writes, or whose places are all made in one pass."""
    stepwise: Callable[[], int] = getattr(shape, "stepwise", shape.limit)  # asking a protocol takes as long as a token
    return stepwise()


def _kept(context: Context, shape: ChainShape, made: Chain, logits: Tensor, extras: RoundExtras | None = None) -> Draft:
    """What the shape makes of a chain, whose raw logits are [N, V]."""
    return shape.keep(
        chain(
            made.tokens,
            draw="point" if context.sampling.greedy else "sample",
            distributions=torch.stack(made.drawn) if made.drawn else None,
            logits=logits,
            scores=_scores(logits, made.tokens) if context.full else None,
            sources=_told(made.sources) if context.full else None,
            confidence=made.gauged,
            extras=extras or {},
        )
    )


def _step_by_step(
    context: Context,
    shape: ChainShape,
    limit: int,
    stops: Collection[int],
    row: Tensor,
    after: Callable[[list[int]], Tensor],
    source: Callable[[], dict[str, Any]],
    onward: Ahead | None,
) -> Chain:
    """Token by token, each looked at by the host; `onward` reads one more, which is cheaper than the whole sequence and
    leaves it to others to look for NaN.

    Raises:
        EngineFault: a logit is NaN that a token is chosen by.
    """
    made, text = Chain([], [], [], []), list(context.tokens)
    ends: Callable[[list[int]], bool] | None = getattr(shape, "ends", None)
    while (found := _next(context, shape, len(made.tokens), row)) is not None:
        token, dist = found
        made.rows.append(row)
        if dist is not None:
            made.drawn.append(dist)
        made.tokens.append(token)
        text.append(token)
        if context.full:
            made.sources.append(source())
        if len(made.tokens) == limit or token in stops or (ends and ends(made.tokens)):  # nothing can follow, or is to
            break
        row = after(text) if onward is None else onward.step(token)
    if onward is not None and made.tokens:
        onward.told(made.tokens)
    return made


def _at_once(
    context: Context,
    shape: ChainShape,
    limit: int,
    stops: Collection[int],
    row: Tensor,
    source: Callable[[], dict[str, Any]],
    onward: Ahead,
) -> Chain:
    """All `limit` tokens on the device, then one transfer; what was written behind a stop is dropped.

    Raises:
        EngineFault: a logit is NaN.
    """
    made, ids = Chain([], [row], [], []), list[Tensor]()
    us = [] if context.sampling.greedy else context.streams.coming("draft", limit)
    while True:
        if context.sampling.greedy:
            ids.append(first_argmax(row))
        else:
            made.drawn.append(distribution(row, context.sampling)[0])
            ids.append(drawn(made.drawn[-1], us[len(ids)]))
        if context.full:
            made.sources.append(source())
        if len(ids) == limit:
            break
        row = onward.ahead(ids[-1])
        made.rows.append(row)
    logits = torch.cat(made.rows)
    tokens, gauged = sound(torch.cat(ids), logits, shape.gauge(logits) if isinstance(shape, Gauging) else None)
    onward.told(tokens)
    n = next((i for i, token in enumerate(tokens, 1) if token in stops), limit)
    if us:
        context.streams.uniforms("draft", n)
    return Chain(tokens[:n], made.rows[:n], made.drawn[:n], made.sources[:n], tuple(gauged[:n]) or None)


def _next(context: Context, shape: ChainShape, drafted: int, row_1V: Tensor) -> tuple[int, Tensor | None] | None:
    """The next token and the distribution [V] that it was drawn from, or None where the shape goes on no further.

    Raises:
        EngineFault: a logit is NaN.
    """
    if context.sampling.greedy:
        token = choice(shape, drafted, row_1V)
        return None if token is None else (token, None)
    if not _apart(shape, row_1V):
        if not shape.more(drafted, row_1V[0]):
            return None
        dist = distribution(row_1V, context.sampling)[0]
        return pick(dist, context.streams.uniform("draft")), dist
    dist = distribution(row_1V, context.sampling)[0]
    token = _weighed(shape, drafted, row_1V, drawn(dist, *context.streams.coming("draft", 1)))
    if token is None:
        return None
    context.streams.uniform("draft")
    return token, dist


def choice(shape: ChainShape, drafted: int, row_1V: Tensor) -> int | None:
    """The argmax of a row that a session has given as `checked`, or None where the shape goes on no further.

    Raises:
        EngineFault: a logit is NaN.
    """
    if _apart(shape, row_1V):
        return _weighed(shape, drafted, row_1V, first_argmax(row_1V))
    token, joins = first_choice(row_1V), getattr(shape, "joins", None)
    if not getattr(shape, "looks", True):
        return token
    return token if (joins(drafted, row_1V, token) if joins else shape.more(drafted, row_1V[0])) else None


def _apart(shape: ChainShape, row_1V: Tensor) -> TypeGuard[Weighing]:
    """Whether the row's number and token are to come from another device together."""
    return row_1V.device.type != "cpu" and isinstance(shape, Weighing)


def _weighed(shape: Weighing, drafted: int, row_1V: Tensor, at_1: Tensor) -> int | None:
    """The token, or None where its row's number ends the draft; one transfer.

    Raises:
        EngineFault: a logit is NaN.
    """
    (token,), (weight,) = sound(at_1, row_1V, shape.weigh(row_1V))
    return token if shape.goes_on(drafted, weight, row_1V[0]) else None


def first_choice(row_1V: Tensor) -> int:
    """The argmax of a row that a session has given as `checked`.

    Raises:
        EngineFault: a logit is NaN.
    """
    if row_1V.device.type == "cpu":  # the session has looked
        return int(row_1V.numpy().argmax() if row_1V.dtype == torch.float32 else first_argmax(row_1V))
    return sound(first_argmax(row_1V), row_1V)[0][0]


def first_choices(row_1V: Tensor, limit: int, onward: Ahead) -> list[int]:
    """`limit` tokens from this row on, each the argmax; one transfer.

    Raises:
        EngineFault: a logit is NaN.
    """
    rows, ids = [row_1V], [first_argmax(row_1V)]
    while len(ids) < limit:
        rows.append(onward.ahead(ids[-1]))
        ids.append(first_argmax(rows[-1]))
    tokens, _ = sound(torch.cat(ids), torch.cat(rows))
    onward.told(tokens)
    return tokens


def sound(
    ids_N: Tensor, rows_NV: Tensor, more_N: Tensor | None = None, whose: str = "draft model"
) -> tuple[list[int], list[float]]:
    """Ids, and perhaps more numbers, on the host by one transfer, if the rows of `whose` logits that they come from are
    sound.

    Raises:
        EngineFault: a logit is NaN.
    """
    ids, (faulty,), *more = read(ids_N, torch.isnan(rows_NV).any(), *([] if more_N is None else [more_N]))
    if faulty:
        raise EngineFault(nan(whose))
    return ids, more[0] if more else []


def _told(sources: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Where tokens came from, with numbers in place of tensors that hold one: these come by one transfer."""
    open_ = [(source, name) for source in sources for name, value in source.items() if isinstance(value, Tensor)]
    if open_:
        numbers = read(*(source[name] for source, name in open_))
        for (source, name), (number,) in zip(open_, numbers, strict=True):
            source[name] = number
    return tuple(sources)


def _scores(logits: Tensor, tokens: list[int]) -> tuple[float, ...]:
    """Cumulative log-probability of a chain, nats."""
    logp = torch.log_softmax(logits.float(), -1)
    chosen = sent(tokens, logp.device).unsqueeze(1)
    return tuple(logp.gather(1, chosen).flatten().cumsum(0).tolist())
