"""The seam: an encoder-decoder's sequence is its source and what its decoder reads, end to end in one list of tokens.

So sessions, drafters and traces need no second text. Where the source ends is read off the tokens themselves: there
the decoder's opening stands, which no source holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seam:
    """`opening` is what the decoder starts with: its start token and, where one is forced, a language or first token.

    Families that start with the token that also ends a source (BART) have it twice at the seam; `ends` are those.
    """

    opening: tuple[int, ...]
    ends: frozenset[int] = frozenset()

    def find(self, tokens: Sequence[int]) -> int:
        """How many of the tokens are the source: all of them where no opening has begun yet."""
        tokens, first = list(tokens), self.opening[0]
        at = 0
        while True:
            try:
                at = tokens.index(first, at + 1)
            except ValueError:
                return len(tokens)
            here = tuple(tokens[at : at + len(self.opening)])
            if here == self.opening[: len(here)] and (first not in self.ends or tokens[at - 1] in self.ends):
                return at
