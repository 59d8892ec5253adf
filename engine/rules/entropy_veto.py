"""EASD: veto a draft token where both models are unsure and yet agree, so that the target must think again.

Entropy-aware speculative decoding, sections 3.3 to 3.5, eq. 2 to 7, algorithm 1. Register: E1 to E8, E14.
"""

from typing import ClassVar, cast

from torch import Tensor

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.sampling import entropy
from engine.threshold import All, Compare, Condition, Op, Recorded, Setting, Switch, Threshold, bind
from engine.threshold.declare import Bars
from engine.trace.records import Reason
from engine.verify import Correction, Verdict, walk
from engine.view import RoundView

_ALWAYS: Condition = All()
ABLATIONS = ("none", "no_overlap", "no_draft_entropy", "target_entropy_only")


def _entropy_at(name: str) -> Recorded:
    """An entropy as it is compared; a node's own is at temperature 1, so at another only the reason's will do (E3)."""
    return Recorded(name, field=Switch("entropy_temperature", ((1.0, name),), otherwise=""))


def _without(ablations: tuple[str, ...], part: Condition) -> Switch[Condition]:
    """A part of the condition that these ablations leave out (table 2 of the paper)."""
    return Switch("ablation", tuple((ablation, _ALWAYS) for ablation in ablations), otherwise=part)


_AGREE = Recorded("overlap", at=Setting("overlap_n"))
_UNSURE = Compare(_entropy_at("h_target"), ">", Setting("tau_entropy"))
_DRAFT_UNSURE = Compare(
    _entropy_at("h_draft"), ">", Op("given", (Setting("tau_entropy_draft"), Setting("tau_entropy")))
)
_ENOUGH = Switch[Condition](
    "overlap_cmp",
    (("gt", Compare(_AGREE, ">", Setting("tau_overlap"))),),
    otherwise=Compare(_AGREE, ">=", Setting("tau_overlap"), tolerance=1e-9),
)
_TRIGGER = All(
    (
        _UNSURE,
        _without(("no_draft_entropy", "target_entropy_only"), _DRAFT_UNSURE),
        _without(("no_overlap", "target_entropy_only"), _ENOUGH),
    )
)
_PROPOSED: Bars = "proposed"


class EntropyVeto:
    """Veto when H(draft) > tau and H(target) > tau and the top-n overlap reaches tau_overlap; then the exact rule.

    Entropies and top-n sets come from the raw softmax (E3). A veto removes the token from the target's raw logits
    before temperature, top-k and top-p (E14); at temperature 0 it changes the output only where the
    draft token is the target's first choice, and then the second is emitted.
    """

    NAME: ClassVar[str] = "entropy_veto"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ("draft distributions",)
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "veto",
        _TRIGGER,
        says="vetoed where both entropies exceed tau_entropy and the overlap reaches tau_overlap",
        limits=(("h_draft", "tau_h_draft"), ("h_target", "tau_h"), ("overlap", "tau_o")),
        bars=Switch("penalize", (("argmax", "first"),), otherwise=_PROPOSED),
    )
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "tau_entropy",
            2.0,
            "veto only where both entropies exceed this; 20 is never",
            -1.0,
            20.0,
            0.05,
            "nats",
            origin="paper",
        ),
        Knob(
            "tau_overlap",
            0.8,
            "veto only where this share of the top n is common",
            0.0,
            1.01,
            0.05,
            "share",
            origin="paper",
        ),
        Knob("overlap_n", 5, "how many first choices are compared", 1, 1_000_000, 1, "tokens", origin="paper"),
        Knob(
            "overlap_cmp",
            "ge",
            "overlap test: at least (ge) or above (gt) tau_overlap",
            choices=("ge", "gt"),
            advanced=True,
        ),
        Knob(
            "ablation",
            "none",
            "leave out parts of the condition (table 2 of the paper)",
            choices=ABLATIONS,
            origin="paper",
        ),
        Knob(
            "correction",
            "target",
            "distribution of the token after a rejection: the target's own, as printed, or the residual",
            choices=("target", "residual"),
            origin="paper",
            advanced=True,
        ),
        Knob(
            "penalize",
            "proposed",
            "token removed by a veto: the proposed one, or the draft's first choice",
            choices=("proposed", "argmax"),
            origin="paper",
            advanced=True,
        ),
        Knob("bonus", True, "emit the target's next token after a fully accepted draft", advanced=True),
        Knob(
            "entropy_temperature",
            1.0,
            "temperature of the softmax that entropies are taken of",
            0.05,
            10.0,
            0.05,
            advanced=True,
        ),
        Knob(
            "tau_entropy_draft",
            -1.0,
            "separate threshold for the draft's entropy; -1 uses tau_entropy",
            -1.0,
            20.0,
            0.05,
            "nats",
            advanced=True,
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.knobs = dict(knobs)
        self.tau = float(knobs["tau_entropy"])
        own = float(knobs["tau_entropy_draft"])
        self.tau_draft = self.tau if own < 0 else own
        self.tau_overlap, self.n = float(knobs["tau_overlap"]), int(knobs["overlap_n"])
        self.holds = bind(_TRIGGER, knobs)
        self.temperature = float(knobs["entropy_temperature"])
        self.entries, self.bonus = self.n, bool(knobs["bonus"])

    def decide(self, view: RoundView) -> Verdict:
        view.along("stats", "several")
        if self.temperature != 1.0 and view.draft.logits is not None:
            view.along(hot=self._hot)
        correction = cast(Correction, self.knobs["correction"])
        verdict = walk(view, correction=correction, bonus=self.bonus, veto=self._veto)
        if self.temperature != 1.0:  # the entropies of a node are recorded at temperature 1
            for node, check in verdict.checks.items():
                check.reason = self._used(view, node) | check.reason
        return verdict

    def _used(self, view: RoundView, node: int) -> Reason:
        """The three numbers that the condition compares, by name; none for a token without a distribution."""
        h_draft, h_target = self._entropies(view, node)
        overlap = view.stats.overlap(node, self.n)
        if h_draft is None or overlap is None:
            return {}
        return {"h_draft": h_draft, "h_target": h_target, "overlap": overlap}

    def _veto(self, view: RoundView, node: int) -> Reason | None:
        used = self._used(view, node)
        if not used or not self.holds(used):
            return None
        if not view.several(view.draft.parents[node] + 1):
            return None  # one finite logit: nothing would be left (E14)
        remove = view.draft.tokens[node]
        if self.knobs["penalize"] == "argmax" and view.stats.draft is not None:
            remove = view.stats.draft.top[view.draft.group[node]][0][0]
        return {
            "id": "veto",
            **used,
            "tau_h": self.tau,
            "tau_h_draft": self.tau_draft,
            "tau_o": self.tau_overlap,
            "n": self.n,
            "remove": remove,
        }

    def _entropies(self, view: RoundView, node: int) -> tuple[float | None, float]:
        if self.temperature == 1.0 or view.draft.logits is None:
            return view.stats.h_draft(node), view.stats.target.h[view.draft.parents[node] + 1]
        theirs, ours = view.brought("hot")
        return theirs[view.draft.group[node]], ours[view.draft.parents[node] + 1]

    def _hot(self, view: RoundView) -> tuple[Tensor, ...]:
        """Entropies of all rows of the draft model and the target, at the temperature that is asked for."""
        assert view.draft.logits is not None
        both = view.draft.logits.to(view.logits.device), view.logits
        return tuple(entropy(rows, self.temperature) for rows in both)
