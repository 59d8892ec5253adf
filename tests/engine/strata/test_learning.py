import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.heterospec import Sample
from engine.errors import AssetError, ConfigError, ModelMismatch
from engine.strata.bins import Strata, load_strata
from engine.strata.learning import _low, granularity, stratify, study


def steps(n: int = 400, seed: int = 0) -> list[Sample]:
    """TCR jumps where entropy crosses 1, 3 and 6."""
    rng = Random(seed)
    found = []
    for _ in range(n):
        phi = rng.uniform(0, 10)
        tcr = round(8 + 6 * ((phi > 1) + (phi > 3) + (phi > 6)) + rng.gauss(0, 0.6))
        found.append(Sample(phi, max(tcr, 0), 8, 60, rng.random() < 0.8))
    return found


@pytest.mark.parametrize("criterion", ["cart", "paper_eq2"])
def test_planted_thresholds_are_found(criterion: str) -> None:
    strata = stratify(steps(), layers=2, criterion=criterion)  # type: ignore[arg-type]
    assert strata.thresholds == pytest.approx((1, 3, 6), abs=0.15)


def test_the_two_criteria_differ() -> None:
    found = [Sample(float(i), t, 8, 60, True) for i, t in enumerate([9, 4, 4, 1, 2, 2, 4, 9, 2])]
    assert stratify(found, layers=1).thresholds == (0.5,)
    assert stratify(found, layers=1, criterion="paper_eq2").thresholds == (2.5,)


@pytest.mark.parametrize("criterion", ["cart", "paper_eq2"])
def test_more_bins_than_are_read_again_are_not_learnt(criterion: str, tmp_path: Path) -> None:
    found = [Sample(float(i), i * 7919 % 60, 8, 60, True) for i in range(500)]
    stratify(found, layers=6, criterion=criterion).save(tmp_path / "strata.json")  # type: ignore[arg-type]
    assert load_strata(tmp_path).bins > 32
    with pytest.raises(ConfigError, match=r"\d+ bins, and at most 64 are read"):
        stratify(found, layers=9, criterion=criterion)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 59)), min_size=8, max_size=60))
def test_bins_are_few_rising_and_monotone(pairs: list[tuple[float, int]]) -> None:
    found = [Sample(x, y, 8, 60, True) for x, y in pairs]
    try:
        strata = stratify(found)
    except ConfigError:
        assert len({x for x, _ in pairs}) == 1
        return
    assert strata.bins <= 8
    assert all(a < b for a, b in zip(strata.thresholds, strata.thresholds[1:], strict=False))
    ordered = [strata.bin(x) for x in sorted(x for x, _ in pairs)]
    assert ordered == sorted(ordered)


def test_only_full_paths_teach_unless_all_are_asked_for() -> None:
    found = steps()
    assert stratify(found).card["kept"] == sum(s.full for s in found)
    assert stratify(found, train_filter="all").card["kept"] == len(found) == stratify(found).card["rounds"]


def test_a_value_on_a_threshold_lies_left() -> None:
    strata = Strata((1.0, 2.0))
    assert [strata.bin(x) for x in (0.0, 1.0, 1.1, 2.0, 9.0)] == [0, 0, 1, 1, 2]
    assert strata.low(3) == 2 and Strata(()).low(3) == 0


def test_json_round_trip_and_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strata = stratify(steps(), card={"command": "x"})
    strata.save(tmp_path / "strata.json")
    before = (tmp_path / "strata.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            replace(strata, thresholds=strata.thresholds[:1]).save(tmp_path / "strata.json")
    assert (tmp_path / "strata.json").read_bytes() == before and [*tmp_path.iterdir()] == [tmp_path / "strata.json"]
    again = load_strata(tmp_path)
    assert again == strata and again.card == json.loads(json.dumps(strata.card))
    for text, says in (
        ("", "cannot be used: .* cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"kind": "strata"}', "they lack thresholds"),
        ('{"kind": "strata", "thresholds": [2, 1]}', "strata"),
        ('{"kind": "tree", "thresholds": []}', 'is no strata file: its "kind" is not "strata"'),
        ('{"thresholds": []}', 'is no strata file: its "kind" is not "strata"'),
        (json.dumps({"kind": "strata", "thresholds": [*range(9999)]}), "has more than .* bins"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(AssetError, match=says):
            load_strata(tmp_path / "bad.json")


def test_strata_of_another_target_are_refused(tmp_path: Path) -> None:
    strata = stratify(steps(), card={"target": {"id": "mine", "revision": "sha256:aa"}})
    strata.save(tmp_path / "strata.json")
    assert load_strata(tmp_path, "sha256:aa") == load_strata(tmp_path) == strata
    with pytest.raises(ModelMismatch, match=r"mine .sha256:aa., not on sha256:bb. Learn them anew"):
        load_strata(tmp_path, "sha256:bb")
    for card in ({}, {"target": "mine"}, {"target": {"id": "mine"}}):
        stratify(steps(), card=card).save(tmp_path / "strata.json")
        assert load_strata(tmp_path, "sha256:bb") == strata


def test_a_folder_may_hold_thresholds_of_the_other_meta_path(tmp_path: Path) -> None:
    """Beside strata.json, each for the same target; a path nobody learnt along takes those that come first."""
    first = Strata((1.0,), {"meta_path": "cumulative", "target": {"revision": "sha256:aa"}})
    first.save(tmp_path / "strata.json")
    assert load_strata(tmp_path).along("local") == first
    Strata((2.0, 3.0), {"meta_path": "local", "target": {"revision": "sha256:aa"}}).save(tmp_path / "strata-local.json")
    found = load_strata(tmp_path, "sha256:aa")
    assert (found.meta_path, found.thresholds, found.along("local").thresholds) == ("cumulative", (1.0,), (2.0, 3.0))
    assert found.along("cumulative") == first and load_strata(tmp_path / "strata.json").others == ()
    Strata((2.0,), {"target": {"revision": "sha256:bb"}}).save(tmp_path / "strata-local.json")
    with pytest.raises(ModelMismatch):
        load_strata(tmp_path, "sha256:aa")


def test_too_little_to_learn_from() -> None:
    with pytest.raises(ConfigError, match="at least 8"):
        stratify(steps(5))


def test_a_leaf_may_be_as_small_as_was_asked_and_no_smaller() -> None:
    """The last three rounds stand out: with at least three in a leaf they are cut off, with four they cannot be."""
    found = [Sample(float(i), 20 if i > 8 else 1, 8, 60, True) for i in range(12)]
    assert stratify(found, layers=1, criterion="paper_eq2", min_leaf=3).thresholds == (8.5,)
    assert stratify(found, layers=1, criterion="paper_eq2", min_leaf=4).thresholds == (7.5,)


def test_bins_are_told_of_all_rounds_and_at_most_64_are_read(tmp_path: Path) -> None:
    strata = stratify(steps())
    assert sum(row["rounds"] for row in strata.card["bins"]) == strata.card["rounds"] > strata.card["kept"]
    for n in (63, 64):
        Strata(tuple(map(float, range(n)))).save(tmp_path / "strata.json")
        if n == 63:
            assert load_strata(tmp_path).bins == 64
    with pytest.raises(AssetError, match="more than 64 bins"):
        load_strata(tmp_path)


def test_three_of_eight_bins_are_low() -> None:
    """Of eight bins three, of four that are finer or coarser in proportion."""
    kept = [Sample(float(i), 0, 0, 60, True) for i in range(8)]
    assert _low(Strata(tuple(i + 0.5 for i in range(7))), kept) == {0, 1, 2}
    assert _low(Strata((1.5, 3.5, 5.5)), kept) == {0, 1, 2, 3}  # 1.5 of four, rounded to the even


def test_granularity_compares_low_regions() -> None:
    found = granularity(steps(), min_leaf=10)
    assert set(found) == {"3L-4L", "3L-5L", "3L-6L"} and all(0 <= v <= 1 for v in found.values())
    assert found["3L-4L"] > 0.3


def test_the_study_takes_all_rounds_where_few_were_accepted_to_their_end() -> None:
    few = [Sample(phi=i / 10, tcr=i, accepted=1, size=60, full=i < 63) for i in range(200)]
    assert study(few)["rounds"] == "all" and list(study(few)["overlap"]) == ["3L-4L", "3L-5L", "3L-6L"]
    assert study([*few, Sample(99.0, 9, 1, 60, True)])["rounds"] == "full"
    with pytest.raises(ConfigError, match="at least 8"):
        study(few[:5])
