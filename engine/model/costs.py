"""How long a pass takes by the tokens it verifies, and how long a draft step takes, measured on this device now."""

from collections.abc import Sequence
from statistics import median
from time import perf_counter

import torch

from engine.analysis.curve import Curve
from engine.draft import chain
from engine.model.load import Model

ROWS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 32, 48, 64)
CONTEXT, PASSES = 256, 15


def curve(model: Model, rows: Sequence[int] = ROWS, context: int = CONTEXT, passes: int = PASSES) -> Curve:
    """Medians of passes over a text of `context` tokens that read 1 to 64 more, all sizes in turns after a warm-up.

    At `rows` 1 of a draft model this is the cost of a draft step. Sizes that do not fit the model are left out.

    Raises:
        EngineFault: a logit is NaN.
    """
    session = model.session(min(context + max(rows), model.context))
    text = [0] * min(context, session.capacity // 2)
    sizes = [size for size in rows if len(text) + size - 1 <= session.capacity]
    drafts = {size: chain([0] * (size - 1)) for size in sizes}
    spent: dict[int, list[float]] = {size: [] for size in sizes}
    for turn in range(passes + 1):
        for size, draft in drafts.items():
            began = _now(model)
            session.forward(text, draft)
            if turn:
                spent[size].append(_now(model) - began)
    return Curve(tuple(sizes), tuple(1e3 * median(spent[size]) for size in sizes), len(text))


def _now(model: Model) -> float:
    """Seconds on a clock, after the device has caught up."""
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
    return perf_counter()
