"""The trial that a network stands before it is used: run in pieces, with a rejected draft, it must give what it gives
at once. What is not exact is never accepted, whatever its configuration promises."""

from typing import Any

import torch
from torch import Tensor

from engine.draft import Draft, chain
from engine.model.decoder import Decoder
from engine.model.hub import first_line
from engine.model.session import Session

CLOSE = {torch.float64: 1e-3, torch.float32: 1e-3}  # of the largest logit; rounding alone stays far below
ROUGH = 0.3  # for half types and packed weights, whose roundings depend on how many rows are run together


@torch.inference_mode()
def fault(hf: Any, decoder: Decoder, vocab: int, device: torch.device) -> str:
    """What is wrong with a network's answers in pieces, as the end of a sentence; empty when nothing is."""
    ids = [(97 + 7919 * i) % vocab for i in range(9)]
    text, other = ids[:7], ids[7:]
    try:
        whole = hf(input_ids=torch.tensor([text], device=device), use_cache=False).logits[0]
        aside = hf(input_ids=torch.tensor([text[:4] + other], device=device), use_cache=False).logits[0]
        if not torch.isfinite(whole).all() or not torch.isfinite(aside).all():
            return ""  # a run says so itself, and other ids may do
        session = Session(decoder, vocab, device, 32)
        session.forward(text[:2])
        if decoder.only_chains:
            draft = session.forward(text[:4], chain(other)).logits
            wanted = aside[3:]
        else:
            tree = Draft((text[4], *other, text[5]), (-1, -1, 1, 0))
            draft = session.forward(text[:4], tree).logits
            wanted = torch.stack((aside[3], whole[4], aside[4], aside[5], whole[5]))
        after = session.forward(text).logits
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, NotImplementedError, IndexError) as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise
        return f"cannot be run in pieces ({first_line(error)})"
    off = max(_apart(draft, wanted[:, :vocab]), _apart(after, whole[-1:, :vocab]))
    rough = next(iter(hf.parameters())).dtype not in CLOSE or whole.dtype not in CLOSE
    if off <= (ROUGH if rough else CLOSE[whole.dtype]):
        return ""
    return f"answers otherwise in pieces than at once (by {off:.2g} of its largest logit)"


def _apart(a: Tensor, b: Tensor) -> float:
    """Largest difference, relative to the largest logit."""
    a, b = a.float().cpu(), b.float().cpu()
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-9))
