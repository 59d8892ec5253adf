"""The window of lookahead decoding: what the target predicted of the coming tokens in its last passes. Fu et al. 2024
(2402.02057), section 3.1; docs/methods/lookahead.md.

Dimension key: W columns, N tokens of an n-gram.
"""

from collections.abc import Callable, Sequence

Ngram = tuple[int, tuple[int, ...]]  # a token, and the N - 1 that follow it


class Window:
    """Levels of predictions. Level 0 holds the tokens behind the root, one after the other, the next levels what the
    target said after the level before, each a pass later. Column j has the j-th token behind the root in level 0 and
    what follows it in the others; column 0 begins at the root itself, so that level 0 has one token less.

    As in the published code the levels fill up in the first N - 2 passes, in each of which all lose their first column.
    """

    def __init__(self, columns: int, ngram: int, draw: Callable[[int], Sequence[int]]) -> None:
        """`columns` W, `ngram` N; `draw` gives so many tokens to begin with."""
        self.columns, self.ngram = columns, ngram
        self.levels: list[list[int]] = [list(draw(columns + ngram - 3))]

    @property
    def filled(self) -> bool:
        """Whether all N - 1 levels are there, so that columns are n-grams."""
        return len(self.levels) == self.ngram - 1

    @property
    def width(self) -> int:
        """Columns that there are: those of the last level."""
        return len(self.levels[-1])

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    @property
    def depth(self) -> int:
        """Places behind the root of the deepest token."""
        return len(self.levels[0]) + len(self.levels) - 1

    def tree(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tokens and parents under the root: level 0 as a chain, from each of its nodes and from the root a column."""
        tokens, parents, above = list[int](), list[int](), list[int]()
        for level, row in enumerate(self.levels):
            start = len(tokens)
            if level == 0:
                parents += range(-1, len(row) - 1)
                above = [-1, *range(len(row))]
            else:
                parents += above
                above = list(range(start, start + len(row)))
            tokens += row
        return tuple(tokens), tuple(parents)

    def ngrams(self, root: int, answers: Sequence[int]) -> list[Ngram]:
        """The n-gram of each column with the target's `answers` after its last level; empty until it is filled."""
        if not self.filled:
            return []
        begins = [root, *self.levels[0]]
        return [(begins[j], (*(level[j] for level in self.levels[1:]), answer)) for j, answer in enumerate(answers)]

    def learn(self, answers: Sequence[int]) -> None:
        """Go on by one place: the target's `answers` after the last level, one a column, are the newest level."""
        if self.filled:
            self.levels = [self.levels[1][1:], *self.levels[2:], list(answers)]
            return
        first = len(self.levels) == 1
        self.levels = [level[1:] for level in self.levels] + [list(answers) if first else list(answers[1:])]
