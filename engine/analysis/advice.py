"""Which method and settings for which kind of prompt: forecasts from recorded runs and measured costs, with intervals.

A chain that was recorded with a long draft says what any shorter one would have accepted: a draft token depends on the
text before it and not on where its draft began. So the rounds of one long probe are recast with each shorter length
(`recast`). Look-ups find more where they ask oftener: they go through the text again (`Again`), or where nobody can,
their drafts are `cut`, which tells too little. Time is what was measured: a draft step or a look-up, a target call by
the tokens it reads (`Curve`), and the rest of a round. Of other shapes, and of drafts that one pass writes, whose
places know where the draft began and cost the same together, only what was run is told.
docs/design/0019-advice.md.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

from engine.analysis.grouping import by_cluster, pair_names, task_of
from engine.analysis.intervals import Interval, as_json, speedup_interval
from engine.config import AUTO
from engine.costs import Curve
from engine.errors import ConfigError
from engine.trace import outcome
from engine.trace.events import Round
from engine.trace.store import Trace
from engine.trace.sums import ratio

ALL = "all prompts"
EVEN = 0.02  # options whose speeds differ by less are the same for who chooses
ENOUGH = 1000  # prompts beyond which a difference is not worth measuring
Step = tuple[int, int, int]  # of a round: drafted, accepted, emitted
Again = Callable[[Trace, int], Iterator[Step] | None]  # the rounds of a look-up with shorter drafts, where known
Sums = tuple[float, float, float, float]  # of a prompt: tokens, ms, and those of plain decoding


@dataclass(frozen=True)
class Option:
    """A method with its settings, measured as it is or computed from a longer draft of the same method."""

    method: str
    title: str
    knobs: Mapping[str, Any]
    each: tuple[Sums, ...]  # a prompt each, its repeats together, in one order for all options
    tau: float  # tokens a target call
    steps: tuple[Step, ...]  # of all rounds, for other costs
    levels: int = 0  # of the deepest draft that was recorded
    probed: int | None = None  # draft length of the runs behind, where it is computed
    once: bool = False  # whether one pass writes a draft, whatever its length
    free: bool = False  # whether no model drafts (look-ups)

    @cached_property
    def speedup(self) -> Interval | None:
        """Tokens a second over those of plain decoding; 95 % over prompts."""
        return speedup_interval(self.each)

    @property
    def usual(self) -> int:
        """Draft tokens of a round that drafts, in the mean, rounded."""
        drafted = [size for size, _, _ in self.steps if size]
        return round(sum(drafted) / len(drafted)) if drafted else 0

    @property
    def label(self) -> str:
        """As the command line names it, with the length of its chains or the size of its trees."""
        return self.method + "".join(f":{n}={self.knobs[n]}" for n in ("gamma", "total_token") if n in self.knobs)

    def over(self, other: "Option") -> Interval | None:
        """Its speed over another's on the same prompts."""
        rows = [(*ours[:2], *theirs[:2]) for ours, theirs in zip(self.each, other.each, strict=True)]
        return speedup_interval(rows)

    def to_json(self) -> dict[str, Any]:
        """What is told of it."""
        return {
            "label": self.label,
            "method": self.method,
            "title": self.title,
            "knobs": dict(self.knobs),
            "speedup": as_json(self.speedup),
            "tau": self.tau,
            "levels": self.levels,
            "usual": self.usual,
            "computed_from_gamma": self.probed,
        }


def recast(rounds: Sequence[Step], most: int, limit: int) -> Iterator[Step]:
    """The rounds that a drafter which can always write on (a model) would have had with `most` draft tokens a round.

    Where a draft token was accepted the drafter agrees with the text, where one was corrected it does not; of bonus
    tokens nothing is known, and as many agree as of the others. A draft that was shorter than the longest ended there,
    with the end of the text as the drafter saw it, and no other goes beyond. `limit` is that of the response.
    """
    known = [fact for drafted, accepted, emitted in rounds for fact in _facts(drafted, accepted, emitted)]
    share = ratio(known.count(True), known.count(True) + known.count(False)) or 0.0
    agrees, due, at = list[bool](), 0.5, 0
    longest, ends = max((drafted for drafted, _, _ in rounds), default=0), list[int]()
    for drafted, _, emitted in rounds:
        ends += [limit if drafted == longest else len(ends) + drafted] * emitted
    for fact in known:
        due += share if fact is None else 0.0
        agrees.append(due >= 1 if fact is None else fact)
        due -= due >= 1
    while at < len(agrees):
        length = max(min(most, limit - at - 1, max(ends[at] - at, 1)), 0)
        run = agrees[at : at + length]
        good = run.index(False) if False in run else len(run)
        given = min(good + 1, len(agrees) - at)
        yield length, good, given
        at += given


def fixed(knobs: Mapping[str, Any], name: str) -> int:
    """A number of a method's settings; 0 where it has none, or leaves it to the device."""
    value = knobs.get(name)
    return 0 if value == AUTO else int(value or 0)


def _facts(drafted: int, accepted: int, emitted: int) -> list[bool | None]:
    """Of each token of a round whether the drafter would have written it."""
    own: list[bool | None] = [True] * min(accepted, emitted)
    return own + [False if accepted < drafted else None] * (emitted - len(own))


def cut(rounds: Sequence[Step], most: int) -> Iterator[Step]:
    """The rounds that look-ups would have had with at most `most` draft tokens: a draft ends where it did.

    Behind the last accepted token of a recorded draft nothing is known, and nothing is accepted there.
    """
    for drafted, accepted, emitted in rounds:
        left, room, tokens = accepted, drafted, emitted
        while tokens > 0:
            length = min(most, room)
            good = min(left, length)
            given = tokens if length == room else min(good + 1, tokens)
            yield length, good, given
            left, room, tokens = max(left - given, 0), max(room - given, 0), tokens - given


def options(
    groups: Mapping[str, Sequence[Trace]],
    plain: Sequence[Trace],
    verify: Curve | None,
    free: Collection[str],
    again: Again | None = None,
) -> list[Option]:
    """What can be told of each group of runs (one method with its knobs each) on the prompts of the plain runs.

    `free` are drafters whose drafts cost the same at any length (look-ups); `again` goes through their rounds with
    shorter drafts, which are else cut from the longer. Without a curve the calls of the runs
    themselves make one.

    Raises:
        ConfigError: nothing was timed.
    """
    partners = dict(zip(pair_names(plain), plain, strict=True))
    timed = [event for runs in (*groups.values(), plain) for trace in runs for event in trace.rounds]
    costs = verify or curve_of(timed)
    found = list[Option]()
    for runs in groups.values():
        names = dict(zip(pair_names(runs), runs, strict=True))
        if names.keys() != partners.keys() or runs[0].head.guarantee == "lossy":
            continue
        pairs = [(names[name], partners[name]) for name in partners]
        head = runs[0].head
        found.append(_measured(pairs, head.drafter in free))
        if head.shape == "chain" and not found[-1].once and (most := fixed(head.knobs, "gamma")) > 1:
            lengths = range(1, most)
            found += [_computed(pairs, length, costs, head.drafter in free, again) for length in lengths]
    return found


def curve_of(rounds: Iterable[Round]) -> Curve:
    """Medians of the target calls of recorded rounds, by the tokens fed.

    Raises:
        ConfigError: none was timed.
    """
    found: dict[int, list[float]] = defaultdict(list)
    for event in rounds:
        if event.fed and event.verify_ms:
            found[event.fed].append(event.verify_ms)
    return Curve(tuple((size, median(found[size])) for size in sorted(found)))


def _measured(pairs: Sequence[tuple[Trace, Trace]], free: bool) -> Option:
    head = pairs[0][0].head
    each = by_cluster([trace for trace, _ in pairs], [(*_spent(trace), *_spent(base)) for trace, base in pairs])
    steps = [step for trace, _ in pairs for step in _steps(trace)]
    levels = max((event.levels for trace, _ in pairs for event in trace.rounds), default=0)
    once = outcome.once(event for trace, _ in pairs for event in trace.rounds)
    found = (head.method, head.title, head.knobs, tuple(each), _tau(steps), tuple(steps))
    return Option(*found, levels, once=once, free=free)


def _computed(
    pairs: Sequence[tuple[Trace, Trace]], length: int, costs: Curve, free: bool, again: Again | None
) -> Option:
    """The same with shorter drafts; times by the group's own means, calls by the curve scaled to the group's calls."""
    head, probed = pairs[0][0].head, int(pairs[0][0].head.knobs["gamma"])
    rounds = [event for trace, _ in pairs for event in trace.rounds]
    drafting = [event for event in rounds if event.drafted]
    step = ratio(sum(e.draft_ms for e in drafting), len(drafting) if free else sum(e.drafted for e in drafting)) or 0.0
    idle = ratio(sum(e.draft_ms for e in rounds if not e.drafted), len(rounds) - len(drafting)) or 0.0
    scale = ratio(sum(e.verify_ms for e in rounds), sum(costs.at(e.fed) for e in rounds)) or 1.0
    other = ratio(sum(e.other_ms for e in rounds), len(rounds)) or 0.0

    def ms(drafted: int) -> float:
        draft = idle if not drafted else step if free else step * drafted
        return draft + scale * costs.at(drafted + 1) + other

    each, steps = list[Sums](), list[Step]()
    for trace, base in pairs:
        own = _steps(trace)
        gone = again(trace, length) if free and again else None
        found = list(gone or (cut(own, length) if free else recast(own, length, trace.head.max_new_tokens)))
        steps += found
        each.append((float(len(trace.tokens)), sum(ms(drafted) for drafted, _, _ in found), *_spent(base)))
    knobs = {**head.knobs, "gamma": length}
    asked = by_cluster([trace for trace, _ in pairs], each)
    return Option(head.method, head.title, knobs, tuple(asked), _tau(steps), tuple(steps), length, probed, free=free)


def _steps(trace: Trace) -> list[Step]:
    return [(event.drafted, event.accepted, event.emitted) for event in trace.rounds]


def _tau(steps: Sequence[Step]) -> float:
    return ratio(sum(emitted for _, _, emitted in steps), len(steps)) or 0.0


def _spent(trace: Trace) -> tuple[float, float]:
    return float(len(trace.tokens)), sum(e.draft_ms + e.verify_ms + e.other_ms for e in trace.rounds)


def choose(found: Sequence[Option]) -> Option:
    """The fastest by its mean; of those within two per cent of it one that was measured, else the middle length.

    What is computed is flat about its best, and falls on both sides.

    Raises:
        ConfigError: none could be timed.
    """
    timed = [(option, spread.mean) for option in found if (spread := option.speedup)]
    if not timed:
        raise ConfigError("No method ran on the same prompts as plain decoding, without changing its output.")
    best = max(mean for _, mean in timed)
    near = [option for option, mean in timed if mean >= best * (1 - EVEN)]
    near.sort(key=lambda option: fixed(option.knobs, "gamma") or option.usual)
    return next((option for option in near if option.probed is None), near[len(near) // 2])


def advise(
    groups: Mapping[str, Sequence[Trace]],
    plain: Sequence[Trace],
    verify: Curve | None = None,
    free: Collection[str] = (),
    batches: Sequence["Batch"] = (),
    again: Again | None = None,
) -> list[dict[str, Any]]:
    """What to use for each kind of prompt (its category, else its task) and for all, as JSON types.

    `pays` is true or false where the interval of the best lies on one side of 1, else null. `close` are other methods
    whose speed cannot be told from the best's, with how many prompts would tell (`prompts`).

    Raises:
        ConfigError: no plain runs, no others on the same prompts, or no times.
    """
    if not plain:
        raise ConfigError("Advice needs runs of plain decoding (ar) on the same prompts, to be faster than.")
    kinds = list(dict.fromkeys(kind_of(trace) for trace in plain))
    names = [ALL, *kinds] if len(kinds) > 1 else kinds
    rows = []
    for name in names:
        mine = {
            label: kept for label, runs in groups.items() if (kept := [t for t in runs if name in (ALL, kind_of(t))])
        }
        found = options(mine, [t for t in plain if name in (ALL, kind_of(t))], verify, free, again)
        rows.append(_kind(name, found, batches))
    return rows


def kind_of(trace: Trace) -> str:
    """The kind of a run's prompt: the category that its file says, else its task."""
    return str(trace.head.extras.get("category") or task_of(trace))


def _kind(name: str, found: Sequence[Option], batches: Sequence["Batch"]) -> dict[str, Any]:
    best = choose(found)
    spread = best.speedup
    low, high = (spread.low, spread.high) if spread else (None, None)
    ranked = sorted(found, key=_mean, reverse=True)
    rivals = {option.method: option for option in reversed(ranked) if option.method != best.method}
    return {
        "kind": name,
        "prompts": len(best.each),
        "best": best.to_json(),
        "pays": None if low is None or high is None or low <= 1 <= high else low > 1,
        "close": [call for rival in rivals.values() if (call := _close(best, rival))],
        "options": [option.to_json() for option in ranked],
        "batches": [batch.fastest(found) for batch in batches],
    }


def _mean(option: Option) -> float:
    return spread.mean if (spread := option.speedup) else 0.0


def _close(best: Option, rival: Option) -> dict[str, Any] | None:
    """A rival that the prompts at hand do not tell from the best, and how many would, if its ratio stays."""
    found = best.over(rival)
    if found is None or found.low is None or found.high is None:
        return {"label": rival.label, "ratio": found and found.mean, "low": None, "high": None, "prompts": None}
    if found.low > 1:
        return None
    apart, half = abs(math.log(found.mean)), math.log(found.high / found.low) / 2  # even about the ratio in logarithms
    needed = math.ceil(found.n * (half / apart) ** 2) if apart else ENOUGH + 1
    same = apart < EVEN / 2 or needed > ENOUGH
    return {
        "label": rival.label,
        "ratio": found.mean,
        "low": found.low,
        "high": found.high,
        "prompts": None if same else max(needed, found.n + 1),
    }


@dataclass(frozen=True)
class Batch:
    """Costs of a server's pass with so many sequences at once, each verifying so many rows; measured elsewhere."""

    size: int
    verify: Curve  # ms by rows of each sequence
    step_ms: float | None  # of a draft step for all sequences; None: unknown
    hardware: str = ""

    def fastest(self, found: Sequence[Option]) -> dict[str, Any]:
        """The option with the highest forecast for this batch; a draft step's cost must be known but for look-ups."""
        rows = [(option, self.speedup(option)) for option in found]
        known = [(option, speed) for option, speed in rows if speed is not None]
        if not known:
            return {"batch": self.size, "hardware": self.hardware, "label": None, "method": None, "speedup": None}
        option, speed = max(known, key=lambda pair: pair[1])
        pays = speed > 1
        return {
            "batch": self.size,
            "hardware": self.hardware,
            "label": option.label if pays else "ar",
            "method": option.method if pays else "ar",
            "gamma": (fixed(option.knobs, "gamma") or option.usual) if pays else 0,
            "speedup": max(speed, 1.0),
        }

    def speedup(self, option: Option) -> float | None:
        """Forecast for chains: every sequence of the batch drafts as long as the longest, and all wait for one pass."""
        step_ms = 0.0 if option.free else self.step_ms
        if "gamma" not in option.knobs or step_ms is None:
            return None
        length = max((drafted for drafted, _, _ in option.steps), default=0)
        drafting = step_ms * (1 if option.once else length)
        return option.tau * self.verify.at(1) / (drafting + self.verify.at(length + 1))


def batches(rows: Sequence[Mapping[str, Any]], hardware: str = "") -> list[Batch]:
    """A table of costs: rows with batch, rows and verify_ms, perhaps draft_ms (of a step) and hardware.

    Raises:
        ConfigError: a missing or impossible number.
    """
    groups: dict[int, dict[int, float]] = {}
    found: dict[int, Batch] = {}
    for number, row in enumerate(rows, 1):
        try:
            size, width, ms = int(row["batch"]), int(row["rows"]), float(row["verify_ms"])
            step = None if row.get("draft_ms") is None else float(row["draft_ms"])
            if not math.isfinite(ms + (step or 0.0)) or (size, width) != (float(row["batch"]), float(row["rows"])):
                raise ValueError
        except (KeyError, OverflowError, TypeError, ValueError):
            raise ConfigError(
                f"Row {number} of the batch costs must have batch, rows and verify_ms (draft_ms, hardware optional)."
            ) from None
        if size < 1 or width < 1 or not ms > 0 or (step is not None and not step >= 0):
            raise ConfigError(f"Row {number} of the batch costs must have batch and rows >= 1 and times > 0 ms.")
        groups.setdefault(size, {})[width] = ms
        before = found.get(size)
        known = step if step is not None or before is None else before.step_ms
        told = row.get("hardware") or (before.hardware if before else hardware)
        found[size] = Batch(size, Curve(((1, ms),)), known, str(told))
    for size, costs in groups.items():
        if 1 not in costs:
            raise ConfigError(f"The batch costs of batch {size} need a row with rows = 1: plain decoding.")
        found[size] = replace(found[size], verify=Curve(tuple(sorted(costs.items()))))
    return [found[size] for size in sorted(found)]
