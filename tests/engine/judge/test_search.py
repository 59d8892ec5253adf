"""Algorithm 1: planted tokens, and the invariants of a search, on toy pairs run by the real sessions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Sampling
from engine.judge.continuation import DraftView, LocalTarget
from engine.judge.events import ForkGenerated, Labelled, MismatchFound, PromptFinished, PromptStarted
from engine.judge.gumbel import Chooser
from engine.model import Model
from tests.engine.judge.scripted import STOP, models, prompt, random_pair, rules, search
from tests.typed import known

LETTERS = "abcdefgh"


def answer(text: str) -> str | None:
    """The planted answer: "e" if the text has one."""
    return "e" if "e" in text else None


def planted() -> tuple[Model, Model]:
    """Target writes b c d e; the draft says g for c (then d follows all the same) and f for the answer e."""
    target = rules({"a": "b", "b": "c", "c": "d", "d": "e", "g": "d"})
    draft = rules({"a": "b", "b": "g", "c": "d", "d": "f", "g": "d"})
    return models(target, draft)


def spell(ids) -> str:
    return "".join(LETTERS[i] for i in ids)


def run(target, draft, extract=answer, **options) -> PromptFinished:
    *_, done = search(target, draft, extract, **options).run(prompt())
    assert isinstance(done, PromptFinished)
    return done


def test_exactly_the_planted_token_is_important() -> None:
    done = run(*planted())
    assert spell(done.first) == "bcdeh" and done.answer == "e"
    found = [(x.t, LETTERS[x.target_token], LETTERS[x.draft_token], x.important) for x in done.labels]
    assert found == [(1, "c", "g", False), (3, "e", "f", True)]
    assert spell(done.final) == "bgdeh"


def test_a_label_holds_both_continuations_and_answers() -> None:
    label = run(*planted()).labels[1]
    assert (label.prompt, label.target_text, label.draft_text) == ("p0", "h", "h")
    assert (spell(label.target_rest), spell(label.draft_rest)) == ("h", "h")
    assert (label.target_answer, label.draft_answer) == ("e", None)


def test_the_naive_search_keeps_no_swap() -> None:
    done = run(*planted(), naive=True)
    assert spell(done.final) == "bcdeh"
    assert [(x.t, x.important) for x in done.labels] == [(1, False), (3, True)]


def test_a_joint_mistake_is_found_by_the_search_but_not_by_the_naive_one() -> None:
    """Either swap alone keeps an answer; both together lose it (appendix A)."""
    target = rules({"a": "b", "b": "c", "c": "d", "d": "h", "g": "d"})
    draft = rules({"a": "b", "b": "g", "c": "d", "cd": "f", "gd": "f", "g": "d", "d": "f"})

    def either(text: str) -> str:
        return "bad" if "g" in text and "f" in text else "good"

    assert [x.important for x in run(*models(target, draft), extract=either, naive=True).labels] == [False, False]
    assert [x.important for x in run(*models(target, draft), extract=either).labels] == [False, True]


def test_a_stop_token_of_the_draft_ends_the_alternative_and_the_search_goes_on() -> None:
    target = rules({"a": "b", "b": "c", "c": "e", "e": "d"})
    draft = rules({"a": "b", "b": "h", "c": "e", "e": "f"})
    done = run(*models(target, draft))
    first, second = done.labels
    assert (first.t, first.draft_token, first.important, first.draft_rest) == (1, STOP, True, [])
    assert (second.t, LETTERS[second.draft_token], second.important) == (
        3,
        "f",
        False,
    )  # A10: on after an important stop


def test_responses_never_exceed_the_limit() -> None:
    loop = rules({"a": "b", "b": "c", "c": "a"})
    other = rules({"a": "b", "b": "d", "c": "a", "d": "a"})
    done = run(*models(loop, other), extract=lambda text: "same", limit=9)
    assert done.labels and len(done.first) == 9 and len(done.final) == 9
    assert all(x.t + 1 + len(x.draft_rest) <= 9 for x in done.labels)


def test_events_tell_the_search_in_order() -> None:
    events = list(search(*planted(), answer).run(prompt()))
    kinds = [type(e) for e in events]
    step = [MismatchFound, ForkGenerated, Labelled]
    assert kinds == [PromptStarted, *step, *step, PromptFinished]
    forks = [e for e in events if isinstance(e, ForkGenerated)]
    assert [(e.t, spell(e.rest), "".join(e.pieces), e.answer) for e in forks] == [
        (1, "deh", "deh", "e"),
        (3, "h", "h", None),
    ]


def test_a_prompt_with_too_many_mismatches_is_skipped() -> None:
    done = run(*planted(), most=1)
    assert done.skipped == "2 mismatches, more than 1" and not done.labels
    assert len(run(*planted(), most=2).labels) == 2


def test_a_prompt_without_an_answer_is_skipped() -> None:
    """Else each of its swaps would be unimportant: nothing can be lost."""
    done = run(*planted(), extract=lambda text: None)
    assert done.skipped == "no answer" and not done.labels and done.final == done.first
    started = next(e for e in search(*planted(), lambda text: None).run(prompt()) if isinstance(e, PromptStarted))
    assert started.mismatches == []


@pytest.mark.parametrize("tight", ["draft", "both"])
@pytest.mark.parametrize("capacity", range(1, 9))
def test_a_prompt_without_room_is_skipped_and_a_response_is_cut_to_what_there_is(tight: str, capacity: int) -> None:
    target, draft = planted()
    one = search(target, draft, lambda text: "same")
    one.draft = DraftView(draft, capacity, Chooser())
    if tight == "both":
        one.target = LocalTarget(target, capacity, Chooser())
    *events, last = one.run(prompt("aaa"))
    done = known(PromptFinished, last)
    assert (done.skipped == "too long") is (capacity < 5) and bool(events) is (capacity >= 5)
    assert len(done.prompt_ids) + len(done.final) < max(capacity, 5)


def greedy(model, ids: list[int], limit: int) -> list[int]:
    """Reference: one token at a time."""
    out: list[int] = []
    session = model.session(64)
    while len(out) < limit:
        out.append(int(session.forward([*ids, *out]).logits[0].argmax()))
        if out[-1] == STOP:
            break
    return out


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), letter=st.integers(0, 6), limit=st.integers(1, 24))
def test_invariants(seed: int, letter: int, limit: int) -> None:
    target, draft = random_pair(seed)
    wanted = LETTERS[letter]
    done = run(target, draft, extract=lambda text: str(text.count(wanted)), limit=limit)
    positions = [x.t for x in done.labels]
    assert positions == sorted(set(positions))
    assert done.first == greedy(target, [0], limit)
    important = {x.t for x in done.labels if x.important}
    for t, token in enumerate(done.final):
        chooser = target if t in important else draft
        assert token == int(chooser.session(64).forward([0, *done.final[:t]]).logits[0].argmax())
    assert str(spell(done.final).count(wanted)) == done.answer
    if not important:
        assert done.final == greedy(draft, [0], limit)
    twice = run(target, draft, extract=lambda text: str(text.count(wanted)), limit=limit)
    assert twice.labels == done.labels


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_different_answers_mean_an_important_token(seed: int) -> None:
    """A13, with a response length that does not bind."""
    target, draft = random_pair(seed)
    ours, theirs = greedy(target, [0], 40), greedy(draft, [0], 40)
    if len(ours) == 40 or len(theirs) == 40:
        return
    done = run(target, draft, extract=lambda text: text, limit=60)
    assert any(x.important for x in done.labels) == (ours != theirs)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_naive_and_sequential_agree_on_the_first_mismatch(seed: int) -> None:
    target, draft = random_pair(seed)
    one, other = (run(target, draft, extract=lambda text: text[-1:], naive=naive).labels for naive in (False, True))
    assert bool(one) == bool(other) and one[:1] == other[:1]


@pytest.mark.parametrize("seed", range(4))
def test_sampling_is_deterministic_and_shares_its_noise(seed: int) -> None:
    """With a copy as the draft there is no mismatch, whatever the temperature; the same seed gives the same labels."""
    target, draft = random_pair(3)
    chooser = Chooser(Sampling(1.0), seed)
    same = run(target, target, extract=lambda text: text, chooser=chooser)
    assert same.first and not same.skipped and not same.labels
    one, two = (run(target, draft, extract=lambda text: text, chooser=chooser) for _ in range(2))
    assert (one.first, one.labels) == (two.first, two.labels)
