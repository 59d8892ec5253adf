"""May generated code be run here? Yes on one's own machine; on a public Space only when its owner says so."""

from __future__ import annotations

import os

from engine.errors import ConfigError

SWITCH = "DRAFTSCOPE_RUN_CODE"


def code_may_run() -> bool:
    """False on a Hugging Face Space unless DRAFTSCOPE_RUN_CODE=1; DRAFTSCOPE_RUN_CODE=0 says no anywhere."""
    return os.environ.get(SWITCH, "0" if os.environ.get("SPACE_ID") else "1") == "1"


def require_code_may_run() -> None:
    """Nothing when generated code may be run.

    Raises:
        ConfigError: it may not, and how to allow it.
    """
    if not code_may_run():
        raise ConfigError(f"Running generated code is switched off here; {SWITCH}=1 in the environment allows it.")
