"""The assistants of Gemma 4: small models that draft for it. They keep no keys of their own but read those that the
target keeps, and stand at one place, the last committed token's, while a chain is written.

Google's checkpoints as transformers runs them (`Gemma4AssistantForCausalLM`): the input is the target's embedding of
the last token beside the target's final-normed state before it, or for further tokens beside the assistant's own state,
projected to the target's width. Dimension key: T rows, D width of the target, S slots, V vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from engine import progress
from engine.errors import AssetError, ModelMismatch, first_line
from engine.files.documents import read_object
from engine.heads.files import fits
from engine.model import Model, Session
from engine.model.checkpoint import complete
from engine.model.generic import GenericDecoder
from engine.model.hub import fault
from engine.model.network import ASSISTANTS


class Looked:
    """The target's keys and values that an assistant reads, and where it stands."""

    def __init__(self) -> None:
        self.shared: dict[str, tuple[Tensor, Tensor]] = {}  # by the kind of layer: [1, H, S, C] each
        self.at = 0


class AssistantHead:
    """The face of `engine.heads.mtp.MtpHead` over an assistant."""

    uncaptured = "it reads keys that the target keeps"
    unnormed = False

    def __init__(self, hf: Any, decoder: GenericDecoder, card: dict[str, Any]) -> None:
        """`hf` is the assistant, loaded; `decoder` the target's."""
        self.hf, self.decoder, self.card, self.width = hf, decoder, card, int(hf.backbone_hidden_size)
        text = decoder.hf.config.get_text_config()
        own = text.layer_types[: text.num_hidden_layers - (text.num_kv_shared_layers or 0)]
        kinds = set(hf.config.get_text_config().layer_types)
        self.layers = {kind: len(own) - 1 - own[::-1].index(kind) for kind in kinds}  # the last that keeps keys

    def memory(self, capacity: int) -> Looked:
        """What it reads in one run; nothing yet."""
        return Looked()

    def look(self, memory: Looked, target: Session, tokens: Sequence[int]) -> None:
        """Read what the target keeps of `tokens`, the last of which it has not read; the assistant stands there."""
        cache, n = target.settled(tokens)
        kept = {kind: cache.kv.layers[i] for kind, i in self.layers.items()}
        memory.shared = {kind: (layer.keys[:, :, :n], layer.values[:, :, :n]) for kind, layer in kept.items()}
        memory.at = len(tokens) - 1

    def run(self, memory: Looked, ids_T: Tensor, state_TD: Tensor, at: int, *, last: bool = False) -> Tensor:
        """The state after the last of the tokens `ids_T`, given the states before them, with the logits beside it [1,
        D + V]: the assistant makes both at once."""
        state_1D = state_TD[-1:, : self.width].to(self.hf.dtype)
        inputs = torch.cat((self.decoder.embed(ids_T[-1:]), state_1D), -1)
        place = torch.full((1, 1), memory.at, dtype=torch.long, device=ids_T.device)
        out = self.hf(inputs_embeds=inputs[None], position_ids=place, shared_kv_states=memory.shared)
        return torch.cat((out.last_hidden_state[0], out.logits[0]), -1)

    def logits(self, state_TD: Tensor) -> Tensor:
        """Raw logits [T, V], of its own head; where that looks at some clusters of tokens alone, the others share one
        logit, below theirs."""
        return state_TD[:, self.width :]


def is_assistant(folder: Path) -> bool:
    """Whether a folder holds an assistant of Gemma 4."""
    try:
        return read_object(folder / "config.json").get("model_type") in ASSISTANTS
    except AssetError:
        return False


def load_assistant(folder: Path, target: Model) -> AssistantHead:
    """The assistant of a folder for its target.

    Raises:
        AssetError: files or tensors are wrong. ModelMismatch: made for another target.
    """
    fits(folder, target)
    try:
        config: Any = AutoConfig.from_pretrained(folder)
        kind = target.decoder.hf.config.model_type if isinstance(target.decoder, GenericDecoder) else ""
        wanted = ASSISTANTS[config.model_type]
        if not isinstance(target.decoder, GenericDecoder) or not kind.startswith(wanted):
            raise ModelMismatch(
                f"The assistant in {folder.name} reads what a target of type {wanted} keeps, and {target.name} is none."
            )
        text = config.get_text_config()
        for ours, theirs, what in (
            (target.width, config.backbone_hidden_size, "states {} wide"),
            (target.vocab, text.vocab_size, "{} tokens"),
        ):
            if ours != theirs:
                raise ModelMismatch(
                    f"The assistant in {folder.name} knows {what.format(theirs)}, but {target.name} has {ours}: it was "
                    "made for another target."
                )
        with progress.alone():
            hf, info = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=target.decoder.dtype,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                device_map={"": target.device},
            )
        complete(info, folder.name, hf)
        card = {"folder": folder.name, "layout": config.model_type}
        return AssistantHead(hf.eval().requires_grad_(False), target.decoder, card)
    except (RuntimeError, ValueError, OSError, AttributeError, SafetensorError) as error:
        raise AssetError(f"The assistant in {folder.name} cannot be loaded: {first_line(error)}.") from fault(error)
