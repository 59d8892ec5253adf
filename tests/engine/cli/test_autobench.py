"""Settings left to the device against fixed ones: what is compared with what, and what is said of it."""

import json
from pathlib import Path

import pytest

from engine.bench.contest import Lap, Times
from engine.cli import autobench, autosaid, main
from engine.config import label, parse_method
from engine.errors import ConfigError
from tests.engine.zoo import Zoo
from tests.typed import some

SETTINGS = ("sd:gamma=3", "sd:gamma=5", "sd:gamma=auto", "mtp", "mtp:gamma=auto")
NAMES = ("ar", *SETTINGS, "sd:gamma=auto, kept", "mtp:gamma=auto, kept")
SECONDS = (  # for ten tokens, three repetitions
    (10, 5, 4, 4, 3, 4, 2, 3),
    (10, 4, 5, 5, 3, 4, 2, 3),
    (10, 5, 4, 3, 3, 4, 2, 3),
)
TIMES = Times(NAMES, tuple(tuple(Lap(10, float(spent)) for spent in row) for row in SECONDS))


def test_each_is_set_against_the_fastest_fixed_setting_of_its_own_method() -> None:
    sd, kept_sd, mtp, kept_mtp = autobench.choices(TIMES, [parse_method(name) for name in SETTINGS])
    assert (sd.method, sd.auto, sd.best) == ("sd", "sd:gamma=auto", "sd:gamma=5")
    assert (sd.over_best.low, sd.over_best.median, sd.over_best.high) == pytest.approx((1.0, 1.0, 4 / 3))
    assert sd.over_ar.median == pytest.approx(2.5)
    assert mtp.best == kept_mtp.best == "mtp" and mtp.over_best.median == pytest.approx(0.75)
    assert (kept_sd.method, kept_sd.auto, kept_sd.best) == ("sd", "sd:gamma=auto, kept", "sd:gamma=5")
    assert (kept_sd.over_best.median, kept_mtp.over_best.median) == pytest.approx((2.0, 1.0))
    for specs, match in ((["sd:gamma=3"], "left to the device"), (["ar", "sd:gamma=auto"], "needs fixed settings")):
        with pytest.raises(ConfigError, match=match):
            autobench.choices(TIMES, [parse_method(name) for name in specs])


def test_the_usual_settings_are_known_and_differ() -> None:
    labels = [label(parse_method(name)) for name in autobench.GRID]
    assert len(set(labels)) == len(labels)
    assert {name.split(":")[0] for name in labels if "=auto" in name} == {"sd", "mtp", "dflash", "eagle3"}


def test_the_command_and_what_the_readme_says_of_it(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, target = tmp_path / "auto.json", zoo.path("llama", layers=2, hidden=32)
    pair = ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]
    asked = ["bench", "--auto", *pair, "--items", "1", "--max-new-tokens", "6", "--repetitions", "1"]
    asked += ["--methods", "sd:gamma=2,sd:gamma=auto"]
    assert main([*asked, "--task", "sentences", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "of sd:gamma=2" in told and "sentences, 1 prompt: " in told
    found = json.loads(out.read_text())
    assert list(found["tasks"]) == ["sentences"] and found["costs"]["model"]["passes"]
    row, kept = found["tasks"]["sentences"]["auto"]
    assert (row["auto"], kept["auto"]) == ("sd:gamma=auto", "sd:gamma=auto, kept")
    table = autosaid.left(out)
    assert "| `sd:gamma=auto`, kept | sentences |" in table and "--items 1 --repetitions 1 " in table
    for times, verdict in ((0.969, "**missed**"), (0.97, "reached")):
        row["over_best"]["median"] = times
        out.write_text(json.dumps(found))
        line = some(next((x for x in autosaid.left(out).splitlines() if "`sd:gamma=auto` |" in x), None))
        assert f"{times:.2f} (" in line and f"at least 0.97: {verdict}" in line
    assert "Not measured yet" in autosaid.left(tmp_path / "none.json")
    assert main([*asked, "--prompt", "a"]) == 2 and "--auto compares on tasks" in capsys.readouterr().err
