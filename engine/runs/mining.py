"""Mining AutoJudge's labels on a loaded pair: with its draft model, or with an EAGLE head as it drafts (register
A9)."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine.errors import AssetError, ConfigError, shown, unknown
from engine.judge.continuation import LocalTarget
from engine.judge.criterion import Criterion
from engine.judge.events import MiningEvent
from engine.judge.gumbel import Chooser
from engine.judge.local import Mining, local_mine
from engine.judge.online import OnlineRule, OnlineSearch
from engine.judge.search import Prompt
from engine.judge.weights import Judge
from engine.model import Model
from engine.runs.pair import Pair
from engine.runs.running import prepare, stream
from engine.tasks import Problem
from engine.trace.events import Round

HEADS = ("eagle2", "eagle3")
WINDOW = 8  # tokens a window in the published code, the root included


def mine(
    pair: Pair, task: str, found: Sequence[Problem], path: Path, settings: Mapping[str, Any]
) -> Generator[MiningEvent, None, None]:
    """Which mismatches of target and draft change the answer; see `engine.lab.Lab.mine`."""
    problems = list(found) if isinstance(found, Iterable) else [found]
    if wrong := [one for one in problems if not isinstance(one, Problem)]:
        raise ConfigError(f"Problems are mined, as `engine.tasks.load_problems` gives them, not {shown(wrong[0])}.")
    models, judges = miners(pair), dict[str, Judge]()
    for role in (role for role in pair.roles("judge") if role in pair.asset_paths):
        with suppress(AssetError):
            judges[role] = pair.asset(role)
    known = [item.name for item in fields(Mining)]
    if odd := next((name for name in settings if name not in known), None):
        raise ConfigError(unknown("mining setting", odd, known))
    return _mined(pair, local_mine(task, problems, models, path, Mining(**settings), judges, pair.lock))


def _mined(pair: Pair, events: Generator[MiningEvent, None, None]) -> Generator[MiningEvent, None, None]:
    pair.use_threads()
    yield from events


def miners(pair: Pair) -> dict[str, Model]:
    """The target, and the draft model that alters its responses.

    Raises:
        ConfigError: no draft model is loaded, or one with another tokenizer.
    """
    if "draft" not in pair.models:
        raise ConfigError("Mining needs a draft model, and none is loaded with this target.")
    if pair.bridges():
        raise ConfigError("Mining puts the draft model's tokens in place of the target's: both need one tokenizer.")
    return {"target": pair.target, "draft": pair.models["draft"]}


def online_search(
    pair: Pair, head: str, prompts: Sequence[Prompt], criterion: Criterion, limit: int, window: int = WINDOW
) -> OnlineSearch:
    """A search with room for these prompts and `limit` tokens of response, to give to `mine`. `head`: eagle2 | eagle3.

    Raises:
        ConfigError: an unknown head, one that is not loaded, or a window below 2.
    """
    if head not in HEADS:
        raise ConfigError(unknown("head", head, HEADS))
    if window < 2:
        raise ConfigError(f"A window of {window} has no room for a draft: give 2 or more.")
    knobs: dict[str, Any] = {"tree_top_k": 1, "depth": window - 1, "total_token": window}
    method = prepare(pair, head, **knobs)

    def decode(ids: Sequence[int], most: int, rule: OnlineRule) -> Iterator[list[int]]:
        method.rule = rule  # type: ignore[assignment]
        given = {"max_new_tokens": most, "record": "light", **knobs}
        with closing(stream(pair, head, ids, given, method)) as events:  # type: ignore[type-var]
            for event in events:
                if isinstance(event, Round):
                    yield [token.token for token in event.tokens]

    capacity = min(max((len(prompt.ids) for prompt in prompts), default=1) + limit + 8, pair.target.context)
    with pair.lock:
        target = LocalTarget(pair.target, capacity, Chooser(), pair.vocab)
    return OnlineSearch(decode, target, criterion, pair.target.tokenizer, limit, capacity, lock=pair.lock)
