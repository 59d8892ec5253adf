"""Models that labs load are read once from the same files, for tests that are not about loading."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.model import Model, load_model
from engine.runs import loading

MOST = 12  # models that are kept
_kept: dict[Any, Model] = {}


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of a model's files."""
    found = ((file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file())
    return tuple((name, told.st_size, told.st_mtime_ns) for name, told in found)


@contextmanager
def loaded_once() -> Iterator[None]:
    """Within the block a lab's models come from those of earlier blocks: weights and tokenizer are shared, the rest is
    the lab's own. A folder whose files have changed is read anew; so is all that is on the hub or on a GPU."""
    plain = load_model

    def load(ref: str | Path, device: str = "auto", *given: Any, **named: Any) -> Model:
        folder = Path(ref)
        if device not in ("cpu", "auto") or not folder.is_dir():
            return plain(ref, device, *given, **named)
        key = (str(ref), device, given, tuple(sorted(named.items())), _files(folder))
        model = _kept.pop(key, None) or plain(ref, device, *given, **named)
        _kept[key] = model
        if len(_kept) > MOST:
            del _kept[next(iter(_kept))]
        return replace(model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load_model", load)
        yield
