"""The evaluation's arithmetic, and one small run of all settings."""

from pathlib import Path

import pytest
from sacrebleu import corpus_bleu

from engine.errors import EngineFault
from engine.judge.evaluate import Setting, collect, evaluate, report, settings, table
from engine.judge.memo import remembering
from engine.lab import Lab
from engine.tasks.problem import Problem
from engine.tasks.references import bleu_counts
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made import bush, sd
from tests.engine.judge.chance import give_judge
from tests.engine.zoo import Zoo


def test_settings_cover_all_groups() -> None:
    found = settings(16, [0.1, 0.2], "arithmetic", ("functions", [0.3]))
    alone = ("target", "draft")
    assert found[0].method == "sd" and all(s.knobs["gamma"] == 16 for s in found if s.group not in alone)
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
    close = [s.name for s in settings(16, [0.00007, 0.000139, 0.5], "functions", None) if s.group == "own"]
    assert close[1:] == ["autojudge 0.00007", "autojudge 0.00014", "autojudge 0.50000"], "each has a name of its own"


def test_numbers_of_the_report() -> None:
    found = settings(4, [0.5], "a", ("b", [0.5]), ks=(2, 4))[:7]
    # sd: 2 problems, 10 tokens in 5 calls each, one right; all others twice as fast
    fast = [[1, 10, 8, 2, 0, 0]] * 4 + [[0, 10, 8, 2, 0, 0]] * 2
    lines = [[[1, 10, 6, 5, 1, 0], *fast], [[0, 10, 6, 5, 1, 0], *fast]]
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
    assert own["accuracy_drop"]["mean"] == -0.5 and sd["accuracy_drop"] is None  # its own measure
    assert (sd["same_text_as_sd"], own["same_text_as_sd"]) == (1.0, 0.0)
    above, gap = result["above_topk"], result["gap_to_topk"]
    assert above["mean"] == 1.0 and gap["mean"] == pytest.approx(0.5)  # both from 0.5; one to 1, one to 0
    assert (gap["low"], gap["high"], gap["n"]) == (pytest.approx(0.5), pytest.approx(0.5), 2), "whichever are drawn"
    assert result["above_transfer"]["mean"] == 1.0 and result["gap_to_transfer"]["mean"] == pytest.approx(0)
    assert (
        "| sd | 2.00 | 50.0%" in table("a", result)
        and "| - | 100% |" in table("a", result)
        and "speedup" not in own
        and "tokens/s" not in table("a", result)
    )


def test_a_curve_above_another_by_chance_says_so() -> None:
    """Of ten problems the judge's setting has one more right than top-K's: draws without that one leave no gap."""
    found = settings(4, [0.5], "a", None, ks=(2,))
    keep = [i for i, s in enumerate(found) if s.group in ("exact", "topk") or s.name == "autojudge 0.5000"]
    found = [found[i] for i in keep]
    exact, fast = [1, 10, 6, 5, 1, 0], [10, 8, 2, 0, 0]
    lines = [[exact, [1, *fast], [int(place > 0), *fast]] for place in range(10)]
    result = report(collect(found, lines))
    gap, above = result["gap_to_topk"], result["above_topk"]
    assert gap["mean"] == pytest.approx(0.05) and gap["low"] == pytest.approx(0, abs=1e-9) and 0.1 < gap["high"] < 0.25
    assert above["mean"] == above["low"] == 1.0 and result["above_transfer"] is result["gap_to_transfer"] is None


def test_a_line_has_what_each_run_did_and_all_of_its_time() -> None:
    """Of the same text once scored, right where wholly right; times where no passes are shared."""
    asked = list[str]()

    class Fixed:
        """Plays a run of 9 + 30 + 6 ms."""

        def run(self, method: str, prompt: str, **options: object) -> Trace:
            return sd() if method == "sd" else bush()

    def score(problem: Problem, text: str) -> float:
        asked.append(text)
        return 1.0 if text == bush().text else 0.5

    found = [Setting(name, "exact", name) for name in ("sd", "other", "other")]
    line = evaluate(Fixed(), found, Problem("toy", "k", "words", "", ""), score, [])
    assert line[0] == [0, 7, 5, 3, 1, 45_000] and line[1] == line[2] == [1, 3, 2, 1, 0, 15_000]
    assert asked == [sd().text, bush().text]


@pytest.mark.parametrize("end", [None, RunEnded("error", None, 1.0, "", "out of memory")])
def test_a_run_that_failed_is_no_answer(end: RunEnded | None) -> None:
    class Broken:
        """Plays a run that failed, or that did not end."""

        def run(self, method: str, prompt: str, **options: object) -> Trace:
            return Trace([*[*sd().events][:-1], *([end] if end else [])])

    with pytest.raises(EngineFault, match=r"sd failed: (out of memory|it did not end)"):
        evaluate(Broken(), [Setting("sd", "exact", "sd")], Problem("toy", "k", "words", "", ""), lambda p, t: 1.0, [])


def test_a_small_run(zoo: Zoo, tmp_path: Path) -> None:
    lab = zoo.lab("llama")
    give_judge(lab, tmp_path / "j", role="judge:toy")
    memories = [remembering(lab.target), remembering(lab.models["draft"])]
    lab = Lab(memories[0], {"draft": memories[1]}, lab.asset_paths)
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
    line = evaluate(lab, found, Problem("toy", "k", "abcde", "", ""), lambda p, text: 1.0, memories, max_new_tokens=20)
    rows = dict(zip((s.name for s in found), line, strict=True))
    assert rows["sd"] == rows["autojudge 0.0000"] == rows["top-1"]
    assert rows["autojudge 1.0100"][2] == rows["top-90"][2] > rows["sd"][2]
    assert not memories[0].rows and {row[-1] for row in line} == {0}, "passes were shared: no times"
    timed = evaluate(zoo.lab("llama"), found[:1], Problem("toy", "k", "abcde", "", ""), lambda p, text: 1.0, [])
    assert timed[0][-1] > 0


def test_speeds_are_told_against_the_target_alone_where_times_were_taken() -> None:
    found = [s for s in settings(4, [0.5], "a", None, ks=()) if s.group in ("exact", "target", "draft")]
    lines = [[[1, 10, 6, 5, 1, 2_000_000], [1, 10, 0, 10, 1, 4_000_000], [0, 20, 0, 0, 0, 1_000_000]]] * 2
    rows = {row["name"]: row for row in report(collect(found, lines))["rows"]}
    assert rows["sd"]["tokens_per_s"] == 5 and rows["sd"]["speedup"]["mean"] == 2
    assert rows["target alone"]["speedup"]["mean"] == 1 and rows["draft alone"]["speedup"]["mean"] == 8
    written = table("a", report(collect(found, lines)))
    assert "| 8.00 (8.00 to 8.00) |" in written and "| draft alone | - |" in written
    assert rows["draft alone"]["tokens_per_call_by_problem"] is None, "it calls no target"


def test_along_an_eagle_head_everything_has_its_drafts() -> None:
    found = settings(8, [0.1], "arithmetic", None, method="autojudge_eagle")
    trunk = {"tree_top_k": 1, "depth": 7, "total_token": 8}
    assert [s.method for s in found if s.group == "exact"] == ["eagle2"] and "draft" not in {s.group for s in found}
    assert all(s.knobs.items() >= trunk.items() for s in found if s.group != "target")
    assert {s.method for s in found if s.group in ("topk", "math")} == {
        "eagle2+dynamic_tree+top_k",
        "eagle2+dynamic_tree+math",
    }


def test_bleu_and_what_is_lost_of_it_are_those_of_the_corpus() -> None:
    wanted = ["der Hund sah das alte Haus.", "sie ging nach Haus und schlief."]
    texts = {"sd": wanted, "target alone": wanted, "draft alone": ["der Hund sah ein altes Haus.", wanted[1]]}
    found = [s for s in settings(4, [], "a", None, ks=(), math=False) if s.name in texts]
    lines = [[[1, 5, 0, 5, 1, 0, *bleu_counts(texts[s.name][i], wanted[i])] for s in found] for i in range(len(wanted))]
    result = report(collect(found, lines))
    rows = {row["name"]: row for row in result["rows"]}
    lower = corpus_bleu(texts["draft alone"], [wanted]).score
    assert rows["sd"]["bleu"]["mean"] == pytest.approx(100) and rows["sd"]["bleu_drop"] is None
    assert rows["draft alone"]["bleu"]["mean"] == pytest.approx(lower) and 20 < lower < 90
    assert rows["draft alone"]["bleu_drop"]["mean"] == pytest.approx(100 - lower)
    assert rows["draft alone"]["bleu_drop"]["high"] == 100, "two problems are few"
    assert f"| {lower:.1f} (" in table("translation", result) and f"| {100 - lower:+.1f} (" in table("t", result)
