"""A counted suffix tree: how often each short run of tokens was followed by which token (SuffixDecoding, 2411.04975,
section 3).

Every run of at most `depth` tokens has a node of its own, which knows its most frequent continuation, so that reading
a token costs `depth` steps and asking for a continuation one for each of its tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine.lookup.history import History


class Step(NamedTuple):
    """One token of a likely continuation."""

    token: int
    times: int  # how often it came here
    seen: int  # how often anything did
    share: float  # product of times / seen up to here
    place: int  # where it was seen last


class SuffixTree:
    """Reads sequences token by token, at places that grow. Node 0 is the empty run."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.children: list[dict[int, int]] = [{}]
        self.token = [-1]  # the last of a node's run
        self.count = [0]
        self.last = [-1]
        self.followed = [0]  # how often anything came behind
        self.favourite = [0]  # the child that came most often, of equals the one seen last; 0 while there is none
        self.ends: list[int] = []  # nodes of the runs that the sequence ends with, shortest first

    def __len__(self) -> int:
        return len(self.count)

    def begin(self) -> None:
        """A new sequence starts: no run crosses from the one before."""
        self.ends = []

    def add(self, token: int, place: int) -> None:
        """Append one token, which stands at `place`."""
        ends: list[int] = []
        for node in [0, *self.ends][: self.depth]:
            child = self.children[node].setdefault(token, len(self.count))
            if child == len(self.count):
                self._grow(token)
            self.count[child] += 1
            self.last[child] = place
            self.followed[node] += 1
            if self.count[child] >= self.count[self.favourite[node]]:
                self.favourite[node] = child
            ends.append(child)
        self.ends = ends

    def _grow(self, token: int) -> None:
        self.children.append({})
        self.token.append(token)
        self.count.append(0)
        self.last.append(-1)
        self.followed.append(0)
        self.favourite.append(0)

    def find(self, tokens: Sequence[int]) -> int | None:
        """The node of a run, None when it was never seen."""
        node = 0
        for token in tokens:
            if token not in self.children[node]:
                return None
            node = self.children[node][token]
        return node

    def matches(self, tail: Sequence[int]) -> list[int]:
        """The nodes of the runs that `tail` ends with, shortest first, as far as they were seen. Its last tokens are
        those of the sequence that is being read; what stands before it may never have been."""
        nodes = self.ends[: len(tail)]
        while len(nodes) < len(tail) and (node := self.find(tail[-len(nodes) - 1 :])) is not None:
            nodes.append(node)
        return nodes

    def likely(self, node: int, limit: int, least: float) -> list[Step]:
        """At most `limit` tokens behind a node: the most frequent each time, of equals the one seen last, while their
        shares multiply to `least` or more."""
        steps, share = list[Step](), 1.0
        while len(steps) < limit and (child := self.favourite[node]):
            seen = self.followed[node]
            share *= self.count[child] / seen
            if share < least:
                break
            steps.append(Step(self.token[child], self.count[child], seen, share, self.last[child]))
            node = child
        return steps


class Found(NamedTuple):
    """The continuation that was chosen."""

    where: str  # this | earlier
    match: int  # tokens that matched
    steps: list[Step]

    @property
    def score(self) -> float:
        """Draft tokens that the counts expect to hold: the sum of the shares."""
        return sum(step.share for step in self.steps)


class SuffixMemory:
    """One tree over this sequence, prompt included, and one over all responses in scope, this one's too.

    Past `entries` nodes the responses are forgotten; then this sequence is read again from its newer half on.
    """

    def __init__(self, scope: str, depth: int, entries: int) -> None:
        self.history, self.depth, self.entries = History(scope), depth, entries
        self.this, self.earlier = SuffixTree(depth), SuffixTree(depth)

    def begin(self, prompt: Sequence[int]) -> None:
        """A sequence starts."""
        if self.history.begin(prompt):
            self.earlier = SuffixTree(self.depth)
        self.this = SuffixTree(self.depth)
        self.earlier.begin()
        self._read(self.history.start, self.this)
        self._bound()

    def extend(self, tokens: Sequence[int]) -> None:
        """The sequence has grown to `tokens`."""
        known = len(self.history.tokens)
        self.history.extend(tokens)
        self._read(known, self.this, self.earlier)
        self._bound()

    def _read(self, start: int, *trees: SuffixTree) -> None:
        for at in range(start, len(self.history.tokens)):
            for tree in trees:
                tree.add(self.history.tokens[at], at)

    def _bound(self) -> None:
        if len(self) > self.entries:
            self.earlier = SuffixTree(self.depth)
        start, end = self.history.start, len(self.history.tokens)
        while len(self.this) > self.entries and start < end:
            start += (end - start + 1) // 2
            self.this = SuffixTree(self.depth)
            self._read(start, self.this)

    def best(self, limit: int, factor: float, offset: int, least: float) -> Found:
        """The continuation of the highest score over both trees and all lengths of the match; the longest match of
        equals, and this sequence before the responses. A match of m tokens gives at most factor m + offset."""
        tokens, longest = self.history.tokens, self.depth - 1
        tail = tokens[max(self.history.start, len(tokens) - longest) :]
        chosen, score = Found("this", 0, []), 0.0
        for where, tree in (("this", self.this), ("earlier", self.earlier)):
            nodes = tree.matches(tail)
            for match in range(len(nodes), 0, -1):
                most = min(limit, int(factor * match + offset))
                if most <= score:  # a token scores 1 at most, and a shorter match has no more of them
                    break
                if tree.followed[nodes[match - 1]]:
                    found = Found(where, match, tree.likely(nodes[match - 1], most, least))
                    if found.score > score:
                        chosen, score = found, found.score
        return chosen

    def __len__(self) -> int:
        return len(self.this) + len(self.earlier)
