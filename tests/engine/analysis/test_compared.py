"""What lanes say about each other: names that differ, verdicts by key, pairs that part."""

import json
from dataclasses import asdict

from engine.analysis.compared import compared
from engine.analysis.labels import labels
from engine.files.places import PRESETS
from engine.trace.store import Trace


def recorded(*names: str) -> dict[str, Trace]:
    return {name: Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz") for name in names}


def test_names_tell_runs_of_one_title_apart() -> None:
    first, fourth = recorded("fourth_try-0-stand", "fourth_try-1-stand").values()
    assert labels([first, fourth]) == ["STAND (trajectory 1)", "STAND (trajectory 4)"]
    assert labels([first]) == ["STAND"]
    assert labels([first, first]) == ["STAND, 1", "STAND, 2"]
    modes = recorded("cm_modes-0-ar", "cm_modes-1-cm_asd", "cm_modes-2-cm_asd")
    names = labels(list(modes.values()))
    assert (
        len(set(names)) == 3 and names[0] == "Autoregressive" and all(name.startswith("CM-ASD (") for name in names[1:])
    )


def test_lanes_are_compared_in_json_types() -> None:
    lanes = recorded("near_tie-0-ar", "near_tie-1-sd", "fourth_try-0-stand")
    found = json.loads(json.dumps(asdict(compared(lanes)), allow_nan=False))
    assert list(found["verdicts"]) == list(lanes)
    (pair,) = found["divergences"]  # the third answers another prompt
    assert pair["lanes"] == ["near_tie-0-ar", "near_tie-1-sd"] and pair["cause"] == "near-tie" and pair["pos"] == 5
    assert found["verdicts"]["fourth_try-0-stand"]["unsaid"] == "Autoregressive has another dtype"


def test_a_lane_that_never_ran_is_left_out() -> None:
    (plain,) = recorded("near_tie-0-ar").values()
    assert list(compared({"plain": plain, "failed": Trace()}).verdicts) == ["plain"]
