"""RSD: between the draft model alone and the target alone, with every call counted."""

from pathlib import Path

import pytest

from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.names import NAMES
from engine.analysis.replay import replay, what_if
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.metrics import metrics
from engine.trace.store import Trace
from tests.engine.reward.made import make_reward
from tests.engine.zoo import Zoo, characters
from tests.typed import some

PROMPT = "Qab?"
ENDS = characters(93)[::6]
RULE = get_card("rsd").threshold


@pytest.fixture(scope="module")
def lab(zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    plain = zoo.lab("llama", draft="noise", sigma=0.2)
    folder: Path = make_reward(tmp_path_factory.mktemp("prm"), "scalar", step_delimiters=ENDS)
    return Lab(plain.target, plain.models, {"prm": str(folder)})


@pytest.fixture(scope="module")
def mixed(lab: Lab) -> Trace:
    """A run in which some steps were accepted and some were not."""
    trace = lab.run("rsd", PROMPT, max_new_tokens=60, reward_threshold=0.25)
    assert {event.accepted > 0 for event in trace.rounds if event.drafted} == {True, False}
    return trace


@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "seed": 5}])
def test_above_one_the_target_writes_all(lab: Lab, options: dict[str, float]) -> None:
    trace = lab.run("rsd", PROMPT, max_new_tokens=40, reward_threshold=1.01, **options)
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=40, **options).token_ids
    found = metrics(trace)
    assert found["rounds"] == 40 and found["accepted"] == 0 and found["reward_calls"] > 1


def test_at_zero_the_draft_writes_all_and_the_target_is_never_called(lab: Lab) -> None:
    trace = lab.run("rsd", PROMPT, max_new_tokens=40, reward_threshold=0)
    assert trace.token_ids == lab.run("draft_alone", PROMPT, max_new_tokens=40).token_ids
    found = metrics(trace)
    assert found["rounds"] == 0 and found["tau"] is None and found["verify_tokens"] == 0
    assert found["reward_calls"] == len(trace.rounds) > 1


def test_each_model_writes_its_steps_on_what_is_there(lab: Lab, mixed: Trace) -> None:
    """Token for token: whoever writes a token would write it alone after the same text."""
    ids = mixed.head.prompt_ids
    for token in mixed.tokens:
        writer = lab.models["draft"] if token.origin == "draft" else lab.target
        seen = [*ids, *(t.token for t in mixed.tokens[: token.pos])]
        assert int(writer.session(len(seen)).forward(seen).logits.argmax()) == token.token


def test_steps_end_where_they_should(mixed: Trace) -> None:
    """A drafted step ends at a delimiter, and after a rejected one the target writes to the next."""
    waiting = False
    for event in mixed.rounds[:-1]:
        text = "".join(token.piece for token in event.tokens)
        if event.drafted:
            assert not waiting and (event.accepted == 0 or text[-1] in ENDS)
        waiting = (waiting or not event.accepted) and not (not event.accepted and text in ENDS)
        if event.drafted:
            pieces = [mixed.pieces[node.token] for node in event.nodes]
            assert pieces[-1] in ENDS and not any(piece in ENDS for piece in pieces[:-1])


def test_calls_and_what_the_target_reads_are_counted(lab: Lab, mixed: Trace) -> None:
    """The target reads accepted steps when it next writes, and each token once."""
    assert not identities(mixed) and mixed.head.guarantee == "lossy"
    found = metrics(mixed)
    own = sum(token.origin != "draft" for token in mixed.tokens)
    assert found["rounds"] == own < len(mixed.tokens) and found["tau"] == len(mixed.tokens) / own
    unread = 1
    for event in mixed.rounds:
        assert event.fed == (0 if event.accepted else unread)
        unread = unread + event.emitted if event.accepted else 1
        assert ("early_ms" in event.extras) == (event.drafted > 0), "the time of the reward model, where it read"
        assert 0 <= event.extras.get("early_ms", 0.0) <= event.other_ms
    assert 0 < found["reward_s"] < found["other_s"]
    light = lab.run("rsd", PROMPT, max_new_tokens=60, record="light", **mixed.head.knobs)
    same = ("rounds", "verify_tokens", "drafted", "accepted", "rejected", "reward_calls", "reward_tokens")
    assert {name: metrics(light)[name] for name in same} == {name: found[name] for name in same}


def test_a_rejected_step_counts_whole_or_at_its_first_token_as_the_names_say(mixed: Trace) -> None:
    found = metrics(mixed)
    lost = [event for event in mixed.rounds if event.drafted and not event.accepted]
    assert found["rejected"] == sum(event.drafted for event in lost) > len(lost)
    by_depth = found["accept_by_depth"]
    assert by_depth["tested"][0] - by_depth["accepted"][0] == len(lost), "at its first token"
    assert by_depth["tested"][1:] == by_depth["accepted"][1:]
    notes = {name.name: name.note for name in NAMES}
    assert "every token of a rejected step" in notes["rejected"]
    assert "at its first token" in notes["accept_by_depth"]


def test_decisions_follow_from_their_numbers(mixed: Trace) -> None:
    told = replay(mixed, RULE)
    assert told.agrees and told.checked == sum(event.drafted for event in mixed.rounds) and not told.unknown
    rejected = next(event for event in mixed.rounds if event.drafted and not event.accepted)
    found = what_if(mixed, RULE, reward_threshold=some(rejected.extras["reward"]))
    assert found.changed and found.round is not None and found.round <= rejected.index


def test_the_sentence_names_reward_and_threshold(mixed: Trace) -> None:
    rules = {"reward": RULE} if RULE else {}
    threshold = f"{mixed.head.knobs['reward_threshold']:g}"
    for event in mixed.rounds:
        if not event.drafted:
            continue
        said = why(mixed.head, event, node=0, pieces=mixed.pieces, thresholds=rules)
        side = "at least" if event.accepted else "below"
        assert said.startswith("Accepted" if event.accepted else "Rejected")
        assert f"the reward model gives the step {event.extras['reward']:.2g}"[:-1] in said
        assert f"{side} {threshold}" in said
        whole = why(mixed.head, event)
        assert ("the target was not called" in whole) == (event.accepted > 0)


def test_nodes_hold_no_number_of_a_target_that_did_not_look(mixed: Trace) -> None:
    for event in mixed.rounds:
        for node in event.nodes:
            unknown = (node.p, node.h_target, node.top_target, node.law_target, node.margin, node.overlap)
            assert not any(unknown)
            assert node.h_draft is not None and node.reason and node.reason["reward"] == event.extras["reward"]


def test_a_trace_survives_the_disk(mixed: Trace, tmp_path: Path) -> None:
    mixed.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl").rounds == mixed.rounds


def test_without_a_reward_model_it_says_so(zoo: Zoo) -> None:
    assert "needs an asset of the role prm" in zoo.lab("llama", draft="copy").unavailable()["rsd"]


def test_other_delimiters_can_be_asked_for(lab: Lab) -> None:
    trace = lab.run("rsd", PROMPT, max_new_tokens=60, reward_threshold=0, step_end="@|\\n")
    steps = ["".join(token.piece for token in event.tokens) for event in trace.rounds]
    assert all("@" not in step[:-1] for step in steps) and any(step.endswith("@") for step in steps)
    short = lab.run("rsd", PROMPT, max_new_tokens=60, reward_threshold=0, step_limit=3)
    assert max(event.drafted for event in short.rounds) == 3


def test_whole_steps_under_the_exact_rule_stay_lossless(lab: Lab) -> None:
    """The shape composes: drafts of whole steps, checked by the target; it ends a step that it had to correct."""
    trace = lab.run(
        lab.compose(drafter="model", shape="steps", rule="exact", step_end="a|1|k"), PROMPT, max_new_tokens=40
    )
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=40).token_ids and not identities(trace)
