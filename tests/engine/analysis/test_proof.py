"""What a run shows of its promise: equal and unequal texts, sampled runs, decisions that disagree."""

from copy import deepcopy
from typing import Any

from engine.analysis.compared import compared
from engine.analysis.proof import Proof, proof
from engine.analysis.replay import replay
from engine.files.places import PRESETS
from engine.rules import RULES
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, SAT, ar, chain, head

DECLARED = {name: rule.THRESHOLD for name, rule in RULES.items()}


def traces(case: str, *lanes: str) -> dict[str, Trace]:
    return {lane: Trace.load(PRESETS / "traces" / f"{case}-{i}-{lane}.jsonl.gz") for i, lane in enumerate(lanes)}


def proofs(lanes: dict[str, Trace]) -> dict[str, Proof]:
    return compared(lanes, DECLARED).proofs


def test_a_greedy_text_is_compared_token_by_token() -> None:
    lanes = traces("first_look", "ar", "sd", "specdec")
    found = proofs(lanes)
    n = len(lanes["ar"].tokens)
    assert (found["sd"].against, found["sd"].pos, found["sd"].same) == ("ar", None, n)
    assert found["sd"].text == f"Checked: this run's text is that of Autoregressive, all {n} tokens."
    assert found["specdec"].pos == 0 and "is not that of Autoregressive. At position 0" in found["specdec"].text
    assert found["ar"].text.startswith("This is the reference") and found["ar"].against is None


def test_a_shorter_text_is_compared_up_to_its_end() -> None:
    lanes = traces("first_look", "ar", "sd")
    lanes["sd"] = Trace([lanes["sd"].head, *lanes["sd"].rounds[:2]])
    n = len(lanes["sd"].tokens)
    found = proofs(lanes)["sd"]
    assert (found.pos, found.same) == (None, n)
    assert found.text.endswith(f"for {n} tokens, where Speculative decoding ends.")


def test_a_sampled_run_claims_nothing() -> None:
    found = proofs(traces("sampled", "ar", "sd"))["sd"]
    assert found.text.startswith("Sampled: one run proves nothing about a distribution") and found.against == "ar"
    assert "neither for nor against" in found.text


def test_without_the_reference_there_is_nothing_to_compare_with() -> None:
    lanes = traces("first_look", "ar", "sd")
    assert proofs({"sd": lanes["sd"]})["sd"].against is None
    lanes["ar"].head.sampling["temperature"] = 0.5
    assert proofs(lanes)["sd"].against is None, "the reference was sampled otherwise"


def test_decisions_are_recomputed_and_a_changed_one_is_told() -> None:
    sd = traces("first_look", "ar", "sd")["sd"]
    tested = sum(node.state != "discarded" for event in sd.rounds for node in event.nodes)
    found = proofs({"sd": sd})["sd"]
    assert (found.checked, found.faults) == (tested, 0) and found.decisions.endswith("as they did in the run.")
    bad = deepcopy(sd)
    node = next(node for event in bad.rounds for node in event.nodes if node.state == "rejected")
    node.state = "accepted"
    found = proofs({"sd": bad})["sd"]
    assert found.faults == 1 and "1 number disagrees. Round" in found.decisions


def test_what_was_not_recorded_or_is_not_known_is_not_checked() -> None:
    sd = traces("first_look", "ar", "sd")["sd"]
    assert "not known here" in compared({"sd": sd}).proofs["sd"].decisions
    light = deepcopy(sd)
    for event in light.rounds:
        event.nodes.clear()
    found = proofs({"sd": light})["sd"]
    assert found.checked is None and found.decisions.startswith("It was recorded lightly")


def one(*states: str, **changed: Any) -> Trace:
    """Rounds of three draft tokens each, the exact rule's choices noted."""
    rounds, start = [], 0
    for index, letters in enumerate(states):
        rounds.append(chain(index, start, letters, [CAT, HAS, SAT], DOG))
        start += rounds[-1].emitted
        for node in rounds[-1].nodes:
            kept = node.state == "accepted"
            node.reason = {"id": "greedy_match" if kept else "greedy_mismatch", "choice": node.token if kept else DOG}
    return Trace([head(**changed), *rounds])


def test_which_text_ends_first_is_named() -> None:
    ours = one("aaa")
    for length, said in ((3, "for 3 tokens, where AR ends"), (4, "all 4 tokens"), (6, "for 4 tokens, where SD ends")):
        plain = ar([CAT, HAS, SAT, DOG, CAT, CAT][:length])
        found = proof("sd", {"sd": ours, "ar": plain}, {"sd": "SD", "ar": "AR"}, DECLARED)
        assert said in found.text and (found.pos, found.same) == (None, min(length, 4))
    found = proof("sd", {"sd": ours, "ar": ar([CAT, DOG])}, {"sd": "SD", "ar": "AR"}, DECLARED)
    assert (found.pos, found.same) == (1, 1) and "At position 1 SD has `·has`" in found.text


def test_decisions_without_numbers_are_counted_apart_and_disagreements_named() -> None:
    names = {"sd": "SD"}
    whole = proof("sd", {"sd": one("aaa")}, names, DECLARED)
    assert (whole.checked, whole.faults) == (3, 0)
    assert whole.decisions == "3 decisions recomputed from the recorded numbers: all came out as they did in the run."
    partly = one("aaa", "ard")
    partly.rounds[0].nodes[1].reason = None
    found = proof("sd", {"sd": partly}, names, DECLARED)
    assert (found.checked, found.faults) == (4, 0) and "; 1 cannot be, for want of numbers: all" in found.decisions
    wrong = one("aaa")
    wrong.rounds[0].nodes[2].state = "rejected"
    found = proof("sd", {"sd": wrong}, names, DECLARED)
    assert found.faults == 1 and found.decisions.endswith(
        "1 number disagrees. Round 0, node 2: recorded rejected, recomputed accepted."
    )
    nothing = proof("sd", {"sd": ar([CAT], guarantee="lossless")}, names, DECLARED)
    assert (nothing.checked, nothing.faults) == (0, 0) and nothing.decisions.startswith("Nothing was drafted")
    unknown = proof("sd", {"sd": one("aaa", rule="own")}, names, DECLARED)
    assert (unknown.checked, unknown.faults) == (None, 0) and "not known here" in unknown.decisions


def test_a_rule_of_ones_own_that_declares_nothing_is_not_held_to_the_exact_one() -> None:
    """What it kept against the exact rule was no mistake of the run, and none is told."""
    run = traces("first_look", "ar", "sd", "specdec")["specdec"]
    run.head.rule = "mine"
    tested = sum(node.state != "discarded" for event in run.rounds for node in event.nodes)
    assert any(node.state == "relaxed" for event in run.rounds for node in event.nodes)
    found = compared({"mine": run}, {**DECLARED, "mine": None}).proofs["mine"]
    assert (found.checked, found.faults) == (None, 0)
    assert found.decisions == "Its rule declares no threshold, so its decisions are not recomputed."
    again = replay(run, None)
    assert (again.checked, again.unknown, again.faults) == (0, tested, [])
    assert again.told == "the rule 'mine' declares no threshold, so that its decisions cannot be recomputed"
