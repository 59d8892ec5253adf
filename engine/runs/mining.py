"""The online variant of mining on a lab's EAGLE head (register A9): what ties its rule to drafting and decoding here."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from engine.errors import ConfigError, unknown
from engine.judge.continuation import LocalTarget
from engine.judge.criterion import Criterion
from engine.judge.gumbel import Chooser
from engine.judge.online import OnlineRule, OnlineSearch
from engine.judge.search import Prompt
from engine.runs.trajectories import prepare
from engine.trace.events import Round

if TYPE_CHECKING:
    from engine.lab import Lab

HEADS = ("eagle2", "eagle3")
WINDOW = 8  # tokens a window in the published code, the root included


def online_search(
    lab: "Lab", head: str, prompts: Sequence[Prompt], criterion: Criterion, limit: int, window: int = WINDOW
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
    method = prepare(lab, head, **knobs)

    def decode(ids: Sequence[int], most: int, rule: OnlineRule) -> Iterator[list[int]]:
        method.rule = rule  # type: ignore[assignment]
        with closing(lab.stream(head, ids, max_new_tokens=most, record="light", reuse=method, **knobs)) as events:  # type: ignore[type-var]
            for event in events:
                if isinstance(event, Round):
                    yield [token.token for token in event.tokens]

    capacity = min(max((len(prompt.ids) for prompt in prompts), default=1) + limit + 8, lab.target.context)
    target = LocalTarget(lab.target, capacity, Chooser(), lab.vocab)
    return OnlineSearch(decode, target, criterion, lab.target.tokenizer, limit, capacity, lock=lab.lock)
