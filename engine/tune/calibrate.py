"""Calibration of EASD's entropy threshold: section 3.6, eq. 8 to 10. Register: E7, E8, E9."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from engine.errors import ConfigError
from engine.lab import Lab
from engine.trace.store import sound


def tau_entropy(entropies: Sequence[float], share: float = 0.05) -> float:
    """Mean of the ceil(share * N) largest entropies, nats. share 1 gives the mean, one value the maximum.

    Raises:
        ConfigError: no entropies, or a share outside (0, 1].
    """
    if not entropies:
        raise ConfigError("No entropies to calibrate on: the prompt set gave no token.")
    if not 0 < share <= 1:
        raise ConfigError(f"share must be a number > 0 and <= 1, not {share}.")
    k = max(1, ceil(share * len(entropies) - 1e-9))
    return sum(sorted(entropies, reverse=True)[:k]) / k


def entropies(lab: Lab, prompt: str, solution: str | None = None, **decoding: Any) -> list[float]:
    """Target entropies, nats, at each step of its own generation, or teacher-forced along a solution (E9).

    Raises:
        ConfigError: teacher-forced without a solution.
    """
    if solution is None:
        trace = sound(lab.run("ar", prompt, **decoding), "ar")
        return [token.h_target for token in trace.tokens if token.h_target is not None]
    if not solution:
        raise ConfigError("Teacher-forced calibration needs prompts with reference solutions.")
    return lab.teacher_forced_entropies(prompt, solution, chat=bool(decoding.get("chat", False)))
