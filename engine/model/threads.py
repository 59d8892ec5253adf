"""How many CPU threads torch uses: measured on the model at hand, since on small models, or beside other busy
processes, one is best.

Threads that wait for each other spin by default, and spinning threads starve when others want the same cores; threads
that sleep at once are dear even alone. The package therefore asks OpenMP to spin briefly (`engine/__init__.py`, before
torch is imported), and a server measures again between requests, since its neighbours come and go. How many threads
share a product can change its last bits: where two processes must agree bit for bit, give both the same number.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from time import monotonic, perf_counter

import torch

from engine.config import whole_number
from engine.draft import EMPTY, Draft, chain
from engine.errors import ConfigError, shown
from engine.model.forks import FORKS
from engine.model.model import Model
from engine.model.session import Session

AUTO = "auto"
WORTH = 0.9  # another thread must bring the time of a pass below this share of the best so far
PASSES = 4  # measured of each size with each number of threads
LONG = 0.25  # seconds of a pass from which on single passes must do
PROMPT, ROWS = 32, (0, 7, 59)  # tokens in the cache of a measured pass; draft tokens: none, a chain, a tree
MANY, MOST = 4, 64  # threads that may be asked for: so many a core, and on few cores so many
PATIENCE = 50  # a server measures again when so many times as long has gone by as measuring takes (2 % at most)


@dataclass(frozen=True)
class Threads:
    """The number in use, and how it came about."""

    count: int
    why: str
    seconds: Mapping[int, float] = field(default_factory=dict)  # of passes with so many threads, where it was measured
    again: float = float("inf")  # from when on, on the monotonic clock, the choice may be stale

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
    elif environ.get("OMP_NUM_THREADS", "").isdecimal():
        chosen = Threads(_count(environ["OMP_NUM_THREADS"]), "as OMP_NUM_THREADS says")
    elif FORKS.lost:
        chosen = Threads(1, "a fork has none of its parent's")
    elif cores == 1:
        chosen = Threads(1, "there is one core")
    else:
        began = monotonic()
        chosen = fastest(choices(cores), lambda count: _seconds(model, count))
        chosen = replace(chosen, again=monotonic() + PATIENCE * (monotonic() - began))
    FORKS.use(chosen.count)
    return chosen


def settle_again(model: Model, before: Threads) -> Threads:
    """Measure anew where the number was measured, and that is some time ago; else as before."""
    return settle(model) if monotonic() > before.again else before


def fastest(counts: list[int], seconds: Callable[[int], float]) -> Threads:
    """The smallest number of threads that no larger one beats by a tenth; `seconds` measures a pass with so many."""
    measured = {count: seconds(count) for count in counts}
    best = counts[0]
    for count in counts[1:]:
        if measured[count] < WORTH * measured[best]:
            best = count
    told = ", ".join(f"{count}: {1e3 * spent:.2f}" for count, spent in measured.items())
    rows = ", ".join(str(n + 1) for n in ROWS[:-1]) + f" and {ROWS[-1] + 1}"
    return Threads(best, f"ms of passes over {rows} tokens by threads, measured: {told}", measured)


def choices(cores: int) -> list[int]:
    """The numbers that are tried: 1, 2, 4, ... and all cores."""
    return sorted({*(2**i for i in range(cores.bit_length()) if 2**i <= cores), cores})


def available() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _seconds(model: Model, threads: int) -> float:
    """Seconds of a pass over one token, one over a chain and one over a tree's size, summed; medians after a warm-up.

    A model so large that this would take long is judged by single passes over one token.
    """
    torch.set_num_threads(threads)
    session = model.session(PROMPT + max(ROWS))
    prompt = model.filler(min(PROMPT, session.capacity // 2))
    total = 0.0
    for rows in ROWS:
        draft = chain([0] * min(rows, session.capacity - len(prompt)))
        spent = [_pass(session, prompt, draft)]
        if spent[0] > LONG:
            return _pass(session, prompt, EMPTY) * len(ROWS)
        spent = [_pass(session, prompt, draft) for _ in range(PASSES)]
        total += median(spent)
    return total


def _pass(session: Session, prompt: list[int], draft: Draft) -> float:
    began = perf_counter()
    session.forward(prompt, draft)
    return perf_counter() - began


def _count(wanted: int | str) -> int:
    if isinstance(wanted, str) and wanted.isdecimal():
        wanted = int(wanted)
    most = max(MOST, MANY * (os.cpu_count() or 1))
    if (count := whole_number(wanted)) is None or not 1 <= count <= most:
        raise ConfigError(f"threads must be 'auto' or an integer from 1 to {most}, not {shown(wanted)}.")
    return count
