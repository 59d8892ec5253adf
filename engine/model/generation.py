"""A checkpoint's settings of generation: as its files have them, and those that the lab does not apply."""

from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from engine.errors import shown

UNTOLD: dict[str, tuple[object, ...]] = {  # settings that change greedy text, and the values at which they do nothing
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "no_repeat_ngram_size": (None, 0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "repetition_penalty": (None, 1.0),
    "encoder_repetition_penalty": (None, 1.0),
    "exponential_decay_length_penalty": (None,),
    "sequence_bias": (None,),
    "bad_words_ids": (None, []),
    "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []),
    "forced_eos_token_id": (None,),
}
BARRED = ("bad_words_ids", "suppress_tokens")  # an encoder-decoder's logits follow these


def generation_of(path: str | Path) -> Any:
    """A checkpoint's generation config, as transformers has it of a loaded model: earlier ones have these settings in
    their config.json alone, and one that is read from there keeps none of them."""
    try:
        return GenerationConfig.from_pretrained(path)
    except OSError:
        return GenerationConfig.from_pretrained(path, config_file_name="config.json", _from_model_config=True)


def untold(generation: Any, sourced: bool = False) -> list[str]:
    """What a reader should know of settings that change the greedy text of transformers' `generate`, and not that of
    the lab; `sourced`: of an encoder-decoder."""
    found = [
        f"{key}={shown(value)}"
        for key, idle in UNTOLD.items()
        if not (sourced and key in BARRED) and (value := getattr(generation, key, None)) not in idle
    ]
    return [f"Settings of its checkpoint that are not applied: {', '.join(found)}."] if found else []


def silence(hf: Any) -> Any:
    """The same network, whose own `generate` no longer applies them either."""
    for key, idle in UNTOLD.items():
        if not (hf.config.is_encoder_decoder and key in BARRED):
            setattr(hf.generation_config, key, idle[0])
    return hf
