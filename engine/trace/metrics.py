"""The numbers of a run, from its trace; every name is explained in `engine.analysis.names`.

Pooled over rounds, also when several traces are given: a share is a quotient of sums, never a mean of quotients.
Times are those of the rounds, so that drawing and waiting between rounds never count.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Protocol

from engine.errors import ConfigError
from engine.trace import outcome
from engine.trace.events import Round, RunEnded, RunStarted, Token

QUARTER = 0.25  # the share of the draft within which HeteroSpec looks for the last accepted rank


class Recorded(Protocol):
    """What is read of a trace."""

    rounds: list[Round]
    tokens: list[Token]
    end: RunEnded | None

    @property
    def head(self) -> RunStarted:
        """The first event."""


def metrics(trace: Recorded, baseline: Recorded | None = None) -> dict[str, Any]:
    """The numbers of one run; one that cannot be known is None, and `speedup` is there only with a baseline.

    Raises:
        ConfigError: the baseline is not an autoregressive run of the same prompt, target, device and process.
    """
    return pooled([trace], None if baseline is None else [baseline])


def pooled(traces: Iterable[Recorded], baselines: Iterable[Recorded] | None = None) -> dict[str, Any]:
    """The same numbers over several runs of one method.

    `baselines` are `ar` runs of the same prompts, measured in the same process, interleaved with these and after a
    warm-up. One baseline a trace, in the same order, also gives `speedup_perprompt_mean`, the mean of the quotients,
    which is another number than `speedup`.

    Raises:
        ConfigError: no trace, or a baseline that is not one.
    """
    kept = list(traces)
    if not kept:
        raise ConfigError("There is no trace to measure.")
    rounds = [event for trace in kept for event in trace.rounds]
    prefills = [
        trace.end.prefill_ms / 1e3 for trace in kept if trace.end is not None and trace.end.prefill_ms is not None
    ]
    found = _counts(rounds, sum(len(trace.tokens) for trace in kept)) | _times(rounds)
    found["prefill_s"] = sum(prefills) if len(prefills) == len(kept) else None
    seconds = found["draft_s"] + found["verify_s"] + found["other_s"]
    found["tokens_per_s"] = _ratio(found["tokens"], seconds)
    if baselines is not None:
        found |= _speedups(kept, list(baselines))
    return found


def _counts(rounds: Sequence[Round], tokens: int) -> dict[str, Any]:
    drafted, accepted = sum(event.drafted for event in rounds), sum(event.accepted for event in rounds)
    rejected, penalised = _sum(map(outcome.rejected, rounds)), _sum(map(outcome.penalised, rounds))
    tested = None if rejected is None else accepted + rejected
    drafting = [event for event in rounds if event.drafted]
    return {
        "tokens": tokens,
        "rounds": len(rounds),
        "verify_tokens": sum(event.fed for event in rounds),
        "drafted": drafted,
        "accepted": accepted,
        "rejected": rejected,
        "discarded": None if tested is None else drafted - tested,
        "tau": _ratio(tokens, len(rounds)),
        "accept_rate_drafted": _ratio(accepted, drafted),
        "accept_rate_tested": _ratio(accepted, tested),
        "accept_by_depth": accept_by_depth(rounds),
        "accepted_histogram": _histogram([event.accepted for event in rounds]),
        "tcr_histogram": tcr_histogram(rounds),
        "penalised_rate": None if penalised is None or not tokens else 100 * penalised / tokens,
        "penalised_per_tested": None if penalised is None else _ratio(penalised, tested),
        "rollback_rate": _ratio(sum(map(outcome.rejects, drafting)), len(drafting)),
    }


def _times(rounds: Sequence[Round]) -> dict[str, Any]:
    drafting = [event for event in rounds if event.drafted]
    step = _ratio(sum(event.draft_ms for event in drafting), sum(event.levels for event in drafting))
    call = _ratio(sum(event.verify_ms for event in rounds), len(rounds))
    return {
        "draft_s": sum(event.draft_ms for event in rounds) / 1e3,
        "verify_s": sum(event.verify_ms for event in rounds) / 1e3,
        "other_s": sum(event.other_ms for event in rounds) / 1e3,
        "cost_ratio": None if step is None else _ratio(step, call),
    }


def accept_by_depth(rounds: Iterable[Round]) -> dict[str, list[Any]]:
    """Acceptance by position in the draft, from depth 1.

    `marginal`: accepted to this depth / rounds with a draft (vLLM's per-position rate). `conditional`: accepted to this
    depth / rounds that accepted everything before and tested this depth. `accepted` and `tested` are the counts behind.
    """
    drafting = [event for event in rounds if event.drafted]
    depths = range(1, max((event.levels for event in drafting), default=0) + 1)
    ended, stopped = [0] * (len(depths) + 1), [0] * (len(depths) + 1)  # by the number that was accepted
    for event in drafting:
        kept = min(event.accepted, len(depths))  # a round that says more contradicts itself, which is for `identities`
        ended[kept] += 1
        stopped[kept] += outcome.rejects(event)
    accepted = list(accumulate(reversed(ended[1:])))[::-1]
    tested = [kept + stopped[depth - 1] for depth, kept in zip(depths, accepted, strict=True)]
    return {
        "depth": list(depths),
        "accepted": accepted,
        "tested": tested,
        "marginal": [kept / len(drafting) for kept in accepted],
        "conditional": [_ratio(kept, seen) for kept, seen in zip(accepted, tested, strict=True)],
    }


def tcr_histogram(rounds: Iterable[Round]) -> dict[str, Any]:
    """`counts[r]` rounds whose last accepted draft token had rank r, over rounds with a draft whose rank is known.

    `top_quarter` is the share of them with r within 25 % of the tree, N = draft tokens and root (HeteroSpec, sec. 3).
    """
    ranks = [(outcome.tcr(event), event.drafted + 1) for event in rounds if event.drafted]
    known = [(rank, size) for rank, size in ranks if rank is not None]
    return {
        "counts": _histogram([rank for rank, _ in known]),
        "top_quarter": _ratio(sum(rank <= QUARTER * size for rank, size in known), len(known)),
    }


def _speedups(traces: Sequence[Recorded], baselines: Sequence[Recorded]) -> dict[str, Any]:
    for trace, baseline in _paired(traces, baselines):
        check_baseline(trace, baseline)
    found: dict[str, Any] = {"speedup": _ratio(_speed(traces), _speed(baselines))}
    if len(baselines) == len(traces) > 1:
        each = [_ratio(_speed([one]), _speed([other])) for one, other in zip(traces, baselines, strict=True)]
        known = [quotient for quotient in each if quotient is not None]
        found["speedup_perprompt_mean"] = _ratio(sum(known), len(known))
    return found


def _paired(traces: Sequence[Recorded], baselines: Sequence[Recorded]) -> Iterator[tuple[Recorded, Recorded]]:
    """Each trace with its baseline: in order where there is one a trace, else whichever has its prompt and sampling."""
    if len(traces) == len(baselines):
        yield from zip(traces, baselines, strict=True)
    elif baselines:
        plain, ours = {_question(one): one for one in baselines}, {_question(one): one for one in traces}
        yield from ((one, plain.get(_question(one), baselines[0])) for one in traces)
        yield from ((ours.get(_question(one), traces[0]), one) for one in baselines)


def check_baseline(trace: Recorded, baseline: Recorded) -> None:
    """See that a quotient of the two speeds means something.

    Raises:
        ConfigError: the baseline drafts, or differs in target, device, dtype, prompt, sampling or process (unknown is
        another).
    """
    what = unfair(trace, baseline)
    if what == "a draft":
        raise ConfigError(f"{baseline.head.method} is no baseline: a speedup is taken against a run without a draft.")
    if what:
        raise ConfigError(f"The baseline has {what}; a speedup is measured in one process, on one target and prompt.")


def unfair(trace: Recorded, baseline: Recorded) -> str:
    """What makes a quotient of the two speeds mean nothing, for example "another prompt"; empty if it is fair."""
    if any(event.drafted for event in baseline.rounds):
        return "a draft"
    if baseline.head.guarantee == "lossy":
        return "another distribution"
    ours, theirs = trace.head, baseline.head
    for what, one, other in (
        ("target", ours.models.get("target"), theirs.models.get("target")),
        ("device", ours.device, theirs.device),
        ("dtype", ours.dtype, theirs.dtype),
        ("prompt", ours.prompt_ids, theirs.prompt_ids),
        ("sampling", ours.sampling, theirs.sampling),
        ("process", _process(ours), _process(theirs)),
    ):
        if one != other or one is None:
            return f"{'no known' if None in (one, other) else 'another'} {what}"
    return ""


def _process(head: RunStarted) -> str | None:
    """What tells processes apart: the token that a run writes; None where it wrote none."""
    told = head.extras.get("process")
    return str(told) if told else None


def _question(trace: Recorded) -> tuple[Any, ...]:
    return (*trace.head.prompt_ids, *sorted(trace.head.sampling.items()))


def _speed(traces: Iterable[Recorded]) -> float | None:
    """Tokens a second of decoding, over all runs together."""
    kept = list(traces)
    ms = sum(event.draft_ms + event.verify_ms + event.other_ms for trace in kept for event in trace.rounds)
    return _ratio(1e3 * sum(len(trace.tokens) for trace in kept), ms)


def _histogram(values: Sequence[int]) -> list[int]:
    counts = [0] * (max(values, default=-1) + 1)
    for value in values:
        counts[value] += 1
    return counts


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum, or None as soon as one part is unknown."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
