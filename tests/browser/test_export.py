"""Pages that stand alone, from a disk and from a static host: they work, and ask for nothing."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.export import Content, export, write
from app.notebook import show
from engine.trace.store import Trace

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("exported")


def ready(page) -> None:
    page.locator("html[data-draftscope=ready]").wait_for(state="attached")


def test_a_file_shows_its_case_and_asks_for_nothing(pages, folder):
    (folder / "case.html").write_text(export(Content(cases=["first_look"])), encoding="utf-8")
    page = pages.open(f"file://{folder}/case.html", ready=False)
    ready(page)
    expect(page.locator(".lane")).to_have_count(4)
    page.locator(".lane").nth(1).locator(".k").first.click()
    expect(page.locator(".inspector, [aria-label='Round inspector']").first).to_contain_text("target")
    page.get_by_role("tab", name="Score").click()
    expect(page.locator("[data-stage=score] canvas").first).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("serve the lab")
    expect(page.locator(".lane")).to_have_count(4)
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("tab", name="Text").click()
    page.locator(".lane .flags").first.wait_for(state="attached")  # the mined set about its prompt came along
    page.get_by_role("button", name="Open the fork").first.click()
    expect(page.locator("[data-room=judge]")).to_contain_text("1 prompt")
    page.get_by_role("link", name="Learn").click()
    expect(page.locator("[data-room=learn]")).to_be_visible()
    assert pages.asked[page] == [f"file://{folder}/case.html"]


def test_a_page_of_some_runs_has_no_room_that_it_cannot_fill(pages, folder):
    traces = [Trace.load(path) for path in sorted(Path("presets/traces").glob("code-*.jsonl.gz"))[:2]]
    (folder / "runs.html").write_text(export(Content(traces)), encoding="utf-8")
    page = pages.open(f"file://{folder}/runs.html?room=papers", ready=False)
    ready(page)
    assert page.locator(".room-link").all_inner_texts() == ["Compare", "Judge", "Learn"]
    expect(page.locator(".room-link[aria-current]")).to_have_text("Compare")
    expect(page.get_by_role("button", name="Review")).to_be_visible()
    expect(page.get_by_role("button", name="Start here")).to_have_count(0)
    page.locator(".lane").nth(1).get_by_role("button", name="Speculative decoding").click()
    room = page.locator("[data-room=learn]")
    expect(room.locator(".doc h3")).to_contain_text("Speculative decoding")
    assert room.locator(".tabs .tab").all_inner_texts() == ["Glossary", "Methods"]
    page.get_by_role("link", name="Judge").click()
    room = page.locator("[data-room=judge]")
    expect(room.get_by_role("tab")).to_have_text(["Mismatches", "Table", "Judge", "Reviewers"])
    room.get_by_role("tab", name="Judge").click()
    expect(room.locator(".warn")).to_contain_text("serve the lab")
    expect(room.locator(".curves table")).to_be_attached()
    expect(room).not_to_contain_text("Mine live")


def test_a_page_of_all_cases_has_all_rooms(pages, folder):
    (folder / "all.html").write_text(export(Content(everything=True)), encoding="utf-8")
    page = pages.open(f"file://{folder}/all.html?room=papers", ready=False)
    ready(page)
    expect(page.locator(".paper-item h3")).to_contain_text("Table 1.")
    rooms = ["Compare", "Many runs", "Trajectories", "Judge", "Papers", "Learn"]
    assert page.locator(".room-link").all_inner_texts() == rooms
    page.get_by_role("link", name="Learn").click()
    expect(page.locator("[data-room=learn] .lessons li").first).to_be_visible()
    assert len(page.locator("[data-room=learn] .tabs .tab").all()) == 4
    page.get_by_role("button", name="Start here").click()
    expect(page.locator(".beside h3").first).to_be_visible()


def test_an_embedded_view_leaves_the_rest_out(pages, folder):
    (folder / "embed.html").write_text(export(Content(cases=["first_look"])), encoding="utf-8")
    page = pages.open(f"file://{folder}/embed.html?views=score&chrome=none", ready=False)
    ready(page)
    expect(page.locator("[data-stage=score] canvas").first).to_be_visible()
    for gone in ("header.top", ".runbar", ".verdict", ".stagebar", ".details", ".dock"):
        expect(page.locator(gone).first).to_be_hidden()


def test_a_folder_on_a_static_host_fetches_a_case_when_it_is_opened(pages, folder):
    write(Content(cases=["first_look", "tree_code"]), f"{folder}/site/")
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder / "site"))) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{host.server_port}/"
        page = pages.open(address, ready=False)
        ready(page)
        before = len(pages.asked[page])
        page.get_by_label("Case", exact=True).select_option("tree_code")
        page.wait_for_url("**trace=tree_code**")
        assert len(pages.asked[page]) > before and all(url.startswith(address) for url in pages.asked[page])
        host.shutdown()


def test_a_notebooks_frame_shows_the_run(pages, folder):
    traces = [Trace.load(path) for path in sorted(Path("presets/traces").glob("first_look-*.jsonl.gz"))]
    (folder / "cell.html").write_text(f"<!doctype html>{show(*traces[:2])._repr_html_()}", encoding="utf-8")
    page = pages.open(f"file://{folder}/cell.html", ready=False)
    frame = page.frame_locator("iframe")
    expect(frame.locator(".lane")).to_have_count(2)
    expect(frame.locator("header.top")).to_be_hidden()
    expect(frame.locator(".verdict")).to_be_visible()
    assert pages.asked[page] == [f"file://{folder}/cell.html"]
