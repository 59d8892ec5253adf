"""A judge on disk: round trip, refusal elsewhere, damaged files."""

import json
from pathlib import Path

import pytest
import torch

from engine.errors import AssetError, ModelMismatch
from engine.judge.kind import FeatureKind
from engine.judge.weights import META, WEIGHTS, Judge, load_judge
from tests.modes import alike

MODELS = {"target": {"id": "t", "revision": "T1"}, "draft": {"id": "d", "revision": "D1"}}


def made(kind: FeatureKind = FeatureKind(), **meta: object) -> Judge:
    weight = torch.tensor([0.5, -1.0, 2.0])
    return Judge(weight, 0.25, kind, 0.3, {"task": "arithmetic", "models": MODELS, **meta})


def test_round_trip(tmp_path: Path) -> None:
    judge = made(auc=0.9)
    judge.save(tmp_path / "j", {"mean": torch.zeros(3)})
    assert alike(tmp_path / "j")
    again = load_judge(tmp_path / "j")
    assert torch.equal(again.weight, judge.weight) and again.weight.dtype == torch.float32
    assert (again.bias, again.kind, again.threshold, again.task) == (0.25, judge.kind, 0.3, "arithmetic")
    x = torch.tensor([1.0, 2.0, 0.5])
    assert again.score(x) == judge.score(x) == pytest.approx(torch.sigmoid(torch.tensor(-0.25)).item())


def test_scores_do_not_overflow() -> None:
    assert made().score(torch.tensor([0.0, 1e6, 0.0])) == 0.0
    assert made().score(torch.tensor([0.0, -1e6, 0.0])) == 1.0


def test_a_judge_is_refused_elsewhere() -> None:
    here = {"target": "T1", "draft": "D1"}
    made().check(here)
    made().check(here, "arithmetic")
    for models, task in (({"target": "T2", "draft": "D1"}, None), ({"target": "T1"}, None), (here, "functions")):
        with pytest.raises(ModelMismatch, match=r"trained (on|for)"):
            made().check(models, task)
    made(FeatureKind("draft", "target")).check({"target": "T1", "draft": "other"})


def test_another_width_is_refused() -> None:
    with pytest.raises(ModelMismatch, match="reads 3 numbers"):
        made().score(torch.zeros(4))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="missing"):
        load_judge(tmp_path)
    for spoil in ({"schema": 9}, {"token": "none"}, {"models": 3}):
        made().save(tmp_path)
        meta = json.loads((tmp_path / META).read_text())
        (tmp_path / META).write_text(json.dumps(meta | spoil))
        with pytest.raises(AssetError):
            load_judge(tmp_path)
    made().save(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"\x80\x04pickle")
    with pytest.raises(AssetError, match="no readable judge"):
        load_judge(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ({"weight": torch.tensor([1, 2, 3])}, "both of fractions"),
        ({"weight": torch.tensor([True, False, True])}, "both of fractions"),
        ({"bias": torch.tensor([1])}, "both of fractions"),
        ({"bias": torch.tensor([0.1, 0.2])}, "both of fractions"),
        ({"weight": torch.zeros(0)}, "both of fractions"),
        ({"weight": torch.tensor([0.1, float("nan"), 0.2])}, "infinite or not a number"),
        ({"bias": torch.tensor([float("inf")])}, "infinite or not a number"),
    ],
)
def test_weights_that_are_no_row_of_fractions_are_refused(
    tmp_path: Path, spoil: dict[str, torch.Tensor], told: str
) -> None:
    made().save(tmp_path, spoil)
    with pytest.raises(AssetError, match=told):
        load_judge(tmp_path)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_another_float_type_score_as_they_are(tmp_path: Path, dtype: torch.dtype) -> None:
    """0.5, -1 and 2 are exact in each."""
    made().save(tmp_path, {"weight": torch.tensor([[0.5, -1.0, 2.0]], dtype=dtype)})
    x = torch.tensor([1.0, 2.0, 0.5])
    assert load_judge(tmp_path).score(x) == pytest.approx(made().score(x), abs=1e-7)


@pytest.mark.parametrize("threshold", [-0.01, 1.01, "0.3", True, None])
def test_a_threshold_that_is_no_probability_is_refused(tmp_path: Path, threshold: object) -> None:
    made().save(tmp_path)
    meta = json.loads((tmp_path / META).read_text())
    (tmp_path / META).write_text(json.dumps(meta | {"threshold": threshold}))
    with pytest.raises(AssetError, match="a number from 0 to 1 is needed"):
        load_judge(tmp_path)
