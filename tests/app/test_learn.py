"""What the Learn room reads: texts as HTML, formulae as MathML, and links that lead somewhere in the room."""

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import learn
from engine.learn import pages


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=learn.routes()))


def test_lessons_are_html_and_keep_their_answers(client):
    lessons = client.get("/lab/lessons").json()["lessons"]
    assert len(lessons) >= 8
    tasks = [step["task"] for lesson in lessons for step in lesson["steps"] if step["task"]]
    assert {task["kind"] for task in tasks} == {"choice", "predict", "select", "set"}
    assert all(task["ask"].startswith("<p>") for task in tasks)
    assert all(task["answers"] for task in tasks if task["kind"] == "select")
    assert all(any(option["right"] for option in task["options"]) for task in tasks if task["kind"] == "choice")
    texts = [step["text"] for lesson in lessons for step in lesson["steps"]]
    assert any("<math" in text for text in texts) and not any("$" in text for text in texts)


def test_words_have_formulae_that_are_typeset(client):
    words = {word["anchor"]: word for word in client.get("/lab/glossary").json()["words"]}
    assert words["acceptance-probability"]["formula"].startswith("<math")
    assert words["acceptance-probability"]["symbols"] and words["tau"]["text"].startswith("<p>")
    assert [one["title"] for one in words["acceptance-probability"]["see"]] == [
        "Draw",
        "Residual",
        "Speculative decoding",
    ]


@pytest.mark.parametrize("name", pages.names())
def test_links_of_a_page_lead_to_a_page_and_an_anchor(client, name):
    page = client.get("/lab/page", params={"name": name}).json()
    assert page["title"] and page["html"].startswith("<h1")
    for target, anchor in re.findall(r'href="\?room=learn&amp;tab=methods&amp;name=(\w+)(?:#([\w-]+))?"', page["html"]):
        assert target in pages.names()
        assert not anchor or f'id="{anchor}"' in learn.page(target)["html"], (target, anchor)


def test_every_page_is_listed_and_an_unknown_one_is_refused(client):
    assert {page["name"] for page in client.get("/lab/pages").json()["pages"]} == set(pages.names())
    answer = client.get("/lab/page", params={"name": "eagl3"})
    assert answer.status_code == 404 and "eagle3" in answer.json()["error"]
    assert client.get("/lab/page", params={"name": "../register"}).status_code == 404
