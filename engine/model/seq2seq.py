"""What an encoder-decoder checkpoint is made of: its decoder here, its seam, its two contexts, and what of its
generation settings holds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.errors import ConfigError, ModelMismatch, unknown
from engine.model.crossed import CrossDecoder, crossed_from
from engine.model.crossweights import RELATIVE
from engine.model.crosswhole import WholeDecoder
from engine.model.decoder import chains_told
from engine.model.generation import untold
from engine.model.network import context_of
from engine.model.seam import Seam
from engine.model.trial import fault

CODE = re.compile(r"_{0,2}[a-z]{2,3}(_[A-Z][A-Za-z]{1,3})?_{0,2}")  # en_XX, deu_Latn, __de__


@dataclass(frozen=True, eq=False)
class Parts:
    """An encoder-decoder ready to run. `context`: positions of the encoder and of the decoder."""

    decoder: CrossDecoder | WholeDecoder
    seam: Seam
    layers: int
    context: tuple[int, int]
    notes: tuple[str, ...]


def parts_of(
    hf: Any, tokenizer: Any, name: str, languages: str, stops: Sequence[int], trial: tuple[int, torch.device] | None
) -> Parts:
    """Take a loaded model apart; `languages` is "source:target" in the tokenizer's codes, or empty.
    What runs through transformers stands a `trial` with so many ids on a device, where one is wanted.

    Raises:
        ModelMismatch: two vocabularies, or a decoder that is not exact in pieces.
        ConfigError: languages that the model does not know, or needs and was not given.
    """
    config = hf.config
    _one_vocabulary(config, name)
    seam = Seam(opening(hf, tokenizer, name, languages), frozenset(stops))
    context, layers, never = _contexts(config), _depth(config), _never(hf.generation_config, stops)
    decoder: CrossDecoder | WholeDecoder | None = crossed_from(hf, never)
    if decoder is None:
        decoder = WholeDecoder(hf, layers)
        if trial and (wrong := fault(hf, decoder, *trial, seam)):
            raise ModelMismatch(f"{name} {wrong}, so no draft could be checked.")
        decoder.never = never
    return Parts(decoder, seam, layers, context, tuple(_notes(hf.generation_config, decoder)))


def opening(hf: Any, tokenizer: Any, name: str, languages: str) -> tuple[int, ...]:
    """The ids that the decoder starts with. The tokenizer is set to the source language.

    Raises:
        ConfigError: as `parts_of`. ModelMismatch: the checkpoint does not say how a text begins.
    """
    generation, config = hf.generation_config, hf.config
    start = generation.decoder_start_token_id
    start = getattr(config, "decoder_start_token_id", None) if start is None else start
    forced = generation.forced_bos_token_id
    known = codes_of(tokenizer)
    source, _, target = languages.partition(":")
    if languages and not known:
        raise ConfigError(f"{name} knows no languages by code, so languages={languages!r} has no meaning for it.")
    for code in filter(None, (source, target)):
        if code not in known:
            raise ConfigError(unknown(f"language code of {name}", code, known))
    if source:
        tokenizer.src_lang = source
    if target and known[target] in tokenizer("a")["input_ids"][-1:] + _behind(tokenizer, known):
        return (known[target],)
    if target and start is not None:
        return (int(start), known[target])
    if known and not {start, forced} & set(known.values()):
        raise ConfigError(
            f"{name} writes several languages: say from which to which with languages='SOURCE:TARGET', such as "
            f"'{':'.join(list(known)[:2])}'."
        )
    if start is None:
        raise ModelMismatch(f"{name} does not say with which token a text begins (decoder_start_token_id).")
    return (int(start),) if forced is None else (int(start), int(forced))


def codes_of(tokenizer: Any) -> dict[str, int]:
    """Language codes of a multilingual tokenizer with their ids; empty for any other."""
    if not hasattr(tokenizer, "src_lang"):
        return {}
    names = list(getattr(tokenizer, "lang_code_to_id", None) or ()) or [
        str(token) for token in tokenizer.added_tokens_decoder.values() if CODE.fullmatch(str(token))
    ]
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in names}
    return {name: i for name, i in ids.items() if i is not None and i != tokenizer.unk_token_id}


def _behind(tokenizer: Any, known: dict[str, int]) -> list[int]:
    """All languages where the tokenizer puts that of the source behind its text (mBART of 25 languages), which a
    decoder starts with in place of a start token."""
    return list(known.values()) if tokenizer("a")["input_ids"][-1] in known.values() else []


def _one_vocabulary(config: Any, name: str) -> None:
    """See that source and target are written with the same ids.

    Raises:
        ModelMismatch: they are not.
    """
    sizes = {
        getattr(part, key, None)
        for part in (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
        for key in ("vocab_size", "decoder_vocab_size", "tgt_vocab_size", "src_vocab_size")
    } - {None}
    if not getattr(config, "share_encoder_decoder_embeddings", True) or len(sizes) > 1:
        raise ModelMismatch(
            f"{name} has a vocabulary for its source and another for what it writes; the lab's sequences have one."
        )


def _contexts(config: Any) -> tuple[int, int]:
    """Positions of encoder and decoder; 2048 where distances count and no position has a number (T5)."""
    if config.model_type in RELATIVE:
        return 2048, 2048
    either = context_of(config)
    encoder, decoder = (
        int(getattr(config, f"max_{side}_position_embeddings", 0) or 0)
        or (context_of(getattr(config, side)) if hasattr(config, side) else either)
        for side in ("encoder", "decoder")
    )
    return encoder, decoder


def _depth(config: Any) -> int:
    """Layers of the decoder."""
    for name in ("num_decoder_layers", "decoder_layers"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    return int(getattr(config, "decoder", config).num_hidden_layers)


def _never(generation: Any, stops: Sequence[int]) -> list[int]:
    """Ids that generation must not write."""
    barred = {words[0] for words in generation.bad_words_ids or () if len(words) == 1}
    return sorted((barred | set(generation.suppress_tokens or ())) - set(stops))


def _notes(generation: Any, decoder: CrossDecoder | WholeDecoder) -> list[str]:
    return [
        "Encoder-decoder: the prompt is the source, and is read once.",
        *chains_told(decoder.why_chains),
        *untold(generation, sourced=True),
    ]
