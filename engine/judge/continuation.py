"""GENERATE and FORWARD of algorithm 1, on local models. One session each, so that a prefix is never computed twice."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from engine.draft import chain
from engine.errors import EngineFault
from engine.judge.gumbel import Chooser
from engine.model import Model, Session
from engine.model.session import check_finite

LOOK = 32  # most tokens of the old continuation tried at once


class Retokenized(EngineFault):
    """Text that came back from a server gives other ids for the prefix than those that were sent."""

    def __init__(self, at: int, ids: Sequence[int]) -> None:
        super().__init__(f"The text tokenises differently from position {at} on.")
        self.at, self.ids = at, list(ids)


class Target(Protocol):
    """Whatever writes the target's continuations: a model here, or a server."""

    def generate(self, prefix: Sequence[int], limit: int, likely: Sequence[int] = ()) -> list[int]:
        """Ids that follow `prefix` (prompt included): at most `limit`, ending with a stop id unless cut by the limit.

        Raises:
            Retokenized: the prefix does not survive its way through text.
        """


class LocalTarget:
    """GENERATE with a model here. `likely` may hold what probably follows; it is checked, never trusted.

    The choice at a prefix is a function of the prefix, greedy or with a Gumbel field, so that a drafted continuation
    can be verified in one pass: after a swapped token most of the old response tends to come back.
    """

    def __init__(self, model: Model, capacity: int, chooser: Chooser, vocab: int | None = None) -> None:
        self.session = _session(model, capacity, vocab)
        self.chooser, self.stop = chooser, model.tokenizer.stop_ids

    def generate(self, prefix: Sequence[int], limit: int, likely: Sequence[int] = ()) -> list[int]:
        tokens, new, old, look = list(prefix), list[int](), Old(likely), 4
        limit = min(limit, self.session.left(tokens))
        while len(new) < limit:
            drafted = old.next(min(look, limit - len(new) - 1))
            choices = self._choices(tokens, drafted)
            look = min(LOOK, 2 * look) if len(choices) > len(drafted) else max(2, len(choices))
            for token in choices:
                tokens.append(token)
                new.append(token)
                old.take(token)
                if token in self.stop:
                    return new
        return new

    def _choices(self, tokens: list[int], drafted: list[int]) -> list[int]:
        """The target's own tokens after `tokens`: as many as the draft gets right, and one more."""
        logits = self.session.forward(tokens, chain(drafted)).logits
        check_finite(logits)
        picks = self.chooser.pick(logits, [tokens + drafted[:i] for i in range(len(drafted) + 1)])
        right = next((i for i, (a, b) in enumerate(zip(picks, drafted, strict=False)) if a != b), len(drafted))
        return picks[: right + 1]


class Old:
    """The old continuation as a draft: follows what is written, and finds its place again after a difference."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids, self.at, self.written = list(ids), 0, list[int]()

    def next(self, n: int) -> list[int]:
        """The next tokens if the old text came back, at most n."""
        return self.ids[self.at : self.at + max(n, 0)]

    def take(self, token: int) -> None:
        """A token was written: step on, and after a difference look for the last two tokens nearby."""
        self.written.append(token)
        missed = self.next(1) != [token]
        self.at += 1
        if missed and len(self.written) > 1:
            pair = self.written[-2:]
            near = sorted(range(1, len(self.ids)), key=lambda i: abs(i + 1 - self.at))
            self.at = next((i + 1 for i in near if self.ids[i - 1 : i + 1] == pair), self.at)


class DraftView:
    """FORWARD with the draft model: its choice at each position of a response, in one pass."""

    def __init__(
        self,
        model: Model,
        capacity: int,
        chooser: Chooser,
        vocab: int | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`lock` is shared by views that several threads use on one device."""
        self.session, self.chooser = _session(model, capacity, vocab), chooser
        self.lock = lock or nullcontext()

    def choices(self, before: Sequence[int], response: Sequence[int]) -> list[int]:
        """The argmax of FORWARD(before + response) at the positions of `response`; entry i sees all before it."""
        if not response:
            return []
        with self.lock:
            logits = self.session.forward(before, chain(response[:-1])).logits
        check_finite(logits)
        ids = [*before, *response]
        return self.chooser.pick(logits, [ids[: len(before) + i] for i in range(len(response))])


def _session(model: Model, capacity: int, vocab: int | None) -> Session:
    session = model.session(capacity)
    session.vocab = min(session.vocab, vocab or session.vocab)
    return session
