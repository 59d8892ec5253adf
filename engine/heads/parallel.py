"""Parallel drafters: a model that fills several places of a text in one pass (SpecDec's drafter, Xia et al. 2023,
2203.16487, section 3.1).

It reads the text and behind it a row of masks. The row of the last token and those of the masks give a distribution
each, so m masks draft m + 1 tokens; none of them knows which tokens the others take.
"""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from engine.draft import chain
from engine.errors import AssetError, ModelMismatch
from engine.files.documents import read_object
from engine.heads.files import folder_of
from engine.model import Model, Session, bridge, load_model

META = "parallel.json"  # the mask's id, and how many masks the drafter was trained with


@dataclass(frozen=True, eq=False)
class ParallelModel:
    """A model that has learnt to fill masks."""

    model: Model
    mask: int
    masks: int

    @property
    def most(self) -> int:
        """Tokens that one pass drafts."""
        return self.masks + 1

    def rows(self, session: Session, tokens: list[int], n: int) -> Tensor:
        """Raw logits [n, V] for the n tokens that follow, from one pass."""
        return session.forward(tokens, chain([self.mask] * (n - 1))).logits


def load_parallel(path: Path, target: Model) -> ParallelModel:
    """A parallel drafter by folder or hub id.

    Raises:
        AssetError: files are missing or say nothing of masks. ModelMismatch: its ids are not the target's.
    """
    folder = folder_of(path, (META, "tokenizer*", "generation_config.json"))
    about = read_object(folder / META)
    dtype = str(target.dtype) if target.device.type != "cpu" else "auto"
    model = load_model(folder, str(target.device), dtype, graphs=target.graphs, name=folder.name)
    if bridge(target, model).kind != "same":
        raise ModelMismatch(f"The parallel drafter {folder.name} has another vocabulary than {target.name}.")
    mask, masks = (about.get(name) for name in ("mask", "masks"))
    whole = all(isinstance(x, int) and not isinstance(x, bool) for x in (mask, masks))
    if not whole or not 0 <= mask < model.vocab or masks < 1:  # type: ignore[operator]
        raise AssetError(
            f"{folder.name}/{META} must name a mask, an id below {model.vocab}, and how many masks, at least 1; "
            f"it has {mask!r} and {masks!r}."
        )
    return ParallelModel(model, int(mask), int(masks))  # type: ignore[arg-type]
