"""May generated code be run here? Yes on one's own machine; on a public Space only when its owner says so."""

from __future__ import annotations

import os

from engine.errors import ConfigError

SWITCH = "DRAFTSCOPE_RUN_CODE"
UNCONFINED = "unconfined"


def code_may_run() -> bool:
    """False on a Hugging Face Space or a server with --public, unless DRAFTSCOPE_RUN_CODE is 1; 0 says no anywhere."""
    return os.environ.get(SWITCH, "0" if os.environ.get("SPACE_ID") else "1") in ("1", UNCONFINED)


def unconfined_is_allowed() -> bool:
    """Whether code may run where the kernel does not confine it: only when asked for by name."""
    return os.environ.get(SWITCH) == UNCONFINED


def deny_by_default() -> None:
    """Run no code in this process or below it unless the environment allows it: for servers that strangers use."""
    os.environ.setdefault(SWITCH, "0")


def require_code_may_run() -> None:
    """Nothing when generated code may be run.

    Raises:
        ConfigError: it may not, and how to allow it.
    """
    if not code_may_run():
        raise ConfigError(f"Running generated code is switched off here; {SWITCH}=1 in the environment allows it.")
