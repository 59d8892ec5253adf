"""Mixed drafting: copies where the text repeats itself, the draft model's chain elsewhere."""

from typing import Any

from engine.lab import Lab
from engine.trace.store import Trace
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo
from tests.typed import some

REPEAT = [20, 31, 42, 20, 31, 42, 20, 31, 42, 20, 31, 42]


def drafts(trace: Trace) -> list[list[int]]:
    return [[n.token for n in r.nodes] for r in trace.rounds]


def kinds(trace: Trace) -> set[str]:
    return {some(n.source)["kind"] for r in trace.rounds for n in r.nodes}


def run(lab: Lab, method: str, prompt: list[int], **options: Any) -> Trace:
    return lab.run(method, prompt, max_new_tokens=40, seed=2, **options)


def test_without_copies_it_is_speculative_decoding(zoo: Zoo) -> None:
    lab, never = zoo.lab("llama", draft="noise", layers=4), {"min_match": 1_000_000}
    for sampling in ({}, {"temperature": 1.0}):
        ours, theirs = run(lab, "mixed", REPEAT, **never, **sampling), run(lab, "sd", REPEAT, **sampling)
        assert drafts(ours) == drafts(theirs) and ours.token_ids == theirs.token_ids and kinds(ours) == {"model"}


def test_without_the_model_it_is_the_automaton(zoo: Zoo) -> None:
    """With gamma 0 nothing is left to the model: each round drafts what SAM does where SAM's match is long enough."""
    lab = zoo.lab("llama", draft="noise", layers=4)
    knobs = {"alpha": 2.0, "gamma": 24}
    theirs = run(lab, "sam", REPEAT, static=False, **knobs)
    ours = run(lab, "mixed", REPEAT, min_match=1, copy_most=24, alpha=2.0, gamma=0)
    assert drafts(ours) == drafts(theirs) and kinds(ours) == {"automaton"}


def test_copies_first_then_the_model(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft="copy", layers=4)
    trace = run(lab, "mixed", REPEAT, min_match=3)
    assert kinds(trace) == {"automaton", "model"}
    for r in trace.rounds:
        long = r.extras["match"] >= 3
        assert {some(n.source)["kind"] for n in r.nodes} <= ({"automaton"} if long else {"model"})
        assert r.extras["where"] == ("dynamic" if long else "model") or not r.drafted
    assert trace.token_ids == run(lab, "ar", REPEAT).token_ids


def test_sampled_rounds_of_both_kinds(zoo: Zoo) -> None:
    """Copies are chosen, the model's tokens drawn: each is tested by its own kernel."""
    trace = run(toy_lab(4), "mixed", [0, 1, 2, 0, 1], min_match=2, temperature=1.0)
    tests = {
        (some(n.source)["kind"], some(n.reason)["id"].split("_")[0])
        for r in trace.rounds
        for n in r.nodes
        if n.state != "discarded"
    }
    assert tests == {("automaton", "child"), ("model", "ratio")}
