"""Presets are files that a user may write: each mistake has a sentence, each shipped one is sound."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app import flags
from engine.errors import AssetError, ConfigError, LabError
from engine.files.places import ROOT, locate, near
from engine.files.presets import get_preset, list_presets, read_preset
from engine.heads.files import folder_of
from engine.methods import get_card
from engine.model import hub, load_model
from engine.model.outline import outline
from engine.runs.assets import obstacle
from engine.training.checkpoints import read_words


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_file_becomes_a_preset(tmp_path: Path) -> None:
    path = written(
        tmp_path, 'point = "p"\npair = "tiny"\nprompts = ["a", "b"]\n[[lanes]]\nmethod = "sd"\nknobs = { gamma = 3 }\n'
    )
    preset = read_preset(path)
    assert (preset.name, preset.title, preset.kind, preset.prompts) == ("mine", "mine", "case", ("a", "b"))
    assert preset.lanes[0].method == "sd" and preset.lanes[0].knobs == {"gamma": 3}
    assert get_preset("mine", tmp_path) == preset


def test_a_case_of_every_method_has_the_lanes_that_were_recorded(tmp_path: Path) -> None:
    path = written(tmp_path, 'every = true\n[[lanes]]\nmethod = "sd"\nknobs = { gamma = 3 }\n')
    assert [lane.method for lane in read_preset(path).lanes] == ["sd"] and read_preset(path).traces == ()
    (tmp_path / "traces").mkdir()
    for name in ("mine-01-sd", "mine-00-ar", "mine-10-sam_recycle", "yours-00-ar", "mine-x-ar", "mine_too-00-ar"):
        (tmp_path / "traces" / f"{name}.jsonl.gz").touch()
    preset = read_preset(path)
    assert [(lane.method, dict(lane.knobs)) for lane in preset.lanes] == [
        ("ar", {}),
        ("sd", {"gamma": 3}),
        ("sam_recycle", {}),
    ]
    assert preset.traces[1:] == ("traces/mine-01-sd.jsonl.gz", "traces/mine-10-sam_recycle.jsonl.gz")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("point = ", "mine.toml is not valid TOML"),
        ('pont = "p"', r"mine.toml: Unknown key 'pont'. Did you mean 'point'"),
        ('max_new_tokens = "160"', r"mine.toml: max_new_tokens must be a whole number, not '160'"),
        ("traces = 3", "traces must be a list, each a text, not 3"),
        ('[[lanes]]\nmetod = "sd"', "names a method"),
        ('[opens]\nveiw = "text"', "opens: Unknown key 'veiw'. Did you mean 'view'"),
        ('[opens]\nview = "txt"', "opens: Unknown view 'txt'. Did you mean 'text'"),
        ('[opens]\nview = "score"\ntrack = "confidence"', "opens: a track is a recorded number, as node.confidence"),
        ('[opens]\nview = "score"\ntrack = 3', "opens: a track is a recorded number, as node.confidence"),
        ('[opens]\ntrack = "node.confidence"', "opens: a track is of the score"),
        ('[opens]\nlane = "sd"\npos = 3', "METHOD:2 for a second of it.*, a position from 0 and its text"),
        ('[opens]\nlane = "sd"\npos = "3"\npiece = "a"', "a position from 0"),
        ('[opens]\nlane = 1\npos = 3\npiece = "a"', "a lane .its method"),
        ('[opens]\nlane = "sd"\npos = -1\npiece = "a"', "a position from 0"),
    ],
)
def test_mistakes_have_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_preset(written(tmp_path, text))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_preset(tmp_path / "mine.toml")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "sub/mine", "", ".", "..", "mine.toml"])
def test_names_are_names_not_paths(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "sub").mkdir()
    written(folder, "")
    written(folder / "sub", "")
    written(tmp_path, "", "secret.toml")
    with pytest.raises(ConfigError, match="Unknown preset"):
        get_preset(name, folder)


def test_they_are_listed_in_their_order(tmp_path: Path) -> None:
    for name, order in (("b", 1), ("a", 1), ("c", 0)):
        written(tmp_path, f"order = {order}", f"{name}.toml")
    assert [p.name for p in list_presets(tmp_path)] == ["c", "a", "b"]


def test_every_shipped_preset_is_sound() -> None:
    """Methods and knobs exist, cases name a pair, and each makes a point."""
    presets = {p.name: p for p in list_presets()}
    assert presets["tiny"].kind == "pair"
    for preset in presets.values():
        assert preset.title and preset.point.endswith((".", "?", "!")) and preset.kind in ("pair", "case")
        assert preset.kind == "pair" or presets[preset.pair].kind == "pair"
        for lane in preset.lanes:
            get_card(lane.method).resolve(lane.knobs)


def test_references_are_found_inside_the_repository() -> None:
    assert locate("presets") == str(ROOT / "presets")
    assert locate("some/hub-id") == "some/hub-id"
    with pytest.raises(AssetError, match="assets/none/model is missing"):
        locate("assets/none/model")
    with pytest.raises(AssetError, match=r"assets/tiny/targt is missing. Did you mean assets/tiny/target\?"):
        locate("assets/tiny/targt")


def test_a_folder_that_is_not_there_is_told_by_the_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a model, a head, or either to the server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (folder := tmp_path / "Stories-656K").mkdir()
    meant = f" Did you mean {folder}?"
    assert near(str(tmp_path / "Stories-656k")) == near("~/Stories-656K") == meant
    assert {near(ref) for ref in (str(tmp_path / "other"), "org/name", "~nobody/x", "a\0b", "x" * 9999)} == {""}
    asked: list[Callable[[str], object]] = [outline, lambda ref: folder_of(Path(ref)), flags.model]
    for ask in asked:
        with pytest.raises(LabError, match=re.escape(meant)):
            ask(str(tmp_path / "Stories-656k"))


def test_a_file_in_the_place_of_a_folder_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own folder where that is one of a model, also of the working folder, and before the hub is asked."""
    monkeypatch.setattr(hub, "_snapshot", lambda *_, **__: pytest.fail("the hub was asked"))
    (folder := tmp_path / "mine").mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "judge.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("")
    asks: dict[str, list[Callable[[str], object]]] = {
        "model": [outline, load_model, lambda ref: read_words(Path(ref)), flags.model],
        "head": [lambda ref: folder_of(Path(ref))],
    }
    for cwd, refs, meant in (
        (folder, ("config.json", str(folder / "config.json")), str(folder)),
        (tmp_path, ("mine/config.json",), "mine"),
        (tmp_path, ("notes.txt",), "one that has config.json in it"),
    ):
        monkeypatch.chdir(cwd)
        for ref, (what, each) in itertools.product(refs, asks.items()):
            words = f"{ref} is a file, and the folder of a {what} is wanted: {meant}."
            for ask in each:
                with pytest.raises(LabError, match=f"^{re.escape(words)}$"):
                    ask(ref)
    nobody: Any = None  # no target is looked at
    kinds = {"judge": "mine", "eagle3": "mine", "automaton": "one that has automaton.safetensors in it"}
    for kind, meant in kinds.items():
        words = f"mine/config.json is a file, and the folder of an asset '{kind}' is wanted: {meant}."
        assert obstacle(kind, "mine/config.json", nobody) == words
    (tmp_path / "x.gguf").write_text("")
    with pytest.raises(LabError, match=r"is a GGUF file\. Write it anew"):
        flags.model(str(tmp_path / "x.gguf"))
