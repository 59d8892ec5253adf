"""Labs with heads on random targets, and a plain reference of what an EAGLE head must compute."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.config import RunConfig, Sampling
from engine.heads.block import rope
from engine.heads.eagle import EagleHead
from engine.lab import Lab
from engine.loop import Decoding
from engine.runs.running import begin
from engine.strata.bins import Strata
from tests.engine.heads import made
from tests.engine.zoo import Zoo

METHODS = ("eagle2", "eagle3", "medusa", "hydra", "blockwise", "medusa_typical", "adaedl_eagle", "heterospec")


def headed(zoo: Zoo, folder: Path, family: str = "llama", draft_vocab: int = 20, **options: object) -> Lab:
    """A random target of 32 tokens with a random head of each kind: some first draft tokens are right by chance."""
    lab = zoo.lab(family, draft=None, **({"vocab": 32} | options))
    target = lab.target
    V = draft_vocab or target.vocab
    lab.asset_paths |= {
        "eagle2": str(made.eagle(folder / "eagle2", target, "eagle2", qkv_bias=family == "qwen2")),
        "eagle3": str(made.eagle(folder / "eagle3", target, "eagle3", draft_vocab=V)),
        "medusa": str(made.medusa(folder / "medusa", target)),
        "hydra": str(made.hydra(folder / "hydra", target)),
    }
    Strata((8.0, 12.0, 16.0)).save(folder / "strata.json")
    lab.asset_paths["strata"] = str(folder / "strata.json")
    return lab


def decoding(
    lab: Lab, method: str, ids: list[int], n: int = 24, seed: int = 0, temperature: float = 0.0, **knobs: object
) -> Decoding:
    """A run whose parts can be looked into between rounds."""
    from engine.methods import get_card

    card = get_card(method)
    config = RunConfig(
        method, tuple(ids), max_new_tokens=n, seed=seed, sampling=Sampling(temperature), knobs=card.resolve(knobs)
    )
    with torch.inference_mode():
        return begin(lab, card, config)


@torch.inference_mode()
def reference(head: EagleHead, ids: list[int], states: Tensor, path: list[int]) -> Tensor:
    """Logits [V'] after `path`, with nothing kept: pairs (t_2, f_1) .. (t_n, f_{n-1}), then each path token with the head's own row."""
    inputs = [(ids[i + 1], head.feature(states[i : i + 1])) for i in range(len(ids) - 1)]
    out = _last(head, inputs)
    for token in path:
        inputs.append((token, out))
        out = _last(head, inputs)
    return (head.target.head(out) if head.kind == "eagle2" else head.unrolled_logits(out))[0]


def _last(head: EagleHead, inputs: list[tuple[int, Tensor]]) -> Tensor:
    residual, x = head.mix(head.embed(torch.tensor([t for t, _ in inputs])), torch.cat([h for _, h in inputs]))
    q, k, v = head.block.project(x, *rope(head.spec.block, len(inputs), x))
    attended = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
    out = head.block.close(residual, attended)[-1:]
    if not head.spec.norm_output:
        return out
    return F.rms_norm(out, (head.width,), head.weights["norm.weight"], head.spec.block.eps)
