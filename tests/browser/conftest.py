"""A real Chromium on the real page, over made-up runs. Every page fails its test if it logged an error or left this machine."""

import os
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.state import Limits
from engine.analysis.explain import why
from engine.files.presets import list_presets
from engine.methods import CARDS
from tests.app.fakes import FakeLab, free_port, sentence
from tests.browser.harness import CHROMIUM, FLAGS, made_up_service
from tests.browser.pages import Contexts, Pages
from tests.browser.views_page import static_server

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong


@dataclass
class Server:
    url: str
    lab: FakeLab
    service: Service


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    service, preset_catalogue, lab = made_up_service(tmp_path_factory.mktemp("traces"), pause=0.01)
    port = free_port()
    demo = launch(service, preset_catalogue, sentence, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield Server(f"http://127.0.0.1:{port}/", lab, service)
    demo.close()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The page over the recorded cases; no model is loaded."""
    limits = Limits()
    preset_catalogue = PresetCatalogue(list_presets(), CARDS, why, limits)
    service = Service(CARDS, {"tiny": FakeLab}, why, limits)
    port = free_port()
    demo = launch(service, preset_catalogue, why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    yield f"http://127.0.0.1:{port}/"
    demo.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is missing: install the system's Chromium to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def contexts(browser: Browser) -> Contexts:
    """What pages of all tests are opened in."""
    return Contexts(browser)


@pytest.fixture
def pages(contexts: Contexts) -> Iterator[Pages]:
    """Pages that are closed after the test, and fail it if one logged an error or left this machine."""
    opened = Pages(contexts)
    yield opened
    opened.close()


@pytest.fixture
def visit(pages: Pages, server: Server) -> Callable[..., Page]:
    """Open the page over made-up runs: visit(query, **context options)."""

    def go(query: str = "", wait: bool = True, **options: Any) -> Page:
        address = query if query.startswith("http") else server.url + query
        return pages.open(address, wait, **{"viewport": {"width": 1400, "height": 900}, **options})

    return go


@pytest.fixture
def visit_cases(pages: Pages, address: str) -> Callable[..., Page]:
    """Open the page over the recorded cases: visit_cases(query, **context options)."""
    return lambda query="", **options: pages.open(address + query, **options)


@pytest.fixture(scope="session")
def base() -> Iterator[str]:
    """The page's files alone, for charts without a lab (`tests/browser/views_page.py`)."""
    with static_server() as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page for them."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(90_000)
    yield context.new_page()
    context.close()
