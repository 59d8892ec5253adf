"""The evaluation's arithmetic, and one small run of all settings."""

from pathlib import Path

import pytest

from engine.judge.evaluate import collect, evaluate, report, settings, table
from engine.judge.memo import remembering
from engine.lab import Lab
from engine.tasks.problem import Problem
from tests.engine.judge.chance import give_judge
from tests.engine.zoo import Zoo


def test_settings_cover_all_groups() -> None:
    found = settings(16, [0.1, 0.2], "arithmetic", ("functions", [0.3]))
    assert found[0].method == "sd" and all(s.knobs["gamma"] == 16 for s in found if s.group != "target")
    groups = [s.group for s in found]
    assert {g: groups.count(g) for g in groups} == {
        "exact": 1,
        "own": 3,
        "transfer": 2,
        "topk": 6,
        "math": 3,
        "target": 1,
        "draft": 1,
    }
    assert len({s.name for s in found}) == len(found)
    assert "transfer" not in [s.group for s in settings(16, [0.1], "arithmetic", None)]


def test_numbers_of_the_report() -> None:
    found = settings(4, [0.5], "a", ("b", [0.5]), ks=(2, 4))[:7]
    # sd: 2 problems, 10 tokens in 5 calls each, one right; all others twice as fast
    fast = [[1, 10, 8, 2, 0]] * 4 + [[0, 10, 8, 2, 0]] * 2
    lines = [[[1, 10, 6, 5, 1], *fast], [[0, 10, 6, 5, 1], *fast]]
    scores = collect(found, lines)
    result = report(scores)
    sd, own = result["rows"][0], result["rows"][1]
    assert (sd["tokens_per_call"], sd["accepted_per_call"], sd["accuracy"]["mean"]) == (2.0, 1.2, 0.5)
    assert (own["tokens_per_call"], own["accepted_per_call"], own["accuracy"]["mean"], own["calls"]) == (
        5.0,
        4.0,
        1.0,
        4,
    )
    assert own["accuracy_drop"]["mean"] == -0.5 and sd["accuracy_drop"]["mean"] == 0
    assert (sd["same_text_as_sd"], own["same_text_as_sd"]) == (1.0, 0.0)
    assert result["above_topk"] == 1.0 and result["gap_to_topk"] == pytest.approx(
        0.5
    )  # both from 0.5; one to 1, one to 0
    assert result["above_transfer"] == 1.0 and result["gap_to_transfer"] == pytest.approx(0)
    assert "| sd | 2.00 | 50.0%" in table("a", result)


def test_a_small_run(zoo: Zoo, tmp_path: Path) -> None:
    lab = zoo.lab("llama")
    give_judge(lab, tmp_path / "j", role="judge:toy")
    lab = Lab(remembering(lab.target), {"draft": remembering(lab.models["draft"])}, lab.asset_paths)
    found = settings(4, [0.0, 1.01], "toy", None, ks=(1, 90))
    found = [
        s.__class__(
            s.name,
            s.group,
            s.method,
            {k: v for k, v in s.knobs.items() if k != "judge"} | ({"judge": "auto"} if s.method == "autojudge" else {}),
        )
        for s in found
    ]
    memories = [lab.target, lab.models["draft"]]
    line = evaluate(lab, found, Problem("toy", "k", "abcde", "", ""), lambda p, text: 1.0, memories, 20)
    rows = dict(zip((s.name for s in found), line, strict=True))
    assert rows["sd"] == rows["autojudge 0.0000"] == rows["top-1"]
    assert rows["autojudge 1.0100"][2] == rows["top-90"][2] > rows["sd"][2]
    assert not lab.target.rows
