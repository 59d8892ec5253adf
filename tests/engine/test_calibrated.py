"""Defaults that were calibrated for a pair: carried by its preset, used where its models are, and always told."""

import json
import shlex
from pathlib import Path

import pytest

from app.knobs import catalogue, find
from app.request import build
from app.state import Limits
from engine.cli import main
from engine.config import Calibration
from engine.errors import ConfigError
from engine.files.presets import calibrations, list_presets, read_preset
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.rules import RULES
from engine.runs.loading import wanted
from engine.tune.calibrate import tau_entropy
from tests.engine.toy import toy_lab

OWN = Calibration({"tau_entropy": 0.7}, "some command")
EASD = get_card("easd")


def test_a_fitted_card_has_the_default_and_says_where_it_comes_from() -> None:
    card = EASD.fitted(OWN)
    (knob,) = (knob for knob in card.knobs if knob.calibrated)
    assert (knob.name, knob.default, knob.published, knob.origin, knob.calibrated) == (
        "tau_entropy",
        0.7,
        2.0,
        "paper",
        "some command",
    )
    assert card.resolve({})["tau_entropy"] == 0.7 and card.resolve({"tau_entropy": 3})["tau_entropy"] == 3.0
    assert EASD.fitted(None) is EASD and EASD.resolve({})["tau_entropy"] == 2.0  # the method's own stays as published
    with pytest.raises(ConfigError, match="tau_entropie"):
        EASD.fitted(Calibration({"tau_entropie": 1}, ""))


def test_a_lab_runs_at_its_own_defaults_unless_told_otherwise() -> None:
    lab = replace_calibrated(toy_lab(), {"entropy_veto": OWN})
    assert lab.run("easd", [0, 1], max_new_tokens=3).head.knobs["tau_entropy"] == 0.7
    assert lab.run("easd", [0, 1], max_new_tokens=3, tau_entropy=2.0).head.knobs["tau_entropy"] == 2.0
    made = lab.compose(drafter="model", shape="chain", rule="entropy_veto")
    assert lab.run(made, [0, 1], max_new_tokens=3).head.knobs["tau_entropy"] == 0.7
    assert toy_lab().run("easd", [0, 1], max_new_tokens=3).head.knobs["tau_entropy"] == 2.0


def replace_calibrated(lab: Lab, given: dict[str, Calibration]) -> Lab:
    lab.calibrated = given
    return lab


def test_other_models_than_the_preset_s_do_not_get_its_defaults() -> None:
    assert wanted("tiny", {}, {}, "auto").calibrated == calibrations("tiny") != {}
    assert wanted("easd_helps", {}, {}, "auto").calibrated == calibrations("tiny")  # a case of the pair
    assert wanted("tiny", {"draft": "elsewhere"}, {}, "auto").calibrated == {}
    assert wanted(None, {"target": "elsewhere"}, {}, "auto").calibrated == {}
    assert calibrations("gpt2 + distilgpt2") == {} == calibrations("../tiny")


def test_the_page_shows_and_asks_for_the_defaults_of_the_chosen_models() -> None:
    def tau(models: str) -> dict[str, object]:
        (card,) = (card for card in catalogue(CARDS, models=models) if card["name"] == "easd")
        return next(knob for knob in card["knobs"] if knob["name"] == "tau_entropy")

    value = calibrations("tiny")["entropy_veto"].knobs["tau_entropy"]
    assert tau("tiny")["default"] == value and tau("elsewhere")["default"] == 2.0
    words = str(tau("tiny")["origin_text"])
    assert words.startswith("calibrated for these models by `python -m engine calibrate --preset tiny")
    assert words.endswith("(the paper's default: 2.0)") and tau("elsewhere")["origin_text"] == "the paper's default"
    asked = build({"prompt": "x", "lanes": ["easd"]}, CARDS, ["tiny", "elsewhere"], Limits())
    assert asked.lanes[0].knobs["tau_entropy"] == value
    other = build({"prompt": "x", "lanes": ["easd"], "models": "elsewhere"}, CARDS, ["tiny", "elsewhere"], Limits())
    assert other.lanes[0].knobs["tau_entropy"] == 2.0
    assert find(CARDS, "model+chain+entropy_veto", "tiny").resolve({})["tau_entropy"] == value


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("knobs = { tau_entropy = 1.0 }", "the command that made them"),
        ('knobs = { tau_entropy = [1] }\ncommand = "x"', "numbers, texts and switches"),
        ("knobs = { tau_entropy = 1 }\ncommand = 3", "the command is a text"),
    ],
)
def test_a_damaged_calibration_is_refused(given: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'kind = "pair"\n[calibrated.entropy_veto]\n{given}\n')
    with pytest.raises(ConfigError, match=says):
        read_preset(path)


def test_calibrations_that_are_no_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('kind = "pair"\ncalibrated = 3\n')
    with pytest.raises(ConfigError, match=r"mine.toml: calibrated is a table"):
        read_preset(path)


@pytest.mark.parametrize(
    ("share", "mean"), [(1e-10, 3.0), (0.25, 3.0), (0.26, 2.5), (0.4, 2.5), (0.5, 2.5), (0.6, 2.0), (1.0, 1.5)]
)
def test_a_share_of_the_largest_entropies_is_rounded_up(share: float, mean: float) -> None:
    assert tau_entropy([0.0, 1.0, 2.0, 3.0], share) == mean


def test_every_calibration_fits_a_rule() -> None:
    pairs = [preset for preset in list_presets() if preset.calibrated]
    assert [preset.name for preset in pairs] == ["tiny", "tiny_bf16"]
    for preset in pairs:
        assert preset.kind == "pair"
        for rule, found in preset.calibrated.items():
            known = {knob.name: knob for knob in RULES[rule].KNOBS}
            assert all(known[name].check(value) == value for name, value in found.knobs.items())
            assert f"--preset {preset.name} " in found.command


@pytest.mark.slow
@pytest.mark.parametrize("preset", [preset.name for preset in list_presets() if preset.calibrated])
def test_the_named_command_gives_the_value(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    for found in calibrations(preset).values():
        words = shlex.split(found.command)
        assert words[:3] == ["python", "-m", "engine"] and main([*words[3:], "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {name: told[name] for name in found.knobs} == pytest.approx(dict(found.knobs), abs=2e-3)
