"""Fixtures for all tests: one thread for torch, no network, and tiny random models."""

import os

os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or "1"  # empty is unset
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
