"""Acceptance at other temperatures: the embedded pair computes both whole distributions anew at every tested draft token
of recorded runs; the page knows the first n tokens of each, as the trace holds them, and must bound the same numbers.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from torch import Tensor

from engine.config import Sampling
from engine.draft import chain
from engine.files.places import PRESETS, ROOT
from engine.model.load import load_model
from engine.sampling import distribution
from engine.trace.events import Round
from engine.trace.store import Trace
from engine.verify import step_point, step_sample

RUNS = ("sampled-1-sd", "sd_loses-1-sd", "drawn_guesses-0-stand")  # drawn at 0.8 and 2, and chosen
SAMPLINGS = (
    Sampling(0.4),
    Sampling(0.8),
    Sampling(1.3),
    Sampling(2.0),
    Sampling(1.0, top_k=3),
    Sampling(1.5, top_p=0.8),
    Sampling(0.7, top_k=20, top_p=0.95),
)
MOST = 16  # tested tokens of a run
NEVER = 2.0  # a uniform that accepts nothing


def vectors() -> dict[str, Any]:
    return {
        "samplings": [{"temperature": s.temperature, "top_k": s.top_k, "top_p": s.top_p} for s in SAMPLINGS],
        "cases": [case for run in RUNS for case in _cases(run)],
    }


def _cases(run: str) -> Iterator[dict[str, Any]]:
    """A tested draft token each: its place, and the engine's acceptance probability under every sampling; None where it
    could not have been drawn."""
    trace = Trace.load(PRESETS / "traces" / f"{run}.jsonl.gz")
    tested = [(e, i) for e in trace.rounds for i, n in enumerate(e.nodes) if n.state != "discarded"][:MOST]
    reach = tested[-1][0].start + tested[-1][0].levels
    target, draft = (_logits(role, trace, reach) for role in ("target", "draft"))
    for event, index in tested:
        row = event.start + event.nodes[index].depth - 1  # tested tokens follow the text that was accepted
        ratios = [_ratio(event, index, distribution(target[row], s), distribution(draft[row], s)) for s in SAMPLINGS]
        yield {"run": run, "round": event.index, "node": index, "ratios": ratios}


def _ratio(event: Round, index: int, p_V: Tensor, q_V: Tensor) -> float | None:
    """The exact rule's own probability, elder siblings having been rejected."""
    node = event.nodes[index]
    if "p_left" not in (node.reason or {}):
        return step_sample(p_V, q_V, node.token, NEVER).tests[0]["ratio"] if q_V[node.token] > 0 else None
    elder = [one.token for one in event.nodes[:index] if one.parent == node.parent]
    return step_point(p_V, [*elder, node.token], [NEVER] * (len(elder) + 1)).tests[-1]["ratio"]


def _logits(role: str, trace: Trace, reach: int) -> Tensor:
    """Raw logits [reach + 1, V] in fp32: row i follows the first i tokens of the response."""
    prompt, response = list(trace.head.prompt_ids), [token.token for token in trace.tokens[:reach]]
    session = _model(role).session(len(prompt) + len(response))
    return session.forward(prompt, chain(response)).logits.float()


@cache
def _model(role: str) -> Any:
    return load_model(ROOT / "assets" / "tiny" / role, device="cpu", dtype="float32")
