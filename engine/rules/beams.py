"""The rule of beam search: a token counts as right once every beam that is left holds it.

Dimension key: B live beams, V vocabulary.
"""

from typing import ClassVar

import torch

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.sampling import sent, wide
from engine.threshold import Threshold
from engine.trace.records import RoundExtras
from engine.trees.beams import BeamDraft
from engine.verify import Check, Verdict
from engine.view import RoundView


class BestBeams:
    """Takes the search one step further, and commits what has settled. Temperature, top-k and top-p do nothing."""

    NAME: ClassVar[str] = "beams"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("beams",)
    THRESHOLD: ClassVar[Threshold | None] = None
    entries = 0
    bonus = False

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def decide(self, view: RoundView) -> Verdict:
        draft = view.draft
        assert isinstance(draft, BeamDraft) and draft.search is not None
        search, before = draft.search, draft.search.settled
        candidates, best = _candidates(view, draft)
        search.step(candidates, draft.stops.__contains__)
        shared = (search.best if search.done else search.live[0]).tokens[before : search.settled]
        path, rest = _down(draft, shared)
        extras: RoundExtras = {"rating": search.ended[0][0]} if search.done else {}
        checks = _checks(draft, before, path)
        if not search.done:
            for leaf, score in zip(draft.leaves, best, strict=True):
                if leaf >= 0:
                    checks[leaf].reason |= {"best": score, "last": search.live[-1].score}
        return Verdict(path, rest[0] if rest else None, checks=checks, extras=extras)


def _candidates(view: RoundView, draft: BeamDraft) -> tuple[list[tuple[float, int, int]], list[float]]:
    """The best continuations over all live beams, enough that N of them go on whatever ends (fp32, as transformers);
    and the log-probability of each beam with its best next token that does not end it."""
    search = draft.search
    assert search is not None
    leaves = sent([leaf + 1 for leaf in draft.leaves], view.logits.device, torch.long)
    rows = wide(view.logits.index_select(0, leaves))
    start = sent([beam.score for beam in search.live], rows.device, rows.dtype)
    summed_BV = torch.log_softmax(rows, -1) + start[:, None]
    wanted = max(2, 1 + len(draft.stops)) * search.width
    best = summed_BV.flatten().topk(min(wanted, summed_BV.numel()))
    vocab = summed_BV.shape[1]
    stops = sent(sorted(draft.stops), rows.device, torch.long)
    open_B = summed_BV.index_fill(1, stops, -torch.inf).amax(1)
    scores, places, open_ones = view.sound(best.values, best.indices, open_B)
    pairs = zip(scores, places, strict=True)
    return [(score, index // vocab, index % vocab) for score, index in pairs], open_ones


def _down(draft: BeamDraft, tokens: tuple[int, ...]) -> tuple[list[int], tuple[int, ...]]:
    """The nodes that tokens go along from the root, and the tokens beyond the tree."""
    path: list[int] = []
    for i, token in enumerate(tokens):
        above = path[-1] if path else -1
        node = next((k for k in draft.kids[above + 1] if draft.tokens[k] == token), None)
        if node is None:
            return path, tokens[i:]
        path.append(node)
    return path, ()


def _checks(draft: BeamDraft, before: int, path: list[int]) -> dict[int, Check]:
    """Nodes that settled, those that some beam still holds, and those that every beam has left."""
    search = draft.search
    assert search is not None
    kept = [search.best] if search.done else [*search.live, *(beam for _, beam in search.ended)]
    held = {node for beam in kept for node in _down(draft, beam.tokens[before:])[0]}
    return {
        node: Check("accepted", None, None, {"id": "beam_settled", "n": search.width})
        if node in path
        else Check("discarded", None, None, {"id": "beam_open", "n": search.width})
        if node in held
        else Check("rejected", None, None, {"id": "beam_left", "n": search.width})
        for node in range(len(draft))
    }
