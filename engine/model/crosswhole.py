"""Any other encoder-decoder architecture, through transformers itself: chains only, since its decoder takes neither
the positions nor the mask of a tree."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.utils import ModelOutput

from engine.model.decoder import New, Rows
from engine.model.network import Given, cache_name, logits_of
from engine.model.skipping import Skipper
from engine.sampling import sent


class WholeCache:
    """A cache of transformers whose own slots can be cropped; those of the source stay until another is read."""

    def __init__(self) -> None:
        self.kv = EncoderDecoderCache(DynamicCache(), DynamicCache())
        self.source: ModelOutput | None = None

    def gather(self, start: int, slots: Sequence[int]) -> None:
        """Nothing to do: the accepted part of a chain lies where it must."""

    def crop(self, n: int) -> None:
        for layer in self.kv.self_attention_cache.layers:
            if torch.is_tensor(layer.keys):
                layer.keys, layer.values = layer.keys[:, :, :n], layer.values[:, :, :n]

    def back(self, n: int) -> int:
        """Any place can be gone on from."""
        return n


class WholeDecoder:
    """Runs the decoder within the whole transformers model; slower than `CrossDecoder`, right for every family whose
    cache keeps keys and values of all positions."""

    why_chains = "its decoder takes no positions or masks from outside"

    def __init__(self, hf: Any, layers: int) -> None:
        """`layers` of the decoder."""
        self.hf = hf
        self.never: list[int] = []  # ids that generation must not write
        self._skipper, self._cached = Skipper(hf, layers), cache_name(hf.forward)

    def cache(self, capacity: int) -> WholeCache:
        return WholeCache()

    def read(self, cache: WholeCache, source_S: Tensor) -> None:
        """Run the encoder, and forget what was decoded after another source."""
        cache.source = self.hf.get_encoder()(input_ids=source_S[None], return_dict=True)
        cache.kv = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def embed(self, ids_T: Tensor) -> Tensor:
        return self.hf.get_decoder().get_input_embeddings()(ids_T)  # type: ignore[no-any-return]

    def head(self, last_TD: Tensor) -> Tensor:
        ids = torch.zeros(1, len(last_TD), dtype=torch.long, device=last_TD.device)  # read by nothing, as the source is
        source = Given(last_hidden_state=last_TD.new_zeros(1, 1, last_TD.shape[1]))
        return self._allowed(logits_of(self.hf, last_TD, encoder_outputs=source, decoder_input_ids=ids))

    def run(self, cache: WholeCache, new: New, taps: Sequence[int], want: int) -> Rows:
        cache.crop(new.start)
        with self._skipper.without(new.skip):
            out = self.hf(
                encoder_outputs=cache.source,
                decoder_input_ids=new.ids[None],
                use_cache=True,
                output_hidden_states=True,
                **{self._cached: cache.kv},
            )
        if any(type(layer) is not DynamicLayer for layer in cache.kv.self_attention_cache.layers):
            raise NotImplementedError("its cache cannot be cut back to the accepted tokens")
        home, states = new.ids.device, out.decoder_hidden_states  # layers may be spread over several devices
        kept = [states[i][0].to(home) for i in sorted(taps)]
        logits = self._allowed(out.logits[0, -want:].to(home))
        return Rows(logits, states[-1][0].to(home), torch.cat(kept, -1) if kept else None)

    def _allowed(self, logits: Tensor) -> Tensor:
        return logits.index_fill(1, sent(self.never, logits.device, torch.long), -torch.inf) if self.never else logits
