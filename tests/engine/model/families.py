"""Whether a checkpoint runs as transformers runs it: greedy runs against `generate`, drafts against plain forwards."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from transformers import AutoConfig

from engine.draft import Draft, chain
from engine.errors import ModelMismatch
from engine.lab import Lab
from engine.model import Model, load_model
from engine.model.assembly import assembled
from engine.trace.store import Trace
from tests.engine.model import tiny
from tests.engine.zoo import save_tokenizer

METHODS = ("ar", "sd", "pld")
TEXTLESS = (
    "llama4",
    "blip-2",
    "instructblip",
    "instructblipvideo",
)  # wrappers that transformers 5.24 runs with images alone: their text model is asked
TOKENS = 48
CLOSE = 1e-4  # largest difference of logits, relative to the largest above one
FINE = 1e-9  # the same where all numbers are float64
PROMPT = [3 + (i * i * 7 + 5 * i) % 90 for i in range(20)] * 2  # longer than every window, and it repeats itself
TREE = Draft((4, 9, 9, 30, 2, 7, 7), (-1, -1, 0, 0, 1, 2, 5), group=(0,) * 7)


@dataclass(frozen=True)
class Outcome:
    """What became of a type: how far its logits were off, which methods wrote what `generate` writes, or why not."""

    kind: str
    refused: str = ""
    untried: str = ""
    lean: bool = False
    chains: bool = False
    off: float = 0.0
    equal: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubled: float | None = None  # how far they were off in float64, where `off` was more than CLOSE

    @property
    def exact(self) -> bool:
        """Whether every check held. What is off by more than CLOSE has to be nothing but rounding, as float64 tells."""
        near = self.off <= CLOSE or (self.doubled is not None and self.doubled <= FINE)
        return not self.refused and not self.untried and self.equal == METHODS and near


def plain_model(folder: Path) -> Any:
    """The checkpoint as transformers loads it, or the text model that it was put together from."""
    folder = folder / "text" if (folder / "text").is_dir() else folder
    config = AutoConfig.from_pretrained(folder)
    made = tiny.whole_class(config)
    hf, info = made.from_pretrained(folder, config=config, dtype=torch.float32, output_loading_info=True)
    if lost := info.get("missing_keys"):
        raise ValueError(f"transformers does not read {len(lost)} of the tensors that it saved itself")
    if config.model_type in TEXTLESS:
        hf = hf.language_model
    return hf.eval().requires_grad_(False)


def noised(folder: Path, hf: Any) -> Path:
    """A draft for a checkpoint: itself with some noise, so that its tokens are accepted now and then."""
    torch.manual_seed(1)
    saved = {name: weight.clone() for name, weight in hf.state_dict().items()}
    with torch.no_grad():
        for weight in hf.parameters():
            if weight.dim() == 2:
                weight.add_(torch.randn_like(weight) * weight.std() * 0.02)
    hf.save_pretrained(folder / "noised")
    save_tokenizer(folder / "noised", tiny.VOCAB)
    hf.load_state_dict(saved)
    return folder / "noised"


def near(a: torch.Tensor, b: torch.Tensor) -> float:
    """Largest difference, relative to the largest logit above one."""
    return float((a - b).abs().max() / b.abs().max().clamp(min=1))


@torch.inference_mode()
def apart(model: Model, hf: Any, prompt: Sequence[int] = PROMPT) -> float:
    """How far logits in pieces are from plain forwards: a draft, then what follows after part of it was accepted."""
    session = model.session(len(prompt) + 32)
    session.forward(prompt[:-2])
    draft = chain(TREE.tokens) if model.only_chains else TREE
    found = session.forward(prompt, draft).logits
    off = 0.0
    for node in range(-1, len(draft)):
        off = max(off, near(found[node + 1], _plain(hf, [*prompt, *draft.path_tokens(node)])))
    for node, after in ((2, 50), (0, 51), (3 if model.only_chains else 4, 52)):
        session = model.session(len(prompt) + 32)
        session.forward(prompt, draft)
        tokens = [*prompt, *draft.path_tokens(node), after]
        found = session.forward(tokens, chain([5, 6])).logits
        for more in range(3):
            off = max(off, near(found[more], _plain(hf, [*tokens, *[5, 6][:more]])))
    return off


def apart_in_doubles(hf: Any) -> float:
    """As `apart`, between two copies of a network, one run by the engine, with every number in float64: also those
    that transformers' code holds in fp32 whatever the model's dtype is, such as running states."""
    with patch.object(torch, "float32", torch.float64), patch.object(torch.Tensor, "float", torch.Tensor.double):
        plain, ours = (deepcopy(hf).double() for _ in range(2))
        for one in (plain, ours):
            one.set_experts_implementation("eager")  # torch's product of groups knows no float64
        tokenizer = SimpleNamespace(eos_token_id=None)
        return apart(assembled("doubled", ours, tokenizer, ours.config, "", trial=False), plain)


def _plain(hf: Any, tokens: list[int]) -> torch.Tensor:
    return hf(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]  # type: ignore[no-any-return]


def written(hf: Any, prompt: Sequence[int] = PROMPT, tokens: int = TOKENS) -> list[int]:
    """What transformers' own greedy search adds to a prompt."""
    ids = torch.tensor([list(prompt)])
    with torch.inference_mode():
        out = hf.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=tokens)
    return out[0, len(prompt) :].tolist()  # type: ignore[no-any-return]


def check(kind: str, folder: Path) -> Outcome:
    """Load a tiny checkpoint of a type as a target and a noised copy as its draft, and hold them to transformers."""
    hf = plain_model(folder)
    try:
        target = load_model(folder, "cpu")
    except ModelMismatch as error:
        return Outcome(kind, refused=str(error))
    lab = Lab(target, {"draft": load_model(noised(folder, hf), "cpu")})
    wanted = written(hf)
    equal = tuple(m for m in METHODS if ids(lab.run(m, PROMPT, max_new_tokens=TOKENS, record="light")) == wanted)
    off = apart(target, hf)
    doubled = apart_in_doubles(hf) if off > CLOSE else None
    return Outcome(kind, "", "", target.lean, target.only_chains, off, equal, target.notes, doubled)


def ids(trace: Trace) -> list[int]:
    """The tokens of a run; none of one that failed."""
    return [] if trace.end is None or trace.end.reason == "error" else list(trace.token_ids)
