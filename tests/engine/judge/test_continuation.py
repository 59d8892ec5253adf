"""GENERATE and FORWARD: drafted continuations change the cost, never the text."""

import pytest

from engine.config import Sampling
from engine.judge.continuation import DraftView, LocalTarget, Old
from engine.judge.gumbel import Chooser
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 20, 33, 5, 9, 20]


@pytest.mark.parametrize("chooser", [Chooser(), Chooser(Sampling(0.9, 20, 0.95), 5)])
def test_draft_tokens_never_change_the_text(zoo: Zoo, chooser: Chooser) -> None:
    model = zoo.model("llama")
    plain = LocalTarget(model, 128, chooser).generate(PROMPT, 40)
    assert len(set(plain)) > 4
    for likely in (plain, plain[3:], plain[:20], [*plain[:9], 3, *plain[9:]], [7] * 40, plain[::-1]):
        assert LocalTarget(model, 128, chooser).generate(PROMPT, 40, likely) == plain


def test_greedy_generation_is_autoregressive_decoding(zoo: Zoo) -> None:
    lab = zoo.lab("qwen2")
    assert (
        LocalTarget(lab.target, 128, Chooser()).generate(PROMPT, 30)
        == lab.run("ar", PROMPT, max_new_tokens=30).token_ids
    )


def test_a_right_draft_token_is_cheap(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.model("llama")
    target = LocalTarget(model, 128, Chooser())
    text = target.generate(PROMPT, 40)
    calls = list[int]()
    forward = target.session.forward
    monkeypatch.setattr(target.session, "forward", lambda *a, **k: calls.append(1) or forward(*a, **k))
    target.generate(PROMPT, 40, text)
    assert len(calls) <= 5


def test_generation_stops_at_stop_ids_and_at_the_capacity(zoo: Zoo) -> None:
    model = zoo.model("llama")
    assert len(LocalTarget(model, 12, Chooser()).generate(PROMPT, 40)) == 12 - len(PROMPT)
    assert LocalTarget(model, 64, Chooser()).generate(PROMPT, 0) == []


def test_choices_are_aligned_with_the_response(zoo: Zoo) -> None:
    model = zoo.model("llama")
    response = [11, 40, 3, 52, 8, 8]
    one_by_one = [
        int(model.session(64).forward([*PROMPT, *response[:t]]).logits[0].argmax()) for t in range(len(response))
    ]
    view = DraftView(model, 64, Chooser())
    assert view.choices(PROMPT, response) == one_by_one
    assert view.choices([*PROMPT, *response[:2]], response[2:]) == one_by_one[2:]
    assert view.choices(PROMPT, []) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_sampled_response_is_its_own_model_s_choice(zoo: Zoo, seed: int) -> None:
    """A14: GENERATE and FORWARD see the same noise at the same prefix, from any place on."""
    model, chooser = zoo.model("llama"), Chooser(Sampling(1.5), seed)
    response = LocalTarget(model, 64, chooser).generate(PROMPT, 20)
    view = DraftView(model, 64, chooser)
    assert view.choices(PROMPT, response) == response
    assert view.choices([*PROMPT, *response[:7]], response[7:]) == response[7:]


def test_the_old_text_finds_its_place_again() -> None:
    old = Old([1, 2, 3, 4, 5, 6])
    for token in (1, 9, 3, 4):  # one token replaced
        old.take(token)
    assert old.next(2) == [5, 6]
    old = Old([1, 2, 3, 4, 5, 6])
    for token in (1, 9, 2, 3):  # one inserted
        old.take(token)
    assert old.next(2) == [4, 5]
