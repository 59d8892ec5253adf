"""Claims about judges on made-up traces and mined files; planned cases become presets."""

import json
import tomllib
from pathlib import Path

import pytest

from engine.cases.claims import CLAIMS, failures
from engine.cases.judging import digits_refused, naive_misses, words_kept
from engine.cli.cases import PLANNED, filled
from engine.errors import ConfigError
from engine.files.presets import Lane, Preset, list_presets
from engine.judge.events import Label, PromptFinished, to_json
from engine.trace.events import Node, Round, RunEnded, Token
from engine.trace.records import Reason
from engine.trace.store import Trace
from tests.engine.analysis.made import head

PIECES = {0: " Then", 1: " After", 2: "7", 3: "8", 4: " +", 5: " 1st"}


def candidate(token: int, first: int, state: str, judge: float | None = 0.1) -> Node:
    told = {"relaxed": "judge_relaxed", "rejected": "judge_refused"}.get(state, "match")
    reason: Reason = {"id": told, "score": judge, "threshold": 0.5}
    return Node(
        token=token,
        parent=-1,
        depth=1,
        rank=1,
        q=0.5,
        p=0.1,
        state=state,
        rule="judge",
        judge=judge,
        reason=reason,
        top_target=[(first, 0.8)],
        top_draft=[(token, 0.5)],
    )


def trace(*nodes: Node) -> Trace:
    """One round a draft token."""
    rounds = [
        Round(
            i,
            i,
            1,
            2,
            1,
            int(node.state != "rejected"),
            1,
            [],
            1.0,
            1.0,
            0.0,
            nodes=[node],
            tokens=[Token(i, node.token, PIECES[node.token], "relaxed", i, 0)],
            pieces={str(k): v for k, v in PIECES.items()},
        )
        for i, node in enumerate(nodes)
    ]
    return Trace([head("autojudge"), *rounds, RunEnded("eos", 0.0, 1.0, "")])


def test_a_word_kept_is_a_word_for_a_word() -> None:
    made = trace(
        candidate(1, 0, "relaxed"),
        candidate(0, 1, "relaxed"),
        candidate(2, 3, "relaxed"),
        candidate(1, 4, "relaxed"),
        candidate(5, 0, "relaxed"),
    )
    assert words_kept(made) == 2
    assert (
        words_kept(trace(candidate(1, 0, "rejected"), candidate(1, 0, "accepted"), candidate(1, 0, "relaxed", None)))
        == 0
    )


def test_a_digit_rejected_is_the_judges_doing() -> None:
    edge = candidate(2, 3, "rejected", None)
    assert (
        digits_refused(
            trace(candidate(2, 3, "rejected", 0.9), candidate(3, 2, "rejected", 0.9), candidate(2, 0, "rejected", 0.9))
        )
        == 2
    )
    assert digits_refused(trace(candidate(2, 3, "relaxed"), candidate(2, 2, "accepted"), edge)) == 0


def mined(path: Path, important: list[bool]) -> None:
    labels = [Label("p", t, 1, 2, flag, [], [], "", "", None, None) for t, flag in enumerate(important)]
    line = to_json(PromptFinished("p", "k", [1], [], [], None, labels, text="Question?"))
    path.write_text(json.dumps({"kind": "mining", "schema": 1}) + "\n" + json.dumps(line) + "\n")


def test_naive_mining_overlooks(tmp_path: Path) -> None:
    assert naive_misses("Question?", "toy", tmp_path) == 0
    mined(tmp_path / "toy.jsonl", [True, True, False])
    assert naive_misses("Question?", "toy", tmp_path) == 0
    mined(tmp_path / "toy-naive.jsonl", [True, False, False])
    assert naive_misses("Question?", "toy", tmp_path) == 1 and naive_misses("Another?", "toy", tmp_path) == 0


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"words_kept": [0, 1]}, True),
        ({"words_kept": [0, 2]}, False),
        ({"digits_refused": [0, 1]}, True),
        ({"digits_refused": [0, 2]}, False),
    ],
)
def test_claims_by_name(claim: dict[str, list[int]], holds: bool) -> None:
    made = trace(candidate(1, 0, "relaxed"), candidate(2, 3, "rejected", 0.9))
    assert (failures(Preset("made", "Made", expect=claim), [made]) == []) is holds


def test_lanes_are_named_by_method_or_number() -> None:
    lanes = [trace(candidate(1, 0, "relaxed")), Trace([head("sd"), RunEnded("eos", 0.0, 1.0, "")])]
    for given in (["autojudge", 1], [0, 1]):
        assert failures(Preset("made", "Made", expect={"words_kept": given}), lanes) == []
    assert failures(Preset("made", "Made", expect={"words_kept": ["sd", 1]}), lanes) == ["words_kept = ['sd', 1]"]
    for odd in (["sdd", 1], [2, 1]):
        with pytest.raises(ConfigError, match="is about a lane that is not there; there are autojudge, sd"):
            failures(Preset("made", "Made", expect={"words_kept": odd}), lanes)


@pytest.mark.parametrize("case", list_presets(PLANNED), ids=lambda case: case.name)
def test_planned_cases_can_be_adopted(case: Preset) -> None:
    assert set(case.expect) <= set(CLAIMS) and len(case.traces) == len(case.lanes) and not case.prompt
    assert all(isinstance(lane, Lane) for lane in case.lanes)
    found = Preset(case.name, case.title, prompt='Question: "2 + 3"?\nAnswer:', answer="5")
    read = tomllib.loads(filled((PLANNED / f"{case.name}.toml").read_text(), found))
    assert (read["prompt"], read["answer"]) == (found.prompt, "5") and read["expect"] == dict(case.expect)
