"""What a command says beside its result: defaults that are this pair's own, and thresholds that cannot fire."""

import sys
from collections.abc import Iterator, Mapping

from engine.analysis.idle import said
from engine.cli.specs import Spec
from engine.config import label
from engine.judge.served import is_served
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.store import Trace


def tell(*notes: str) -> None:
    """Print those that are not empty, on standard error."""
    for note in filter(None, notes):
        print(note, file=sys.stderr)


def own_defaults(lab: Lab, name: str, given: Mapping[str, object]) -> Iterator[str]:
    """A line for each knob whose default was calibrated for the loaded models and that nobody set."""
    for knob in lab.fitted(get_card(name)).knobs:
        if knob.calibrated and knob.name not in given:
            yield (
                f"{name}: {knob.name} is {knob.default} {knob.unit}".rstrip()
                + f", calibrated for these models by `{knob.calibrated}`; elsewhere it is {knob.published}."
            )


def idle(trace: Trace) -> str:
    """Why the threshold of a run's rule could not fire; empty where it could, or where a light trace cannot tell."""
    text = said(trace, get_card(trace.head.method).threshold)
    return f"{trace.head.method}: {text}" if text else ""


class Idle:
    """Why the threshold of a method's rule could not fire on any of several prompts, as its runs come."""

    def __init__(self, spec: Spec) -> None:
        """Of a method with its knobs."""
        self._spec = spec
        self._first: Trace | None = None
        self._note = ""
        self._may = get_card(spec[0]).threshold is not None

    def add(self, trace: Trace) -> None:
        """A run on the next prompt."""
        if not self._may:
            return
        if any(token.origin == "relaxed" for token in trace.tokens):
            self._may = False
        elif trace.head.record == "full":
            note = said(trace, get_card(self._spec[0]).threshold)
            self._may, self._note = bool(note), self._note or note
        self._first = self._first or trace

    def note(self, lab: Lab) -> str:
        """What to say; empty where it could fire.

        Light traces hold no decisions: then the first prompt is run once more, in full, unless a token was accepted by
        the threshold somewhere, or the target stays on a server, which gives no more than light ones hold.
        """
        method, given = self._spec
        if not self._may or self._first is None:
            return ""
        if self._note:
            return f"{label(self._spec)}, on every prompt; on the first: {self._note}"
        if is_served(lab.target):
            return ""
        head = self._first.head
        again = lab.run(
            method,
            head.prompt_ids,
            **{**head.sampling, "max_new_tokens": head.max_new_tokens, "seed": head.seed, "stop": head.stop, **given},
        )
        note = said(again, get_card(method).threshold)
        return f"{label(self._spec)}, on the first prompt: {note}" if note else ""
