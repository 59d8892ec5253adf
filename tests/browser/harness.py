"""The real page over made-up runs: python -m tests.browser.harness [port]"""

import os
import sys
import tempfile
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from engine.trace.store import Trace
from tests.app.fakes import FakeLab, preset, sentence
from tests.app.synthetic import CARDS, events

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
]
METHODS = ("plain", "chain", "bush", "lenient", "wary")


def made_up_service(folder: Path, pause: float = 0.012, tokens: int = 120) -> tuple[Service, PresetCatalogue, FakeLab]:
    """A service over a FakeLab, and a preset with recorded traces."""
    paths = [str(Trace(events(name, tokens)).save(folder / f"{name}.jsonl")) for name in METHODS]
    lab = FakeLab(pause=pause)
    service = Service(CARDS, {"made-up": lambda: lab}, sentence)
    presets = [preset("apples", "Apples", METHODS, tuple(paths)), preset("live", "Not recorded", ("plain", "wary"))]
    return service, PresetCatalogue(presets, CARDS, sentence, service.limits), lab


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 7900
    with tempfile.TemporaryDirectory() as folder:
        service, preset_catalogue, _lab = made_up_service(Path(folder))
        launch(service, preset_catalogue, sentence, host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
