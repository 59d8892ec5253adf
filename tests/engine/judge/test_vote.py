"""Equivalence by a judge model: verdicts, votes, and who is A."""

import pytest

from engine.errors import ConfigError
from engine.judge.client import Endpoint
from engine.judge.criterion import Response
from engine.judge.events import PromptFinished
from engine.judge.vote import JudgeModel, verdict, winner
from engine.tasks.problem import Problem
from tests.engine.judge.scripted import planted_search
from tests.engine.judge.server import serving
from tests.typed import known

PROBLEM = Problem("chat", "k", "Say hello.", "", "")


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("[[A>>B]]", "A"),
        ("well [[A > B]].", "A"),
        ("[[B>A]]", "B"),
        ("[[B>>A]]", "B"),
        ("[[A=B]]", "tie"),
        ("no idea", "tie"),
        ("first [[A>B]], on second thought [[B>A]]", "B"),
    ],
)
def test_verdicts(text: str, who: str) -> None:
    assert verdict(text) == who


@pytest.mark.parametrize(
    ("votes", "paper", "unanimous"),
    [
        (["A", "A", "B"], "A", "tie"),
        (["B", "tie", "tie"], "B", "tie"),
        (["A", "B", "tie"], "tie", "tie"),
        (["tie"] * 3, "tie", "tie"),
        (["B", "B", "B"], "B", "B"),
        ([], "tie", "tie"),
    ],
)
def test_votes(votes: list, paper: str, unanimous: str) -> None:
    assert (winner(votes), winner(votes, "unanimous")) == (paper, unanimous)


def longer(messages: list[dict[str, str]], n: int) -> str:
    """A judge that prefers the longer answer; every third vote it gives up."""
    text = messages[-1]["content"]
    a, b = (text.split(f"[Assistant {x}]\n")[1].split(f"\n[End of {x}]")[0] for x in "AB")
    return "[[A=B]]" if n % 3 == 0 or len(a) == len(b) else "so [[A>B]]" if len(a) > len(b) else "so [[B>>A]]"


def test_a_swap_matters_when_the_alternative_is_strictly_worse() -> None:
    with serving(chat=longer) as (url, seen):
        judge = JudgeModel(Endpoint(url, "judge"))
        current, first = Response("hello there", None), Response("x", None)
        assert judge.important(PROBLEM, first, current, Response("hello", None))
        assert not judge.important(PROBLEM, first, current, Response("hello to you all", None))
        assert not judge.important(PROBLEM, first, current, Response("hello there", None))
        assert len(seen) == 6  # equal texts are not asked about
        assert not JudgeModel(Endpoint(url, "judge"), how="unanimous").important(
            PROBLEM, first, current, Response("h", None)
        )
    assert all(s["messages"][1]["content"].startswith("[Request]\nSay hello.") for s in seen)
    assert {s["seed"] for s in seen} == {0, 1, 2}


def test_mining_compares_with_the_running_response() -> None:
    with serving(chat=longer) as (url, seen):
        search = planted_search(JudgeModel(Endpoint(url, "judge"), votes=1))
        *_, last = search[0].run(search[1])
    done = known(PromptFinished, last)
    assert [(x.t, x.target_answer) for x in done.labels] == [(1, "bcdeh"), (3, "bgdeh")]
    assert "[Assistant B]\nbgdeh" in seen[-1]["messages"][1]["content"]


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="one vote"):
        JudgeModel(Endpoint("http://localhost/v1", "m"), votes=0)
