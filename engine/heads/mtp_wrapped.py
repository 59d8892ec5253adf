"""An MTP head whose layer is of the target's own kind (latent attention, experts, gates): transformers builds and
loads it, here it only reads and steps. Dimension key: T rows, D width, V vocabulary."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import MtpCache
from transformers.modeling_layers import MtpModel

from engine import progress
from engine.errors import AssetError
from engine.model.hub import fault
from engine.model.session import Session

FIRST = "num_mtp_layers"  # of several heads one is built
UNNUMBERED = {"num_mtp_layers": 1, "mtp_layer_types": ["full_attention"]}  # what configurations of Qwen3-Next leave out


class WrappedHead:
    """The face of `engine.heads.mtp.MtpHead` over a layer of transformers."""

    uncaptured = "transformers runs its layer"
    unnormed = False

    def __init__(self, hf: Any, folder: Path, names: str, card: dict[str, Any]) -> None:
        """`hf` is the target, loaded; `folder` holds the head under published names, which the pattern `names` begins.

        Raises:
            AssetError: transformers knows no such head for this kind of target, or tensors are missing.
        """
        self.hf, self.card = hf, card
        config, before = hf.config.get_text_config(), hf.config.name_or_path
        for name, value in UNNUMBERED.items():
            if getattr(config, name, None) is None or name == FIRST:
                setattr(config, name, value)
        known = hf._keys_to_ignore_on_load_unexpected  # where transformers looks for heads: of published sizes alone
        hf.config.name_or_path, hf._keys_to_ignore_on_load_unexpected = str(folder), [names]
        try:
            with progress.alone():
                self.model = MtpModel.from_pretrained(hf, device_map={"": hf.device}).eval().requires_grad_(False)
        except (RuntimeError, ValueError, OSError, AttributeError, StopIteration) as error:
            raise AssetError(f"The MTP head in {folder.name} cannot be loaded: {str(error)[:300]}.") from fault(error)
        finally:
            hf.config.name_or_path, hf._keys_to_ignore_on_load_unexpected = before, known

    def memory(self, capacity: int) -> MtpCache:
        """An empty cache for one run."""
        return MtpCache(config=self.model.config)

    def look(self, memory: MtpCache, target: Session, tokens: Sequence[int]) -> None:
        """Nothing: it keeps its own keys."""

    def run(self, memory: MtpCache, ids_T: Tensor, state_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        """States [T, D] after the tokens `ids_T`, given the states before them; see `MtpHead.run`."""
        for layer in memory.layers:
            surplus = layer.get_seq_length() - at
            if surplus > 0:
                layer.keys, layer.values = layer.keys[..., :at, :], layer.values[..., :at, :]
        positions = torch.arange(at + 1, at + 1 + len(ids_T), device=ids_T.device).unsqueeze(0)
        out: Tensor = self.model.forward_layer(
            0, state_TD.unsqueeze(0), positions, memory, input_ids=ids_T.unsqueeze(0)
        )
        return out[0, -1:] if last else out[0]

    def logits(self, state_TD: Tensor) -> Tensor:
        """Raw logits [T, V], from the target's own head."""
        logits: Tensor = self.model._project_to_logits(state_TD.unsqueeze(0))
        return logits[0]
