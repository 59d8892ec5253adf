"""CM-ASD's chain: draft k_max tokens, verify as many as their mean confidence allows (section III.B). C1, C3, C4, C5.

Dimension key: N positions, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.parts import Kit, Knobs, Outcome
from engine.sampling import entropy, wide
from engine.trace.records import RoundExtras


def confidences(
    logits_NV: Tensor,
    weights: Sequence[float],
    *,
    scale: float = 1.0,
    entropy_conf: str = "one_minus",
    margin_norm: str = "sigmoid",
) -> Tensor:
    """C_t = w1 * entropy + w2 * logit margin + w3 * softmax margin, for each row [N].

    Entropy: 1 - H / log V ("one_minus"; "literal" is H / log V, as printed). Logit margin: sigmoid(scale (z1 - z2)), in
    [0.5, 1) ("sigmoid"), or 2 sigmoid - 1 ("rescaled"). Softmax margin: (P1 - P2) / P1. `weights` are normalised to
    sum one; all zero weighs the three alike. All values lie in [0, 1].
    """
    x = wide(logits_NV)
    share = entropy(x) / math.log(x.shape[-1])
    first, second = x.topk(2, dim=-1).values.unbind(-1)
    margin = torch.sigmoid(scale * (first - second))
    soft = 1 - torch.exp(second - first)
    parts = (
        share if entropy_conf == "literal" else 1 - share,
        2 * margin - 1 if margin_norm == "rescaled" else margin,
        soft,
    )
    total = sum(weights)
    shares = [w / total for w in weights] if total > 0 else [1 / 3] * 3
    mixed = sum((w * part for w, part in zip(shares, parts, strict=True)), torch.zeros_like(soft))
    return mixed.clamp(0, 1)


class ConfidenceChain:
    """k_j = min(k_max, max(k_min, floor(alpha * mean C * k_max))); the C_t also go to the rule."""

    NAME: ClassVar[str] = "confidence_chain"
    KIND: ClassVar[str] = "chain"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("k_min", 1, "fewest drafted tokens verified", 1, 128, 1, "tokens"),
        Knob("k_max", 25, "tokens drafted each round, and most verified", 1, 128, 1, "tokens"),
        Knob("alpha", 1.0, "share of k_max verified at full confidence", 0.0, 10.0, 0.05),
        Knob("adapt_k", True, "off fixes the length at k_max (ablation of table III)", origin="paper"),
        Knob("w_entropy", 1 / 3, "weight of 1 - H / log V", 0.0, 1.0, 0.05),
        Knob("w_margin", 1 / 3, "weight of the logit margin", 0.0, 1.0, 0.05),
        Knob("w_soft", 1 / 3, "weight of the softmax margin", 0.0, 1.0, 0.05),
        Knob("margin_scale", 1.0, "scale inside the sigmoid of the logit margin", 0.01, 100.0, 0.05, advanced=True),
        Knob(
            "entropy_conf",
            "one_minus",
            "1 - H / log V, or H / log V as printed",
            choices=("one_minus", "literal"),
            advanced=True,
        ),
        Knob(
            "margin_norm",
            "sigmoid",
            "logit margin in [0.5, 1) as printed, or rescaled to [0, 1)",
            choices=("sigmoid", "rescaled"),
            advanced=True,
        ),
        Knob(
            "lookahead",
            "full",
            "draft all k_max tokens before choosing k, or stop once the running mean allows no more",
            choices=("full", "incremental"),
            lossy=("full",),
            advanced=True,
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.knobs = dict(knobs)
        self.k_min, self.k_max = int(knobs["k_min"]), int(knobs["k_max"])
        self.alpha = float(knobs["alpha"])
        self.looks = bool(knobs["adapt_k"]) and knobs["lookahead"] != "full"
        self._seen: list[float] = []

    def begin(self) -> None: ...

    def limit(self) -> int:
        self._seen = []
        return self.k_max

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        return not self.looks or self.goes_on(drafted, float(self.weigh(logits_V.unsqueeze(0))), logits_V)

    def weigh(self, logits_NV: Tensor) -> Tensor:
        return self.gauge(logits_NV)

    def goes_on(self, drafted: int, weight: float, logits_V: Tensor) -> bool:
        if not self.looks:
            return True
        if drafted >= self.k_min and drafted >= self._length(self._seen):
            return False
        self._seen.append(weight)
        return True

    def keep(self, draft: Draft) -> Draft:
        """The first k_j nodes, with their confidences; all of them when drafting was incremental.

        A length chosen after the fact looks at the draft tokens that it keeps or drops, so above temperature 0 even the
        exact rule is biased by it. Incremental drafting stops on what came before, which is harmless.
        """
        if draft.logits is None:
            return draft
        values = list(draft.confidence) if draft.confidence else self.gauge(draft.logits).tolist()
        k = self._length(values) if self.knobs["adapt_k"] and self.knobs["lookahead"] == "full" else self.k_max
        mean = sum(values) / len(values)
        extras: RoundExtras = {**draft.extras, "k": min(k, len(draft)), "mean_confidence": mean, "made": len(draft)}
        return replace(draft, confidence=tuple(values), extras=extras).cut(k)

    def _length(self, values: list[float]) -> int:
        mean = sum(values) / len(values) if values else 1.0
        return min(self.k_max, max(self.k_min, math.floor(self.alpha * mean * self.k_max)))

    def gauge(self, logits_NV: Tensor) -> Tensor:
        """C_t of each row [N]."""
        k = self.knobs
        return confidences(
            logits_NV,
            (float(k["w_entropy"]), float(k["w_margin"]), float(k["w_soft"])),
            scale=float(k["margin_scale"]),
            entropy_conf=str(k["entropy_conf"]),
            margin_norm=str(k["margin_norm"]),
        )

    def observe(self, outcome: Outcome) -> None: ...
