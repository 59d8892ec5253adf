"""Names in a configuration that transformers does not know, and sizes that no network has; its errors tell neither's
field."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from engine.errors import AssetError, unknown
from engine.files.documents import read_object
from engine.model.devices import DTYPES
from engine.model.hub import local

ACTIVATION = re.compile(r"(act|act_fn|activation|activation_function)$")
ROPE = ("rope_type", "type")
DTYPE = ("dtype", "torch_dtype")
POSITIONS = re.compile(r"(max_position_embeddings|n_positions)$")
SIZE = re.compile(  # as the types of transformers call width, layers, heads and vocabulary; none has fewer than one
    r"(hidden_size|intermediate_size|vocab_size|head_dim|d_model|d_ff|d_kv|n_embd|n_inner|n_layers?|n_heads?|dim"
    r"|((encoder|decoder)_)?ffn_dim|(encoder|decoder)_(layers|attention_heads)"
    r"|num_(hidden_layers|layers|attention_heads|heads|key_value_heads|kv_heads))$"
)


def misnamed(ref: str, error: Exception) -> Exception:
    """The error of a checkpoint with the field whose name it is about, the nearest right name, and all that are
    allowed, or with a size below 1; as it is where it is about none."""
    said, folder = str(error), local(ref)
    with suppress(AssetError):  # a configuration that cannot be read has no fields
        config = read_object(folder / "config.json") if folder else {}
        for field, value, known in _named(config):
            if repr(value) in said and value not in known:
                return AssetError(f"a name in its config.json is not known. {unknown(field, value, known)}")
        if told := missized(config):
            return AssetError(told)
    return error


def sized(config: Any, name: str) -> None:
    """Nothing for a configuration that says of how many positions a text may be, or does not say it.

    Raises:
        AssetError: of none; such a network is built like any other, and would read no text.
    """
    if told := missized(config.to_dict(), POSITIONS):
        raise AssetError(f"{name} is not a complete model: {told}")


def missized(part: Mapping[str, object], sizes: re.Pattern[str] = SIZE, within: str = "") -> str:
    """The first of the `sizes` in a configuration or its parts that is below 1, with its field; empty where there is
    none."""
    for key, value in part.items():
        if isinstance(value, dict) and (told := missized(value, sizes, f"{within}{key}.")):
            return told
        if type(value) is int and value < 1 and sizes.match(key):
            return f"{within}{key} in its config.json must be an integer >= 1, not {value}."
    return ""


def _named(part: Mapping[str, object], within: str = "") -> Iterator[tuple[str, str, Collection[str]]]:
    """Fields of a configuration and of its parts that hold names: field, name, those that are allowed."""
    from transformers.activations import ACT2FN  # noqa: PLC0415  (only once something went wrong)
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: PLC0415

    for key, value in part.items():
        field = f"{within}{key}"
        if isinstance(value, dict):
            yield from _named(value, f"{field}.")
        elif isinstance(value, str) and ACTIVATION.search(key):
            yield field, value, ACT2FN.keys()
        elif isinstance(value, str) and key in ROPE:
            yield field, value, {"default", *ROPE_INIT_FUNCTIONS}
        elif isinstance(value, str) and key in DTYPE:
            yield field, value, DTYPES.keys()
