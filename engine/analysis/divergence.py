"""Where two runs on the same prompt first differ, by how much, and why."""

import math
from dataclasses import dataclass
from typing import Literal

from engine.analysis.decisions import greedy
from engine.analysis.words import number, quoted
from engine.errors import ConfigError
from engine.trace import outcome
from engine.trace.events import TopN
from engine.trace.store import Trace
from engine.trace.sums import as_trace

Cause = Literal["near-tie", "lossy rule", "draft alone", "written in place", "sampling draw", "unexplained"]

# Largest gap of log-probabilities, nats, that another order of the same sums can turn round. Measured on forwards of
# different shapes: float32 5e-5, float16 0.04, bfloat16 0.19 (logits of magnitude 16 to 32 are 0.125 apart there).
NEAR = {"float64": 1e-6, "float32": 1e-3, "float16": 0.06, "bfloat16": 0.25}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position with two tokens. Probabilities are the target's, raw softmax; None where not recorded."""

    pos: int
    tokens: tuple[int, int]
    pieces: tuple[str, str]
    p: tuple[float | None, float | None]
    gap: float | None  # |log p - log p|, nats
    near: float  # the gap below which the cause is a near-tie, for the less exact of the two dtypes
    cause: Cause
    text: str


def divergence(one: Trace, other: Trace, names: tuple[str, str] | None = None) -> Divergence | None:
    """The first difference; None while one response is a prefix of the other. `names` are what the runs are called.

    Raises:
        ConfigError: something that is no trace, or runs with different prompts or targets.
    """
    for trace in (one, other):
        as_trace(trace)
    if one.head.prompt_ids != other.head.prompt_ids:
        raise ConfigError("The two runs have different prompts; there is nothing to compare.")
    if one.head.models.get("target") != other.head.models.get("target"):
        raise ConfigError("The two runs have different targets; there is nothing to compare.")
    pos = next((i for i, (a, b) in enumerate(zip(one.token_ids, other.token_ids, strict=False)) if a != b), None)
    if pos is None:
        return None
    tokens = (one.tokens[pos].token, other.tokens[pos].token)
    shares = _shares(one, other, pos, tokens)
    gap = abs(math.log(shares[0] / shares[1])) if shares[0] and shares[1] else None
    close = max(near(one), near(other))
    cause = _cause(one, other, pos, gap, close)
    text = _text(one, other, pos, names, shares, gap, close, cause)
    return Divergence(pos, tokens, (one.tokens[pos].piece, other.tokens[pos].piece), shares, gap, close, cause, text)


def _shares(one: Trace, other: Trace, pos: int, tokens: tuple[int, int]) -> tuple[float | None, float | None]:
    """The target's probabilities of both tokens, from one row if a recorded row has both."""
    rows = [dict(row) for row in (_row(one, pos), _row(other, pos)) if row]
    for row in rows:
        if tokens[0] in row and tokens[1] in row:
            return row[tokens[0]], row[tokens[1]]
    found = [next((row[token] for row in rows if token in row), None) for token in tokens]
    return found[0], found[1]


def _row(trace: Trace, pos: int) -> TopN | None:
    token = trace.tokens[pos]
    nodes = trace.rounds[token.round].nodes
    return nodes[token.node].top_target if token.node is not None and token.node < len(nodes) else token.top_target


def near(trace: Trace) -> float:
    """The gap of log-probabilities, nats, that two passes over the same tokens may differ by in the run's dtype.

    Raises:
        ConfigError: something that is no trace.
    """
    as_trace(trace)
    return NEAR.get(trace.head.dtype.removeprefix("torch."), NEAR["float32"])


def _cause(one: Trace, other: Trace, pos: int, gap: float | None, close: float) -> Cause:
    if any(trace.tokens[pos].origin == "placed" for trace in (one, other)):
        return "written in place"
    if _alone(one, pos) or _alone(other, pos):
        return "draft alone"
    if _bent(one, pos) or _bent(other, pos):
        return "lossy rule"
    if not all(greedy(trace.head) for trace in (one, other)):
        return "sampling draw"
    if gap is not None and gap <= close:
        return "near-tie"
    return "unexplained"


def _alone(trace: Trace, pos: int) -> bool:
    """Whether the draft model wrote the token without being checked."""
    return outcome.alone(trace.rounds[trace.tokens[pos].round])


def _bent(trace: Trace, pos: int) -> bool:
    """Whether a lossy rule had a hand in the token; without recorded nodes, whether it may have had."""
    token = trace.tokens[pos]
    event = trace.rounds[token.round]
    if token.origin == "relaxed" or trace.head.rule == "beams":
        return True
    if trace.head.rule == "reward":
        return token.origin == "draft"  # a step that the target never read
    if event.drafted and not event.nodes:
        return trace.head.guarantee == "lossy" and token.origin == "correction"
    depth = pos - event.start + 1
    return token.node is None and any(node.state == "vetoed" and node.depth == depth for node in event.nodes)


def _text(
    one: Trace,
    other: Trace,
    pos: int,
    called: tuple[str, str] | None,
    shares: tuple[float | None, float | None],
    gap: float | None,
    close: float,
    cause: Cause,
) -> str:
    names = one.pieces | other.pieces | {trace.tokens[pos].token: trace.tokens[pos].piece for trace in (one, other)}
    a, b = (quoted(trace.tokens[pos].token, names) for trace in (one, other))
    titles = called or (one.head.title, other.head.title)
    if titles[0] == titles[1]:
        titles = ("the first", "the second")
    given = [f" ({number(x, y)})" if x is not None else "" for x, y in (shares, shares[::-1])]
    head = f"At position {pos} {titles[0]} has {a}{given[0]} and {titles[1]} {b}{given[1]}"
    exact = "lossy" not in (one.head.guarantee, other.head.guarantee)
    apart = f"{number(gap, close)} nats apart" if gap is not None else "the gap was not recorded"
    why = {
        "near-tie": f"a near-tie, {apart}, which {one.head.dtype} does not settle",
        "lossy rule": f"a lossy rule decided, {apart}",
        "draft alone": f"the draft model wrote alone, {apart}",
        "written in place": f"a non-autoregressive model wrote without the target, {apart}",
        "sampling draw": f"{'both are draws from one distribution' if exact else 'the draws differ'}, {apart}",
        "unexplained": f"unexplained, {apart}: two exact greedy runs should agree here",
    }
    return f"{head}: {why[cause]}."
