from typing import cast

import pytest

from engine.analysis.heterospec import (
    ablation,
    bins,
    entropy_by_tcr,
    jaccard,
    length_by_tcr,
    samples,
    tcr_intervals,
    tcr_quantiles,
)
from engine.analysis.intervals import Interval, clustered_share
from engine.trace.events import Round, RunEnded, RunStarted, Token
from engine.trace.records import RoundExtras
from engine.trace.store import Trace


def trace(rounds: list[tuple[int, int, dict[str, object]]], method: str = "eagle3") -> Trace:
    """Rounds of (accepted, tcr, extras), 59 draft tokens each, light; token ids count up."""
    head = RunStarted(
        id="x",
        method=method,
        title="",
        drafter="",
        shape="",
        rule="",
        guarantee="lossless",
        knobs={},
        models={"target": {"id": "t"}},
        prompt="",
        prompt_ids=[0],
        prompt_pieces=["a"],
        sampling={"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        seed=0,
        max_new_tokens=99,
        vocab=9,
        dtype="float32",
        device="cpu",
        record="light",
        stop=[],
        chat=False,
        top_n=10,
    )
    made, start = Trace([head]), 0
    for index, (accepted, tcr, extras) in enumerate(rounds):
        tokens = [
            Token(
                start + i, start + i, "", "draft" if i < accepted else "correction", index, i if i < accepted else None
            )
            for i in range(accepted + 1)
        ]
        made.append(
            Round(
                index=index,
                start=start,
                drafted=59,
                fed=60,
                levels=8,
                accepted=accepted,
                emitted=accepted + 1,
                path=list(range(accepted)),
                draft_ms=2.0,
                verify_ms=5.0,
                other_ms=1.0,
                tcr=tcr,
                extras=cast(RoundExtras, extras),
                tokens=tokens,
            )
        )
        start += accepted + 1
    made.append(RunEnded("limit", 0.0, 8.0 * len(rounds), ""))
    return made


RUN = trace(
    [
        (8, 8, {"phi": 1.0, "bin": 0, "levels": 12, "meta_path": [0, 1, 2, 3, 4, 5, 6, 7]}),
        (0, 0, {"phi": 9.0, "bin": 2, "levels": 8, "meta_path": [1, 2]}),
        (2, 20, {"phi": 5.0, "bin": 2, "levels": 8}),
        (4, 8, {}),
    ]
)


def test_samples_and_full_meta_paths() -> None:
    found = samples(RUN)
    assert [(s.phi, s.tcr, s.accepted, s.full) for s in found] == [
        (1.0, 8, 8, True),
        (9.0, 0, 0, False),
        (5.0, 20, 2, False),
    ]


def test_a_correction_is_no_end_of_the_meta_path() -> None:
    """Two accepted and the path's third token written by the target itself: not accepted to the end."""
    path = {"phi": 1.0, "meta_path": [0, 1, 2]}
    assert [samples(trace([(accepted, 5, path)]))[0].full for accepted in (2, 3, 4)] == [False, True, True]


def test_figure_one() -> None:
    assert tcr_quantiles(RUN)["share"].tolist() == [0.25, 0.75, 1.0, 1.0, 1.0]
    assert length_by_tcr(RUN)["tau"].tolist() == [1.0, 7.0, 3.0]
    assert tcr_quantiles(trace([(6, 6, {})]))["share"].tolist()[0] == 1.0  # a tenth of 60, the root among them
    assert tcr_quantiles(trace([(7, 7, {})]))["share"].tolist()[0] == 0.0


def test_figure_four() -> None:
    frame = entropy_by_tcr(RUN)
    assert frame["phi"].tolist() == [9.0, 1.0, 5.0] and frame["tau"].tolist() == [1.0, 9.0, 3.0]


def test_tables() -> None:
    better = trace([(8, 8, {}), (8, 8, {})], "heterospec")
    frame = ablation({"EAGLE-3": RUN, "+DED": better})
    assert frame["calls"].tolist() == [4, 2] and frame["tokens"].tolist() == [240, 120]
    assert frame["tau"].tolist() == [18 / 4, 9.0] and frame["calls_saved"].tolist() == [0.0, 0.5]
    found = bins(RUN)
    assert found["rounds"].tolist() == [1, 2] and found["tau"].tolist() == [9.0, 2.0]
    assert found["share"].tolist() == pytest.approx([1 / 3, 2 / 3]) and found["phi"].tolist() == [1.0, 7.0]
    assert found["levels"].tolist() == [12, 8] and found["n_verify"].tolist() == [60, 60]


def test_overlap_of_sets() -> None:
    assert jaccard([1, 2, 3], [2, 3, 4]) == 0.5 and jaccard([], []) == 1.0 and jaccard([1], []) == 0.0


def test_nothing_to_show() -> None:
    empty = trace([])
    assert length_by_tcr(empty).empty and entropy_by_tcr(empty).empty and bins(empty).empty


def test_shares_of_rounds_have_intervals_over_prompts() -> None:
    """Two prompts that end early in all rounds and one that never does, a run each or two runs of one."""
    runs = [trace([(1, rank, {})] * 10) for rank in (3, 3, 40, 3)]
    for run, prompt in zip(runs, "abcb", strict=True):
        run.head.prompt = prompt
    found = tcr_intervals(runs, [0.25, 1.0])
    assert found == [clustered_share([(10, 10), (20, 20), (0, 10)]), Interval(1.0, 1.0, 1.0, 3)]
    shares = [one.mean for one in found if one]
    assert shares == tcr_quantiles(runs, [0.25, 1.0])["share"].tolist() == [0.75, 1.0]
    assert tcr_intervals(runs[0], [0.25]) == [Interval(1.0, None, None, 1)]
    assert [tcr_intervals(trace([(1, rank, {})]), [0.25])[0] for rank in (15, 16)] == [
        Interval(share, None, None, 1) for share in (1.0, 0.0)
    ], "a quarter of 60 verified tokens, the root among them"
    assert tcr_intervals(trace([]), [0.25]) == [None]


def test_only_rounds_with_what_is_asked_count() -> None:
    none, light = trace([(0, 0, {})]), trace([(3, 3, {"phi": 1.0})])
    none.rounds[0].drafted = none.rounds[0].levels = 0
    light.rounds[0].tcr = None
    assert tcr_quantiles([RUN, none])["share"].tolist() == tcr_quantiles(RUN)["share"].tolist()
    assert samples([light]) == [] and len(length_by_tcr([light, none])) == 0
    assert tcr_quantiles(trace([]))["share"].tolist() == [0.0] * 5
    assert bins(RUN).columns.tolist() == ["bin", "rounds", "share", "phi", "tau", "levels", "n_verify"]


def test_an_ablation_beside_plain_decoding_has_its_speed() -> None:
    """Nine tokens of each of two rounds in 8 ms against one token."""
    fast, plain = trace([(8, 8, {}), (8, 8, {})]), trace([(0, 0, {}), (0, 0, {})], "ar")
    for run in (fast, plain):
        run.head.extras["process"] = "one"
    for event in plain.rounds:
        event.drafted = event.levels = 0
    assert ablation({"EAGLE-3": fast}, plain)["speedup"].tolist() == [9.0]
    assert "speedup" not in ablation({"EAGLE-3": fast})
