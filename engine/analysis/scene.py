"""A decision's surroundings: the node, its round and run, and the texts of the ids."""

from dataclasses import dataclass
from functools import cached_property

from engine.analysis.decisions import greedy, numbers
from engine.analysis.words import Pieces, number, quoted
from engine.threshold import Numbers, Threshold
from engine.trace.events import Node, Round, RunStarted, TopN
from engine.trace.records import Reason


@dataclass(frozen=True)
class Scene:
    """What a sentence may speak of."""

    head: RunStarted
    event: Round
    index: int
    pieces: Pieces
    threshold: Threshold | None = None  # what the run's rule declares

    @cached_property
    def numbers(self) -> Numbers:
        """The recorded numbers that the rule's condition names."""
        return {} if self.threshold is None else numbers(self.node, self.threshold, self.head.knobs)

    @cached_property
    def node(self) -> Node:
        """The node in question."""
        return self.event.nodes[self.index]

    @cached_property
    def reason(self) -> Reason:
        """The inputs of the decision."""
        return self.node.reason or {}

    @cached_property
    def piece(self) -> str:
        """The draft token, quoted."""
        return self.quote(self.node.token)

    @cached_property
    def greedy(self) -> bool:
        """Whether the run takes the target's first choice."""
        return greedy(self.head)

    @cached_property
    def preferred(self) -> str:
        """The target's first choice with its probability; "another token" when it was not recorded."""
        choice = self.choice
        return "another token" if choice is None else self.quote(choice) + share(self.node.top_target, choice)

    @cached_property
    def choice(self) -> int | None:
        """The target's first choice, as the decision or the node says."""
        first = self.node.top_target or []
        return self.reason.get("choice", first[0][0] if first else None)

    @cached_property
    def corrected(self) -> int | None:
        """The token that came in the draft token's place; None when the walk went on or the run ended there."""
        if self.node.depth != self.event.accepted + 1:
            return None
        return next((token.token for token in self.event.tokens if token.origin == "correction"), None)

    @cached_property
    def elder(self) -> bool:
        """Whether a sibling was proposed, and so tested, before this one."""
        return any(one.parent == self.node.parent for one in self.event.nodes[: self.index])

    @cached_property
    def taken(self) -> str:
        """The sibling that was accepted instead, quoted; empty when none was."""
        return self._accepted_below(self.node.parent)

    @cached_property
    def branch(self) -> str:
        """The draft token with which the walk left this node's branch, quoted; empty when it never did."""
        at = self.node.parent
        while at >= 0 and at not in self.event.path:
            at = self.event.nodes[at].parent
        return self._accepted_below(at)

    def quote(self, token: int) -> str:
        """A token's text."""
        return quoted(token, self.pieces)

    def _accepted_below(self, parent: int) -> str:
        kept = (self.event.nodes[index] for index in self.event.path)
        return next((self.quote(one.token) for one in kept if one.parent == parent), "")


def share(distribution: TopN | None, token: int) -> str:
    """The probability of a token in brackets, with a blank before; empty where it was not recorded."""
    found = dict(distribution or []).get(token)
    return f" ({number(found)})" if found is not None else ""
