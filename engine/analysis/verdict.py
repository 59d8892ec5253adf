"""Whether speculation pays here and what decides it, from measured numbers only. Page, notebooks and files read this.

The ratio of speeds is told whenever there is a fair baseline; the cause only of runs with enough rounds to name one. Of
several runs a side the ratio is the median of their quotients, told with the range of these, and tokens a call are
the median of theirs, as beside the lanes (engine/analysis/repeats.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from engine.analysis import beams
from engine.analysis.intervals import Spread, spread
from engine.analysis.words import count, half_up, mean, number, per_call, percent, times
from engine.trace import outcome
from engine.trace.events import Round
from engine.trace.metrics import metrics, pooled, unfair
from engine.trace.store import Trace

Cause = Literal[
    "too early",
    "not timed",
    "plain decoding",
    "draft alone",
    "written in place",
    "searched",
    "speculation inactive",
    "overhead-bound",
    "reward model too costly",
    "draft too costly",
    "target call too costly",
    "acceptance falls",
    "pays off",
]
FEW = 8  # calls below which no cause is named
INACTIVE = 0.1  # share of calls with a draft below which nothing is being speculated
OVERHEAD = 0.25  # share of time in neither model, or in a reward model, from which it is the thing to cure
COSTLY = 0.3  # a draft step of this share of a target call cannot pay at common acceptances
LITTLE = 1.05  # tokens a call below which even drafts that cost nothing would gain next to nothing
CALL = 1.5  # a target call over a draft of this many plain ones is no longer nearly free
EVEN = 0.02  # speeds closer than this are the same
PAIR = 2  # lanes that a ratio needs; more of them in turns share the caches and disturb each other's times


class Shares(NamedTuple):
    """Of the rounds' time: in the drafter, in a process reward model, in a network that writes in place, and in neither
    model, which these two are part of."""

    draft: float
    reward: float
    network: float
    beside: float

    @property
    def other(self) -> float:
        """In no model at all."""
        return self.beside - self.reward - self.network


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence, its cause and what both rest on. Shares are of the rounds' time."""

    line: str  # what stands between double stars is to be stressed
    why: str  # the dominant cause in a sentence, or why none is named
    unsaid: str  # why no ratio of speeds is told; empty where one is
    cause: Cause
    speedup: float | None
    tau: float | None
    cost_ratio: float | None
    draft_share: float
    other_share: float  # in no model
    reward_share: float  # in a process reward model
    network_share: float  # in a network that writes in place
    active: float  # share of the rounds that had a draft
    call_ratio: float | None  # a target call of this run / one of the baseline
    worth: int  # leading draft positions that earn more than they cost
    spread: Spread | None = None  # of the ratio, where it was measured several times; then `speedup` is its median

    @property
    def text(self) -> str:
        """Line and cause without marks, as one paragraph."""
        return f"{self.line} {self.why}".replace("**", "").strip()


def verdict(trace: Trace, baseline: Trace | None = None, names: tuple[str, str] | None = None) -> Verdict:
    """The verdict on one run; a ratio of speeds only with a run without a draft of the same process.

    `names` are what the two runs are called, by default their titles. A single run a side is told as measured once.

    Raises:
        ConfigError: see `metrics.metrics`.
    """
    return verdict_over([trace], None if baseline is None else [baseline], names)


def verdict_over(
    traces: Sequence[Trace],
    baselines: Sequence[Trace] | None = None,
    names: tuple[str, str] | None = None,
) -> Verdict:
    """The verdict on several runs of one method on one prompt, each against the baseline in the same place.

    Raises:
        ConfigError: see `metrics.pooled`.
    """
    trace = traces[0]
    name, plain = names or (trace.head.title, baselines[0].head.title if baselines else "")
    found = pooled(traces, baselines)
    ratios = spread(quotients(traces, baselines or ()))
    if ratios:
        found["speedup"] = ratios.median
    if lengths := spread([tau for one in traces if (tau := metrics(one)["tau"]) is not None]):
        found["tau"] = lengths.median
    searched = trace.head.rule == beams.RULE
    seconds = found["draft_s"] + found["verify_s"] + found["other_s"]
    parts = ("draft_s", "reward_s", "network_s", "other_s")
    shares = Shares(*(found[key] / seconds if seconds else 0.0 for key in parts))
    rounds = [event for one in traces for event in one.rounds]
    drafting = sum(outcome.drafts(event) > 0 for event in rounds)
    active = drafting / len(rounds) if rounds else 0.0
    once = outcome.once(rounds)
    worth = worthwhile(found, once)
    # without a baseline the target call stands for a step of plain decoding
    gain = found.get("speedup") or (found["tau"] or 0.0) * (1 - shares.draft - shares.beside)
    call = _call_ratio(found, [event for one in baselines or () for event in one.rounds])
    calls = evidence(traces)
    cause = "searched" if searched and calls >= FEW else _cause(found, calls, gain, shares, active, call or 1.0, worth)
    turns = _turns([*traces, *(baselines or ())])
    return Verdict(
        f"{_speed(trace, found.get('speedup'), ratios, name, plain, turns)}: {_terms(found, shares.reward)}.",
        _why(cause, found, calls, shares, drafting, _window(rounds), call, worth, once),
        "" if found.get("speedup") is not None else _unsaid(traces, baselines, plain),
        cause,
        found.get("speedup"),
        found["tau"],
        found["cost_ratio"],
        shares.draft,
        shares.other,
        shares.reward,
        shares.network,
        active,
        call,
        worth,
        ratios if ratios and ratios.n > 1 else None,
    )


def quotients(traces: Sequence[Trace], baselines: Sequence[Trace]) -> list[float]:
    """Speed of each run over that of the baseline in the same place; one that cannot be known is left out.

    Raises:
        ConfigError: see `metrics.metrics`.
    """
    found = [metrics(*pair)["speedup"] for pair in zip(traces, baselines, strict=False)]
    return [ratio for ratio in found if ratio is not None]


def evidence(traces: Sequence[Trace]) -> int:
    """Target calls that differ: runs with the same text made the same decisions and count once."""
    texts = {tuple(token.token for token in trace.tokens): trace for trace in traces}
    return sum(outcome.calls(trace.rounds) for trace in texts.values())


def _turns(traces: Sequence[Trace]) -> int:
    """How many lanes took turns where these ran, a round each, which disturbs their times; 0 where nobody says so."""
    return max(trace.head.extras.get("lanes", 0) for trace in traces)


def verdicts(traces: Sequence[Trace], names: Sequence[str]) -> list[Verdict]:
    """One verdict a run, each against the first run among them that is a fair baseline."""
    return verdicts_over([[trace] for trace in traces], names)


def verdicts_over(lanes: Sequence[Sequence[Trace | None]], names: Sequence[str]) -> list[Verdict]:
    """One verdict a lane of several runs. Run i of one lane belongs to run i of the others; None is one that failed.

    Every lane must have a run.
    """
    return [_among(runs, name, lanes, names) for runs, name in zip(lanes, names, strict=True)]


def _among(
    runs: Sequence[Trace | None], name: str, lanes: Sequence[Sequence[Trace | None]], names: Sequence[str]
) -> Verdict:
    ours = [run for run in runs if run]
    plain = [(other, called) for other, called in zip(lanes, names, strict=True) if other is not runs and _plain(other)]
    against = ""
    for other, called in plain:
        pairs = [(run, beside) for run, beside in zip(runs, other, strict=False) if run and beside]
        wrong = next((what for pair in pairs if (what := unfair(*pair))), "") if pairs else "no run beside its own"
        if not wrong:
            return verdict_over([run for run, _ in pairs], [beside for _, beside in pairs], (name, called))
        against = against or f"{called} has {wrong}"
    found = verdict_over(ours, None, (name, ""))
    return replace(found, unsaid=against) if plain else found


def _plain(runs: Sequence[Trace | None]) -> bool:
    """Whether something ran, nothing was drafted, and the text is the target's own."""
    rounds = [event for run in runs if run for event in run.rounds]
    lossy = any(run.head.guarantee == "lossy" for run in runs if run)
    return bool(rounds) and not lossy and not any(event.drafted for event in rounds)


def worthwhile(found: dict[str, Any], once: bool = False) -> int:
    """Leading draft positions that pay: marginal(d) tokens for one more draft step, against tokens a second now. Those
    of a draft that was written `once`, in one pass, pay together or not at all."""
    marginal, price = found["accept_by_depth"]["marginal"], _price(found)
    if price is None:
        return 0
    if once:
        return len(marginal) if sum(marginal) > price else 0
    return next((position for position, gain in enumerate(marginal) if gain <= price), len(marginal))


def _price(found: dict[str, Any]) -> float | None:
    """Tokens that are made in the time of a draft step, at the speed of now: what one more position has to bring. None
    where it is not known."""
    if not found["tokens_per_s"] or found["cost_ratio"] is None:
        return None
    return float(found["tokens_per_s"] * found["cost_ratio"] * found["verify_s"] / found["rounds"])


def _cause(
    found: dict[str, Any], calls: int, gain: float, shares: Shares, active: float, call: float, worth: int
) -> Cause:
    if found["iterations"]:
        return "written in place"
    if _alone(found):
        return "draft alone"
    if calls < FEW:
        return "too early"
    if not found["tokens_per_s"]:
        return "not timed"
    if not found["drafted"]:
        return "plain decoding"
    if active < INACTIVE:
        return "speculation inactive"
    beside: Cause = "reward model too costly" if shares.reward > shares.other else "overhead-bound"
    most = max(shares.reward, shares.other)
    if most >= OVERHEAD and most > shares.draft:
        return beside
    if (found["tau"] or 0.0) < LITTLE:
        return "acceptance falls"
    if gain < 1 < gain / (1 - min(shares.draft, 0.999)) and (found["cost_ratio"] or 0.0) >= COSTLY:
        return "draft too costly"
    if gain < 1 and call >= CALL:
        return "target call too costly"
    if worth < len(found["accept_by_depth"]["depth"]):
        return "not timed" if found["cost_ratio"] is None else "acceptance falls"
    if gain >= 1 - EVEN:
        return "pays off"
    return beside if most > shares.draft else "draft too costly"


def _window(rounds: Sequence[Round]) -> str:
    """What target calls read beside drafts, in words; empty where nothing."""
    read = [outcome.beside(event) for event in rounds if event.drafted]
    return f" and a window of {mean(sum(read) / len(read))}" if any(read) else ""


def _why(
    cause: Cause,
    found: dict[str, Any],
    different: int,
    shares: Shares,
    drafting: int,
    window: str,
    call: float | None,
    worth: int,
    once: bool,
) -> str:
    calls = count(found["rounds"], "target call")
    if cause == "written in place":
        passes = count(found["iterations"], "iteration")
        return f"Every place was written at once and then improved: {passes}, and the target was never asked."
    if cause == "draft alone":
        return "The draft model wrote alone, and the target was never asked."
    if cause == "searched":
        read = mean(found["verify_tokens"] / found["rounds"])
        return f"A search, no speculation: {calls} for what the beams hold, {read} tokens at a time on average."
    if cause == "too early":
        return f"Only {count(different, 'target call')}: too few to name a cause."
    if cause == "not timed":
        known = "No times were" if not found["tokens_per_s"] else "No times of the target's calls were"
        return f"{known} recorded, so whether it pays is not known."
    if cause == "plain decoding":
        return "Nothing was drafted."
    if cause == "speculation inactive":
        return f"Speculation inactive: {drafting} of its {calls} had a draft."
    if cause == "overhead-bound":
        return f"Overhead-bound: {percent(shares.other)} of its decoding time is in neither model."
    if cause == "reward model too costly":
        return (
            f"Reward model too costly: reading {count(found['reward_calls'], 'drafted step')} takes it "
            f"{percent(shares.reward)} of the decoding time."
        )
    if cause == "draft too costly":
        return f"Draft too costly: it takes {percent(shares.draft)} of the decoding time."
    if cause == "target call too costly":
        length, times = mean(found["drafted"] / drafting), mean(call or 0.0)
        tokens = "token" if length == "1" else "tokens"
        over = f"over a draft of {length} {tokens}{window}"
        return f"Target call too costly: {over} it takes as long as {times} plain ones."
    marginal = found["accept_by_depth"]["marginal"]
    of = f"of the {count(drafting, 'round')} with a draft"
    if once:
        drafts, kept = f"{count(len(marginal), 'token')} in a row", f"{mean(sum(marginal))} are accepted on average"
        if cause == "pays off":
            return f"The draft pays for itself: one pass drafts up to {drafts}, of which {kept}."
        return f"Acceptance is too low: of the up to {drafts} that one pass drafts {kept}, less than the pass costs."
    if cause == "pays off":
        return (
            f"Every draft position pays for itself, up to position {len(marginal)} "
            f"(accepted in {percent(marginal[-1])} {of})."
        )
    if worth == len(marginal):
        made = f"{mean(found['tau'])} tokens a target call"
        return f"Acceptance is too low: {made}, so even drafts without cost gain little."
    price = _price(found)
    gained, *wanted = _apart(marginal[worth], *([] if price is None else [price]))
    share = f"accepted in {gained} {of}" + (f"; its draft step pays from {wanted[0]} on" if wanted else "")
    if worth == 0:
        return f"Acceptance is too low from the first position on: {share}."
    return f"Acceptance falls after position {worth}: position {worth + 1} is {share}."


def _apart(*shares: float) -> tuple[str, ...]:
    """Shares that are compared: with a decimal where they would read the same."""
    told = tuple(map(percent, shares))
    alike = len(set(told)) == 1 and len(set(shares)) > 1
    return tuple(f"{half_up(100 * share, 1)} %" for share in shares) if alike else told


def _unsaid(traces: Sequence[Trace], baselines: Sequence[Trace] | None, plain: str) -> str:
    if not baselines:
        return "it is the lane without a draft itself" if _plain(traces) else "no lane without a draft was run"
    if not any(trace.tokens for trace in traces):
        return "it has no token yet"
    return "no times were recorded" if any(one.tokens for one in baselines) else f"{plain} has no token yet"


def _alone(found: dict[str, Any]) -> bool:
    """Whether all tokens are a draft model's that nobody checks."""
    return bool(found["tokens"]) and not found["rounds"] and not found["drafted"]


def _call_ratio(found: dict[str, Any], plain: Sequence[Round]) -> float | None:
    if not found["rounds"] or not plain:
        return None
    call = sum(event.verify_ms for event in plain) / len(plain)
    return 1e3 * found["verify_s"] / found["rounds"] / call if call else None


def _speed(trace: Trace, speedup: float | None, ratios: Spread | None, name: str, plain: str, turns: int) -> str:
    place = f"{trace.head.device}, {trace.head.dtype.removeprefix('torch.')}"
    if speedup is None or ratios is None:
        return f"{name} ({place})"
    ends, n = (ratios.low, ratios.high), ratios.n
    if n > 1 and ends[0] < 1 < ends[1]:
        how = f"median of {n} runs a side, {_times(*ends)}, so on either side of 1; {place}"
        return f"{name} has **{times(speedup)}** the speed of {plain} ({how})"
    if abs(speedup - 1) < EVEN:
        return f"{name} is as fast as {plain} ({_taken(n, *ends, turns)}, {place})"
    if speedup < 1:
        speedup, word, ends = 1 / speedup, "slower", (1 / ends[1], 1 / ends[0])
    else:
        word = "faster"
    return f"{name} is **{times(speedup)}** {word} than {plain} ({_taken(n, *ends, turns)}, {place})"


def _taken(n: int, low: float, high: float, turns: int) -> str:
    """How a ratio was measured: once, beside how many other lanes if beside more than its own pair, or so many times
    with its range."""
    if n > 1:
        return f"median of {n} runs a side, {_times(low, high)}"
    return "once" if turns <= PAIR else f"once, {turns} lanes in turns, so only roughly"


def _times(low: float, high: float) -> str:
    """A range of ratios."""
    return f"{times(low)} to {times(high)}"


def _terms(found: dict[str, Any], reward: float) -> str:
    if not found["tokens"]:
        return "no token yet"
    if found["tau"] is None:
        return "no target call"
    tokens = "one token a target call" if found["tau"] == 1 else f"**{per_call(found['tau'])}** tokens a target call"
    if found["cost_ratio"] is not None:
        tokens += f"; a draft step costs **{number(found['cost_ratio'])}** of a call"
    return f"{tokens}; its reward model takes **{percent(reward)}** of the time" if reward else tokens
