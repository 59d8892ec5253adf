"""What a reader sees of several trajectories: reused n-grams, answers, votes, and whole runs in turn."""

import pytest

from engine.analysis.ngrams import Reuse
from engine.analysis.sheet import Sheet, by_turns
from engine.tasks import Problem, get_task, load_problems
from engine.tasks.wordings import references
from engine.trace.events import Round, RunEnded, RunStarted, Token
from tests.typed import some

PROBLEM = Problem("arithmetic", "k", "How many?", "", "12")


def run(number, pieces, ids, reason="eos", calls=1):
    head = RunStarted(
        "i",
        "m",
        "M",
        "d",
        "s",
        "exact",
        "lossless",
        {},
        {},
        "p",
        [1],
        ["p"],
        {},
        10_000 * number,
        9,
        9,
        "f",
        "cpu",
        "light",
        [],
        False,
        10,
        extras={"trajectory": number},
    )
    size = -(-len(ids) // calls)
    rounds = []
    for i in range(calls):
        part = range(i * size, min(len(ids), (i + 1) * size))
        tokens = [Token(k, ids[k], pieces[k], "target", i) for k in part]
        rounds.append(Round(i, i * size, 0, 1, 0, 0, len(tokens), [], 1.0, 2.0, 3.0, tokens=tokens))
    return [head, *rounds, RunEnded(reason, 0.0, 0.0, "".join(pieces))]


def test_reuse_marks_the_longest_run_that_an_earlier_trajectory_holds():
    reuse = Reuse()
    reuse.extend([1, 2, 3, 4, 5, 6])
    assert reuse.order == [0] * 6, "a trajectory does not reuse itself"
    reuse.begin()
    reuse.extend([2, 3, 9, 4, 5, 6])
    assert (
        reuse.order == [2, 2, 0, 3, 3, 3] and reuse.first == [0, 0, -1, 0, 0, 0] and reuse.times == [1, 1, 0, 1, 1, 1]
    )
    reuse.begin()
    assert reuse.extend([2, 3]) == 0 and reuse.times == [2, 2]
    assert reuse.extend([4, 5, 6, 7]) == 0, "marks up to four tokens back may grow"
    assert reuse.order == [5, 5, 5, 5, 5, 0] and reuse.first[0] == 0 and reuse.times[0] == 1


def test_marks_that_are_sent_round_by_round_add_up_to_the_row():
    sheet, marks = Sheet(get_task("arithmetic"), PROBLEM), list[int]()
    for event in [
        *run(0, list("abcdefgh"), list(range(8)), calls=4),
        *run(1, list("xabcdefg"), [50, 0, 1, 2, 3, 4, 5, 6], calls=4),
    ]:
        added = sheet.see(event)
        if isinstance(event, RunStarted):
            marks = []
        elif isinstance(event, Round):
            marks[added["from"] :] = added["reused"]
        else:
            assert marks == added["reused"]
    assert sheet.rows[1]["reused"] == [0, 5, 5, 5, 5, 5, 5, 5]
    assert sheet.rows[1]["tau"] == 2.0 and sheet.rows[1]["seconds"] == 0.024 and sheet.rows[1]["seed"] == 10_000


def test_votes_and_what_is_right():
    sheet = Sheet(get_task("arithmetic"), PROBLEM)
    for number, answer in enumerate(("12", "13", "12.0")):
        for event in run(number, [f"The answer is {answer}."], [number]):
            sheet.see(event)
    assert [row["right"] for row in sheet.rows] == [True, False, True]
    assert sheet.rows[1]["vote"] == {"answer": "12", "count": 1, "n": 2, "share": 0.5, "right": True}
    assert sheet.rows[2]["vote"] == {"answer": "12", "count": 2, "n": 3, "share": 2 / 3, "right": True}
    unknown = Sheet(get_task("arithmetic"))
    for event in run(0, ["7"], [1]):
        unknown.see(event)
    assert (
        unknown.rows[0]["answer"] == "7" and unknown.rows[0]["right"] is None and some(unknown.vote())["right"] is None
    )
    assert Sheet().vote() is None


def test_any_right_wording_of_a_translation_is_right_and_only_where_all_are_known_another_is_wrong():
    (problem,) = load_problems("translation", "heldout", 1)
    known, other = references(problem)[:2]
    for one, rights in (
        (problem, [True, True, False]),
        (Problem("translation", "k", "?", "", known), [True, None, None]),
    ):
        sheet = Sheet(get_task("translation"), one)
        for number, text in enumerate((f"{known}\n", other, "Nein.")):
            for event in run(number, [text], [number]):
                sheet.see(event)
        assert [row["right"] for row in sheet.rows] == rights


@pytest.mark.parametrize(("answers", "right"), [(("13", "12", "12.0"), True), (("12", "13", "13"), False)])
def test_a_vote_is_as_right_as_the_answer_that_wins_it(answers, right):
    sheet = Sheet(get_task("arithmetic"), PROBLEM)
    for number, answer in enumerate(answers):
        for event in run(number, [f"The answer is {answer}."], [number]):
            sheet.see(event)
    assert (sheet.rows[0]["right"], some(sheet.vote())["right"]) == (not right, right)


def test_what_may_not_be_run_is_neither_right_nor_wrong(monkeypatch):
    monkeypatch.setenv("DRAFTSCOPE_RUN_CODE", "0")
    (problem,) = load_problems("functions", "heldout", 1)
    sheet = Sheet(get_task("functions"), problem)
    for number in range(2):
        for event in run(number, [problem.solution], [number]):
            sheet.see(event)
    assert [row["right"] for row in sheet.rows] == [None, None] and some(sheet.vote())["right"] is None


def test_whole_runs_in_turn_and_a_failed_one_ends_its_stream():
    def stream(name, n, fails=False):
        for i in range(n):
            yield from run(i, [name], [1], "error" if fails else "eos")

    order = [
        key
        for key, event in by_turns({"a": stream("a", 2), "b": stream("b", 1), "c": stream("c", 3, True)})
        if event.kind == "end"
    ]
    assert order == ["a", "b", "c", "a"]


def test_closing_the_turns_closes_every_stream():
    closed = []

    def stream(name):
        try:
            while True:
                yield from run(0, [name], [1])
        finally:
            closed.append(name)

    streams = {"a": stream("a"), "b": stream("b")}  # held here, so that only closing ends them
    turns = by_turns(streams)
    for _ in range(4):
        next(turns)
    turns.close()
    assert sorted(closed) == ["a", "b"]


def test_what_a_round_adds_begins_where_its_marks_may_have_changed():
    """The second run repeats the first: two tokens a round, of which the second round's change those of the first."""
    sheet = Sheet()
    for event in run(0, list("abcd"), [1, 2, 3, 4], calls=2):
        sheet.see(event)
    fresh, first, second, end = [sheet.see(event) for event in run(1, list("abcd"), [1, 2, 3, 4], calls=2)]
    assert fresh == {"trajectory": 1, "seed": 10_000, "pieces": [], "tokens": 0, "rounds": 0, "seconds": 0.0}
    assert (first["from"], first["reused"], first["times"], first["first"]) == (0, [2, 2], [1, 1], [0, 0])
    assert (second["from"], second["reused"], second["first"]) == (0, [4, 4, 4, 4], [0, 0, 0, 0])
    assert (first["tau"], second["tau"], end["tau"]) == (2.0, 2.0, 2.0) and second["pieces"] == ["c", "d"]
    assert end["seconds"] == 0.012 and end["pieces"] == list("abcd") and (end["tokens"], end["rounds"]) == (4, 2)
    assert end["answer"] is None and end["right"] is None and end["vote"] is None, "of an unknown task nothing is read"


def test_marks_far_back_stay_as_they_were_sent():
    sheet = Sheet()
    tokens = list(range(12))
    for event in run(0, ["x"] * 12, tokens, calls=1):
        sheet.see(event)
    *_, last, _ = [sheet.see(event) for event in run(1, ["x"] * 12, tokens, calls=2)]
    assert last["from"] == 2 and len(last["times"]) == len(last["first"]) == len(last["reused"]) == 10


def test_a_run_that_made_no_call_has_no_acceptance_length():
    sheet = Sheet(get_task("arithmetic"), PROBLEM)
    head, event, end = run(0, ["7"], [1])
    event.fed = 0
    assert [sheet.see(one).get("tau") for one in (head, event, end)] == [None, None, None]


def test_a_vote_for_nothing_is_wrong_where_the_answer_is_known_and_open_where_it_is_not():
    for problem, right in ((PROBLEM, False), (None, None)):
        sheet = Sheet(get_task("arithmetic"), problem)
        assert sheet.vote() is None, "before a run"
        for event in run(0, ["no number"], [1]):
            sheet.see(event)
        assert some(sheet.vote()) == {"answer": None, "count": 0, "n": 1, "share": 0.0, "right": right}
