"""Several prompts decoded together: each row a run of its own, as if alone; their passes are joined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch

from engine.config import Card, RunConfig, whole_number
from engine.errors import ConfigError, EngineFault, shown
from engine.model import Model
from engine.model.together import Crew, JoinedDecoder, packing_of
from engine.runs.asking import asked, configure
from engine.runs.costs import with_costs
from engine.runs.pair import Pair
from engine.runs.preflight import available, sized
from engine.runs.running import NO_MEMORY, begin, events, head
from engine.trace.store import Trace

ROOM = 0.8  # of the free memory that the caches of a batch may take


def run_batch(
    pair: Pair, method: str | Card, prompts: Sequence[str | Sequence[int]], given: Mapping[str, Any]
) -> list[Trace]:
    """See `engine.lab.Lab.run_batch`."""
    if isinstance(prompts, str) or not isinstance(prompts, Sequence):
        raise ConfigError(f"prompts must be a list of prompts, not {shown(prompts)}.")
    if not prompts:
        raise ConfigError("prompts must hold at least one prompt, and this list is empty.")
    card, options, knobs = asked(pair, method, given)
    if whole_number(options.seed) is None:
        raise ConfigError(f"seed is one number, from which rows count on, not {shown(options.seed)}.")
    if card.writer == "nat":
        raise ConfigError(f"{card.title} writes one text at a time, and passes are not joined: run prompts in turn.")
    marked = [
        replace(options, seed=options.seed + row, extras={**(options.extras or {}), "row": row, "batch": len(prompts)})
        for row in range(len(prompts))
    ]
    configs = [configure(pair, card, prompt, one, knobs) for prompt, one in zip(prompts, marked, strict=True)]
    crew = Crew()
    try:
        with pair.lock, torch.inference_mode():
            pair.use_threads()
            with_costs(pair, card, configs[0])  # measured alone, where a knob asks for it
            heads = [head(pair, card, config, one) for config, one in zip(configs, marked, strict=True)]
            side = _joined(pair, card, configs, crew)
            rows = [begin(side, card, config) for config in configs]
            return crew.work([_row(events(*given, nullcontext())) for given in zip(heads, rows, strict=True)])
    except torch.OutOfMemoryError:
        raise EngineFault(NO_MEMORY) from None


def _row(told: Iterator[Any]) -> Callable[[], Trace]:
    return lambda: Trace(told)


def _joined(pair: Pair, card: Card, configs: Sequence[RunConfig], crew: Crew) -> Pair:
    """The pair with models whose passes the crew joins: the draft's first, the writer's once all rows wait for it.

    Raises:
        ConfigError: a model that runs one sequence at a time, or more rows than the memory holds.
    """
    slots = max(pair.kit(card, config).capacity for config in configs)
    source = max(pair.target.source_of(config.prompt_ids) for config in configs)
    joined, needed = dict[str, Model](), 0
    for role, model in pair.passing(card, configs[0].knobs).items():
        packing = packing_of(model.decoder, source)
        if packing is None:
            raise ConfigError(
                f"{model.name} cannot decode a batch: it does not run through the lab's own decoder on one device, and "
                "everything else runs one sequence at a time."
            )
        decoder = JoinedDecoder(packing, crew, len(configs), slots, waits=role == card.writer)
        joined[role] = replace(model, decoder=decoder)
        needed += packing.bytes(slots)
    most = int(ROOM * available(pair.target.device)) // needed
    if len(configs) > most:
        raise ConfigError(
            f"A batch of {len(configs)} does not fit the memory: each row takes {sized(needed)} for keys and values of "
            f"{slots} tokens, and at most {most} rows have room. Give fewer prompts at a time, or lower "
            "max_new_tokens."
        )
    return pair.through(joined)
