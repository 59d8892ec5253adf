"""Hidden states of labelled swaps: one pass a label and model, over both tokens as siblings where trees can run.

The prefix y[:t] is that of the final response, for it never changed after the label. Rows come from parallel passes, as
they do while decoding (appendix C). Dimension key: L labels, D width of a model, F features.
"""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from engine.draft import Draft, chain
from engine.judge.events import Label, PromptFinished
from engine.judge.kind import FeatureKind
from engine.model import Model, Session

Blocks = dict[str, Tensor]  # "model:token" -> [L, D] float32


def blocks_of(prompts: Sequence[PromptFinished], models: Mapping[str, Model]) -> Blocks:
    """All blocks of all labels that may be learned from, in the order of `labels_of`; roles "draft" and "target"."""
    return {name: rows for role, model in models.items() for name, rows in _rows(prompts, role, model).items()}


def _rows(prompts: Sequence[PromptFinished], role: str, model: Model) -> Blocks:
    longest = max((len(p.prompt_ids) + len(p.final) for p in prompts), default=0)
    session = model.session(longest + 4)
    found: dict[str, list[Tensor]] = {"prev": [], "draft": [], "target": []}
    for prefix, label in _swaps(prompts):
        rows = _three(session, prefix, label, model.only_chains).float().cpu()
        for name, row in zip(("prev", "draft", "target"), rows, strict=True):
            found[name].append(row.clone())
    none = torch.empty(0, model.width, dtype=torch.float32, device="cpu")
    return {f"{role}:{name}": torch.stack(rows) if rows else none for name, rows in found.items()}


def _three(session: Session, prefix: list[int], label: Label, only_chains: bool) -> Tensor:
    """Rows [3, D] after the prefix, and after the draft's and the target's token; two passes where no tree can run."""
    tokens = label.draft_token, label.target_token
    if not only_chains:
        return session.forward(prefix, Draft(tokens, (-1, -1), group=(0, 0))).hidden
    one, other = (session.forward(prefix, chain([token])).hidden for token in tokens)
    return torch.cat([one, other[1:]])


def _swaps(prompts: Sequence[PromptFinished]) -> Iterator[tuple[list[int], Label]]:
    for prompt in prompts:
        for label in prompt.labels:
            if label.retokenized != "dropped":
                yield [*prompt.prompt_ids, *prompt.final[: label.t]], label


def matrix(blocks: Blocks, kind: FeatureKind) -> Tensor:
    """Features [L, F] of one kind."""
    return torch.cat([blocks[name] for name in kind.blocks], dim=1)
