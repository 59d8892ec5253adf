"""The numbers of a run, from its trace; every name is explained in `engine.analysis.names`.

Pooled over rounds, also when several traces are given: a share is a quotient of sums, never a mean of quotients.
Times are those of the rounds, so that drawing and waiting between rounds never count.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.errors import ConfigError
from engine.trace import outcome
from engine.trace.events import RunStarted
from engine.trace.sums import Recorded, Sums, as_list, as_trace, speedups


def metrics(trace: Recorded, baseline: Recorded | None = None) -> dict[str, Any]:
    """The numbers of one run; one that cannot be known is None, and `speedup` is there only with a baseline.

    Raises:
        ConfigError: the baseline is not an autoregressive run of the same prompt, target, device and process.
    """
    return pooled([trace], None if baseline is None else [baseline])


def pooled(
    traces: Recorded | Iterable[Recorded], baselines: Recorded | Iterable[Recorded] | None = None
) -> dict[str, Any]:
    """The same numbers over several runs of one method.

    `baselines` are `ar` runs of the same prompts, measured in the same process, interleaved with these and after a
    warm-up. One baseline a trace, in the same order, also gives `speedup_perprompt_mean`, the mean of the quotients,
    which is another number than `speedup`.

    Raises:
        ConfigError: no trace, or a baseline that is not one.
    """
    kept = as_list(traces)
    if not kept:
        raise ConfigError("There is no trace to measure.")
    found = Sums.of(kept).numbers()
    if baselines is not None:
        found |= _speedups(kept, as_list(baselines))
    return found


def _speedups(traces: Sequence[Recorded], baselines: Sequence[Recorded]) -> dict[str, float | None]:
    for trace, baseline in _paired(traces, baselines):
        check_baseline(trace, baseline)
    return speedups(*([Sums.of_run(one) for one in side] for side in (traces, baselines)))


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
        raise ConfigError(
            f"The baseline has {what}; a speedup is measured in one process, on one target, asked the same."
        )


def unfair(trace: Recorded, baseline: Recorded) -> str:
    """What makes a quotient of the two speeds mean nothing, for example "another prompt"; empty if it is fair.

    Raises:
        ConfigError: something that is no trace.
    """
    as_trace(trace), as_trace(baseline)
    if any(map(outcome.drafts, baseline.rounds)):
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
        ("limit", ours.max_new_tokens, theirs.max_new_tokens),
        ("stop string", ours.stop, theirs.stop),
        ("record", ours.record, theirs.record),  # a full one takes time
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
