"""AutoJudge: the exact rule, but a rejected draft token stays when a small classifier calls it unimportant (K10).

Garipov et al., "AutoJudge: Judge Decoding Without Manual Annotation", sections 3.2 and 3.3. Registers: A4 (p >=
threshold rejects), A5 (window edge). On trees it is an extension of ours: at the deepest accepted node without a
matching child, children are tried in the order of their draft scores.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from engine.config import Guarantee, Knob
from engine.errors import ConfigError
from engine.judge.weights import Judge
from engine.model import Session
from engine.parts import Kit, Knobs
from engine.sampling import sent
from engine.tasks import JUDGED
from engine.threshold import Compare, Op, Recorded, Setting, Threshold, bind
from engine.trace.records import Reason
from engine.verify import Verdict, walk
from engine.view import RoundView

_UNIMPORTANT = Compare(
    Recorded("score", field="judge"),
    "<",
    Op("given", (Setting("judge_threshold"), Recorded("threshold", field=""))),
)


class JudgeRule:
    """Override on rejection: accept when p(important) < threshold. Threshold 0 is speculative decoding; above 1 accepts
    all. Beyond the context of a draft model that the judge reads nothing is overridden."""

    NAME: ClassVar[str] = "judge"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ("judge",)
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "override",
        _UNIMPORTANT,
        says="accepted although the target prefers another, where the judge's importance lies below the threshold",
        limits=(("score", "threshold"),),
    )
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "judge",
            "auto",
            f"which judge: {', '.join(JUDGED)}, or your own; auto is your own if loaded, else that of the prompt's "
            "task, else the first",
            choices=("auto", *JUDGED, "own"),
        ),
        Knob(
            "judge_threshold",
            -1.0,
            "accept a rejected draft token whose importance is below this: 0 accepts none, 1.01 accepts all; -1 is the "
            "judge's own",
            -1.0,
            1.01,
            0.01,
            "probability",
            origin="paper",
        ),
        Knob(
            "bonus",
            True,
            "emit the target's next token after a fully accepted draft; the published code does not",
            advanced=True,
        ),
        Knob(
            "edge",
            "encode",
            "the window's last token: encode it like the others, or reject it without asking the judge",
            choices=("encode", "reject"),
            origin="paper",
            advanced=True,
        ),
        Knob(
            "force",
            False,
            "use a judge that was trained on other models or another task (for experiments)",
            advanced=True,
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.knobs, self.holds = dict(knobs), bind(_UNIMPORTANT, knobs)
        self.bonus, self.edge = bool(knobs["bonus"]), str(knobs["edge"])
        self.session: Session | None = None
        self._draft_rows: Tensor | None = None
        self._scores: list[float] | None = None  # of this round's nodes
        self.given(kit)

    def given(self, kit: Kit) -> None:
        """Take the judge that is asked for, or the task's.

        Raises:
            ConfigError: it is not loaded, or not for rounds as they come. ModelMismatch: it is another pair's.
        """
        self.judge = choose(kit, str(self.knobs["judge"]))
        given = float(self.knobs["judge_threshold"])
        self.threshold = self.judge.threshold if given < 0 else given
        if not self.judge.kind.online:
            raise ConfigError(
                f"The judge for {self.judge.task} reads states after the target's own token ({self.judge.kind}): "
                "they need a second target pass a round, so such judges are for offline comparisons only."
            )
        if not self.knobs["force"]:
            models = {"target": kit.target.revision} | {role: model.revision for role, model in kit.models.items()}
            self.judge.check(models, kit.task or None)
        self.blocks = [block.split(":") for block in self.judge.kind.blocks]
        if self.session is None and any(model == "draft" for model, _ in self.blocks):
            found = kit.session("draft", slots=kit.capacity)
            if not isinstance(found, Session):
                raise ConfigError(
                    f"The judge for {self.judge.task} reads the draft model's states at each draft token, and this "
                    "draft model has a tokenizer of its own."
                )
            self.session = found

    def decide(self, view: RoundView) -> Verdict:
        self._draft_rows = self._scores = None
        verdict = walk(view, bonus=self.bonus, override=self._override)
        verdict.extras |= {"judge_threshold": self.threshold}
        return verdict

    def _override(self, view: RoundView, node: int) -> tuple[bool, Reason, float | None]:
        edge = self.edge == "reject" and view.draft.depths[node] == view.draft.levels
        if edge or not self._readable(view):
            return False, {"id": "judge_refused", "score": None, "threshold": self.threshold, "edge": edge}, None
        if self._scores is None:
            self._scores = self.judge.scores(self.features(view, range(len(view.draft))))
        score = self._scores[node]
        keep = bool(self.holds({"score": score, "threshold": self.threshold}))
        return (
            keep,
            {"id": "judge_relaxed" if keep else "judge_refused", "score": score, "threshold": self.threshold},
            score,
        )

    def features(self, view: RoundView, nodes: Sequence[int]) -> Tensor:
        """The hidden rows [N, F] of the judge's blocks. The state "at a token" is the row of the sequence with that
        token."""
        assert view.hidden is not None
        rows = {"draft": [n + 1 for n in nodes], "prev": [view.draft.parents[n] + 1 for n in nodes]}
        states = [view.hidden if model == "target" else self._draft(view) for model, _ in self.blocks]
        parts = [
            state.index_select(0, sent(rows[token], state.device, torch.long))
            for state, (_, token) in zip(states, self.blocks, strict=True)
        ]
        return torch.cat([part.to(view.hidden.device).float() for part in parts], -1)

    def _readable(self, view: RoundView) -> bool:
        """Whether the text with its draft is not longer than the draft model, where the judge reads it, can read."""
        return self.session is None or self.session.left(view.tokens) >= view.draft.levels

    def _draft(self, view: RoundView) -> Tensor:
        """The draft model's rows [N + 1, D] over this round, from one parallel pass as in training (appendix C)."""
        if self._draft_rows is None:
            assert self.session is not None
            self._draft_rows = self.session.forward(view.tokens, view.draft, checked=True).hidden
        return self._draft_rows


def choose(kit: Kit, name: str) -> Judge:
    """The judge of that name among those loaded (roles "judge" and "judge:...").

    Raises:
        ConfigError: it is not loaded.
    """
    loaded = {
        role.partition(":")[2] or "own": asset for role, asset in kit.assets.items() if role.split(":")[0] == "judge"
    }
    if name == "auto" and loaded:
        fitting = (role for role, judge in loaded.items() if judge.task == kit.task)
        name = "own" if "own" in loaded else next(fitting, next(iter(loaded)))
    if name not in loaded:
        raise ConfigError(
            f"No judge {name!r} is loaded with this pair; there is {', '.join(sorted(loaded)) or 'none'}."
        )
    judge = loaded[name]
    assert isinstance(judge, Judge)
    return judge
