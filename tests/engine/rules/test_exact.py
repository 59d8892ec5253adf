"""The exact rule is the walk, with the correction that its knob names."""

import torch

from engine.config import Sampling
from engine.draft import chain
from engine.rules.exact import Exact
from engine.view import RoundView


def test_the_correction_follows_the_knob() -> None:
    """A rejected draft token: the residual excludes it here, the target's own distribution does not."""
    logits = torch.tensor([[0.0, 1.0, 0.5], [0.0, 0.0, 0.0]]).double()
    q = torch.tensor([[0.9, 0.05, 0.05]]).double()
    for u_emit in (0.01, 0.15):
        view = RoundView(chain([0], draw="sample", distributions=q), logits, Sampling(1.0), [0.99], u_emit)
        assert Exact(None, {"correction": "residual"}).decide(view).emit != 0  # type: ignore[arg-type]
        assert Exact(None, {"correction": "target"}).decide(view).emit == 0  # type: ignore[arg-type]


def test_the_promise_depends_on_the_correction() -> None:
    """Correcting from the target is not lossless above temperature 0, and the run says so."""
    from engine.methods import get_card

    card = get_card("sd")
    residual, target = card.resolve({}), card.resolve({"correction": "target"})
    assert card.promise(residual, Sampling(1.0)) == "lossless" and card.promise(target, Sampling()) == "lossless"
    assert card.promise(target, Sampling(0.5)) == "lossy"
    assert (
        get_card("ar").promise({}, Sampling(1.0)) == "reference" and get_card("easd").promise({}, Sampling()) == "lossy"
    )
