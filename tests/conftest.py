"""Fixtures for all tests: one thread for torch, no GPU but where it is asked for, no network."""

import gc
import os

os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or "1"  # empty is unset
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
if os.environ.get("DRAFTSCOPE_TEST_GPU") != "1":  # "auto" would choose a GPU; what is expected is what a CPU gives
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

from pathlib import Path

import pytest
from hypothesis import settings

gc.disable()  # what comes while tests are collected stays; to look through it again and again takes a third of that time

settings.register_profile("patient", settings(), deadline=None)  # a machine that is busy is no fault
settings.load_profile("patient")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What drives a browser is not even imported where it is left out."""
    return True if collection_path.name == "browser" and "not browser" in config.option.markexpr else None


def pytest_collection_finish() -> None:
    """What is imported by now stays; to look through it for garbage again and again takes up to a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()
