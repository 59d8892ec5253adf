"""Every recorded case shows the point that its preset claims."""

from dataclasses import replace

import pytest

from engine.cases.claims import failures
from engine.errors import ConfigError
from engine.presets import PRESETS, list_presets
from engine.trace.store import Trace

CASES = [preset for preset in list_presets() if preset.kind == "case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_recording_bears_out_the_claims(case):
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert [t.head.method for t in traces] == [lane.method for lane in case.lanes]
    assert all(t.head.prompt == case.prompt for t in traces)
    assert failures(case, traces) == []


def test_there_are_enough_cases():
    assert len(CASES) >= 8
    assert all(case.point and case.traces for case in CASES)


def test_a_claim_that_does_not_hold_is_told():
    case = next(c for c in CASES if "same" in c.expect)
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert failures(replace(case, expect={"differ": case.expect["same"]}), traces)
    with pytest.raises(ConfigError, match="same"):
        failures(replace(case, expect={"sme": [0, 1]}), traces)
