"""The trial that a network stands before it is used: run in pieces, with a rejected draft, it must give what it gives
at once. What is not exact is never accepted, whatever its configuration promises."""

from typing import Any

import torch
from torch import Tensor

from engine.draft import Draft, chain
from engine.errors import first_line
from engine.model.seam import Seam
from engine.model.session import Session
from engine.model.source import SourceSession

CLOSE = {torch.float64: 1e-3, torch.float32: 1e-3}  # of the largest logit; rounding alone stays far below
ROUGH = 0.3  # for half types and packed weights, whose roundings depend on how many rows are run together
AHEAD = {torch.bfloat16: 0.1, torch.float16: 0.1}  # where as many rows are run, which then round nearly alike


@torch.inference_mode()
def fault(hf: Any, decoder: Any, vocab: int, device: torch.device, seam: Seam | None = None) -> str:
    """What is wrong with a network's answers in pieces, as the end of a sentence; empty when nothing is. With a `seam`
    it is an encoder-decoder, and the pieces are those of its decoder."""
    ids = [(97 + 7919 * i) % vocab for i in range(9)]
    text, other = ids[:7], ids[7:]
    source = [i for i in ids if seam and i not in (*seam.opening, *seam.ends)] + sorted(seam.ends if seam else ())[:1]
    before = [*source, *(seam.opening if seam else ())]
    try:
        whole = _plain(hf, text, source, seam, device)
        aside = _plain(hf, [*text[:4], *other, text[0]], source, seam, device)
        if not torch.isfinite(whole).all() or not torch.isfinite(aside).all():
            return ""  # a run says so itself, and other ids may do
        kept = next(iter(hf.parameters())).dtype
        close = CLOSE[whole.dtype] if kept in CLOSE and whole.dtype in CLOSE else None
        if (off := _apart(aside[:4], whole[:4])) > (close or AHEAD.get(kept, ROUGH)):
            return f"sees what follows a token (by {off:.2g} of its largest logit)"
        if seam:
            session: Session = SourceSession(decoder, seam, (32, 32), vocab, device, 64)
        else:
            session = Session(decoder, vocab, device, 32)
        session.forward(before + text[:2])
        if decoder.why_chains:
            draft = session.forward(before + text[:4], chain(other)).logits
            wanted = aside[3:6]
        else:
            tree = Draft((text[4], *other, text[5]), (-1, -1, 1, 0))
            draft = session.forward(before + text[:4], tree).logits
            wanted = torch.stack((aside[3], whole[4], aside[4], aside[5], whole[5]))
        after = session.forward(before + text).logits
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # models, and kernels of packed weights, raise whatever they like
        return f"cannot be run in pieces ({first_line(error)})"
    off = max(_apart(draft, wanted[:, :vocab]), _apart(after, whole[-1:, :vocab]))
    if off <= (close or ROUGH):
        return ""
    return f"answers otherwise in pieces than at once (by {off:.2g} of its largest logit)"


def _plain(hf: Any, text: list[int], source: list[int], seam: Seam | None, device: torch.device) -> Tensor:
    """Logits [T, V] of transformers itself after each token of a text, in one pass without a cache."""
    if seam is None:
        return hf(input_ids=torch.tensor([text], device=device), use_cache=False).logits[0]  # type: ignore[no-any-return]
    read, written = (torch.tensor([ids], device=device) for ids in (source, [*seam.opening, *text]))
    logits = hf(input_ids=read, decoder_input_ids=written, use_cache=False).logits[0]
    return logits[len(seam.opening) :]  # type: ignore[no-any-return]


def _apart(a: Tensor, b: Tensor) -> float:
    """Largest difference, relative to the largest logit."""
    a, b = a.float().cpu(), b.float().cpu()
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-9))
