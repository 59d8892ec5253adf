"""How long a browser keeps the page's files, and what it fetches first."""

import ntpath
import os
import re
import shutil
import time
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import pagefiles
from app.front import Front
from app.pagefiles import KEPT, LOOKED, STATIC, Looked, PageFiles, address, first_modules, further_modules
from app.routes import Headers, page_routes
from tests.app.fakes import sentence


@pytest.fixture
def client(service, preset_catalogue):
    served = Starlette(routes=page_routes(service, preset_catalogue, sentence), middleware=[Middleware(Headers)])
    return TestClient(served)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Three files of the page's that were written long ago."""
    for name, text in (("a.js", "1"), ("b.js", "22"), ("deep/c.js", "3")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (0, 1))
    monkeypatch.setattr(pagefiles, "STATIC", tmp_path)
    monkeypatch.setattr(pagefiles, "EVERY", 0.0)
    return tmp_path


def test_files_are_kept_for_good_under_an_address_that_tells_what_they_are(client):
    edition = LOOKED.edition()
    assert re.fullmatch(r"e-[0-9a-f]{16}", edition) and address() == f"./lab-static/{edition}"
    found = client.get(f"/lab-static/{edition}/run/choice.js")
    assert found.text == (STATIC / "run/choice.js").read_text("utf-8") and found.headers["Cache-Control"] == KEPT
    assert client.get("/lab-static/run/choice.js").headers["Cache-Control"] == "no-cache"
    older = client.get("/lab-static/e-0123456789abcdef/run/choice.js")
    assert older.text == found.text and older.headers["Cache-Control"] == "no-cache"
    missing = client.get(f"/lab-static/{edition}/none.js")
    assert missing.status_code == 404 and missing.headers["Cache-Control"] == "no-cache"
    assert client.get(f"/lab-static/{edition}/%2e%2e/build.py").status_code == 404
    assert client.get(f"/lab-static/{edition}/..%2f..%2fbuild.py").status_code == 404


def test_an_edition_is_what_all_files_hold(folder: Path):
    looked, found = Looked(), list[str]()
    for name, text in (("a.js", "1"), ("deep/c.js", "4"), ("b.js", "2"), ("b.js", "22"), ("deep/c.js", "3")):
        (folder / name).write_text(text)
        found.append(looked.edition())
    shutil.move(folder / "b.js", folder / "d.js")
    found.append(looked.edition())
    first, second, third, *_ = found
    assert found == [first, second, third, second, first, found[-1]] and len(set(found)) == 4


def test_a_file_that_goes_while_they_are_looked_at_leaves_the_edition_as_it_was(folder: Path, monkeypatch):
    looked = Looked()
    before, stat = looked.edition(), Path.stat
    (folder / "gone").touch()

    def went(self: Path, **given):
        if self.name == "gone" and not self.with_name("went").exists():
            self.rename(self.with_name("went"))  # behind the first look, which asks what it is
            return stat(self.with_name("went"), **given)
        return stat(self, **given)

    monkeypatch.setattr(Path, "stat", went)
    assert looked.edition() == before
    assert looked.edition() != before, "the next look finds the other file"


def test_a_file_that_is_edited_under_a_running_server_is_not_kept_until_the_page_names_it(folder: Path, monkeypatch):
    monkeypatch.setattr(pagefiles, "LOOKED", Looked())
    http = TestClient(Starlette(routes=[pagefiles_route(folder)]))

    def kept(at: str) -> bool:
        return http.get(f"{at.removeprefix('.')}/a.js").headers.get("Cache-Control") == KEPT

    before = address()
    assert kept(before)
    monkeypatch.setattr(pagefiles, "EVERY", 60.0)  # it was looked at just now
    (folder / "a.js").write_text("new")
    os.utime(folder / "a.js", (time.time() + 1, time.time() + 1))
    assert address() == before and not kept(before)
    monkeypatch.setattr(pagefiles, "EVERY", 0.0)
    os.utime(folder / "a.js", (0, 2))
    after = address()
    assert after != before and kept(after) and not kept(before)


def pagefiles_route(folder: Path) -> Route:
    return Route("/lab-static/{path:path}", PageFiles(directory=folder))


def test_files_are_found_where_the_system_writes_paths_with_backslashes(monkeypatch):
    """As Windows does, also behind an edition; what the page names has slashes all the same."""
    files, first = PageFiles(directory=STATIC), first_modules()
    monkeypatch.setattr(os.path, "normpath", ntpath.normpath)
    for asked in ("e-0123456789abcdef/rooms/judge.js", "rooms/judge.js", "e-0123456789abcdef/./rooms//judge.js"):
        assert files.get_path({"path_params": {"path": asked}}) == r"rooms\judge.js"
    assert first_modules() == first and "stage/heads.js" in first


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
    modules = {one.relative_to(STATIC).as_posix() for one in STATIC.rglob("*.js")}
    assert first | set(further_modules()) == {name for name in modules if not name.startswith("vendor/")}
    assert not first & set(further_modules()) and {"rooms/judge.js", "judge/workshop.js"} <= set(further_modules())


def test_a_page_names_its_files_as_they_are_now_whatever_gradio_was_given(folder: Path, monkeypatch):
    def given(_request):
        return PlainTextResponse("./lab-static/e-0123456789abcdef/a.js and ./lab-static/e-0123456789abcdef/b.js")

    looked = Looked()
    monkeypatch.setattr(pagefiles, "LOOKED", looked)
    http = TestClient(Starlette(routes=[Route("/", given), Route("/other", given)], middleware=[Middleware(Front)]))
    for text in ("first", "second"):
        (folder / "a.js").write_text(text)
        at = f"./lab-static/{looked.edition()}"
        found = http.get("/")
        assert found.text == f"{at}/a.js and {at}/b.js" and int(found.headers["Content-Length"]) == len(found.content)
        assert "0123456789abcdef" in http.get("/other").text


def test_a_link_with_gradios_own_parameters_opens_the_page() -> None:
    """Gradio answers a page that it has not with an error of the server."""
    routes = [Route(path, lambda request: PlainTextResponse(request.url.query)) for path in ("/", "/other")]
    http = TestClient(Starlette(routes=routes, middleware=[Middleware(Front)]))
    asked = "page=x&m=sd&deep_link=y&pages=2"
    assert http.get(f"/?{asked}").text == "m=sd&pages=2" and http.get(f"/other?{asked}").text == asked


@pytest.mark.thorough
def test_the_page_names_its_files_zipped_and_is_not_sent_twice(base):
    """Through the whole server: Gradio's page, its files, and what it asks for while it mounts."""
    first = httpx.get(f"{base}/", headers={"Accept-Encoding": "gzip"})
    assert "gradio_config" in first.text and first.headers["Content-Encoding"] == "gzip"
    assert first.num_bytes_downloaded < 20_000 < len(first.content)
    assert first.headers["Cache-Control"] == "no-cache"
    assert httpx.get(f"{base}/?page=learn&deep_link=x").status_code == 200
    assert set(re.findall(r"lab-static/(e-\w+)/", first.text)) == {LOOKED.edition()}
    again = httpx.get(f"{base}/", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert httpx.get(f"{base}/config").json()["components"]
    paths = re.findall(r"\./(lab-static/[\w/.-]+)", first.text)
    assert len(paths) > 190 and len({path.split("/", 2)[2] for path in paths}) == len(paths) - 1, "lab.js twice"
    for path in paths[::15]:
        assert httpx.get(f"{base}/{path}").headers["Cache-Control"] == KEPT
