"""Tokenizers and models of the folders that training is given; of one that is none it is said so in a line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from engine.errors import AssetError, LabError, ModelMismatch
from engine.files.places import a_file, near
from engine.model.bridge import specials_apart
from engine.model.hub import fault, glance, missing, whole
from engine.model.load import reason_of
from engine.model.tokens import Tokenizer, read_tokenizer


def read_words(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a folder.

    Raises:
        AssetError: there is no such folder, or none in it.
    """
    with _of(folder):
        words: PreTrainedTokenizerBase = read_tokenizer(folder)
        return words


def read_shared_words(target: Path, draft: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of two folders, which may differ in special tokens only.

    Raises:
        AssetError: as `read_words`. ModelMismatch: they have two.
    """
    words, others = read_words(target), read_words(draft)
    if not specials_apart(Tokenizer(words, ()), Tokenizer(others, ())):
        raise ModelMismatch(
            f"{target} and {draft} have different tokenizers, and here the ids of one are read by the other: both need "
            "one tokenizer."
        )
    return words


def read_weights(kind: Any, folder: Path) -> Any:
    """The model of a folder in fp32, by the class of transformers that reads it.

    Raises:
        AssetError: as `read_words`.
    """
    with _of(folder):
        whole(str(folder), glance(str(folder)))
        return kind.from_pretrained(folder, dtype=torch.float32).eval()


@contextmanager
def _of(folder: Path) -> Iterator[None]:
    if not folder.is_dir():
        raise AssetError(a_file(str(folder)) or f"There is no folder {folder}.{near(str(folder))}")
    try:
        yield
    except LabError:
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        reason = reason_of(error, str(folder))
        raise AssetError(missing(str(folder), reason)) from fault(reason)
