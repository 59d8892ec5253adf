"""What a look-up would have drafted with another length: it reads nothing but the text, and of a recorded run the text
is known, so its rounds are gone through again without a model.

Where a draft is checked by the exact rule, a draft token is accepted where the text has it: in greedy runs always, in
sampled ones in distribution.
"""

from collections.abc import Iterator
from typing import cast

from engine.analysis.advice import Step
from engine.config import Sampling
from engine.draft import EMPTY
from engine.drafters import DRAFTERS
from engine.lab import Lab
from engine.methods import get_card
from engine.model import Forward, Session
from engine.parts import Context, Kit, Outcome
from engine.rules import RULES
from engine.shapes import SHAPES
from engine.streams import Streams
from engine.trace.store import Trace
from engine.verify import Verdict
from engine.view import RoundView


def again(lab: Lab, trace: Trace, length: int) -> Iterator[Step] | None:
    """The rounds that a chain of a look-up, recorded with this lab, would have had with at most `length` draft tokens;
    None where that is not known: another shape or rule, or tables that remember other texts."""
    head = trace.head
    if head.rule != "exact" or head.shape != "chain" or head.knobs.get("scope") == "global":
        return None
    return _rounds(lab, trace, length)


def _rounds(lab: Lab, trace: Trace, length: int) -> Iterator[Step]:
    head, text = trace.head, trace.token_ids
    sampling, streams = Sampling(), Streams(0)
    knobs = {**head.knobs, "gamma": length}
    slots = len(head.prompt_ids) + head.max_new_tokens + length
    assets = {role: lab.asset(role) for role in lab.assets_of(get_card(head.method), knobs)}
    kit = Kit(lab.target, {}, assets, slots, sampling, streams, lab.vocab)
    drafter, shape = DRAFTERS[head.drafter](kit, knobs), SHAPES[head.shape](kit, knobs)
    tokens, at, draft, path = list(head.prompt_ids), 0, EMPTY, list[int]()
    drafter.begin(tokens)
    shape.begin()
    while at < len(text):
        room = head.max_new_tokens - at - RULES[head.rule].bonus
        context = Context(
            tokens=tokens,
            prompt=len(head.prompt_ids),
            room=room,
            space=slots - len(tokens),
            sampling=sampling,
            streams=streams,
            target=cast(Session, None),
            last=None,
            path=path,
            draft=draft,
            full=False,
            question=head.prompt,
        )
        draft = drafter.propose(context, shape)
        ahead = zip(draft.tokens, text[at:], strict=False)
        accepted = next(
            (n for n, (ours, theirs) in enumerate(ahead) if ours != theirs), min(len(draft), len(text) - at)
        )
        emitted = text[at : at + accepted + 1]
        at, path = at + len(emitted), list(range(accepted))
        tokens.extend(emitted)
        verdict = Verdict(path=path, emit=emitted[-1], origin="correction")
        outcome = Outcome(draft, cast(Forward, None), verdict, cast(RoundView, None), emitted, tokens)
        drafter.observe(outcome)
        shape.observe(outcome)
        yield len(draft), accepted, len(emitted)
