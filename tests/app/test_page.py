"""The page as built: mount points, endpoints, headers; and no method's name anywhere in app/."""

import asyncio
import errno
import gzip
import json
import os
import re
import threading
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from httpx import Response
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import routes
from app.build import Handlers, build
from app.pagefiles import LOOKED
from app.patience import Patient
from app.routes import app_kwargs
from app.serve import launch
from app.service import Service
from engine.methods import CARDS as REAL
from engine.papers.summary import Verdict
from engine.trace.store import Trace
from tests.app.fakes import free_port, sentence
from tests.app.synthetic import events
from tests.typed import some

APP = Path(__file__).parents[2] / "app"
PUBLIC = {"/run", "/decode", "/methods", "/presets", "/load_trace", "/explain", "/stop"}


def test_every_action_is_a_named_endpoint(service, preset_catalogue):
    named = build(service, preset_catalogue, sentence).get_api_info()["named_endpoints"]
    assert set(named) == PUBLIC
    assert all(item["returns"] for item in named.values())


@pytest.mark.parametrize("failure", [TypeError("odd input"), RecursionError("too deep")])
def test_a_fault_ends_a_run_with_a_notice_and_is_logged(service, preset_catalogue, lab, monkeypatch, caplog, failure):
    def broken(*_given, **_settings):
        raise failure

    monkeypatch.setattr(lab, "stream", broken)
    run = "0" * 32
    text = json.dumps({"id": run, "prompt": "Once", "lanes": ["plain"]})
    last = json.loads(list(Handlers(service, preset_catalogue, sentence).stream(text))[-1])
    assert last["id"] == run and last["done"] is True and type(failure).__name__ in last["notice"]
    assert str(failure) in caplog.text and str(failure) not in last["notice"]


@pytest.mark.parametrize(
    "text",
    [
        '{"prompt": "Once", "lanes": ["plain"], "max_new_tokens": 1' + "0" * 400 + "}",
        "[" * 100_000,
        '{"prompt": ' + "[" * 100_000,
    ],
)
def test_requests_that_no_page_makes_are_told(service, preset_catalogue, text):
    (only,) = Handlers(service, preset_catalogue, sentence).stream(text)
    assert json.loads(only)["done"] is True and "fault" not in json.loads(only)["notice"]


@pytest.mark.parametrize("more", [{"prompt": ""}, {"lanes": ["nope"]}, {"seed": "seven"}])
def test_a_refusal_says_which_run_it_refuses(service, preset_catalogue, more):
    """The page may have asked for another since, which goes on."""
    text = json.dumps({"id": "1" * 32, "prompt": "Once", "lanes": ["plain"]} | more)
    (only,) = Handlers(service, preset_catalogue, sentence).stream(text)
    assert json.loads(only)["id"] == "1" * 32 and json.loads(only)["notice"]


def test_every_view_has_its_mount_point():
    views = re.findall(r'"(\w+)"', some(re.search(r"VIEWS = \[(.*?)\]", (APP / "static/lab.js").read_text(), re.S))[1])
    spots = set(re.findall(r'data-view="(\w+)"', (APP / "copy/page.html").read_text()))
    assert set(views) == spots - {"notices"}


def test_no_method_is_named_in_the_app():
    verdicts = get_args(Verdict)  # words of the Papers room, of which a method may have one for its name
    names = {card.name for card in REAL if len(card.name) > 2 and card.name not in verdicts}
    files = [*APP.rglob("*.py"), *APP.rglob("*.js"), *APP.rglob("*.css"), *APP.rglob("*.html")]
    for path in (path for path in files if path.parent.name != "vendor"):
        words = set(re.findall(r"[a-z0-9_]+", path.read_text(encoding="utf-8")))
        assert not words & names, f"{path.name} names {words & names}"


def test_text_reaches_the_page_only_as_text():
    for path in (path for path in APP.rglob("*.js") if path.parent.name != "vendor"):
        code = path.read_text(encoding="utf-8")
        assert "innerHTML" not in code and "insertAdjacentHTML" not in code and "eval(" not in code, path.name
        assert not re.search(r"https?://(?!www\.w3\.org|huggingface\.co)", code), f"{path.name} points outside"


@pytest.fixture
def http(service, preset_catalogue):
    kwargs = app_kwargs(service, preset_catalogue, sentence)
    app = Starlette(routes=kwargs["routes"], middleware=kwargs["middleware"])
    return TestClient(app, base_url="http://127.0.0.1")


def test_health_and_headers(http):
    answer = http.get("/healthz")
    assert answer.json() == {"status": "ok"}
    assert "object-src 'none'" in answer.headers["content-security-policy"]
    assert "https:" not in answer.headers["content-security-policy"].split("frame-ancestors")[0]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_whatever_the_page_asks_for_tells_of_which_files_the_page_is_now(http):
    """Also what is refused, or known already: a page that was loaded before an update is told by it."""
    first = http.get("/lab/catalogue")
    known = http.get("/lab/catalogue", headers={"if-none-match": first.headers["etag"]})
    answers = [first, known, http.get("/lab/loading"), http.get("/lab/trace?name=none"), http.post("/lab/repeat")]
    assert [one.status_code for one in answers] == [200, 304, 200, 404, 400]
    assert {one.headers["draftscope-edition"] for one in answers} == {LOOKED.edition()}


def test_catalogue_and_recorded_traces(http, lab):
    body = http.get("/lab/catalogue").json()
    assert body["first"] == "apples" and body["models"] == ["made-up"] and len(body["methods"]) == 6
    assert [lane["key"] for lane in http.get("/lab/trace").json()["lanes"]] == ["plain", "chain"]
    assert http.get("/lab/trace?name=..%2Fetc").status_code == 404
    assert lab.loads == 0, "a recorded run needs no model"
    assert {"name", "unit", "formula", "elsewhere"} == set(body["names"][0])


def test_uploads(http):
    good = http.post("/lab/open", content=Trace(events("bush", 20)).to_bytes())
    assert good.status_code == 200 and good.json()["lanes"][0]["key"] == "bush"
    several = b"".join(
        json.dumps({"file": name, "bytes": len(data)}).encode() + b"\n" + data
        for name, data in ((f"{kind}.jsonl", Trace(events(kind, 20)).to_bytes()) for kind in ("plain", "bush"))
    )
    found = http.post("/lab/open", content=several).json()
    assert [lane["key"] for lane in found["lanes"]] == ["plain", "bush"] == list(found["compared"]["verdicts"])
    assert [lane["file"] for lane in found["lanes"]] == ["plain.jsonl", "bush.jsonl"]
    said = found["compared"]["verdicts"]["bush"]
    assert said["speedup"] > 0, "runs of two files are compared"
    assert "(bush.jsonl) is" in said["line"] and "(plain.jsonl)" in said["line"], "by the names of their lanes"
    framed = json.dumps({"file": "broken.jsonl", "bytes": 2}).encode() + b"\n{}"
    assert http.post("/lab/open", content=framed).json()["error"].startswith("broken.jsonl: ")
    bad = http.post("/lab/open", content=b"{}")
    assert bad.status_code == 400 and "kind" in bad.json()["error"]
    huge = http.post("/lab/open", content=b"x" * 20_000_001)
    assert huge.status_code == 413 and "20 MB" in huge.json()["error"]


def test_the_limit_of_bytes_holds_for_all_files_that_are_opened_together(http, service):
    limit = service.limits.max_upload_bytes
    run = Trace(events("plain", 20)).to_bytes()
    filled = run.replace(b'"extras":{', b'"extras":{"note":"' + b" " * (2 * limit // 5) + b'",', 1)

    def opened(count: int) -> Response:
        one = gzip.compress(filled)
        head = json.dumps({"file": "large.jsonl.gz", "bytes": len(one)}).encode() + b"\n"
        return http.post("/lab/open", content=(head + one) * count)

    assert len(opened(2).json()["lanes"]) == 2
    third = opened(3)
    assert third.status_code == 400
    assert third.json()["error"] == (
        "large.jsonl.gz: with this file all are larger than 20 MB together, which is the limit."
    )


def test_static_files_cannot_be_left(http):
    assert http.get("/lab-static/store.js").status_code == 200
    assert http.get("/lab-static/../build.py").status_code == 404
    assert http.get("/lab-static/%2e%2e/build.py").status_code == 404


@pytest.mark.thorough
def test_driven_by_a_client(service, preset_catalogue):
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    port = free_port()
    demo = launch(service, preset_catalogue, sentence, host="127.0.0.1", port=port, prevent_thread_lock=True)
    try:
        assert isinstance(demo.server, Patient)
        client = Client(f"http://127.0.0.1:{port}", verbose=False)
        assert len(client.predict(api_name="/methods")) == 6
        assert [item["name"] for item in client.predict(api_name="/presets")] == ["live", "apples"]
        given = {
            "methods": ["plain", "chain"],
            "prompt": "Once",
            "max_new_tokens": 12,
            "knobs": {"chain": {"gamma": 2}},
        }
        job = client.submit(**given, api_name="/run")
        job.result(timeout=30)
        messages = [json.loads(text) for text in job.outputs()]
        assert messages[-1]["done"] and any("ev" in message for message in messages)
        traces = client.predict(**given, api_name="/decode")
        assert traces["chain"][0]["knobs"]["gamma"] == 2
        text = Trace(events("chain", 20)).to_bytes().decode()
        assert client.predict(text, api_name="/load_trace")[0]["key"] == "chain"
        assert all(client.predict(text, 1, api_name="/explain"))
        assert client.predict("0" * 32, api_name="/stop") is False
        with pytest.raises(AppError, match="Did you mean 'chain'"):
            client.predict(["chian"], "Once", api_name="/decode")
        with pytest.raises(AppError, match="methods must be a list of names, not 'chain'"):
            client.predict("chain", "Once", api_name="/decode")
        with pytest.raises(AppError, match=r"knobs must be an object .*, not \[1\]"):
            client.predict(["chain"], "Once", knobs=[1], api_name="/decode")
        with pytest.raises(AppError, match="not JSON"):
            client.predict("damaged\nfile\n", api_name="/load_trace")
    finally:
        demo.close()


@pytest.mark.parametrize("root", ["/lab", "/lab/", "/here", "https://my.example/lab", "/"])
def test_the_page_is_found_behind_a_proxy_below_a_path(service, preset_catalogue, root):
    """Whether the proxy cuts the path off or not, also where our own paths begin like it."""
    said = app_kwargs(service, preset_catalogue, sentence)
    said["routes"].append(Route("/", lambda _: PlainTextResponse("the page")))
    http = TestClient(
        Starlette(routes=said["routes"], middleware=said["middleware"]), "http://localhost", root_path=root
    )
    trace = Trace(events("chain")).to_bytes()
    for at in ("", urlsplit(root).path.rstrip("/")):
        assert http.get(f"{at}/").text == "the page"
        assert http.get(f"{at}/healthz").json() == {"status": "ok"}
        script = http.get(f"{at}/lab-static/learn/prose.js")
        assert script.status_code == 200 and script.headers["cache-control"] == "no-cache"
        assert http.get(f"{at}/lab-static/%2e%2e/build.py").status_code == 404
        assert http.get(f"{at}/lab-static/").status_code == 404
        assert http.get(f"{at}/lab/catalogue").json()["models"] == list(service.models)
        assert http.get(f"{at}/gradio_api/upload").json()["error"].startswith("Files are not uploaded here")
        (lane,) = http.post(f"{at}/lab/open", content=trace, headers={"content-type": "x/y"}).json()["lanes"]
        assert lane["card"]["name"] == "chain"


def test_the_list_of_methods_is_made_beside_the_loop(
    service: Any, preset_catalogue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes some 70 ms, in which no run would send anything."""
    where = list[int]()

    def made(*_: Any) -> dict[str, str]:
        where.append(threading.get_ident())
        return {}

    monkeypatch.setattr(routes, "catalogue_json", made)
    request = Request({"type": "http", "query_string": b""})
    asyncio.run(routes.catalogue(service, preset_catalogue, (), request))
    assert where and where != [threading.get_ident()]


def test_a_run_that_finds_no_room_says_so_without_a_traceback(service, preset_catalogue, caplog):
    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "models/big")

    service = Service(service.cards, {"big": full}, sentence)
    asked = {"prompt": "Once", "lanes": ["plain"], "models": "big", "id": "c" * 32}
    *_, last = Handlers(service, preset_catalogue, sentence).stream(json.dumps(asked))
    said = "The server's machine says: No space left on device (models/big)."
    assert json.loads(last)["notice"] == said
    assert caplog.messages == [f"a run of the page failed. {said}"] and not caplog.records[0].exc_info
