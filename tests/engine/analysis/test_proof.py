"""What a run shows of its promise: equal and unequal texts, sampled runs, decisions that disagree."""

from copy import deepcopy

from engine.analysis.compared import compared
from engine.analysis.proof import Proof
from engine.files.places import PRESETS
from engine.rules import RULES
from engine.trace.store import Trace

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
    assert found.faults >= 1 and "disagree. Round" in found.decisions


def test_what_was_not_recorded_or_is_not_known_is_not_checked() -> None:
    sd = traces("first_look", "ar", "sd")["sd"]
    assert "not known here" in compared({"sd": sd}).proofs["sd"].decisions
    light = deepcopy(sd)
    for event in light.rounds:
        event.nodes.clear()
    found = proofs({"sd": light})["sd"]
    assert found.checked is None and found.decisions.startswith("It was recorded lightly")
