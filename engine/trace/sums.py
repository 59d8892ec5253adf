"""What is added up over the rounds of runs, and the numbers that follow from it: few bytes a run, however long it was.

The sums of several runs are those of the runs added, so that a sweep keeps these and lets its traces go.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate, zip_longest
from typing import Any, Protocol, TypeVar, cast

from engine.errors import ConfigError, shown
from engine.trace import outcome
from engine.trace.events import Round, RunEnded, RunStarted, Token

QUARTER = 0.25  # the share of the draft within which HeteroSpec looks for the last accepted rank
Counts = tuple[int, ...]


class Recorded(Protocol):
    """What is read of a trace."""

    rounds: list[Round]
    tokens: list[Token]
    end: RunEnded | None

    @property
    def head(self) -> RunStarted:
        """The first event."""


Run = TypeVar("Run", bound=Recorded)


def as_list(traces: Run | Iterable[Run]) -> list[Run]:
    """One trace or several, as a list.

    Raises:
        ConfigError: something that is none.
    """
    if _is_trace(traces) or isinstance(traces, str | bytes):
        return [as_trace(cast(Run, traces))]
    try:
        kept: list[Any] = list(cast(Iterable[Any], traces))
    except TypeError:  # nothing that goes on, whatever it says of itself
        kept = [traces]
    return [as_trace(one) for one in kept]


def as_trace(given: Run) -> Run:
    """One trace, itself.

    Raises:
        ConfigError: something that is none, such as a list of them.
    """
    if not _is_trace(given):
        raise ConfigError(f"A trace is wanted, not {shown(given)}: `Trace.load(path)` reads one from a file.")
    return given


def _is_trace(given: object) -> bool:
    return isinstance(getattr(given, "rounds", None), list)


@dataclass(frozen=True, slots=True)
class Sums:
    """Counts of rounds and tokens, times in milliseconds; None where a part is unknown."""

    tokens: int = 0
    rounds: int = 0  # in which the target was called
    iterations: int = 0  # of texts that are written in place
    reward_calls: int = 0  # of a process reward model
    reward_tokens: int = 0  # that it read
    verify_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    rejected: int | None = 0
    penalised: int | None = 0
    drafting: int = 0  # rounds with a draft
    rollbacks: int = 0  # of these, rounds that ended at a rejected token
    levels: int = 0  # depths of their drafts, added
    steps: int = 0  # draft steps, see `_steps`
    deepest: int = 0
    ended: Counts = ()  # rounds with a draft by the number of accepted draft tokens
    stopped: Counts = ()  # of these, rounds that ended at a rejected token
    accepted_counts: Counts = ()  # all rounds by the number of accepted draft tokens
    tcr_counts: Counts = ()  # rounds by their terminal confidence rank
    tcr_quarter: int = 0  # of these, rounds with a rank within the first quarter of the draft
    draft_ms: float = 0.0
    step_ms: float = 0.0  # of rounds with a draft
    verify_ms: float = 0.0
    other_ms: float = 0.0
    reward_ms: float = 0.0  # of that, in the process reward model
    network_ms: float = 0.0  # and in a network that writes in place
    prefill_ms: float | None = 0.0

    @classmethod
    def of(cls, traces: Iterable[Recorded]) -> "Sums":
        """Those of some runs."""
        total = cls()
        for trace in traces:
            total += cls.of_run(trace)
        return total

    @classmethod
    def of_run(cls, trace: Recorded) -> "Sums":
        """Those of one run."""
        rest = cls(tokens=len(trace.tokens), prefill_ms=None if trace.end is None else trace.end.prefill_ms)
        return rest + cls.of_rounds(trace.rounds)

    @classmethod
    def of_rounds(cls, rounds: Iterable[Round]) -> "Sums":
        """Those of some rounds: without tokens and prefill, which belong to a run."""
        kept = list(rounds)
        drafting = [event for event in kept if outcome.drafts(event)]
        idle = [event for event in kept if outcome.searched(event)]  # their tree is no draft, and no draft's time
        ranks = [(outcome.tcr(event), event.drafted + 1) for event in drafting]
        known = [(rank, size) for rank, size in ranks if rank is not None]
        stops = [event for event in drafting if outcome.rejects(event)]
        return cls(
            rounds=outcome.calls(kept),
            iterations=sum(map(outcome.in_place, kept)),
            reward_calls=sum("reward" in event.extras for event in kept),
            reward_tokens=sum(int(event.extras.get("reward_tokens") or 0) for event in kept),
            verify_tokens=sum(event.fed for event in kept),
            drafted=sum(map(outcome.drafts, kept)),
            accepted=sum(map(outcome.kept, kept)),
            rejected=_sum(map(outcome.rejected, kept)),
            penalised=_sum(map(outcome.penalised, kept)),
            drafting=len(drafting),
            rollbacks=len(stops),
            levels=sum(event.levels for event in drafting),
            steps=sum(map(_steps, drafting)),
            deepest=max((event.levels for event in drafting), default=0),
            ended=_histogram([event.accepted for event in drafting]),
            stopped=_histogram([event.accepted for event in stops]),
            accepted_counts=_histogram([outcome.kept(event) for event in kept]),
            tcr_counts=_histogram([rank for rank, _ in known]),
            tcr_quarter=sum(rank <= QUARTER * size for rank, size in known),
            draft_ms=sum(event.draft_ms for event in kept if not outcome.searched(event)),
            step_ms=sum(event.draft_ms for event in drafting),
            verify_ms=sum(event.verify_ms for event in kept),
            other_ms=sum(event.other_ms for event in kept) + sum(event.draft_ms for event in idle),
            reward_ms=sum(event.extras.get("early_ms") or 0.0 for event in kept if "reward" in event.extras),
            network_ms=sum(event.extras.get("network_ms") or 0.0 for event in kept),
        )

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Sums":
        """The inverse of `to_json`.

        Raises:
            TypeError: a name that is none of these sums.
        """
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in found.items()
        }
        older = {"steps": values.get("levels", 0)}
        if values.get("iterations") and not values.get("drafted") and "network_ms" not in values:
            spent = values.get("draft_ms", 0.0)  # older sums have it as the draft's
            older |= {"network_ms": spent}
            values |= {"draft_ms": 0.0, "other_ms": values.get("other_ms", 0.0) + spent}
        return cls(**(older | values))

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(**{field.name: _added(field.name, self, other) for field in fields(self)})

    @property
    def ms(self) -> float:
        """Time of all rounds."""
        return self.draft_ms + self.verify_ms + self.other_ms

    def numbers(self) -> dict[str, Any]:
        """Every number of `engine.analysis.names` that these sums give; one that cannot be known is None."""
        tested = None if self.rejected is None else self.accepted + self.rejected
        step, call = ratio(self.step_ms, self.steps), ratio(self.verify_ms, self.rounds)
        return {
            "tokens": self.tokens,
            "rounds": self.rounds,
            "iterations": self.iterations,
            "verify_tokens": self.verify_tokens,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "discarded": None if tested is None else self.drafted - tested,
            "reward_calls": self.reward_calls,
            "reward_tokens": self.reward_tokens,
            "tau": ratio(self.tokens, self.rounds),
            "accept_rate_drafted": ratio(self.accepted, self.drafted),
            "accept_rate_tested": ratio(self.accepted, tested),
            "accept_by_depth": self.by_depth(),
            "accepted_histogram": list(self.accepted_counts),
            "tcr_histogram": self.ranks(),
            "penalised_rate": None if self.penalised is None or not self.tokens else 100 * self.penalised / self.tokens,
            "penalised_per_tested": None if self.penalised is None else ratio(self.penalised, tested),
            "rollback_rate": ratio(self.rollbacks, self.drafting),
            "draft_s": self.draft_ms / 1e3,
            "verify_s": self.verify_ms / 1e3,
            "other_s": self.other_ms / 1e3,
            "reward_s": self.reward_ms / 1e3,
            "network_s": self.network_ms / 1e3,
            "cost_ratio": None if step is None else ratio(step, call),
            "prefill_s": None if self.prefill_ms is None else self.prefill_ms / 1e3,
            "tokens_per_s": self.tokens_per_s,
        }

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens a second of decoding; None without time."""
        return ratio(1e3 * self.tokens, self.ms)

    def by_depth(self) -> dict[str, list[Any]]:
        """Acceptance by position in the draft, from depth 1.

        `marginal`: accepted to this depth / rounds with a draft (vLLM's per-position rate). `conditional`: accepted to
        this depth / rounds that accepted everything before and tested this depth. `accepted` and `tested` are the
        counts behind.
        """
        ended, stopped = _within(self.ended, self.deepest), _within(self.stopped, self.deepest)
        accepted = list(accumulate(reversed(ended[1:])))[::-1]
        tested = [kept + stopped[depth] for depth, kept in enumerate(accepted)]
        return {
            "depth": list(range(1, self.deepest + 1)),
            "accepted": accepted,
            "tested": tested,
            "marginal": [kept / self.drafting for kept in accepted],
            "conditional": [ratio(kept, seen) for kept, seen in zip(accepted, tested, strict=True)],
        }

    def ranks(self) -> dict[str, Any]:
        """`counts[r]` rounds whose last accepted draft token had rank r, over rounds with a draft whose rank is known.

        `top_quarter` is the share of them with r within 25 % of the N draft tokens and root (HeteroSpec, sec. 3).
        """
        return {"counts": list(self.tcr_counts), "top_quarter": ratio(self.tcr_quarter, sum(self.tcr_counts))}


def _steps(event: Round) -> int:
    """Draft steps of a round: of a drafter that writes several levels in one pass its passes, of a model with a
    tokenizer of its own the tokens that it wrote, else the levels that it wrote, verified or not."""
    told = (event.extras.get(name) for name in ("passes", "draft_tokens", "made", "levels"))
    return next((steps for steps in told if isinstance(steps, int)), event.levels)


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where a part is unknown, or nothing was counted."""
    return None if part is None or not whole else part / whole


def speedups(ours: Sequence[Sums], theirs: Sequence[Sums]) -> dict[str, float | None]:
    """`speedup` of all runs together over those of a baseline; with one of these for each of several runs also
    `speedup_perprompt_mean`. None where a side has no token or no time."""
    found = {"speedup": ratio(_speed(ours), _speed(theirs))}
    if len(theirs) == len(ours) > 1:
        each = [ratio(_speed([one]), _speed([other])) for one, other in zip(ours, theirs, strict=True)]
        known = [quotient for quotient in each if quotient is not None]
        found["speedup_perprompt_mean"] = ratio(sum(known), len(known))
    return found


def _speed(each: Sequence[Sums]) -> float | None:
    return sum(each, Sums()).tokens_per_s or None


def _added(name: str, one: Sums, other: Sums) -> Any:
    a, b = getattr(one, name), getattr(other, name)
    if name == "deepest":
        return max(a, b)
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip_longest(a, b, fillvalue=0))
    return None if a is None or b is None else a + b


def _within(counts: Sequence[int], deepest: int) -> list[int]:
    """Counts for 0 to `deepest`; a round that says more contradicts itself, which is for `identities`."""
    kept = [*counts, *[0] * (deepest + 1 - len(counts))][: deepest + 1]
    kept[deepest] += sum(counts[deepest + 1 :])
    return kept


def _histogram(values: Sequence[int]) -> Counts:
    counts = [0] * (max(values, default=-1) + 1)
    for value in values:
        counts[value] += 1
    return tuple(counts)


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum, or None as soon as one part is unknown."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
