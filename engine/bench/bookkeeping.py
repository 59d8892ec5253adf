"""What a round of tree drafting costs beside the models: all that is neither a pass of the target nor of the head."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

from engine.bench.contest import Spread
from engine.lab import Lab
from engine.trace.events import Round
from engine.trace.store import Trace, sound

METHODS = ("eagle2", "eagle3", "heterospec")  # 60 nodes a round by default
PASSES = ("run", "read", "logits")  # of a head


class Stopwatch:
    """Seconds within watched calls; a watched call inside another counts once."""

    def __init__(self) -> None:
        """Nothing counted yet."""
        self.seconds, self._depth = 0.0, 0

    @contextmanager
    def watching(self, thing: Any, names: Sequence[str]) -> Iterator[None]:
        """Count the time in these methods of a thing."""
        plain = {name: getattr(thing, name) for name in names}
        for name, call in plain.items():
            setattr(thing, name, self._timed(call))
        try:
            yield
        finally:
            for name, call in plain.items():
                setattr(thing, name, call)

    def _timed(self, call: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            began, self._depth = perf_counter(), self._depth + 1
            try:
                return call(*args, **kwargs)
            finally:
                self._depth -= 1
                self.seconds += 0.0 if self._depth else perf_counter() - began

        return timed


def bookkeeping(
    lab: Lab, prompts: Sequence[Sequence[int]], new_tokens: int, repetitions: int, **sampled: Any
) -> dict[str, dict[str, Any]]:
    """Per tree method that this lab can run: the share of its rounds outside all passes, and milliseconds a round.

    The first round of a run is left out, as it comes with the prefill; a method whose texts have no other, as well.
    `sampled` are options of `Lab.run`.
    """
    can = [card.name for card in lab.methods() if card.name in METHODS]
    watch, shares, spent = Stopwatch(), dict[str, list[float]](), dict[str, list[float]]()
    with ExitStack() as stack:
        stack.enter_context(watch.watching(lab.target.decoder, ["run"]))
        for head in {"eagle2" if name == "eagle2" else "eagle3" for name in can}:
            stack.enter_context(watch.watching(lab.asset(head), PASSES))
        for _ in range(repetitions):
            for name in can:
                rounds = [
                    pair for prompt in prompts for pair in _rounds(lab, name, prompt, new_tokens, watch, **sampled)
                ]
                if rounds:
                    whole, inside = (sum(pair[i] for pair in rounds) for i in (0, 1))
                    shares.setdefault(name, []).append(1 - inside / whole)
                    spent.setdefault(name, []).append(1e3 * whole / len(rounds))
    return {name: {"share": vars(Spread.of(shares[name])), "round_ms": vars(Spread.of(spent[name]))} for name in shares}


def _rounds(
    lab: Lab, name: str, prompt: Sequence[int], new_tokens: int, watch: Stopwatch, **sampled: Any
) -> Iterator[tuple[float, float]]:
    """Seconds of each round but the first, and those of them within passes."""
    before: float | None = None
    trace = Trace()
    for event in lab.stream(name, prompt, max_new_tokens=new_tokens, record="light", **sampled):
        trace.append(event)
        if isinstance(event, Round):
            if before is not None:
                yield (event.draft_ms + event.verify_ms + event.other_ms) / 1e3, watch.seconds - before
            before = watch.seconds
    sound(trace, name)
