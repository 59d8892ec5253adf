"""What a trace may claim: every number is bounded by what the file holds, its vocabulary, its drafts, its tokens.

Types were checked before, by `codec`; sums over a whole run are for `engine.analysis.identities`.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from engine.config import AUTO, MAX_TEMPERATURE
from engine.errors import TraceError, shown
from engine.trace import outcome
from engine.trace.events import Cell, Event, Node, Round, RunEnded, RunStarted, Token, TopN

MAX_DRAFT = 50_000  # draft tokens of one round, also of one that was recorded lightly
MAX_VOCAB = 2**24
MAX_MS = 1e10  # four months
MAX_EXTRAS = 100  # names of extras in one trace: each is a column of the table of rounds
SLACK = 1e-3  # of probabilities and entropies, which come from sums in 32 bits

Check = Callable[[Any, str, "Bounds"], None]


class Bounds:
    """Checks the events of one trace, in order."""

    def __init__(self) -> None:
        """Nothing is known before the head."""
        self.vocab, self.nats, self.drafted, self._room, self._source = 0, 0.0, 0, 0, 0
        self._extras: set[str] = set()

    def check(self, event: Event) -> None:
        """Check the next event, a head first.

        Raises:
            TraceError: a number beyond what the file can hold, or a known name with a value of another kind.
        """
        if isinstance(event, RunStarted):
            self._head(event)
        elif isinstance(event, Round):
            self._round(event)
        else:
            self._end(event)

    def _head(self, head: RunStarted) -> None:
        _within(head.vocab, 1, MAX_VOCAB, "run.vocab")
        self.vocab, self.nats, self._room = head.vocab, math.log(head.vocab) + SLACK, head.max_new_tokens
        if head.prompt_ids:
            _within(max(head.prompt_ids), 0, self.vocab - 1, "run.prompt_ids")
        _within(head.source, 0, len(head.prompt_ids), "run.source")
        self._source = head.source
        if head.prompt_pieces and len(head.prompt_pieces) != len(head.prompt_ids):
            raise TraceError(
                f"run.prompt_pieces must have one text for each of the {len(head.prompt_ids)} ids, "
                f"not {len(head.prompt_pieces)}."
            )
        for name, about in head.models.items():
            self._free(about, ABOUT, f"run.models.{name}")
        self._free(head.sampling, SAMPLING, "run.sampling", _plain)
        self._free(head.knobs, KNOBS, "run.knobs", _plain)
        self._free(head.extras, HEAD_EXTRAS, "run.extras")

    def _round(self, event: Round) -> None:
        where = f"round {event.index}"
        _within(event.drafted, 0, MAX_DRAFT, f"{where}: drafted")
        if event.nodes and len(event.nodes) != event.drafted:
            raise TraceError(
                f"{where}: drafted must be the number of its nodes, {len(event.nodes)}, not {event.drafted}."
            )
        self.drafted = event.drafted
        _within(event.fed, 0, event.drafted + outcome.beside(event) + 1 + event.start, f"{where}: fed")
        _within(event.levels, 0, event.drafted, f"{where}: levels")
        _within(event.accepted, 0, event.levels, f"{where}: accepted")
        _within(event.emitted, 0, len(event.tokens), f"{where}: emitted")
        _within(event.tcr, 0, event.drafted, f"{where}: tcr")
        _within(max(event.path, default=None), 0, event.drafted - 1, f"{where}: path")
        for name in ("draft_ms", "verify_ms", "other_ms"):
            _within(getattr(event, name), 0, MAX_MS, f"{where}: {name}")
        self._free(event.extras, EXTRAS, f"{where}: extras")
        self._extras.update(event.extras)
        if len(self._extras) > MAX_EXTRAS:
            raise TraceError(f"{where}: extras have more than {MAX_EXTRAS} names, which is the limit.")
        for number, node in enumerate(event.nodes):
            try:
                self._node(node)
            except TraceError as error:
                raise TraceError(f"{where}, node {number}: {error}") from None
        for out in event.pruned:
            self._free(out, PRUNED, f"{where}: pruned")
        for number, cell in enumerate(event.canvas or ()):
            self._cell(cell, event.extras.get("iteration") or 0, f"{where}, place {number}")
        for token in event.tokens:
            self._token(event, token, where)
        for key in event.pieces:
            _within(
                int(key) if key.isascii() and key.isdigit() and len(key) < 10 else -1,
                0,
                self.vocab - 1,
                f"{where}: pieces",
            )

    def _node(self, node: Node) -> None:
        if not 0 <= node.token < self.vocab:
            _within(node.token, 0, self.vocab - 1, "token")
        if node.rank is not None and not 1 <= node.rank <= self.drafted:
            _within(node.rank, 1, self.drafted, "rank")
        for name in SHARES:
            if (value := getattr(node, name)) is not None and not 0 <= value <= 1 + SLACK:
                _within(value, 0, 1, name)
        for name, value in (("h_draft", node.h_draft), ("h_target", node.h_target)):
            if value is not None and not -SLACK <= value <= self.nats:
                _within(value, 0, self.nats, name)
        if node.score is not None and not node.score <= SLACK:
            _within(node.score, -math.inf, 0, "score")
        if node.margin is not None and not node.margin >= -SLACK:
            _within(node.margin, 0, math.inf, "margin")
        for name in TOPS:
            self._top(getattr(node, name), name)
        if node.reason:
            self._free(node.reason, REASON, "reason")
        if node.source:
            self._free(node.source, SOURCE, "source")

    def _cell(self, cell: Cell, iteration: int, where: str) -> None:
        _within(cell.token, 0, self.vocab - 1, f"{where}: token")
        _within(cell.iteration, 0, iteration, f"{where}: iteration")
        _within(cell.q, 0, 1 + SLACK, f"{where}: q")
        _within(cell.before, 0, self.vocab - 1, f"{where}: before")

    def _top(self, top: TopN | None, name: str) -> None:
        for token, share in top or ():
            if not (0 <= token < self.vocab and 0 <= share <= 1 + SLACK):
                _within(token, 0, self.vocab - 1, name)
                _within(share, 0, 1, name)

    def _token(self, event: Round, token: Token, where: str) -> None:
        where = f"{where}, position {token.pos}"
        _within(token.token, 0, self.vocab - 1, f"{where}: token")
        _within(token.round, event.index, event.index, f"{where}: round")
        _within(token.node, 0, event.drafted - 1, f"{where}: node")
        _within(token.pos, 0, self._room - 1, f"{where}: pos")
        for name, value in (("h_draft", token.h_draft), ("h_target", token.h_target)):
            if value is not None and not -SLACK <= value <= self.nats:
                _within(value, 0, self.nats, f"{where}: {name}")
        self._top(token.top_target, f"{where}: top_target")
        for place, share in token.looks or ():
            _within(place, 0, self._source - 1, f"{where}: looks")
            _within(share, 0, 1, f"{where}: looks")

    def _end(self, end: RunEnded) -> None:
        _within(end.prefill_ms, 0, MAX_MS, "end.prefill_ms")
        _within(end.total_ms, 0, MAX_MS, "end.total_ms")

    def _free(
        self, given: Mapping[str, Any], table: Mapping[str, Check], where: str, other: Check | None = None
    ) -> None:
        """The values of a free object by the table's names; those of other names by `other`."""
        for name, value in given.items():
            check = table.get(name, other)
            if check is not None and value is not None:
                check(value, f"{where}.{name}", self)


def check_extras(extras: Mapping[str, Any]) -> None:
    """See that a trace's head can hold what is to be noted in it, and be read again.

    Raises:
        TraceError: a name that is no text, a value that JSON does not have, or one that a known name does not take.
    """
    for name, value in extras.items():
        if not isinstance(name, str):
            raise TraceError(f"Names of extras are texts, not {shown(name)}.")
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise TraceError(f"extras.{name} must be a plain value, as JSON has them, not {shown(value)}.") from None
        if value is not None and name in HEAD_EXTRAS:
            HEAD_EXTRAS[name](value, f"extras.{name}", Bounds())


def _within(value: float | None, low: float, high: float, where: str) -> None:
    """See that a number is within its range; one that is unknown is.

    Raises:
        TraceError: it is not.
    """
    if value is None or low <= value <= high:
        return
    if high < low:
        raise TraceError(f"{where} must be null where the round has no draft token, not {value:g}.")
    allowed = f"from {low:g} to {high:.6g}" if low < high else f"{low:g}"
    raise TraceError(f"{where} must be {allowed}, not {value:g}.")


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TraceError(f"{where} must be a number, not {_kind(value)}.")
    return value


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TraceError(f"{where} must be an integer, not {_kind(value)}.")
    return value


def _plain(value: Any, where: str, _bounds: Bounds) -> None:
    if isinstance(value, list | dict):
        raise TraceError(f"{where} must be a number, a text or a switch, not {_kind(value)}.")


def _text(value: Any, where: str, _bounds: Bounds) -> None:
    if not isinstance(value, str):
        raise TraceError(f"{where} must be a text, not {_kind(value)}.")


def _flag(value: Any, where: str, _bounds: Bounds) -> None:
    if not isinstance(value, bool):
        raise TraceError(f"{where} must be true or false, not {_kind(value)}.")


def _real(value: Any, where: str, _bounds: Bounds) -> None:
    _number(value, where)


def _share(value: Any, where: str, _bounds: Bounds) -> None:
    if not -SLACK <= _number(value, where) <= 1 + SLACK:
        _within(value, 0, 1, where)


def _time(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_number(value, where), 0, MAX_MS, where)


def _entropy(value: Any, where: str, bounds: Bounds) -> None:
    if not -SLACK <= _number(value, where) <= bounds.nats:
        _within(value, 0, bounds.nats, where)


def _sum_of_entropies(value: Any, where: str, bounds: Bounds) -> None:
    _within(_number(value, where), -SLACK, bounds.nats * MAX_DRAFT, where)


def _distance(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_number(value, where), -SLACK, math.inf, where)


def _temperature(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_number(value, where), 0, MAX_TEMPERATURE, where)


def _token(value: Any, where: str, bounds: Bounds) -> None:
    _within(_whole(value, where), 0, bounds.vocab - 1, where)


def _place(value: Any, where: str, bounds: Bounds) -> None:
    """From 1, among all tokens."""
    _within(_whole(value, where), 1, bounds.vocab, where)


def _candidate(value: Any, where: str, bounds: Bounds) -> None:
    """A node of the round, or -1, its root."""
    _within(_whole(value, where), -1, bounds.drafted - 1, where)


def _few(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_whole(value, where), 0, MAX_DRAFT, where)


def _count(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_whole(value, where), 0, 2**53, where)


def _count_or_auto(value: Any, where: str, bounds: Bounds) -> None:
    if value != AUTO:
        _count(value, where, bounds)


def _costs(value: Any, where: str, bounds: Bounds) -> None:
    """Milliseconds by the parts of a round; of passes by their size."""
    if not isinstance(value, dict):
        raise TraceError(f"{where} must be an object, not {_kind(value)}.")
    for name, part in value.items():
        if name != "passes":
            _distance(part, f"{where}.{name}", bounds)
            continue
        for pair in _list(part, f"{where}.passes"):
            if len(_list(pair, f"{where}.passes")) != 2:
                raise TraceError(f"{where}.passes must hold pairs of tokens and milliseconds.")
            _positive(pair[0], f"{where}.passes", bounds)
            _distance(pair[1], f"{where}.passes", bounds)


def _forecast(value: Any, where: str, bounds: Bounds) -> None:
    """Bins as pairs of shares, rising from 0."""
    low = 0.0
    for place, pair in enumerate(_list(value, where)):
        if len(_list(pair, where)) != 2:
            raise TraceError(f"{where} must hold pairs of a bin's beginning and the share that held.")
        for share in pair:
            _share(share, where, bounds)
        if pair[0] < low or (not place and pair[0]):
            raise TraceError(f"{where} must hold bins that rise from 0.")
        low = pair[0]


def _positive(value: Any, where: str, _bounds: Bounds) -> None:
    _within(_whole(value, where), 1, 2**53, where)


def _tokens(value: Any, where: str, bounds: Bounds) -> None:
    for item in _list(value, where):
        _token(item, where, bounds)


def _levels(value: Any, where: str, bounds: Bounds) -> None:
    """A list of lists of tokens."""
    for row in _list(value, where):
        _tokens(row, where, bounds)


def _texts(value: Any, where: str, bounds: Bounds) -> None:
    """A list of lists of texts."""
    for row in _list(value, where):
        for item in _list(row, where):
            _text(item, where, bounds)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise TraceError(f"{where} must be a list, not {_kind(value)}.")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a switch", float: "a fraction", int: "an integer"}
    return names.get(type(value), "null")


def _each(check: Check, *names: str) -> dict[str, Check]:
    return dict.fromkeys(names, check)


SHARES = ("q", "p", "overlap", "accept_prob", "u", "judge", "confidence")
TOPS = ("top_draft", "law_draft", "top_target", "law_target")

# What the free objects hold by the names that the analysis and the page read; other names may hold any JSON.
ABOUT = _each(_text, "id", "revision", "sha256", "dtype", "ids") | _each(
    _count, "vocab", "context", "layers", "width", "parameters", "common", "source_context"
)
SAMPLING = {"temperature": _temperature, "top_p": _share, "top_k": _count}
KNOBS = (
    _each(
        _real,
        "tau_entropy",
        "tau_entropy_draft",
        "tau_overlap",
        "tau_base",
        "tau_gamma",
        "judge_threshold",
        "reward_threshold",
    )
    | _each(_real, "epsilon", "delta", "entropy_temperature")
    | _each(_count, "top_beta", "accept_k", "math_k", "tree_top_k", "low_bins")
    | _each(_count_or_auto, "total_token", "depth")
    | _each(_positive, "overlap_n")
    | _each(_text, "ablation", "overlap_cmp", "penalize", "threshold_mode", "scope")
    | _each(_flag, "ded", "tnp", "dca")
)
HEAD_EXTRAS = (
    _each(
        _text,
        "task",
        "case",
        "process",
        "command",
        "answer",
        "key",
        "name",
        "category",
        "conversation",
        "adapted",
        "served",
        "untold",
    )
    | _each(_few, "trajectory", "trajectories", "repeat", "repeats", "forced", "row", "batch", "turn", "lanes")
    | {
        "earlier": _texts,
        "chat": _flag,
        "right": _flag,
        "costs": _costs,
        "forecast": _forecast,
        "forecast_further": _forecast,
    }
)
EXTRAS = (
    _each(
        _few, "bin", "n_verify", "levels", "d_extra", "k", "made", "candidates", "hit_order", "beams", "ended", "passes"
    )
    | _each(_few, "iteration", "places", "written", "open", "beside")
    | _each(_count, "match", "table_entries", "buffers_made", "buffers_reused", "reward_tokens", "draft_tokens")
    | _each(_share, "mean_confidence", "judge_threshold", "reward", "following")
    | _each(_real, "lambda", "rating", "score")
    | _each(_time, "early_ms", "network_ms")
    | _each(_distance, "expected", "expected_ms", "least", "branches", "branches_least")
    | {"where": _text, "phi": _sum_of_entropies, "stop_entropy": _sum_of_entropies, "meta_path": _tokens}
    | {"window": _levels}
)
PRUNED: dict[str, Check] = {"token": _token, "parent": _candidate, "score": _real, "cause": _text}
REASON = (
    _each(_text, "id", "failed", "correction", "found")
    | _each(_token, "choice", "strict", "remove")
    | _each(_share, "p", "q", "p_left", "u", "overlap", "confidence", "reward", "weight")
    | _each(_entropy, "h", "h_draft", "h_target")
    | _each(_distance, "gap", "ratio")
    | _each(_real, "tau", "tau_h", "tau_h_draft", "tau_o", "score", "threshold", "best", "last")
    | _each(_place, "rank")
    | _each(_few, "n", "k", "top_beta")
    | {"after": _candidate, "fired": _flag, "edge": _flag}
)
SOURCE = (
    _each(_text, "kind", "part", "role", "where")
    | _each(_count, "pos", "here", "document", "times", "seen", "count")
    | _each(_few, "step", "order", "match", "level", "index", "ago", "trajectory", "choice", "round")
    | _each(_share, "q", "common")
    | {"passage": _tokens, "row": _token, "kept": _flag}
)
