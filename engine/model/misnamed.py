"""Names in a configuration that transformers does not know, and whose fields its errors do not tell."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from engine.errors import AssetError, unknown
from engine.files.documents import read_object
from engine.model.devices import DTYPES
from engine.model.hub import local

ACTIVATION = re.compile(r"(act|act_fn|activation|activation_function)$")
ROPE = ("rope_type", "type")
DTYPE = ("dtype", "torch_dtype")


def misnamed(ref: str, error: Exception) -> Exception:
    """The error of a checkpoint with the field whose name it is about, the nearest right name, and all that are
    allowed; as it is where it is about none."""
    said, folder = str(error), local(ref)
    with suppress(AssetError):  # a configuration that cannot be read has no fields
        for field, value, known in _named(read_object(folder / "config.json")) if folder else ():
            if repr(value) in said and value not in known:
                return AssetError(f"a name in its config.json is not known. {unknown(field, value, known)}")
    return error


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
