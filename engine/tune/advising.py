"""Runs for advice: one long probe a method on the prompts at hand, and the grid of settings that checks an advice."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.config import Card, label
from engine.drafters import DRAFTERS
from engine.errors import ConfigError, LabError
from engine.lab import Lab
from engine.methods import get_card
from engine.parts import one_pass
from engine.served.configs import CANDIDATES
from engine.trace.store import Trace, sound
from engine.trace.sums import Sums

PROBE = 16  # draft tokens of a probe: longer than chains are worth, so that what is cut from it is known
Spec = tuple[str, dict[str, Any]]
Asked = tuple[str, dict[str, Any]]  # a prompt, and what its trace notes
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)  # lengths of chains
TREES = (8, 16, 24, 40)  # draft tokens of dynamic trees
PROBED_TREES = (8, 16, 32, 60)
PROBED_BLOCKS = (4, 8)  # lengths of chains that one pass writes, beside the probe's
WITHIN = 0.05  # of speed that a choice may lie behind the best of a grid


def candidates(lab: Lab, wanted: Sequence[str] = ()) -> list[Card]:
    """Methods that keep the target's output, run here, and that some serving engine has, or those that are wanted.

    Raises:
        ConfigError: one that is wanted cannot run here, or changes the output; or there is none.
    """
    cards = [get_card(name) for name in wanted or CANDIDATES]
    for card in cards if wanted else ():
        if reason := lab.hindrance(card):
            raise ConfigError(reason)
        if card.guarantee == "lossy":
            raise ConfigError(f"{card.name} changes the target's output: advice compares speeds of the same output.")
    found = [card for card in cards if not lab.hindrance(card) and card.guarantee != "lossy"]
    if not found:
        raise ConfigError("None of the methods that engines have can run on these models.")
    return found


def probes(cards: Iterable[Card], most: int = PROBE) -> list[Spec]:
    """Chains once, with a draft of `most` tokens; those that one pass writes, and dynamic trees, by some sizes, since
    what a smaller one would have had is not in a larger one; other shapes as they usually are."""
    found = list[Spec]()
    for card in cards:
        if _is_chain(card):
            sizes = (*PROBED_BLOCKS, most) if _once(card) else (most,)
            found += [(card.name, {"gamma": gamma}) for gamma in dict.fromkeys(_fitting(card, n) for n in sizes)]
        elif any(knob.name == "total_token" for knob in card.knobs):
            found += [(card.name, {"total_token": size}) for size in PROBED_TREES]
        else:
            found.append((card.name, {}))
    return found


def grid(cards: Iterable[Card], more: Iterable[Spec] = ()) -> list[Spec]:
    """Every method with every setting that is worth a look, and `more`."""
    found = list[Spec]()
    for card in cards:
        knobs = {knob.name: knob for knob in card.knobs}
        if _is_chain(card):
            found += [(card.name, {"gamma": gamma}) for gamma in dict.fromkeys(_fitting(card, g) for g in GRID)]
        elif "total_token" in knobs:
            found += [(card.name, {"total_token": size}) for size in TREES] + [(card.name, {})]
        else:
            found.append((card.name, {}))
    return found + [spec for spec in more if spec not in found]


def _is_chain(card: Card) -> bool:
    return card.shape == "chain" and any(knob.name == "gamma" for knob in card.knobs)


def _once(card: Card) -> bool:
    return one_pass(DRAFTERS[card.drafter])


def _fitting(card: Card, gamma: int) -> int:
    """At most what the knob allows; of a draft that one pass writes what it usually has, which is all its places."""
    knob = next(knob for knob in card.knobs if knob.name == "gamma")
    return int(min(gamma, knob.default if _once(card) else knob.high or gamma))


def free(cards: Iterable[Card]) -> set[str]:
    """Drafters that look up: their drafts cost the same at any length."""
    return {card.drafter for card in cards if card.family == "lookup"}


def runs(
    lab: Lab,
    specs: Sequence[Spec],
    prompts: Iterable[Asked],
    options: dict[str, Any],
    repeats: int = 1,
    told: Callable[[str], None] = lambda _: None,
) -> list[list[Trace]]:
    """Plain decoding and all methods on each prompt, in turns, after a warm-up: a list of runs for each, plain first.
    Prompts have a seed each, from that of the options on: with the same uniforms their runs would not be independent.

    A prompt on which one fails is told and left out for all.
    """
    every: list[Spec] = [("ar", {}), *specs]
    found: list[list[Trace]] = [[] for _ in every]
    warm = False
    for number, (prompt, extras) in enumerate(prompts):
        own = options | {"extras": extras, "seed": options.get("seed", 0) + number}
        try:
            if not warm:
                _turn(lab, every, prompt, own)
            rows = [_turn(lab, every, prompt, own) for _ in range(repeats)]
        except LabError as error:
            told(f"{prompt[:40]!r}: {error}")
            continue
        warm = True
        for row in rows:
            for kept, trace in zip(found, row, strict=True):
                kept.append(trace)
    return found


def _turn(lab: Lab, specs: Sequence[Spec], prompt: str, options: dict[str, Any]) -> list[Trace]:
    return [sound(lab.run(name, prompt, record="light", **options, **knobs), name) for name, knobs in specs]


def checked(
    lab: Lab,
    cards: Sequence[Card],
    best: Mapping[str, Any],
    prompts: Iterable[Asked],
    options: dict[str, Any],
    repeats: int,
    told: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """A choice (`best` of an advice) against every setting of the grid on other prompts, all in turns.

    `behind` is how much slower than the fastest it is, as a share; `within` whether that is at most 5 %.
    """
    chosen = _given(best)
    specs = grid(cards, [chosen])
    every = runs(lab, specs, prompts, options, repeats, told)
    plain = _speed(every[0])
    speeds = {label(spec): _speed(own) / plain for spec, own in zip(specs, every[1:], strict=True)}
    ours, fastest = speeds[label(chosen)], max(speeds.values())
    return {
        "prompts": len(every[0]) // repeats,
        "turns": repeats,
        "chosen": label(chosen),
        "best": next(name for name, speed in speeds.items() if speed == fastest),
        "behind": 1 - ours / fastest,
        "within": ours >= (1 - WITHIN) * fastest,
        "forecast": best["speedup"]["mean"],
        "measured": ours,
        "speedups": dict(sorted(speeds.items(), key=lambda pair: -pair[1])),
    }


def _given(best: Mapping[str, Any]) -> Spec:
    """The choice as one would ask for it: by the knobs that are not as usual."""
    usual = get_card(best["method"]).resolve({})
    set_ = {name: value for name, value in best["knobs"].items() if name == "gamma" or usual.get(name) != value}
    return best["method"], set_


def _speed(runs: Sequence[Trace]) -> float:
    """Tokens a second of decoding, over all runs.

    Raises:
        ConfigError: no time was spent, since no prompt could be run.
    """
    found = Sums.of(runs).tokens_per_s
    if found is None:
        raise ConfigError("No prompt could be run by all settings of the grid.")
    return found
