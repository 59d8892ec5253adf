"""The gallery tells of every recorded case what its runs look like and what is lost in it."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import gallery
from app.presets import PresetCatalogue
from app.state import Limits
from engine.files.places import PRESETS
from engine.files.presets import get_preset, list_presets
from engine.methods import CARDS
from engine.trace.store import Trace


@pytest.fixture(scope="module")
def cases() -> dict[str, dict]:
    preset_catalogue = PresetCatalogue(list_presets(), CARDS, None, Limits())
    found = TestClient(Starlette(routes=gallery.routes(preset_catalogue))).get("/lab/gallery").json()["cases"]
    return {case["name"]: case for case in found}


def test_every_recorded_case_is_there_under_a_heading(cases):
    assert set(cases) == {preset.name for preset in list_presets() if preset.traces}
    lacking = {case["name"]: [key for key in ("group", "lanes", "point") if not case[key]] for case in cases.values()}
    assert not {name: keys for name, keys in lacking.items() if keys}, "of a case in presets"


def test_a_thumbnail_holds_the_whole_run(cases):
    for case in cases.values():
        for lane in case["lanes"]:
            assert sum(length for _origin, length in lane["spans"]) == lane["tokens"] > 0
            assert all(a[0] != b[0] for a, b in zip(lane["spans"], lane["spans"][1:], strict=False))


def test_iterations_are_told_beside_target_calls(cases):
    told = [(lane["calls"], lane["iterations"]) for lane in cases["crossed_canvas"]["lanes"]]
    assert told[0][0] == cases["crossed_canvas"]["lanes"][0]["tokens"] and told[-1] == (0, 10)
    assert not any(lane["iterations"] for lane in cases["first_look"]["lanes"])


def test_losses_are_told(cases):
    assert any("slower than Autoregressive" in text for text in cases["sd_loses"]["losses"])
    assert "EASD gives a wrong answer" in cases["easd_hurts"]["losses"]
    assert not any("wrong" in text for text in cases["easd_helps"]["losses"])


def test_lanes_of_one_method_have_names_of_their_own(cases):
    for case in cases.values():
        titles = [lane["title"] for lane in case["lanes"]]
        assert len({*titles}) == len(titles) and len({*case["losses"]}) == len(case["losses"]), case["name"]
    assert "STAND (trajectory 1) is slower than Autoregressive" in cases["fourth_try"]["losses"]


def test_a_case_opens_on_its_point(cases):
    """Where a preset names it, else on the first veto, parting, or rejection."""
    assert (cases["copying"]["view"], cases["tree_code"]["view"], cases["all_methods"]["view"]) == (
        *("text", "trees", "score"),
    )
    for preset in list_presets():
        if "lane" not in preset.opens:
            continue
        at = cases[preset.name]["at"]
        trace = Trace.load(PRESETS / preset.traces[at["lane"]])
        event = trace.rounds[at["round"]]
        node = event.nodes[at["node"]]
        assert event.start + node.depth - 1 == at["pos"] == preset.opens["pos"]
        assert trace.pieces[node.token] == preset.opens["piece"] and node.state != "discarded"
    digit = cases["judge_digit"]["at"]
    refused = Trace.load(PRESETS / get_preset("judge_digit").traces[digit["lane"]]).rounds[digit["round"]]
    assert (refused.nodes[digit["node"]].reason or {})["id"] == "judge_refused"
