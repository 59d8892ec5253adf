"""A page that stands alone: every import finds its module, every answer is there, and bad input is one line."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from app import command
from app.export import EVERYTHING, LIBRARY, Content, collected, export, main, modules, write
from app.notebook import PARTS, Shown, show
from app.pagefiles import STATIC
from engine.errors import ConfigError
from engine.trace.store import Trace

CASE = "presets/traces/first_look-*.jsonl.gz"


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [Trace.load(path) for path in sorted(Path().glob(CASE))]


@pytest.fixture(scope="module")
def page() -> str:
    return export(Content(cases=["first_look"]))


def unpacked(page: str) -> dict:
    found = re.search('id="packed">([^<]+)<', page)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_every_import_of_a_module_finds_one():
    found = modules()
    assert set(found) == {p.relative_to(STATIC).as_posix() for p in STATIC.rglob("*.js") if "vendor" not in p.parts}
    for name, text in found.items():
        assert not re.search(r"""(from|import)\s*\(?["'`]\.{1,2}/(?!types/)""", text), name
        for wanted in re.findall(r"""(?:from|import)\s+["']lab/([^"']+)["']""", text):
            assert wanted in found, f"{name} imports {wanted}"
    assert any("import(`lab/rooms/${" in text for text in found.values())  # rooms are fetched when they are opened


def test_a_page_holds_its_case_and_what_explains_it(page):
    answers = unpacked(page)["answers"]
    shown = json.loads(answers["trace?name="])
    assert shown == json.loads(answers["trace?name=first_look"])
    assert [lane["key"] for lane in shown["lanes"]] == ["ar", "sd", "specdec", "cm_asd"]
    assert all(node["why"] for lane in shown["lanes"] for e in lane["events"] for node in e.get("nodes", ()))
    catalogue = json.loads(answers["catalogue"])
    assert catalogue["models"] == [] and [preset["name"] for preset in catalogue["presets"]] == ["first_look"]
    assert "page?name=sd" in answers and "glossary" in answers and "lessons" not in answers
    assert len(page) < 1_500_000


def test_a_page_holds_the_flags_of_its_prompts_and_of_no_others(page, traces):
    """Of a case as of runs of one's own; of a prompt that nobody mined there are none."""
    question = traces[0].head.prompt
    for answers in (unpacked(page)["answers"], collected(Content(traces))[0]):
        sets = json.loads(answers["mined"])["sets"]
        assert {one["name"] for one in sets} == {"arithmetic", "arithmetic-naive"}
        assert all(one["prompts"] == 1 for one in sets)
        head, line = map(json.loads, answers["mined?name=arithmetic"].splitlines())
        assert head["kind"] == "mining" and line["text"] == question and line["labels"]
    other = Trace.load(sorted(Path().glob(CASE))[0])
    other.head.prompt = "Nobody mined this."
    assert json.loads(collected(Content([other]))[0]["mined"])["sets"] == []


def test_nothing_is_fetched_by_what_stands_in_the_page(page):
    outside = re.sub('id="packed">[^<]+<', "", page)
    assert "default-src 'none'" in outside
    assert set(re.findall(r"""https?://[^"' )]+""", outside)) <= {"http://www.w3.org/2000/svg"}  # a name, no address
    assert 'src="' not in outside and "href=" not in outside.replace('href="#', "")


@pytest.mark.thorough
def test_a_run_of_ones_own_is_what_the_page_shows(traces, tmp_path):
    traces[1].head.prompt = "</script><script>alert(1)</script>"
    page = export(Content(traces[:2]))
    assert "alert(1)" not in page.replace("&lt;/script&gt;&lt;script&gt;alert(1)", "")
    assert [lane["key"] for lane in json.loads(unpacked(page)["answers"]["opened"])["lanes"]] == ["ar", "sd"]
    titled = export(Content(traces[1:2]))
    assert "<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in titled


@pytest.mark.thorough
def test_a_folder_keeps_long_answers_in_files_of_their_own(tmp_path):
    written = write(Content(cases=["first_look", "all_methods"]), f"{tmp_path}/site/")
    index = tmp_path / "site/index.html"
    answers = unpacked(index.read_text())["answers"]
    asked = {answer["file"] for answer in answers.values() if isinstance(answer, dict)}
    assert {path.relative_to(tmp_path / "site").as_posix() for path in written} == {"index.html", *asked}
    lanes = json.loads((tmp_path / "site" / answers["trace?name=all_methods"]["file"]).read_text())["lanes"]
    assert len(lanes) >= 24 and index.stat().st_size < 700_000
    assert "connect-src 'self'" in index.read_text()


def test_everything_holds_what_the_rooms_say_they_need():
    needed = re.findall(r'needs: "(\w+)"', (STATIC / "rooms/rooms.js").read_text())
    assert len(needed) >= 3 and set(needed) <= set(EVERYTHING)


@pytest.mark.slow
def test_everything_holds_what_lessons_gallery_and_rooms_ask_for():
    kept, title = collected(Content(everything=True))
    cases = {f"trace?name={one['name']}" for one in json.loads(kept["catalogue"])["presets"]}
    assert cases <= kept.keys() and len(cases) >= 20 and title == "First look"
    assert {"lessons", "gallery", "pooled", "trajectories", "mined", LIBRARY} <= kept.keys()
    assert kept[LIBRARY].startswith("/")


def test_an_interrupt_is_one_line(tmp_path, capsys, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("app.export.write", stopped)
    assert command.main(["page", "--case", "first_look", "--out", str(tmp_path / "page.html")]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_bad_input_is_one_line(tmp_path, capsys, monkeypatch):
    (tmp_path / "bad.jsonl").write_text("{}\n")
    for words, told in (
        ([], "Nothing to show"),
        (["--case", "first_lok"], "first_look"),
        ([str(tmp_path / "bad.jsonl")], "error: "),
        ([str(tmp_path / "none.jsonl")], "error: "),
    ):
        assert main([*words, "--out", str(tmp_path / "page.html")]) == 2
        told_is = capsys.readouterr().err
        assert told in told_is and len(told_is.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "sub" / "page.html")
    for out, told in (
        ("none/page.html", "Make it first"),
        ("link.html", "a link out of its folder"),
        ("bad.jsonl/page.html", "bad.jsonl is no folder"),
        ("bad.jsonl/site/", "bad.jsonl is no folder"),
    ):
        assert main(["--case", "first_look", "--out", f"{tmp_path}/{out}"]) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "sub" / "page.html").exists()
    for wrong, told in (
        (Content(cast(Any, 5)), "A trace is wanted, not 5"),
        (Content(cases="first_lok"), "'first_lok'. Did you"),
    ):
        with pytest.raises(ConfigError, match=told):
            export(wrong)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["--case", "first_look", "--out", ""]) == 2
    assert "a file or a folder, not to one named ''" in capsys.readouterr().err and not [*Path().iterdir()]
    with pytest.raises(ConfigError, match="named by a text or a path, not by 5"):
        write(Content(cases=["first_look"]), 5)  # type: ignore[arg-type]
    assert write(Content(cases=["first_look"]), Path("page.html")) == [Path("page.html")]
    assert main(["--case", "first_look", "--out", str(tmp_path / "page.html")]) == 0
    assert "1 file, " in capsys.readouterr().out


def test_what_the_system_refuses_is_told_in_words(tmp_path, capsys, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "page.html")

    monkeypatch.setattr("app.export.write", refuse)
    assert main(["--case", "first_look", "--out", str(tmp_path / "page.html")]) == 2
    assert capsys.readouterr().err == "error: page.html: Permission denied\n"


def test_a_file_of_all_lanes_as_the_page_saves_it_is_shown_lane_by_lane(traces, tmp_path):
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(b"".join(trace.to_bytes() for trace in traces)))
    assert main([str(tmp_path / "all.jsonl.gz"), "--out", str(tmp_path / "page.html")]) == 0
    lanes = json.loads(unpacked((tmp_path / "page.html").read_text())["answers"]["opened"])["lanes"]
    assert [lane["key"] for lane in lanes] == ["ar", "sd", "specdec", "cm_asd"]


def test_a_notebook_shows_runs_in_a_frame(traces):
    shown = show(traces[0], traces[1:3], height=400, views="score")
    assert isinstance(shown, Shown) and len(shown.traces) == 3
    drawn = shown._repr_html_()
    assert drawn.startswith('<iframe style="width:100%;height:400px') and "views=score" in drawn
    assert show(iter(traces)).traces == tuple(traces), "what Lab.trajectories gives, one after another"
    assert Shown(traces[0]).traces == (traces[0],)
    calls: tuple[tuple[tuple[Any, ...], str], ...] = (
        ((), "One or more traces"),
        (([],), "One or more traces"),
        (("text",), "A trace is wanted, not 'text'"),
        ((traces[0], 1), "A trace is wanted, not 1"),
        ((traces[0].events,), "A trace is wanted, not RunStarted"),
    )
    for wrong, told in calls:
        with pytest.raises(ConfigError, match=told):
            show(*wrong)
    for height in ('1" onload="x', None, 0, 10**6, True):
        with pytest.raises(ConfigError, match="height must be an integer from 1 to 10000 pixels"):
            show(traces[0], height=height)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="height must be"):
            Shown(traces[:1], height)  # type: ignore[arg-type]
    for views in ("scroe", "text~", 5):
        with pytest.raises(ConfigError, match="Unknown view"):
            show(traces[0], views=views)  # type: ignore[arg-type]


def test_a_notebook_s_frame_keeps_what_belongs_to_a_run_the_source_of_a_translation_too() -> None:
    there = re.findall(r'^  (\w+): "[.\w]+",$', (STATIC / "embed.js").read_text(), re.MULTILINE)
    assert set(there) - set(PARTS.split("~")) == {"top", "run", "below", "foot"}
    assert set(PARTS.split("~")) <= set(there)


def test_a_trace_shows_itself_once_that_is_registered(traces, monkeypatch):
    from app.notebook import register

    monkeypatch.setattr(Trace, "drawn", None)
    assert traces[0]._repr_html_() is None
    register()
    assert "<iframe" in traces[0]._repr_html_()
