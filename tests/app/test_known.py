"""What a browser has is not sent again, and what streams is zipped piece by piece."""

import asyncio
import json
import zlib

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.flowing import Flowing
from app.known import Known
from app.routes import Headers, app_kwargs, page_routes
from tests.app.fakes import sentence


@pytest.fixture
def client(service, preset_catalogue):
    served = Starlette(routes=page_routes(service, preset_catalogue, sentence), middleware=[Middleware(Headers)])
    return TestClient(served)


@pytest.mark.parametrize("path", ["/lab/trace", "/lab/catalogue", "/lab/papers"])
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_who_has_an_answer_is_told_that_it_holds(client, path, encoding):
    first = client.get(path, headers={"Accept-Encoding": encoding})
    tag = first.headers["ETag"]
    again = client.get(path, headers={"Accept-Encoding": encoding, "If-None-Match": f'"other", {tag}'})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert again.headers["ETag"] == tag and again.headers["Cache-Control"] == "no-cache"
    assert "Content-Type" not in again.headers and "Content-Encoding" not in again.headers
    other = client.get(path, headers={"If-None-Match": '"other"'})
    assert other.status_code == 200 and other.json() == first.json()


def test_another_answer_has_another_tag_and_a_refusal_none(client):
    tags = {client.get(path).headers["ETag"] for path in ("/lab/catalogue", "/lab/papers")}
    assert len(tags) == 2
    refused = client.get("/lab/trace?name=none")
    assert refused.status_code == 404 and "ETag" not in refused.headers and "none" in refused.json()["error"]


def test_streams_and_posts_and_answers_with_a_tag_of_their_own_pass_as_they_are():
    def many(_request):
        return StreamingResponse(iter(["a", "b"]))

    def own(_request):
        return PlainTextResponse("text", headers={"ETag": '"mine"'})

    def written(_request):
        return PlainTextResponse(json.dumps({}))

    routes = [Route("/many", many), Route("/own", own), Route("/written", written, methods=["POST"])]
    http = TestClient(Starlette(routes=routes, middleware=[Middleware(Known)]))
    assert http.get("/many").text == "ab" and "ETag" not in http.get("/many").headers
    assert http.get("/own", headers={"If-None-Match": '"mine"'}).text == "text"
    assert "ETag" not in http.post("/written").headers


PIECES = [f'data: {{"seq": {number}, "text": "{"the same words again " * 40}"}}\n\n'.encode() for number in range(20)]


@pytest.mark.parametrize("encoding", ["gzip, deflate, br", "identity"])
@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "application/x-ndjson", "text/plain"])
def test_each_piece_of_a_stream_is_whole_when_it_comes(encoding, kind):
    """Zipped, it is told before the next is there, and all of it is shorter; no proxy holds it back."""

    async def pieces(_request):
        async def each():
            for piece in PIECES:
                yield piece

        return StreamingResponse(each(), media_type=kind)

    sent = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [(b"accept-encoding", encoding.encode())],
    }
    asyncio.run(Starlette(routes=[Route("/", pieces)], middleware=[Middleware(Flowing)])(scope, receive, send))
    headers, bodies = dict(sent[0]["headers"]), [message["body"] for message in sent[1:]]
    streams, zipped = kind != "text/plain", kind != "text/plain" and "gzip" in encoding
    assert headers.get(b"content-encoding") == (b"gzip" if zipped else None)
    assert headers.get(b"x-accel-buffering") == (b"no" if streams else None)
    if not zipped:
        assert bodies == [*PIECES, b""]
        return
    reader = zlib.decompressobj(31)
    assert [reader.decompress(body) for body in bodies] == [*PIECES, b""] and reader.eof
    assert sum(map(len, bodies)) < sum(map(len, PIECES)) / 5


def test_long_work_comes_zipped_and_a_file_as_long_as_it_says(service, preset_catalogue):
    served = app_kwargs(service, preset_catalogue, sentence)
    http = TestClient(Starlette(routes=served["routes"], middleware=served["middleware"]), "http://localhost")
    asked = {"lanes": ["plain"], "prompt": "Once", "max_new_tokens": 4, "n": 2}
    answer = http.post("/lab/repeat", json=asked)
    assert answer.headers["content-encoding"] == "gzip" and answer.headers["cache-control"] == "no-store"
    assert [json.loads(line)["kind"] for line in answer.text.splitlines()][-1] == "repeated"
    for encoding in ("gzip", "identity"):  # what is zipped as a whole is not zipped again
        file = http.get("/lab/mined", params={"name": "arithmetic"}, headers={"Accept-Encoding": encoding})
        assert file.headers["content-type"].startswith("application/x-ndjson")
        assert int(file.headers["content-length"]) == file.num_bytes_downloaded
        assert json.loads(file.text.splitlines()[0])["kind"] == "mining"
