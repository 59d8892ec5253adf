"""The math rule: reductions, what counts as mathematics, and what it says."""

import pytest

from engine.errors import ConfigError
from engine.lab import Lab
from engine.rules.heuristics import mathematical
from tests.typed import some

PROMPT = [5, 9, 20, 33, 5, 9, 20]
EVERYTHING = "".join(chr(c) for c in range(33, 127))


def test_refusing_every_token_is_speculative_decoding(lab: Lab) -> None:
    sd = lab.run("sd", PROMPT, gamma=6, max_new_tokens=40)
    own = lab.run("math_rule", PROMPT, gamma=6, max_new_tokens=40, math_symbols=EVERYTHING)
    assert own.token_ids == sd.token_ids and len(own.rounds) == len(sd.rounds)


def test_refusing_none_without_bonus_is_the_draft_model(lab: Lab) -> None:
    wanted = Lab(lab.models["draft"]).run("ar", PROMPT, max_new_tokens=30).token_ids
    own = lab.run("math_rule", PROMPT, gamma=6, bonus=False, max_new_tokens=30, math_symbols="", math_words="")
    assert own.token_ids == wanted


def test_top_one_is_speculative_decoding(lab: Lab) -> None:
    knobs = {"gamma": 6, "max_new_tokens": 40}
    own = lab.run("math_rule", PROMPT, math_k=1, math_symbols="", math_words="", **knobs)
    assert own.token_ids == lab.run("sd", PROMPT, **knobs).token_ids


@pytest.mark.parametrize("whose", ["either", "draft", "target"])
def test_decisions_look_at_the_right_token(lab: Lab, whose: str) -> None:
    symbols = "0123456789aeiouAEIOU"
    trace = lab.run(
        "math_rule", PROMPT, gamma=6, max_new_tokens=80, math_symbols=symbols, math_words="", math_token=whose
    )
    asked = [n for r in trace.rounds for n in r.nodes if some(n.reason)["id"].startswith("heuristic")]
    assert {n.state for n in asked} == {"relaxed", "rejected"}
    for node in asked:
        pieces = [lab.target.tokenizer.piece(t) for t in (node.token, some(node.reason)["choice"])]
        looked = {"either": pieces, "draft": pieces[:1], "target": pieces[1:]}[whose]
        assert (node.state == "rejected") == any(c in symbols for piece in looked for c in piece)
        assert some(node.reason)["pattern"]


def test_words_count_only_whole() -> None:
    found = mathematical("+", "x,n")
    for text, yes in (
        (" x", True),
        ("x", True),
        ("xs", False),
        ("max", False),
        ("n", True),
        (" +", True),
        ("the", False),
    ):
        assert bool(found.search(text)) == yes


def test_typed_characters_are_never_a_pattern() -> None:
    found = mathematical("^]-[", "(a+)+$,.*")
    assert found.search("]") and found.search("-") and not found.search("aaaa") and not found.search("b")
    with pytest.raises(ConfigError, match="at most 200"):
        mathematical("1" * 201, "")


def test_why_a_token_stays_or_goes_is_said_with_what_was_found_and_the_rank(lab: Lab) -> None:
    """Four characters are mathematics here; of the others the first twelve choices of the target may stay."""
    seen = set()
    for k in (0, 12):
        trace = lab.run("math_rule", PROMPT, gamma=6, max_new_tokens=80, math_symbols="aeio", math_words="", math_k=k)
        for node in (n for r in trace.rounds for n in r.nodes if some(n.reason)["id"].startswith("heuristic")):
            reason = some(node.reason)
            kept = reason["found"] is None and (k == 0 or reason["rank"] <= k)
            assert (node.state, reason["id"]) == (
                ("relaxed", "heuristic_relaxed") if kept else ("rejected", "heuristic_refused")
            )
            assert reason.get("k", 0) == k
            if reason["found"] is not None:
                assert reason["found"] in "aeio" and reason["pattern"] == (
                    f"{reason['found']} is a digit, operator or variable"
                )
            else:
                place = f"; rank {reason['rank']}, top 12 allowed" if k else ""
                assert reason["pattern"] == f"no digit, operator or variable{place}"
            seen.add((k, reason["found"] is None, kept))
    assert seen == {(0, True, True), (0, False, False), (12, True, True), (12, True, False), (12, False, False)}
