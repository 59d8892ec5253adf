"""Any other causal architecture, through transformers itself: DynamicCache, float 4-D mask, explicit positions."""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.model.decoder import New, Rows


def obstacle(hf: Any) -> str:
    """Why this network cannot run draft trees through transformers; empty when it can."""
    known = inspect.signature(hf.forward).parameters
    if "past_key_values" not in known:
        return "keeps no key-value cache that could hold a draft tree."
    if "position_ids" not in known or getattr(hf.config, "alibi", False):
        return "takes no positions from outside, which a draft tree needs."
    return ""


class GenericCache:
    """A DynamicCache whose slots can be gathered and cropped."""

    def __init__(self) -> None:
        self.kv = DynamicCache()

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            for layer in self.kv.layers:
                index = torch.tensor(slots, device=layer.keys.device)
                for x in (layer.keys, layer.values):
                    x[:, :, start : start + n] = x.index_select(2, index)

    def crop(self, n: int) -> None:
        surplus = self.kv.get_seq_length() - n
        if surplus > 0:
            self.kv.crop(-surplus)


class GenericDecoder:
    """Runs the whole transformers model; slower than lean, right for every full-attention causal model."""

    def __init__(self, hf: Any) -> None:
        self.hf = hf
        self._keep = "logits_to_keep" in inspect.signature(hf.forward).parameters

    def cache(self, capacity: int) -> GenericCache:
        return GenericCache()

    def embed(self, ids_T: Tensor) -> Tensor:
        return self.hf.get_input_embeddings()(ids_T)  # type: ignore[no-any-return]

    def head(self, last_TD: Tensor) -> Tensor:
        return self.hf.get_output_embeddings()(last_TD)  # type: ignore[no-any-return]

    def run(self, cache: GenericCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T, start = len(new.ids), new.start
        cache.crop(start)
        pos = torch.arange(start, start + T, device=new.ids.device) if new.pos is None else new.pos
        mask = torch.zeros(T, start + T, device=new.ids.device, dtype=self.hf.dtype)
        seen = torch.ones(T, T, dtype=torch.bool, device=mask.device).tril() if new.block is None else new.block
        mask[:, start:].masked_fill_(~seen, torch.finfo(mask.dtype).min)
        out = self.hf(
            input_ids=new.ids[None],
            position_ids=pos[None],
            attention_mask=mask[None, None],
            past_key_values=cache.kv,
            use_cache=True,
            output_hidden_states=True,
            **({"logits_to_keep": want} if self._keep else {}),
        )
        hidden = out.hidden_states
        kept = [hidden[i][0].to(hidden[-1].device) for i in sorted(taps)]
        return Rows(out.logits[0, -want:], hidden[-1][0], torch.cat(kept, -1) if kept else None)
