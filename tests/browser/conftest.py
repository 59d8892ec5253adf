"""A real Chromium on the real page, over made-up runs. Every page fails its test if it logged an error or left this machine."""

import os
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.state import Limits
from engine.analysis.explain import why
from engine.files.presets import list_presets
from engine.methods import CARDS
from tests.app.fakes import FakeLab, free_port, sentence
from tests.browser.harness import CHROMIUM, FLAGS, shelf_and_service

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong


@dataclass
class Server:
    url: str
    lab: FakeLab
    service: Service


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    service, shelf, lab = shelf_and_service(tmp_path_factory.mktemp("traces"), pause=0.01)
    port = free_port()
    demo = launch(service, shelf, sentence, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield Server(f"http://127.0.0.1:{port}/", lab, service)
    demo.close()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The page over the recorded cases; no model is loaded."""
    limits = Limits()
    shelf = PresetCatalogue(list_presets(), CARDS, why, limits)
    service = Service(CARDS, {"tiny": FakeLab}, why, limits)
    port = free_port()
    demo = launch(service, shelf, why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}/"
    demo.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is missing: install the system's Chromium to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """Open the page in a browser of its own: visit(query, **context options)."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    outside: list[str] = []

    def go(query: str = "", wait: bool = True, **options: Any) -> Page:
        context = browser.new_context(
            viewport=options.pop("viewport", {"width": 1400, "height": 900}), accept_downloads=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((server.url, "data:", "blob:")) else outside.append(request.url)
            ),
        )
        page.goto(query if query.startswith("http") else server.url + query)
        if wait:
            page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
        return page

    yield go
    for context in contexts:
        context.close()
    assert outside == []
    assert [text for text in errors if "400 (Bad Request)" not in text] == []
