"""What a browser has is not sent again."""

import json

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.known import Known
from app.routes import Headers, page_routes
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
