"""What one run shows of its promise: its text beside the reference's, and its decisions recomputed from their numbers.

No run proves a distribution. That a rule has the target's distribution is shown by enumerating every way in which its
kernel can accept and reject (docs/methods/kernels.md); what stands here is how far this run agrees with that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.analysis.decisions import greedy
from engine.analysis.divergence import divergence
from engine.analysis.replay import UNDECLARED, replay
from engine.analysis.words import count
from engine.errors import ConfigError
from engine.threshold import Threshold
from engine.trace import outcome
from engine.trace.store import Trace


@dataclass(frozen=True, slots=True)
class Proof:
    """One run's own evidence."""

    text: str  # its text beside the reference's, in a sentence or two
    decisions: str  # its decisions, in a sentence
    against: str | None  # key of the lane that the text was compared with
    pos: int | None  # the first position where the two differ
    same: int | None  # tokens before that, or all that both have
    checked: int | None  # decisions that were recomputed; None where they were not recorded
    faults: int  # of these, how many disagree with what the run did


def proof(
    key: str, ran: Mapping[str, Trace], names: Mapping[str, str], thresholds: Mapping[str, Threshold | None]
) -> Proof:
    """The evidence of the run `key` among all that ran; `thresholds` are what rules declare, by name."""
    trace = ran[key]
    checked, faults, decisions = _decisions(trace, thresholds)
    if trace.head.guarantee == "reference":
        text = "This is the reference: the target alone, one call a token. The others are compared with it."
        return Proof(text, decisions, None, None, None, checked, faults)
    against = next((other for other, run in ran.items() if _reference(trace, run)), None)
    if against is None:
        text = "The target alone did not run beside it with this prompt and sampling: its text is not compared."
        return Proof(text, decisions, None, None, None, checked, faults)
    pos, same, text = _text(trace, ran[against], names[key], names[against])
    return Proof(text, decisions, against, pos, same, checked, faults)


def _reference(trace: Trace, other: Trace) -> bool:
    ours, theirs = trace.head, other.head
    return theirs.guarantee == "reference" and all(
        one == two
        for one, two in (
            (ours.prompt_ids, theirs.prompt_ids),
            (ours.models.get("target"), theirs.models.get("target")),
            (ours.sampling, theirs.sampling),
        )
    )


def _text(trace: Trace, reference: Trace, name: str, plain: str) -> tuple[int | None, int, str]:
    found = divergence(trace, reference, (name, plain))
    lengths = (len(trace.tokens), len(reference.tokens))
    same = min(lengths) if found is None else found.pos
    pos = None if found is None else found.pos
    if not greedy(trace.head):
        return (
            pos,
            same,
            "Sampled: one run proves nothing about a distribution, for exact runs draw different texts too. "
            f"It shares the first {count(same, 'token')} with {plain}, which speaks neither for nor against it.",
        )
    if found is not None:
        return pos, same, f"Checked: this run's text is not that of {plain}. {found.text}"
    if lengths[0] == lengths[1]:
        return pos, same, f"Checked: this run's text is that of {plain}, all {count(same, 'token')}."
    shorter = name if lengths[0] < lengths[1] else plain
    return pos, same, f"Checked: this run's text is that of {plain} for {count(same, 'token')}, where {shorter} ends."


def _decisions(trace: Trace, thresholds: Mapping[str, Threshold | None]) -> tuple[int | None, int, str]:
    if not any(event.drafted or outcome.in_place(event) for event in trace.rounds):
        return 0, 0, "Nothing was drafted, so nothing was decided."
    if trace.head.rule not in thresholds:
        return None, 0, "Its rule is not known here, so its decisions are not recomputed."
    declared = thresholds[trace.head.rule]
    if declared is None and trace.head.rule not in UNDECLARED:
        return None, 0, "Its rule declares no threshold, so its decisions are not recomputed."
    try:
        found = replay(trace, declared)
    except ConfigError:
        return None, 0, "It was recorded lightly: the numbers of its decisions are not there to be checked."
    rest = f"; {found.unknown} cannot be, for want of numbers" if found.unknown else ""
    told = f"{found.told}{rest}"
    if found.agrees:
        return found.checked, 0, f"{told}: all came out as they did in the run."
    n = len(found.faults)
    return found.checked, n, f"{told}: {count(n, 'number')} disagree{'s' if n == 1 else ''}. {found.faults[0]}"
