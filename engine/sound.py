"""What a drafter and a rule give back is held to what the loop can go on with, or what is wrong is told."""

from collections.abc import Sequence

from engine.draft import Draft
from engine.errors import EngineFault, shown
from engine.verify import Verdict


def sound_draft(draft: object, who: str, number: int, space: int, vocab: int) -> Draft:
    """The draft of round `number`, which `who` proposed for a target of so many ids with so much `space` to read it.

    Raises:
        EngineFault: it is no draft, holds tokens that the target does not have, or is too large.
    """
    if not isinstance(draft, Draft):
        raise EngineFault(f"{who} gave {shown(draft)} in round {number}, which is not a Draft.")
    tokens = draft.read.tokens
    if strange := [token for token in tokens if type(token) is not int]:
        raise EngineFault(
            f"{who} drafted {shown(strange[0])} in round {number}: a token is a plain integer, as `int(x)` and "
            "`tensor.tolist()` give it."
        )
    if len(tokens) > space:
        raise EngineFault(
            f"{who} drafted {len(tokens)} tokens in round {number}, where there is space for {space}: at most "
            "`context.space` can be read."
        )
    if tokens and (min(tokens) < 0 or max(tokens) >= vocab):
        odd = next(token for token in tokens if not 0 <= token < vocab)
        raise EngineFault(f"{who} drafted token {odd} in round {number}: the target has 0 to {vocab - 1}.")
    return draft


def sound_verdict(verdict: object, who: str, number: int, parents: Sequence[int] | None, vocab: int) -> Verdict:
    """The verdict of round `number`, by which `who` decided on a draft with these parents; None where what it accepts
    need not be a path of it.

    Raises:
        EngineFault: it is no verdict, accepts what is no path of the draft, or emits a token that the target does not
            have.
    """
    if not isinstance(verdict, Verdict):
        raise EngineFault(f"{who} gave {shown(verdict)} in round {number}, which is not a Verdict.")
    if parents is not None:
        _path(verdict.path, who, number, parents)
    if verdict.emit is not None and not 0 <= verdict.emit < vocab:
        raise EngineFault(f"{who} emitted token {verdict.emit} in round {number}: the target has 0 to {vocab - 1}.")
    return verdict


def _path(path: Sequence[int], who: str, number: int, parents: Sequence[int]) -> None:
    above = -1
    for node in path:
        if not 0 <= node < len(parents) or parents[node] != above:
            raise EngineFault(
                f"{who} accepted the nodes {shown(path)} in round {number}, which are no path of the draft: {node} "
                f"does not follow {'the root' if above < 0 else above}."
            )
        above = node
