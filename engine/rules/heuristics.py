"""Rule-based baselines of AutoJudge, appendix K: a mismatch matters when it looks like mathematics.

"Math only" accepts every other rejected token; "math and top-K" accepts it only if it is also among the target's first
K choices (K = 1024 and 128 in the paper). Which token is looked at and which variables count is not said there.
"""

import re
from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.errors import ConfigError
from engine.parts import Kit, Knobs
from engine.threshold import Absent, All, Compare, Condition, Recorded, Setting, Switch, Threshold, bind
from engine.trace.records import Reason
from engine.verify import Verdict, walk
from engine.view import RoundView

LONGEST = 200  # characters of a list of words


_ANY: Condition = All()
_HARMLESS = All(
    (
        Absent(Recorded("found", field="")),
        Switch(
            "math_k",
            ((0, _ANY),),
            otherwise=Compare(Recorded("rank", field=""), "<=", Setting("math_k")),
        ),
    )
)


class MathRule:
    """The exact rule, but a rejected draft token stays unless it, or the target's choice, contains mathematics."""

    NAME: ClassVar[str] = "math"
    TITLE: ClassVar[str] = "math rule"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "override",
        _HARMLESS,
        says="accepted where nothing mathematical was found and the token is among the target's first math_k (0: any)",
        limits=(("rank", "k"),),
    )
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("math_symbols", "0123456789+-*/=<>^%$", "characters that make a token mathematical"),
        Knob("math_words", "x,y,z,n", "whole words that count as variables, separated by commas"),
        Knob("math_token", "either", "whose token is looked at", choices=("either", "draft", "target"), advanced=True),
        Knob(
            "math_k",
            0,
            "accept only draft tokens among this many first choices of the target; 0 is any",
            0,
            1_000_000,
            1,
            "tokens",
            origin="paper",
        ),
        Knob("bonus", True, "emit the target's next token after a fully accepted draft", advanced=True),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.k, self.whose, self.bonus = int(knobs["math_k"]), str(knobs["math_token"]), bool(knobs["bonus"])
        self.holds = bind(_HARMLESS, knobs)
        self.pattern = mathematical(str(knobs["math_symbols"]), str(knobs["math_words"]))
        self.piece = kit.target.tokenizer.piece

    def decide(self, view: RoundView) -> Verdict:
        view.along("choice", "ranks")
        return walk(view, bonus=self.bonus, override=self._override)

    def _override(self, view: RoundView, node: int) -> tuple[bool, Reason, None]:
        drafted, wanted = view.draft.tokens[node], view.choice[view.draft.parents[node] + 1]
        looked_at = {"draft": (drafted,), "target": (wanted,), "either": (drafted, wanted)}[self.whose]
        found = next((m.group().strip() for t in looked_at if (m := self.pattern.search(self.piece(t)))), None)
        rank, gap = view.ranks[node]
        keep = bool(self.holds({"found": found, "rank": rank}))
        word = "heuristic_relaxed" if keep else "heuristic_refused"
        reason: Reason = {"id": word, "pattern": self._why(found, rank), "rank": rank, "gap": gap, "found": found}
        return keep, reason | Reason(k=self.k) if self.k else reason, None

    def _why(self, found: str | None, rank: int) -> str:
        if found is not None:
            return f"{found} is a digit, operator or variable"
        place = f"; rank {rank}, top {self.k} allowed" if self.k else ""
        return f"no digit, operator or variable{place}"


def mathematical(symbols: str, words: str) -> re.Pattern[str]:
    """What finds mathematics in a token. Built from plain characters and words, so that no typed pattern is ever run.

    Raises:
        ConfigError: the lists are too long.
    """
    if len(symbols) > LONGEST or len(words) > LONGEST:
        raise ConfigError(f"math_symbols and math_words hold at most {LONGEST} characters each.")
    names = [re.escape(word.strip()) for word in words.split(",") if word.strip()]
    parts = [f"[{re.escape(symbols)}]"] if symbols else []
    parts += [rf"(?<!\w)(?:{'|'.join(names)})(?!\w)"] if names else []
    return re.compile("|".join(parts) or r"(?!)")
