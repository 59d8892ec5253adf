"""Foreign pages, foreign hosts, large bodies: refused before a route sees them."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app import scratch
from app.endpoint import answered, streamed
from app.guard import Guard, Rules, name_of

JSON = {"content-type": "application/json"}


async def echo(request: Request) -> Response:
    return JSONResponse({"bytes": len(await request.body())})


def client(host: str | None = None, most: int = 3_000_000, base: str = "http://127.0.0.1:7860") -> TestClient:
    paths = (
        "/",
        "/lab/open",
        "/lab/mine",
        "/gradio_api/queue/join",
        "/gradio_api/upload",
        "/gradio_api/component_server",
    )
    routes = [Route(path, echo, methods=["GET", "POST"]) for path in paths]
    return TestClient(
        Starlette(routes=routes, middleware=[Middleware(Guard, rules=Rules.of(host, most))]), base_url=base
    )


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost", "localhost:80", "[::1]:7860", "LOCALHOST"])
def test_loopback_answers_for_itself(host: str) -> None:
    assert client().get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", "localhost.evil.example", ""]
)
@pytest.mark.parametrize("path", ["/", "/lab/open", "/gradio_api/queue/join"])
def test_a_name_that_was_bound_to_loopback_is_refused(host: str, path: str) -> None:
    for method in ("GET", "POST"):
        assert client().request(method, path, headers={"host": host, **JSON}).status_code == 421


def test_a_server_for_all_or_for_one_name() -> None:
    assert client("0.0.0.0").get("/", headers={"host": "lab.example"}).status_code == 200
    assert client("lab.example").get("/", headers={"host": "lab.example:80"}).status_code == 200
    assert client("lab.example").get("/", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:7860", "file://", "http://[::1"],
)
@pytest.mark.parametrize("path", ["/lab/open", "/lab/mine", "/gradio_api/queue/join", "/gradio_api/component_server"])
def test_foreign_pages_are_refused(origin: str, path: str) -> None:
    for method in ("GET", "POST"):
        answer = client().request(method, path, headers={"origin": origin, **JSON})
        assert answer.status_code == 403 and "DRAFTSCOPE_ORIGINS" in answer.json()["error"]


def test_the_own_page_and_programs_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"origin": "http://127.0.0.1:7860", **JSON}
    assert client().post("/lab/mine", content=b"{}", headers=own).json() == {"bytes": 2}
    assert client().post("/gradio_api/queue/join", content=b"{}", headers=JSON).status_code == 200
    embed = {"origin": "https://me-lab.hf.space", **JSON}
    assert client("0.0.0.0").post("/lab/mine", content=b"{}", headers=embed).status_code == 403
    monkeypatch.setenv("SPACE_ID", "me/lab")
    assert client("0.0.0.0").post("/lab/mine", content=b"{}", headers=embed).status_code == 200
    monkeypatch.delenv("SPACE_ID")
    monkeypatch.setenv("DRAFTSCOPE_ORIGINS", "https://blog.example https://*.hf.space")
    assert client().post("/lab/mine", content=b"{}", headers=embed).status_code == 200


def test_a_proxy_on_this_machine_may_hand_its_own_name_on_once_that_is_listed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then the page stays empty there, and the log says why: once, and not of every stranger."""
    own, strange = {"host": "lab.example", "origin": "https://lab.example", **JSON}, client()
    refused = [strange.post("/lab/mine", content=b"{}", headers=own) for _ in range(2)][1]
    assert refused.json()["error"] in caplog.text and len(caplog.records) == 1
    assert strange.get("/gradio_api/upload").status_code == 404 and len(caplog.records) == 1
    for number in range(100):
        strange.get("/", headers={"host": f"{number}.example"})
    assert len(caplog.records) == 20
    assert refused.status_code == 421 and "DRAFTSCOPE_ORIGINS" in refused.json()["error"]
    monkeypatch.setenv("DRAFTSCOPE_ORIGINS", "https://lab.example")
    assert client().post("/lab/mine", content=b"{}", headers=own).status_code == 200
    for host in ("evil.example", "lab.example.evil.example", "lab.example:8443", "https", ""):
        assert client().get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_bodies_are_json_or_files(kind: str) -> None:
    given = {"content-type": kind} if kind else {}
    assert client().post("/lab/mine", content=b"{}", headers=given).status_code == 415
    assert client().post("/lab/open", content=b"{}", headers=given).status_code == (415 if kind else 200)
    assert client().post("/lab/open", content=b"{}", headers={"content-type": "application/gzip"}).status_code == 200


@pytest.mark.parametrize("path", ["deep_link?session_hash=x", "dev/reload"])
def test_what_gradio_writes_or_holds_open_for_nobody_is_closed(path: str) -> None:
    """The one writes a file for whoever asks, the other never ends."""
    answer = client().get(f"/gradio_api/{path}")
    assert answer.status_code == 404 and "Nothing of the page" in answer.json()["error"]


@pytest.mark.parametrize("path", ["run/methods", "run/predict/", "api/load_trace"])
def test_calls_past_the_queue_are_closed(path: str) -> None:
    """Gradio begins them whatever their shape is, and fails in the middle."""
    answer = client().post(f"/gradio_api/{path}", json={"data": []})
    assert answer.status_code == 404 and "closed" in answer.json()["error"]


def test_uploads_through_gradio_are_closed() -> None:
    for method in ("GET", "POST"):
        assert client().request(method, "/gradio_api/upload", headers=JSON).status_code == 404
    assert client().post("/gradio_api/upload/", headers=JSON).status_code == 404


@pytest.mark.parametrize("said", [True, False])
def test_bodies_are_bounded(said: bool) -> None:
    def send(path: str, size: int) -> int:
        body = b"x" * size if said else (b"x" * 1000 for _ in range(size // 1000))
        return (
            client()
            .post(path, content=body, headers={**JSON, **({} if said else {"transfer-encoding": "chunked"})})
            .status_code
        )

    assert send("/lab/mine", 1_000_000) == 200 and send("/lab/mine", 1_001_000) == 413
    assert send("/lab/open", 4_000_000) == 200 and send("/lab/open", 4_001_000) == 413
    assert send("/gradio_api/component_server", 1_001_000) == 413
    assert send("/gradio_api/queue/join", 4_000_000) == 200
    assert client().post("/lab/mine", content=b"", headers={**JSON, "content-length": "9" * 30}).status_code == 413


def test_names_of_hosts() -> None:
    assert [name_of(h) for h in ("a.b:80", "a.b", "[::1]:80", "[::1]", " A ")] == ["a.b", "a.b", "::1", "::1", "a"]


def test_folders_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    gone, other, running = (tmp_path / f"draftscope-app-{n}" for n in ("4194999-ab", "x-cd", f"{os.getpid()}-ef"))
    for folder in (gone, other, running):
        folder.mkdir()
        (folder / "file").write_text("x")
    (tmp_path / "draftscope-app-4194998-zz").symlink_to(other)
    (tmp_path / f"draftscope-app-{'9' * 30}-gh").mkdir()  # no number of a process
    assert scratch.sweep(tmp_path) == [gone]
    assert not gone.exists() and (other / "file").exists() and (running / "file").exists()


@pytest.mark.parametrize(
    "path, most, status", [("/lab/open", 3_000_000, []), ("/lab/mine", 3_000_000, []), ("/lab/open", -999_000, [413])]
)
def test_whoever_leaves_while_they_send_is_no_fault(
    path: str, most: int, status: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither is a body that is larger than it may be, which is told."""
    routes = [answered("/lab/open", lambda _: Response()), streamed("/lab/mine", lambda *_: None, lambda _: iter(()))]  # type: ignore[arg-type,return-value]
    app = Starlette(routes=routes, middleware=[Middleware(Guard, rules=Rules.of(None, most))])
    parts = iter([{"type": "http.request", "body": b"x" * 2000, "more_body": True}])
    sent = []

    async def receive() -> Any:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json" if path == "/lab/mine" else b"x/y")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    assert [message["status"] for message in sent if "status" in message] == status and not caplog.records
