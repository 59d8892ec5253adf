"""Waiting for what a page should show: Playwright's `expect` for elements, `sees` for values of scripts, `freed` for the engine."""

import json
import time
from typing import Any


def sees(page: Any, script: str, value: object) -> None:
    """Wait until an expression has this value."""
    wanted = json.dumps(json.dumps(value, separators=(",", ":")))
    page.wait_for_function(f"JSON.stringify({script}) === {wanted}")


def freed(server: Any, page: Any) -> None:
    """Wait until the engine streams to nobody: as long as for an element, since the server hears of it when it can."""
    end = time.monotonic() + 30
    while server.lab.open_streams and time.monotonic() < end:
        page.wait_for_timeout(50)  # events of the page go on
    assert server.lab.open_streams == []
