"""What must hold in every trace. A sentence for each thing that does not; an empty list is a sound trace."""

import re
from collections.abc import Iterator

from engine.trace import outcome
from engine.trace.events import Round
from engine.trace.metrics import metrics
from engine.trace.store import Trace

SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # names of tokens that a text leaves out: <eos>, <|im_end|>, [SEP]
PARTIAL = re.compile("\ufffd|<0x[0-9A-F]{2}>")  # what stands for bytes that are no character by themselves


def identities(trace: Trace) -> list[str]:
    """The identities that the trace breaks, as sentences."""
    unread, broken = 0, list[str]()
    for event in trace.rounds:
        broken += [f"Round {event.index}: {fault}." for fault in _round(event, unread)]
        unread = 0 if event.fed else unread + event.emitted
    return broken + [f"{fault}." for fault in _run(trace)]


def _round(event: Round, unread: int) -> Iterator[str]:
    """Of one round; `unread` tokens were committed by rounds before that did not call the target."""
    alone = 0 < event.drafted == event.accepted == event.emitted or outcome.alone(event) or outcome.in_place(event)
    kept = [number for number, node in enumerate(event.nodes) if node.state in outcome.ACCEPTED]
    if event.emitted != len(event.tokens):
        yield f"says {event.emitted} tokens and emits {len(event.tokens)}"
    if event.accepted != len(event.path):
        yield f"accepts {event.accepted} draft tokens on a path of {len(event.path)}"
    if not event.accepted <= event.levels <= event.drafted:
        yield f"accepted {event.accepted}, levels {event.levels}, drafted {event.drafted} are not in order"
    most = event.drafted + outcome.beside(event) + 1 + unread
    if not (event.fed == 0 and alone) and not 1 + outcome.beside(event) <= event.fed <= most:
        yield f"feeds {event.fed} tokens with {event.drafted} draft tokens and a root"
    if event.nodes and len(event.nodes) != event.drafted:
        yield f"drafted {event.drafted} draft tokens and records {len(event.nodes)}"
    if event.nodes and kept != sorted(event.path):
        yield f"the accepted draft tokens {kept} are not the path {event.path}"
    if event.nodes and any(event.nodes[b].parent != a for a, b in zip([-1, *event.path], event.path, strict=False)):
        yield f"the path {event.path} does not run from parent to child"
    rank = outcome.tcr(event)
    if rank is not None and not event.accepted <= rank <= event.drafted:
        yield f"rank {rank} of the last accepted draft token is below {event.accepted} or above {event.drafted}"
    if any(token.round != event.index for token in event.tokens):
        yield "a token names another round"
    for token in event.tokens:
        if token.node is not None and event.nodes and event.nodes[token.node].token != token.token:
            yield f"the token at {token.pos} is not that of its draft token"


def _run(trace: Trace) -> Iterator[str]:
    found = metrics(trace)
    histogram = found["accepted_histogram"]
    if sum(histogram) != len(trace.rounds):
        yield f"the histogram holds {sum(histogram)} of {len(trace.rounds)} rounds"
    if sum(count * number for number, count in enumerate(histogram)) != found["accepted"]:
        yield "the histogram does not sum to the accepted draft tokens"
    if found["discarded"] is not None and found["discarded"] < 0:
        yield "more draft tokens were tested than drafted"
    if trace.end is not None and trace.end.reason != "error":
        pieces = [token.piece for token in trace.tokens]
        last = [] if trace.end.reason == "eos" else pieces[-1:]  # the text leaves an end-of-sequence token out
        plain = [piece for piece in pieces[:-1] if not SPECIAL.fullmatch(piece)]
        text, *others = ("".join(one) for one in (pieces, [*pieces[:-1], *last], [*plain, *last]))
        whole = (text, *others, *(["".join(plain)] if last and SPECIAL.fullmatch(last[0]) else []))
        told = trace.end.text.removeprefix(" ")  # which decoders strip where a text begins
        fits = any(told == one.removeprefix(" ") for one in whole)
        if not fits and not PARTIAL.search(text + trace.end.text):  # pieces of half a character do not add up
            yield "the pieces of the tokens do not make up the text"
        parts = 1e3 * (found["draft_s"] + found["verify_s"] + found["other_s"])
        if trace.end.total_ms is not None and parts > 1.001 * trace.end.total_ms + 0.1:
            yield f"the rounds take {parts:.1f} ms of {trace.end.total_ms:.1f}"
