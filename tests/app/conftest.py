"""A service over made-up runs, and a server for it."""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from engine.trace.store import Trace
from tests.app.fakes import FakeLab, free_port, preset, sentence
from tests.app.synthetic import CARDS, events


@pytest.fixture
def lab() -> FakeLab:
    return FakeLab()


@pytest.fixture
def service(lab: FakeLab) -> Service:
    def load() -> FakeLab:
        lab.loads += 1
        return lab

    return Service(CARDS, {"made-up": load}, sentence)


@pytest.fixture
def preset_catalogue(tmp_path: Path, service: Service) -> PresetCatalogue:
    for name in ("plain", "chain"):
        Trace(events(name, 30)).save(tmp_path / f"{name}.jsonl.gz")
    presets = [
        preset("live", "Live", ("plain", "wary")),
        preset("apples", "Apples", ("plain", "chain"), ("plain.jsonl.gz", "chain.jsonl.gz")),
    ]
    return PresetCatalogue(presets, CARDS, sentence, service.limits, folder=tmp_path)


@pytest.fixture
def base(service: Service, preset_catalogue: PresetCatalogue) -> Iterator[str]:
    """The address of a server of these."""
    port = free_port()
    demo = launch(service, preset_catalogue, sentence, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}"
    demo.close()
