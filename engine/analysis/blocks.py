"""A recorded round of block verification decided again without a model (engine/rules/block.py): a draft token's fate
hangs on the tests of those behind it too."""

from collections.abc import Iterator

from engine.trace.events import Node, Round

RULE = "block"
IDS = {"accepted": "block_accept", "rejected": "block_reject", "discarded": "block_behind"}  # reasons by state
CLOSE = 1e-6  # of two recorded numbers that must be equal


def tested_whole(event: Round) -> bool:
    """Whether a round's draft was tested as one block."""
    return any((node.reason or {}).get("id") in IDS.values() for node in event.nodes)


def fates(event: Round) -> list[str | None]:
    """The state of each draft token that the recorded tests give; None where a number is missing."""
    passed = [passes(node) for node in event.nodes]
    if None in passed:
        return [None] * len(passed)
    length = max((node.depth for node, held in zip(event.nodes, passed, strict=True) if held), default=0)
    ends = event.emitted <= length  # the response, at a draft token
    return ["discarded" if ends and node.depth > event.emitted else state(node.depth, length) for node in event.nodes]


def state(depth: int, length: int) -> str:
    """Of the draft token at a depth, from 1 on, where so many are accepted."""
    return "accepted" if depth <= length else "rejected" if depth == length + 1 else "discarded"


def passes(node: Node) -> bool | None:
    """Whether a draft token's own test passed; None where it was not recorded."""
    return None if node.u is None or node.accept_prob is None else node.u < node.accept_prob


def faults(event: Round) -> Iterator[str]:
    """Recorded numbers that do not follow from others: the weights from p and q, and the last chance, which is the
    whole draft's weight."""
    weight = 1.0
    for index, node in enumerate(event.nodes):
        told, p, q = ((node.reason or {}).get(name) for name in ("weight", "p", "q"))
        if not (isinstance(told, float | int) and isinstance(p, float | int) and isinstance(q, float | int)):
            return
        weight = min(1.0, weight * p / q) if q > 0 else 0.0
        if abs(weight - told) > CLOSE:
            yield f"the weight {told:g} of node {index} is not {weight:g}"
    chance = event.nodes[-1].accept_prob if event.nodes else None
    if chance is not None and abs(chance - weight) > CLOSE:
        yield f"the last acceptance probability {chance:g} is not the draft's weight {weight:g}"
