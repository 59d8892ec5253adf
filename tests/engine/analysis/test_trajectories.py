"""Votes, overlap and acceptance over several trajectories, from small made-up cases."""

import json

import pytest

from engine.analysis.ngrams import Reuse, overlap_table, repeated_share, seen_share
from engine.analysis.seriesreport import series_report
from engine.analysis.trajectories import at, by_problem, difference, first_k, growth, voted
from engine.analysis.votes import accuracy_over_n, majority, majority_right
from engine.tasks.marking import marking


def same(a, b):
    return a is not None and b is not None and float(a) == float(b)


def test_majority_counts_equal_answers_and_ignores_missing_ones():
    vote = majority(["3", None, "4", "3.0", "4", "4.0"], same)
    assert (vote.answer, vote.count, vote.n, vote.share) == ("4", 3, 6, 0.5)
    assert majority(["1", "2"], same).answer == "1"  # of equals the first
    empty = majority([None, None], same)
    assert (empty.answer, empty.count, empty.share) == (None, 0, 0.0)
    assert majority([], same).share == 0.0


def test_accuracy_grows_with_agreement():
    answers = [["1", "2", "2"], ["5", "5", "6"]]
    right = [[False, True, True], [True, True, False]]
    assert accuracy_over_n(answers, right, same, [1, 3]) == {1: 0.5, 3: 1.0}
    assert not majority_right([None, "3"], [True, False], same)  # an answer that nobody could read is not right


def test_programs_vote_and_their_tests_tell_who_is_right():
    """Two of three agree on a program; another would do as well, and its text is not the reference's."""
    texts = ["def f(): return 1", "def f(): return 2", "def f(): return 1"]
    rows = [row("a", "p", i, 5, 5, text) | {"score": float("1" in text)} for i, text in enumerate(texts)]
    assert voted(rows, "a", marking("functions"), [1, 3]) == {1: 1.0, 3: 1.0}
    wrong = [one | {"score": 1 - one["score"]} for one in rows]
    assert voted(wrong, "a", marking("functions"), [1, 3]) == {1: 0.0, 3: 0.0}
    settings = {"family": "functions", "n": 3}
    assert series_report(settings, rows, [1, 3])["accuracy"] == {"a": {1: 1.0, 3: 1.0}}
    assert series_report(settings, [one | {"score": None} for one in rows], [1])["accuracy"] == {}
    assert series_report(settings, [*rows[:2], rows[2] | {"score": None}], [1])["accuracy"] == {}, "one was not run"


def test_overlap_by_hand():
    # bigrams: 12 23 | 12 24: 12 stands twice, so two of four are repeated; of the last two one was seen
    assert repeated_share([[1, 2, 3], [1, 2, 4]], 2) == 0.5
    assert seen_share([[1, 2, 3], [1, 2, 4]], 2) == 0.5
    assert seen_share([[1, 2, 3]], 2) is None and repeated_share([[1]], 2) is None
    rows = overlap_table([[[1, 2, 3], [1, 2, 4]], [[7, 8], [7, 8]]], [1, 2], [2])
    assert rows[1] == {"trajectories": 2, "order": 2, "problems": 2, "repeated": 0.75, "seen_before": 0.75}
    assert rows[0]["seen_before"] is None and rows[0]["repeated"] == 0.0
    nothing = overlap_table([[[1]]], [1, 2], [2])
    assert [row["repeated"] for row in nothing] == [None, None] and nothing[1]["problems"] == 0
    json.dumps([rows, nothing], allow_nan=False)


def row(method, problem, trajectory, tokens, rounds, answer="1"):
    return {
        "method": method,
        "problem": problem,
        "trajectory": trajectory,
        "tokens": tokens,
        "rounds": rounds,
        "seconds": rounds / 10,
        "verify_tokens": 5 * rounds,
        "answer": answer,
        "truth": "1",
    }


ROWS = [
    row("a", "p", 1, 30, 10),
    row("a", "p", 0, 10, 10, "2"),
    row("a", "q", 0, 20, 10),
    row("a", "q", 1, 40, 10),
    row("b", "p", 0, 10, 10),
    row("b", "p", 1, 10, 10),
    row("b", "q", 0, 12, 10),
    row("b", "q", 1, 12, 10),
]


def test_tables_over_the_first_k():
    assert [r["trajectory"] for r in by_problem(ROWS, "a")["p"]] == [0, 1]
    one, two = first_k(ROWS, "a", 1), first_k(ROWS, "a", 2)
    assert (one["tau"]["mean"], two["tau"]["mean"], two["tau_pooled"]) == (1.5, 2.5, 2.5)
    assert one["tau"]["low"] < 1.5 < one["tau"]["high"]
    assert two["tokens_per_s"] == pytest.approx(100 / 4) and two["verify_per_token"] == 2.0
    assert at(ROWS, "a", 2)["tau"]["mean"] == 3.5
    assert growth(ROWS, "a", 1, 2)["difference"]["mean"] == 2.0
    assert difference(ROWS, "a", "b", 2)["difference"]["mean"] == pytest.approx((1.0 + 1.8) / 2)
    assert first_k(ROWS, "a", 3)["problems"] == 0 and first_k(ROWS, "a", 3)["tau"] is None
    assert voted(ROWS, "a", marking("arithmetic"), [1, 2]) == {1: 0.5, 2: 0.5}


def test_only_the_first_k_of_problems_that_have_so_many_and_ran_count():
    """p has three trajectories, q two, r two of which the first made no call, s two that made none; in u the second
    made none."""
    rows = [
        *(row("a", "p", i, tokens, 10) for i, tokens in enumerate((20, 40, 900))),
        *(row("a", "q", i, tokens, 10) for i, tokens in enumerate((30, 50))),
        *(row("a", "r", i, tokens, tokens // 10) for i, tokens in enumerate((0, 70))),
        *(row("a", "s", i, 0, 0) for i in range(2)),
    ]
    grown = growth([*rows, row("a", "u", 0, 20, 10), row("a", "u", 1, 0, 0)], "a", 1, 2)
    assert grown["problems"] == 2 and grown["difference"]["mean"] == pytest.approx(2.0)
    two = first_k(rows, "a", 2)
    assert two["problems"] == two["tau"]["n"] == 3 and two["tau"]["mean"] == pytest.approx((3 + 4 + 10) / 3)
    assert two["tau_pooled"] == pytest.approx(210 / 47) and first_k(rows, "a", 3)["problems"] == 1
    for trajectory, taus in ((1, [2, 3]), (2, [4, 5, 10]), (3, [90])):
        found = at(rows, "a", trajectory)
        assert found["problems"] == found["tau"]["n"] == len(taus)
        assert found["tau"]["mean"] == pytest.approx(sum(taus) / len(taus))
    assert at(rows, "a", 4) == {"method": "a", "trajectory": 4, "problems": 0, "tau": None}


def test_differences_are_of_problems_that_both_have_and_ran():
    """p in both, q too short on the right, r without a call on the right but in a third, s on the left only, t without
    one on the left, u too short there."""
    left = [row("a", p, i, 10 * (i + 2), 10) for p in "pqrs" for i in range(3)] + [
        row("a", "t", i, 0, 0) for i in (0, 1)
    ]
    left += [row("a", "u", 0, 90, 10)]
    right = [row("b", p, i, 10, 10) for p, n in (("p", 3), ("q", 1), ("t", 2), ("u", 2)) for i in range(n)]
    right += [row("b", "r", i, 0, 0) for i in range(2)] + [row("b", "r", 2, 10, 10)]
    found = difference(left + right, "a", "b", 2)
    assert found["problems"] == 1 and found["difference"]["mean"] == pytest.approx(2.5 - 1)
    assert difference(left, "a", "b", 1)["difference"] is None


def test_marks_of_a_longer_n_gram_are_not_overwritten_by_a_shorter_one():
    """Before: 1 2 3, then 3 9 of another. In 1 2 3 9 the bigram 3 9 is known, yet the 3 stays the trigram's."""
    reuse = Reuse((3, 2))
    for tokens in ([1, 2, 3], [3, 9]):
        assert reuse.extend(tokens) == 0
        reuse.begin()
    assert reuse.orders == (2, 3)
    assert reuse.extend([1, 2, 3]) == 0 and reuse.extend([9]) == 1, "two tokens back marks may still change"
    assert (reuse.order, reuse.times, reuse.first) == ([3, 3, 3, 2], [1, 1, 1, 1], [0, 0, 0, 1])
    assert seen_share([[1, 2], [3]], 2) is None, "no n-gram in the last"
