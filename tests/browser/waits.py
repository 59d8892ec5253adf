"""Waiting for what a page should show: Playwright's `expect` for elements, `sees` for values of scripts."""

import json
from typing import Any


def sees(page: Any, script: str, value: object) -> None:
    """Wait until an expression has this value."""
    wanted = json.dumps(json.dumps(value, separators=(",", ":")))
    page.wait_for_function(f"JSON.stringify({script}) === {wanted}")
