"""What a command says beside its result: defaults that are this pair's own, and thresholds that cannot fire."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from engine.analysis.idle import said
from engine.cli.specs import Spec, label
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


def idle_among(lab: Lab, spec: Spec, traces: Sequence[Trace]) -> str:
    """The same of a method's runs on several prompts, where it is so for each of them.

    Light traces hold no decisions: then the first prompt is run once more, in full, unless a token was accepted by the
    threshold somewhere.
    """
    method, given = spec
    if get_card(method).threshold is None or any(token.origin == "relaxed" for t in traces for token in t.tokens):
        return ""
    head = traces[0].head
    if head.record == "full":
        notes = [said(trace, get_card(method).threshold) for trace in traces]
        return f"{label(spec)}, on every prompt; on the first: {notes[0]}" if all(notes) else ""
    again = lab.run(
        method,
        head.prompt_ids,
        **{**head.sampling, "max_new_tokens": head.max_new_tokens, "seed": head.seed, "stop": head.stop, **given},
    )
    return f"{label(spec)}, on the first prompt: {note}" if (note := said(again, get_card(method).threshold)) else ""
