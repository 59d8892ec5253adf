"""How many CPU threads torch uses: measured on the model at hand, since on small models, or beside other busy
processes, one is best.

Threads that wait for each other spin by default, and spinning threads starve when others want the same cores; the
package therefore asks OpenMP to wait passively (`engine/__init__.py`, before torch is imported).
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

import torch

from engine.draft import EMPTY, chain
from engine.errors import ConfigError
from engine.model.load import Model

AUTO = "auto"
WORTH = 0.9  # another thread must bring the time of a pass below this share of the best so far
PASSES, SECONDS = 12, 0.4  # of each number of threads: at most so many passes, and no further one after so long
PROMPT, ROWS = 32, 7  # tokens in the cache of a measured pass, and draft tokens checked in every second pass


@dataclass(frozen=True)
class Threads:
    """The number in use, and how it came about."""

    count: int
    why: str
    seconds: Mapping[int, float] = field(default_factory=dict)  # of a pass with so many threads, where it was measured

    def __str__(self) -> str:
        return f"{self.count} {'thread' if self.count == 1 else 'threads'} ({self.why})"


def settle(model: Model, wanted: int | str = AUTO, environ: Mapping[str, str] = os.environ) -> Threads:
    """Set torch's threads: a number as given, or for "auto" the fastest on this model now.

    A number in OMP_NUM_THREADS is taken as the user's word. On other devices than the CPU torch's own number stays.

    Raises:
        ConfigError: neither "auto" nor an integer >= 1.
    """
    cores = available()
    if wanted != AUTO:
        chosen = Threads(_count(wanted), "as asked")
    elif model.device.type != "cpu":
        chosen = Threads(torch.get_num_threads(), f"torch's own; the models are on {model.device}")
    elif environ.get("OMP_NUM_THREADS", "").isdigit():
        chosen = Threads(_count(environ["OMP_NUM_THREADS"]), "as OMP_NUM_THREADS says")
    elif cores == 1:
        chosen = Threads(1, "there is one core")
    else:
        chosen = fastest(choices(cores), lambda count: _seconds(model, count))
    torch.set_num_threads(chosen.count)
    return chosen


def fastest(counts: list[int], seconds: Callable[[int], float]) -> Threads:
    """The smallest number of threads that no larger one beats by a tenth; `seconds` measures a pass with so many."""
    measured = {count: seconds(count) for count in counts}
    best = counts[0]
    for count in counts[1:]:
        if measured[count] < WORTH * measured[best]:
            best = count
    told = ", ".join(f"{count}: {1e3 * spent:.2f}" for count, spent in measured.items())
    return Threads(best, f"ms a pass by threads, measured: {told}", measured)


def choices(cores: int) -> list[int]:
    """The numbers that are tried: 1, 2, 4, ... and all cores."""
    return sorted({*(2**i for i in range(cores.bit_length()) if 2**i <= cores), cores})


def available() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _seconds(model: Model, threads: int) -> float:
    """Median seconds of a pass over one token, and over one token with a short draft, after a warm-up."""
    torch.set_num_threads(threads)
    session = model.session(PROMPT + ROWS + 1)
    prompt = [0] * min(PROMPT, session.capacity - ROWS - 1)
    drafts = (EMPTY, chain([0] * ROWS))
    spent: list[float] = []
    for i in range(-len(drafts), PASSES):
        began = perf_counter()
        session.forward(prompt, drafts[i % len(drafts)])
        if i >= 0:
            spent.append(perf_counter() - began)
            if sum(spent) > SECONDS:
                break
    return sum(median(spent[i :: len(drafts)] or spent) for i in range(len(drafts))) / len(drafts)


def _count(wanted: int | str) -> int:
    if isinstance(wanted, str) and wanted.isdigit():
        wanted = int(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise ConfigError(f"threads must be 'auto' or an integer >= 1, not {wanted!r}.")
    return wanted
