"""Every kind of comparison that a rule may declare, on either side of its limit, in words."""

from typing import Any, cast

import pytest

from engine.analysis.comparisons import comparisons
from engine.analysis.scene import Scene
from engine.threshold import All, Compare, Condition, Recorded, Threshold
from engine.trace.records import Reason
from tests.engine.analysis.made import CAT, DOG, WORDS, chain, head


def told(*parts: Compare, **reason: Any) -> str:
    """The comparisons of a rule that declares these, with a draft token `cat` of which these numbers were noted."""
    event = chain(0, 0, "r", [CAT], DOG)
    event.nodes[0].reason = cast(Reason, reason)
    condition: Condition = parts[0] if len(parts) == 1 else All(parts)
    return comparisons(
        Scene(head(knobs={}), event, 0, dict(enumerate(WORDS)), Threshold("override", condition, says=""))
    )


def that(name: str, sign: Any, limit: float) -> Compare:
    return Compare(Recorded(name, field=""), sign, limit)


@pytest.mark.parametrize(
    ("sign", "below", "at", "above"),
    [
        (">", "is not above", "is not above", "is above"),
        (">=", "is below", "is at least", "is at least"),
        ("<", "is below", "is not below", "is not below"),
        ("<=", "is at most", "is at most", "is above"),
    ],
)
def test_each_sign_has_words_for_either_side(sign: str, below: str, at: str, above: str) -> None:
    for value, words in ((0.4, below), (0.5, at), (0.6, above)):
        assert told(that("confidence", sign, 0.5), confidence=value) == f"confidence ({value:.2f}) {words} 0.5"


@pytest.mark.parametrize(
    ("name", "sign", "limit", "value", "words"),
    [
        ("h_target", ">", 2.0, 2.5, "the target's entropy (2.50 nats) exceeds 2.0"),
        ("h_target", ">=", 2.0, 2.5, "the target's entropy (2.50 nats) is at least 2.0"),
        ("h_draft", "<=", 2.0, 1.5, "the draft's entropy (1.50 nats) is at most 2.0"),
        ("overlap", ">=", 0.8, 0.8, "4 of the top 5 agree"),
        ("overlap", ">", 0.8, 0.8, "only 4 of the top 5 agree"),
        ("overlap", "<", 0.5, 0.2, "the share of common first choices (0.20) is below 0.5"),
        ("rank", "<=", 3.0, 3, "`cat` ranks 3 with the target, within the top 3"),
        ("rank", "<=", 3.0, 4, "`cat` ranks 4 with the target, outside the top 3"),
        ("rank", ">=", 3.0, 5, "the rank with the target (5.00) is at least 3.0"),
        ("gap", "<=", 0.5, 0.25, "`cat` is 0.25 nats behind, within 0.5"),
        ("gap", "<", 0.5, 0.75, "`cat` is 0.75 nats behind, above 0.5"),
        ("gap", ">", 0.5, 0.75, "the gap to the target's first choice (0.75 nats) is above 0.5"),
        ("p", ">", 0.1, 0.05, "the target gives `cat` 0.05, not above the threshold 0.1"),
        ("q", "<", 0.5, 0.25, "the draft gives `cat` 0.25, below the threshold 0.5"),
        ("score", "<", 0.12, 0.03, "the judge gives importance 0.03, below 0.12"),
        ("reward", ">=", 0.7, 0.75, "the reward model gives the step 0.75, at least 0.7"),
        ("reward", ">=", 0.7, 0.65, "the reward model gives the step 0.65, below 0.7"),
        ("h", "<", 1.0, 0.5, "entropy (0.50 nats) is below 1.0"),
        ("made_up", "<", 1.0, 0.5, "made_up (0.50) is below 1.0"),
    ],
)
def test_each_number_has_words_of_its_own(name: str, sign: str, limit: float, value: float, words: str) -> None:
    assert told(that(name, sign, limit), **{name: value}) == words


@pytest.mark.parametrize(
    ("sign", "draft", "target", "words"),
    [
        (">", 2.5, 2.25, "both entropies (2.50, 2.25 nats) exceed 2.0"),
        (">", 1.5, 1.25, "both entropies (1.50, 1.25 nats) are not above 2.0"),
        (">=", 2.5, 2.25, "both entropies (2.50, 2.25 nats) are at least 2.0"),
        ("<", 1.5, 1.25, "both entropies (1.50, 1.25 nats) are below 2.0"),
        (
            ">",
            2.5,
            1.25,
            "the draft's entropy (2.50 nats) exceeds 2.0 and the target's entropy (1.25 nats) is not above 2.0",
        ),
    ],
)
def test_both_entropies_share_a_clause_on_one_side(sign: str, draft: float, target: float, words: str) -> None:
    both = (that("h_draft", sign, 2.0), that("h_target", sign, 2.0))
    assert told(*both, h_draft=draft, h_target=target) == words


def test_a_range_names_its_number_once_and_what_is_not_known_is_not_told() -> None:
    inside = (that("confidence", ">=", 0.2), that("confidence", "<", 0.8))
    assert told(*inside, confidence=0.5) == "confidence (0.50) is at least 0.2 and is below 0.8"
    assert told(*inside, that("gap", "<=", 1.0), confidence=0.5) == told(*inside, confidence=0.5)
    entropies = (that("h_draft", ">", 1.0), that("h_draft", "<", 3.0), that("h_target", ">", 1.0))
    assert "both" not in told(*entropies, h_draft=2.0, h_target=2.0), "three comparisons are told one by one"
    assert told(that("gap", "<=", 1.0)) == ""
