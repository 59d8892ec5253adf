"""What a recording must show: the claims of a case by name, and which of them its traces do not bear out.

`expect` in a preset's TOML holds claims by name; lanes are counted from 0, or named by their method. The same claims
find a prompt, guard the recording, and are tested on the recorded files.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from engine.analysis.divergence import divergence
from engine.cases.judging import digits_refused, naive_misses, words_kept
from engine.errors import ConfigError, unknown
from engine.files.presets import Preset
from engine.tasks import Problem, get_task
from engine.trace.events import Round
from engine.trace.outcome import calls
from engine.trace.store import Trace

Traces = Sequence[Trace]
Claim = Callable[[Preset, Traces, Any], bool]


def _right(preset: Preset, trace: Trace) -> bool:
    problem = Problem(preset.task, "", preset.prompt, "", preset.answer)
    return get_task(preset.task).score(problem, trace.text) >= 1


def _speed(trace: Trace) -> float:
    return float(trace.metrics()["tokens_per_s"] or 0.0)


def _tau(trace: Trace) -> float:
    return float(trace.metrics()["tau"])


def _from_earlier(trace: Trace) -> float:
    """Share of the accepted draft tokens that stood in an earlier trajectory."""
    kept = [node.source or {} for event in trace.rounds for node in event.nodes if node.state == "accepted"]
    return sum(bool(source.get("ago")) for source in kept) / max(len(kept), 1)


def _states(trace: Trace, state: str) -> int:
    return sum(node.state == state for event in trace.rounds for node in event.nodes)


def _checked(trace: Trace) -> int:
    return sum(event.fed for event in trace.rounds)


def _wasted(trace: Trace) -> int:
    """Draft tokens that were not accepted."""
    return sum(event.drafted - event.accepted for event in trace.rounds)


def _draft_cost(trace: Trace) -> float:
    """Milliseconds of drafting a draft token."""
    return sum(event.draft_ms for event in trace.rounds) / max(1, sum(event.drafted for event in trace.rounds))


def _lengths(trace: Trace) -> list[int]:
    """How long the drafts were, in levels, up to the last round, which the end of the text may have cut short."""
    return [event.levels for event in trace.rounds[:-1] if event.drafted]


def _stopped(trace: Trace) -> int:
    """Rounds whose draft ended because one more token of it could not have been worth its time on the device."""
    chosen = ((event.extras.get("following"), event.extras.get("least")) for event in trace.rounds)
    return sum(following is not None and least is not None and following < least for following, least in chosen)


def _unsure_at_verb(trace: Trace, most: float) -> bool:
    """Whether the draft token of least confidence, at most so much, stands in the verb that ends a German clause: a
    word in small letters before a comma or full stop."""
    seen = {
        event.start + node.depth - 1: node.confidence
        for event in trace.rounds
        for node in event.nodes
        if node.confidence is not None and node.state in ("accepted", "relaxed", "rejected")
    }
    at = min(seen, key=lambda pos: seen[pos], default=-1)
    if at < 0 or seen[at] > most:
        return False
    pieces = [token.piece for token in trace.tokens]
    begin = len("".join(pieces[:at])) + pieces[at].startswith(" ")
    text = "".join(pieces).removesuffix("</s>")
    start = text.rfind(" ", 0, begin) + 1
    word = text[start:].split(" ")[0]
    return word.endswith((",", ".")) and word[:1].islower() and begin < start + len(word) - 1


def _rewritten(trace: Trace) -> int:
    """How often an iteration wrote another token where one stood."""
    cells = (cell for event in trace.rounds for cell in event.canvas or ())
    return sum(cell.before not in (None, cell.token) for cell in cells)


def _streak(trace: Trace, holds: Callable[[Round], bool]) -> int:
    """The most rounds in a row of which something holds."""
    longest = now = 0
    for event in trace.rounds:
        now = now + 1 if holds(event) else 0
        longest = max(longest, now)
    return longest


CLAIMS: dict[str, Claim] = {
    "right": lambda preset, traces, lanes: all(_right(preset, traces[i]) for i in lanes),
    "wrong": lambda preset, traces, lanes: not any(_right(preset, traces[i]) for i in lanes),
    "differ": lambda _, traces, pair: traces[pair[0]].token_ids != traces[pair[1]].token_ids,
    "same": lambda _, traces, pair: traces[pair[0]].token_ids == traces[pair[1]].token_ids,
    "tau_above": lambda _, traces, given: traces[given[0]].metrics()["tau"] > given[1],
    "tau_below": lambda _, traces, given: traces[given[0]].metrics()["tau"] < given[1],
    "departs": lambda _, traces, given: all(traces[i].token_ids != traces[given[0]].token_ids for i in given[1:]),
    "alike": lambda _, traces, lanes: len({tuple(traces[i].token_ids) for i in lanes}) == 1,
    "longer": lambda _, traces, given: _tau(traces[given[0]]) > _tau(traces[given[1]]) * given[2],
    "trajectories": lambda preset, traces, given: [t.head.extras.get("trajectory", -1) + 1 for t in traces] == given,
    "from_earlier": lambda _, traces, given: _from_earlier(traces[given[0]]) >= given[1],
    "slower": lambda _, traces, pair: _speed(traces[pair[0]]) < _speed(traces[pair[1]]),
    "vetoes": lambda _, traces, given: _states(traces[given[0]], "vetoed") >= given[1],
    "relaxed": lambda _, traces, given: _states(traces[given[0]], "relaxed") >= given[1],
    "words_kept": lambda _, traces, given: words_kept(traces[given[0]]) >= given[1],
    "digits_refused": lambda _, traces, given: digits_refused(traces[given[0]]) >= given[1],
    "unsure_at_verb": lambda _, traces, given: _unsure_at_verb(traces[given[0]], given[1]),
    "naive_misses": lambda preset, _, given: naive_misses(preset.prompt, preset.task) >= given,
    "cause": lambda _, traces, given: getattr(divergence(traces[given[0]], traces[given[1]]), "cause", "") == given[2],
    "run_of": lambda _, traces, given: max((r.accepted for r in traces[given[0]].rounds), default=0) >= given[1],
    "deeper": lambda _, traces, given: (
        _streak(traces[given[0]], lambda r: (r.extras.get("d_extra") or 0) > 0) >= given[1]
    ),
    "wasted": lambda _, traces, given: (
        _streak(traces[given[0]], lambda r: r.drafted >= given[1] and r.accepted <= given[2]) >= given[3]
    ),
    "fewer_calls": lambda _, traces, pair: calls(traces[pair[0]].rounds) < calls(traces[pair[1]].rounds),
    "cheaper_drafts": lambda _, traces, pair: _draft_cost(traces[pair[0]]) < _draft_cost(traces[pair[1]]),
    "fewer_checked": lambda _, traces, pair: _checked(traces[pair[0]]) < _checked(traces[pair[1]]),
    "wastes_less": lambda _, traces, pair: _wasted(traces[pair[0]]) < _wasted(traces[pair[1]]),
    "lengths": lambda _, traces, given: (
        min(_lengths(traces[given[0]]), default=math.inf) <= given[1]
        and max(_lengths(traces[given[0]]), default=0) >= given[2]
    ),
    "stopped": lambda _, traces, given: _stopped(traces[given[0]]) >= given[1],
    "rewritten": lambda _, traces, given: _rewritten(traces[given[0]]) >= given[1],
    "finished": lambda _, traces, __: all(t.end is not None and t.end.reason == "eos" for t in traces),
}


def failures(preset: Preset, traces: Traces) -> list[str]:
    """The claims of the preset that its traces do not bear out.

    Raises:
        ConfigError: a claim that nobody knows, or about a lane that is not there.
    """
    for name in preset.expect:
        if name not in CLAIMS:
            raise ConfigError(f"{preset.name}: " + unknown("claim", name, CLAIMS))
    return [f"{name} = {value}" for name, value in preset.expect.items() if not _holds(preset, traces, name, value)]


def _holds(preset: Preset, traces: Traces, name: str, value: Any) -> bool:
    lanes = {trace.head.method: lane for lane, trace in reversed(list(enumerate(traces)))}
    given = [lanes.get(part, part) if isinstance(part, str) else part for part in value] if _several(value) else value
    try:
        return CLAIMS[name](preset, traces, given)
    except (TypeError, IndexError):
        there = ", ".join(reversed(lanes))
        raise ConfigError(
            f"{preset.name}: {name} = {value} is about a lane that is not there; there are {there}."
        ) from None


def _several(value: Any) -> bool:
    return isinstance(value, list | tuple)
