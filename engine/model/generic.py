"""Any other causal architecture, through transformers itself: a cache of the whole sequence, 4-D masks, explicit
positions. Networks that take no positions go on with one text alone, and so check chains."""

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engine.errors import ConfigError
from engine.model.decoder import New, Rows
from engine.model.layers import STATES, Layers, mask_of
from engine.model.network import bodies_of, cache_name, logits_of, text_config
from engine.model.skipping import Skipper
from engine.model.tempered import Tempered
from engine.sampling import sent

MARKS = 16  # states of earlier places that are kept to go back to
REFED = 24  # committed rows fed again together with a draft, at most; more are run on their own first

SLOW = "It reads on one token at a time, so checking a draft takes as long as writing it."

State = list[tuple[dict[int, Any], dict[int, Any], dict[int, bool]]]  # of each layer that keeps some


class GenericCache:
    """A transformers cache whose slots can be gathered and cropped, and whose running states can be set back."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self.kv = layers.cache()
        self.length = 0  # slots in use, and the place that the running states stand at
        self._marks: dict[int, State] = {}  # states as they were at earlier places

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            for layer in self._slotted():
                index = sent(slots, layer.keys.device)
                for x in (layer.keys, layer.values):
                    x[:, :, start : start + n] = x.index_select(2, index)
                for x, dim in _indexer(layer).values():
                    x.narrow(dim, start, n).copy_(x.index_select(dim, index))

    def crop(self, n: int) -> None:
        if n >= self.length:
            return
        for layer in self._slotted():
            layer.keys, layer.values = layer.keys[:, :, :n], layer.values[:, :, :n]
            for name, (x, dim) in _indexer(layer).items():
                setattr(layer, name, x.narrow(dim, 0, n))
        self.length = n

    def back(self, n: int) -> int:
        """The states stand where the last pass ended. To go on from before, they are set back to the last mark."""
        if not self._layers.keeps_states or n == self.length:
            return n
        self._marks = {place: state for place, state in self._marks.items() if place <= n}
        if not self._marks:
            self.kv, self.length = self._layers.cache(), 0
            return 0
        place = max(self._marks)
        for layer, (conv, recurrent, known) in zip(self._stateful(), self._marks[place], strict=True):
            layer.conv_states, layer.recurrent_states = _copied(conv), _copied(recurrent)
            layer.has_previous_state = dict(known)
        self.crop(place)
        return place

    def mark(self) -> None:
        """Keep the states of this place; of many marks every other old one is dropped."""
        if self._layers.keeps_states and self.length and self.length not in self._marks:
            self._marks[self.length] = [
                (_copied(x.conv_states), _copied(x.recurrent_states), dict(x.has_previous_state))
                for x in self._stateful()
            ]
            if len(self._marks) > MARKS:
                for place in sorted(self._marks)[1 : MARKS // 2 : 2]:
                    del self._marks[place]

    def _slotted(self) -> list[Any]:
        return [x for x in self.kv.layers if torch.is_tensor(getattr(x, "keys", None)) and x.keys.numel()]

    def _stateful(self) -> list[Any]:
        return [x for x in self.kv.layers if isinstance(x, STATES)]


def _indexer(layer: Any) -> dict[str, tuple[Tensor, int]]:
    """What a layer of sparse attention keeps of each slot besides, to choose among them, and in which dimension."""
    kept = {"indexer_keys": 1, "indexer_position_ids": 2}  # [1, S, C] and [P, 1, S]
    found = {name: (getattr(layer, name, None), dim) for name, dim in kept.items()}
    return {name: (x, dim) for name, (x, dim) in found.items() if x is not None}


def _state(states: Sequence[Tensor], top: Tensor | None, i: int) -> Tensor:
    """The input of layer i [1, T, D], or what the last one gives (`top`): transformers' own list ends with the normed
    states.

    Raises:
        ConfigError: the last layer was not found.
    """
    if i < len(states) - 1:
        return states[i]
    if top is None:
        raise ConfigError("The layers of this model were not found, and a head here reads what the last one gives.")
    return top


def _copied(states: dict[int, Any]) -> dict[int, Any]:
    return {i: x.clone() if torch.is_tensor(x) else x for i, x in states.items()}


class GenericDecoder:
    """Runs the whole transformers model; slower than lean, right for every causal model whose layers `layers_of`
    knows."""

    def __init__(
        self, hf: Any, layers: Layers, why_chains: str = "", *, placed: bool = True, stepwise: bool = False
    ) -> None:
        """`why_chains`: see `Decoder`. `placed`: positions and masks are given from outside. `stepwise`: behind its
        first tokens a text goes on row by row, as some layers read on from their states in no other way."""
        self.hf, self.layers, self.why_chains = hf, layers, why_chains
        self._placed, self.stepwise = placed, stepwise
        self.slow = SLOW if stepwise else ""  # what a reader is told of the time of its passes
        self._skipper, self._tempered = Skipper(hf), Tempered(hf)
        self.dtype = hf.get_input_embeddings().weight.dtype  # of the masks; a quantised model's own may be no float
        self._cached = cache_name(hf.forward)
        self._keep = "logits_to_keep" in inspect.signature(hf.forward).parameters
        self._shared = bool(getattr(text_config(hf.config), "num_kv_shared_layers", 0))
        self._last: Tensor | None = None  # what the layers have given to the head in the pass that runs [1, T, D]
        self._heard = False  # whether that could be noted in a pass before
        self._hooks = [body.register_forward_hook(self._note) for body in bodies_of(hf)]
        self._top: Tensor | None = None  # what the last layer has given in that pass, before the last norm [1, T, D]
        self._hooks += [layer.register_forward_hook(self._note_top) for layer in self._skipper.layers[-1:]]

    @property
    def keeps_states(self) -> bool:
        """Whether it goes back by marks alone."""
        return self.layers.keeps_states

    def let_go(self) -> None:
        """Watch the network no longer: another decoder runs it."""
        for hook in self._hooks:
            hook.remove()

    def _note_top(self, layer: Any, given: Any, output: Any) -> None:
        self._top = output if torch.is_tensor(output) else output[0]

    def _note(self, body: Any, given: Any, output: Any) -> None:
        self._last = output[0] if torch.is_tensor(output[0]) else None

    @property
    def layerwise(self) -> bool:
        """Whether its layers were found; some networks keep two and two together."""
        return bool(self._skipper.layers)

    def cache(self, capacity: int) -> GenericCache:
        return GenericCache(self.layers)

    def embed(self, ids_T: Tensor) -> Tensor:
        return self.hf.get_input_embeddings()(ids_T)  # type: ignore[no-any-return]

    def head(self, last_TD: Tensor) -> Tensor:
        ids = torch.zeros(1, len(last_TD), dtype=torch.long, device=last_TD.device)  # only their number counts
        return logits_of(self.hf, last_TD, input_ids=ids)

    def run(self, cache: GenericCache, new: New, taps: Sequence[int], want: int) -> Rows:
        cache.crop(new.start)
        parts = list[Rows]()
        for a, b in pairwise(self._cuts(len(new.ids), want, new.start)):
            whole = b - a == len(new.ids)
            part = new if whole else New(new.ids[a:b], None, new.start + a, None, new.skip, new.proposes)
            parts.append(self._pass(cache, part, taps, max(1, min(b - a, b - (len(new.ids) - want)))))
        if len(parts) == 1:
            return parts[0]
        logits, last = torch.cat([x.logits for x in parts])[-want:], torch.cat([x.last for x in parts])
        kept = [x.taps for x in parts if x.taps is not None]
        return Rows(logits, last, torch.cat(kept) if kept else None)

    def _cuts(self, rows: int, want: int, start: int) -> list[int]:
        """Where rows are cut into passes: nowhere but where states are kept, which are marked between passes."""
        tail = rows - want  # committed rows before the root
        if self.stepwise:
            return [0, *range(1 if start else tail + 1, rows + 1)]
        return [0, tail, rows] if self.keeps_states and want > 1 and tail > REFED else [0, rows]

    def _pass(self, cache: GenericCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T, start = len(new.ids), new.start
        pos = torch.arange(start, start + T, device=new.ids.device) if new.pos is None else new.pos
        cache.mark()
        cache.length = start + T  # also of a pass that fails: what it left is cut off before the next
        every = bool(taps) or not self._heard  # the states of all layers, which are large, only where they are wanted
        with self._skipper.without(new.skip), self._tempered.at(pos, start):
            out = self.hf(
                output_hidden_states=every,
                **self._given(cache, new, pos),
                **({"logits_to_keep": self._rows(T, want)} if self._keep else {}),
            )
        self._took(cache, out)
        seen, self._last = self._last, None
        self._heard = seen is not None
        last = (out.hidden_states[-1] if seen is None else seen)[0, -T:].to(out.logits.device)
        top, self._top = self._top, None
        kept = [_state(out.hidden_states, top, i)[0, -T:].to(last.device) for i in sorted(taps)]
        return Rows(out.logits[0, -want:], last, torch.cat(kept, -1) if kept else None)

    def _took(self, cache: GenericCache, out: Any) -> None:
        """What a pass leaves behind, beside what is in the cache already."""

    def _given(self, cache: GenericCache, new: New, pos: Tensor) -> dict[str, Any]:
        """What the network is given of rows at these positions, and of those before them."""
        given = {"input_ids": new.ids[None], "use_cache": True, self._cached: cache.kv}
        return given | ({"position_ids": pos[None], "attention_mask": self._masks(new, pos)} if self._placed else {})

    def _rows(self, T: int, want: int) -> int | slice:
        """Which rows logits are wanted of. Told a number, transformers leaves all others out of the last layers where
        these share keys (Gemma 4), and the states of all rows are wanted; a slice suits whatever device they are on."""
        return slice(T - want, T) if self._shared else want

    def _masks(self, new: New, pos: Tensor) -> "Tensor | dict[str, Tensor | None]":
        """Who sees whom: one mask where all layers see as far, else one by the name of each kind of layer."""
        T, start = len(pos), new.start
        see = torch.ones(T, start + T, dtype=torch.bool, device=pos.device)
        see[:, start:] = see[:, start:].tril() if new.block is None else new.block
        kpos = torch.cat((torch.arange(start, device=pos.device), pos))
        if (sight := self.layers.alike) is not None:
            return mask_of(see, sight.of(pos, kpos), self.dtype)
        masks = {name: mask_of(see, sight.of(pos, kpos), self.dtype) for name, sight in self.layers.sights.items()}
        return masks | ({"linear_attention": None, "conv": None} if self.layers.keeps_states else {})
