"""How long a browser keeps the page's files."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from app import pagefiles
from app.pagefiles import KEPT, STATIC, address, edition, first_modules
from app.routes import Headers, page_routes
from app.theme import head
from tests.app.fakes import sentence

EDITION = re.compile(r"e-[0-9a-f]{16}")


@pytest.fixture
def client(service, preset_catalogue, monkeypatch):
    """A server as in an image or a package, where nobody edits the page's files."""
    monkeypatch.setenv("SPACE_ID", "someone/draftscope")
    edition.cache_clear()
    yield TestClient(
        Starlette(routes=page_routes(service, preset_catalogue, sentence), middleware=[Middleware(Headers)])
    )
    edition.cache_clear()


def test_files_are_kept_for_good_under_an_address_that_tells_what_they_are(client):
    assert EDITION.fullmatch(edition())
    found = client.get(f"/{address().removeprefix('./')}/run/choice.js")
    assert found.text == (STATIC / "run/choice.js").read_text("utf-8") and found.headers["Cache-Control"] == KEPT
    assert client.get("/lab-static/run/choice.js").headers["Cache-Control"] == "no-cache"
    older = client.get("/lab-static/e-0123456789abcdef/run/choice.js")
    assert older.text == found.text and older.headers["Cache-Control"] == "no-cache"
    missing = client.get(f"/lab-static/{edition()}/none.js")
    assert missing.status_code == 404 and missing.headers["Cache-Control"] == "no-cache"
    assert client.get(f"/lab-static/{edition()}/%2e%2e/build.py").status_code == 404
    assert client.get(f"/lab-static/{edition()}/..%2f..%2fbuild.py").status_code == 404


def test_a_changed_file_has_another_address(client, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(pagefiles, "STATIC", tmp_path)
    found = list[str]()
    for name, text in (("a.js", "1"), ("b.js", "22"), ("a.js", "2"), ("a.js", "1")):
        (tmp_path / name).write_text(text)
        edition.cache_clear()
        found.append(edition())
    assert len(set(found)) == 3 and found[3] == found[1]


def test_in_a_checkout_a_browser_asks_each_time(service, preset_catalogue, monkeypatch, tmp_path: Path):
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(pagefiles, "STATIC", tmp_path / "app/static")
    monkeypatch.delenv("SPACE_ID", raising=False)
    edition.cache_clear()
    assert (edition(), address()) == ("", "./lab-static")
    edition.cache_clear()


def test_what_the_first_look_runs_comes_at_once_and_what_rooms_run_later(client):
    lines = re.findall(r'<link rel="(\w+)" href="\./lab-static/([^"]+)">', head())
    asked = {kind: [name.removeprefix(f"{edition()}/") for one, name in lines if one == kind] for kind, _ in lines}
    first, later = set(asked["modulepreload"]), set(asked["prefetch"])
    modules = {one.relative_to(STATIC).as_posix() for one in STATIC.rglob("*.js")}
    assert first | later == {name for name in modules if not name.startswith("vendor/")} and not first & later
    assert {"lab.js", "store.js", "stage/score.js"} <= first and {"rooms/judge.js", "workshop.js"} <= later
    assert "tokens.css" in asked["stylesheet"]
    assert all(client.get(f"/lab-static/{name}").headers["Cache-Control"] == KEPT for _, name in lines[::20])


def test_all_that_modules_of_the_first_look_import_is_of_the_first_look():
    """By another expression than the one that found them, over whole files."""
    lab = (STATIC / "lab.js").read_text("utf-8")
    views = re.findall(r'"([\w/]+)"', re.findall(r"const VIEWS = \[(.*?)\]", lab, re.DOTALL)[0])
    first = set(first_modules())
    assert {f"{name}.js" for name in views} <= first and len(views) > 15
    for name in first:
        told = re.sub(r"/\*.*?\*/|^\s*//.*", "", (STATIC / name).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for other in re.findall(r"""\bfrom\s*["'](\.[^"']+)|\bimport\s*["'](\.[^"']+)""", told):
            assert (STATIC / name).parent.joinpath("".join(other)).resolve().relative_to(STATIC).as_posix() in first
