"""A target behind a server: the same labels as with the model here, and a guard against other ids."""

import threading
from functools import partial
from typing import Any

import pytest

from engine.errors import ConfigError, EngineFault
from engine.judge.client import Endpoint
from engine.judge.continuation import DraftView, LocalTarget, Retokenized
from engine.judge.criterion import SameAnswer
from engine.judge.events import PromptFinished
from engine.judge.gumbel import Chooser
from engine.judge.mine import mine
from engine.judge.remote import RemoteTarget
from engine.judge.search import Prompt, Search
from engine.lab import Lab
from engine.model import Tokenizer
from engine.tasks.problem import Problem
from tests.engine.judge.server import serving
from tests.engine.zoo import EOS, Zoo
from tests.typed import known

TEXTS = ("abc", "Hello", "x1y2", "77 apples", "zzz")


@pytest.fixture
def pair(zoo: Zoo) -> Lab:
    """A pair that ends its texts now and then."""
    return zoo.lab("llama", zero_eos=False)


def prompts(lab: Lab) -> list[Prompt]:
    return [Prompt(f"p{i}", Problem("toy", t, t, "", ""), lab.target.tokenizer.encode(t)) for i, t in enumerate(TEXTS)]


def search(lab: Lab, target, lock=None, **options) -> Search:
    criterion = SameAnswer(lambda text: text[-1:], lambda a, b: a == b)
    return Search(
        target,
        DraftView(lab.models["draft"], 128, Chooser(), lab.vocab, lock),
        criterion,
        lab.target.tokenizer,
        24,
        **options,
    )


def labels(events) -> dict[str, tuple]:
    return {e.prompt: (e.first, e.final, e.labels) for e in events if isinstance(e, PromptFinished)}


@pytest.mark.thorough
@pytest.mark.parametrize(("send_ids", "requests"), [(False, 4), (True, 1)])
def test_mining_through_a_server_gives_the_labels_of_mining_here(pair: Lab, send_ids: bool, requests: int) -> None:
    here = labels(mine(prompts(pair), [search(pair, LocalTarget(pair.target, 128, Chooser(), pair.vocab))]))
    with serving(pair.target) as (url, seen):
        target, lock = RemoteTarget(Endpoint(url, "m", "secret"), pair.target.tokenizer, send_ids), threading.Lock()
        there = labels(mine(prompts(pair), [search(pair, target, lock) for _ in range(requests)]))
    assert there == here and sum(len(found) for _, _, found in here.values()) > 5
    assert any(EOS in first for first, _, _ in here.values())
    assert all(s["temperature"] == 0 and s["model"] == "m" and s["key"] == "Bearer secret" for s in seen)
    assert all(isinstance(s["prompt"], list if send_ids else str) for s in seen)


def test_the_end_token_is_added_only_when_the_server_stopped(pair: Lab) -> None:
    ids = pair.target.tokenizer.encode("abc")
    with serving(pair.target) as (url, _):
        new = RemoteTarget(Endpoint(url, "m"), pair.target.tokenizer).generate(ids, 3)
    assert len(new) == 3 and EOS not in new
    with serving(pair.target, spoil=lambda a: {"choices": [{"text": "de", "finish_reason": "stop"}]}) as (url, _):
        assert RemoteTarget(Endpoint(url, "m"), pair.target.tokenizer).generate(ids, 9)[-1] == EOS
        assert EOS not in RemoteTarget(Endpoint(url, "m"), pair.target.tokenizer).generate(ids, 2)


def merging() -> Tokenizer:
    """A tokenizer that joins "a" and "b": ids of "a", "b" do not survive text."""
    from tokenizers import Tokenizer as Core
    from tokenizers import decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Core(models.BPE({"a": 0, "b": 1, "c": 2, "ab": 3, "<e>": 4, "<s>": 5}, [("a", "b")]))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Split(" ", "isolated"), decoders.Fuse()
    return Tokenizer(PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<e>", bos_token="<s>"), [4])


def fixed(text: str):
    return lambda answer: {"choices": [{"text": text, "finish_reason": "stop"}]}


def test_a_prefix_that_does_not_survive_text_is_refused(zoo: Zoo) -> None:
    with serving(zoo.model("llama"), spoil=fixed("c")) as (url, seen):
        target = RemoteTarget(Endpoint(url, "m"), merging())
        assert target.generate([5, 2, 3], 9) == [2, 4]  # one begin-of-text, not two
        assert seen[-1]["prompt"] == "cab"
        with pytest.raises(Retokenized) as lost:
            target.generate([5, 2, 0, 1], 9)
    assert lost.value.at == 2 and lost.value.ids == [5, 2, 3, 2]


def test_ids_of_a_server_that_the_tokenizer_does_not_know_are_refused(pair: Lab) -> None:
    """True had been written into a mined file, which nothing could read from then on."""
    wrong: Any
    for wrong in (10**6, -3, "5", 5.0, True, {}, None):
        answer = {"choices": [{"text": "a", "finish_reason": "length", "token_ids": [5, wrong]}]}
        with serving(spoil=partial(instead, answer), model=pair.target) as (url, _):
            target = RemoteTarget(Endpoint(url, "m"), pair.target.tokenizer, send_ids=True)
            with pytest.raises(EngineFault, match=r"chose token .*, and the tokenizer here knows"):
                target.generate([5, 6], 4)


def test_a_continuation_that_joins_the_prefix_is_refused(zoo: Zoo) -> None:
    with serving(zoo.model("llama"), spoil=fixed("b")) as (url, _), pytest.raises(Retokenized):
        RemoteTarget(Endpoint(url, "m"), merging()).generate([2, 0], 9)


class Written:
    """A target that writes given continuations, and loses its prefix where told."""

    def __init__(self, first: list[int], lost: Retokenized) -> None:
        self.answers: list = [first, lost]

    def generate(self, prefix, limit, likely=()):
        answer = self.answers.pop(0) if self.answers else [EOS]
        if isinstance(answer, Retokenized):
            raise answer
        return answer


@pytest.mark.parametrize("anchor", [False, True])
def test_labels_with_other_ids_are_dropped_or_moved(pair: Lab, anchor: bool) -> None:
    view = DraftView(pair.models["draft"], 128, Chooser(), pair.vocab)
    x = pair.target.tokenizer.encode("abc")
    first = [20, 21, 22, 23, EOS]
    t = next(i for i, (a, b) in enumerate(zip(first, view.choices(x, first), strict=True)) if a != b)
    lost = Retokenized(len(x) + t, [*x, *first[:t], 40, 41, EOS])
    *_, last = search(pair, Written(first, lost), anchor=anchor).run(Prompt("p", Problem("toy", "k", "abc", "", ""), x))
    done = known(PromptFinished, last)
    label = done.labels[0]
    assert label.retokenized == ("anchored" if anchor else "dropped") and label.t == t
    if anchor:
        assert (label.draft_token, label.draft_rest) == (40, [41, EOS])
    positions = [found.t for found in done.labels]
    assert positions == sorted(set(positions))


def test_a_label_is_not_moved_to_where_nothing_was_swapped(pair: Lab) -> None:
    """Text can come back with the target's own token at t: such a label would compare a token with itself."""
    view = DraftView(pair.models["draft"], 128, Chooser(), pair.vocab)
    x = pair.target.tokenizer.encode("abc")
    first = [20, 21, 22, 23, EOS]
    t = next(i for i, (a, b) in enumerate(zip(first, view.choices(x, first), strict=True)) if a != b)
    lost = Retokenized(len(x) + t, [*x, *first[: t + 1], 41, EOS])
    *_, last = search(pair, Written(first, lost), anchor=True).run(Prompt("p", Problem("toy", "k", "abc", "", ""), x))
    done = known(PromptFinished, last)
    assert done.labels[0].retokenized == "dropped"
    assert all(label.target_token != label.draft_token for label in done.labels)


def instead(answer: Any, _right: dict[str, Any]) -> Any:
    """Another answer than the right one."""
    return answer


def test_a_busy_server_is_asked_again_and_a_broken_one_is_reported(pair: Lab) -> None:
    waits: list[float] = []
    with serving(pair.target, failures=[503, 429]) as (url, seen):
        assert Endpoint(url, "m", sleep=waits.append).complete("abc", 2)["finish_reason"] == "length"
    assert len(seen) == 3 and waits == [0.5, 1.0]
    with serving(pair.target, failures=[401]) as (url, seen), pytest.raises(EngineFault, match="status 401"):
        Endpoint(url, "m").complete("abc", 2)
    assert len(seen) == 1
    deep, null = b"[" * 100_000, {"choices": [{"text": None}]}
    answers: tuple[Any, ...] = (b"no json", deep, {"choices": []}, {"choices": [{"message": {}}]}, [1], null)
    for answer in answers:
        with (
            serving(pair.target, spoil=partial(instead, answer)) as (url, _),
            pytest.raises(EngineFault, match="answered"),
        ):
            Endpoint(url, "m").complete("abc", 2)
    with pytest.raises(EngineFault, match="did not answer"):
        Endpoint(url, "m", tries=2, sleep=waits.append).complete("abc", 2)


def test_only_http_addresses_are_taken() -> None:
    for url in ("file:///etc/passwd", "127.0.0.1:8000", "ftp://x/v1", "http://h:abc/v1", "http://"):
        with pytest.raises(ConfigError, match="no http address"):
            Endpoint(url, "m")
    with pytest.raises(ConfigError, match="ASCII"):
        Endpoint("http://h/v1", "m", key="ключ")


def test_a_password_and_a_key_are_told_nowhere() -> None:
    point = Endpoint("http://user:secret@127.0.0.1:9/v1", "m", key="sk-1", tries=1)
    assert point.place == "http://127.0.0.1:9/v1" and "sk-1" not in repr(point)
    with pytest.raises(EngineFault, match=r"127\.0\.0\.1:9") as told:
        point.complete("x", 1)
    assert "secret" not in str(told.value)
