"""Pages of the lab in a real browser, each in a context of its own, and what they must not do."""

import json
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

INSIDE = ("data:", "blob:")  # addresses that fetch nothing
ALLOWED = "400 (Bad Request)"  # the console notes each refusal of the server


class Contexts:
    """Contexts of one browser, lent to one test after another: what the browser fetched stays, what a page kept goes.

    A page has 240 files, and half of the time in which it opens passes until a browser has them all.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.idle: dict[str, list[BrowserContext]] = {}  # by their options

    def lend(self, options: dict[str, Any]) -> BrowserContext:
        """A context with these options that nobody uses."""
        idle = self.idle.get(json.dumps(options, sort_keys=True))
        return idle.pop() if idle else self.browser.new_context(**options)

    def take_back(self, context: BrowserContext, options: dict[str, Any]) -> None:
        """Close its pages and forget what they kept."""
        for page in context.pages:
            page.close()
        context.set_storage_state({"cookies": [], "origins": []})
        self.idle.setdefault(json.dumps(options, sort_keys=True), []).append(context)


class Pages:
    """Opens pages, and keeps what they asked for and which errors they logged."""

    def __init__(self, contexts: Contexts) -> None:
        self.contexts = contexts
        self.lent: list[tuple[BrowserContext, dict[str, Any]]] = []
        self.errors: list[str] = []
        self.asked: dict[Page, list[str]] = {}  # the addresses that each page fetched

    def open(self, address: str, ready: bool = True, **options: Any) -> Page:
        """Open an address, with options of the browser's context; wait until the page is ready."""
        options = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True, **options}
        context = self.contexts.lend(options)
        self.lent.append((context, options))
        page = context.new_page()
        page.set_default_timeout(60_000)
        asked = self.asked[page] = list[str]()
        page.on("request", lambda request: None if request.url.startswith(INSIDE) else asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.goto(address)
        if ready:
            page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
        return page

    def close(self) -> None:
        """Close them all. None has logged an error or asked another machine."""
        for context, options in self.lent:
            self.contexts.take_back(context, options)
        hosts = {urlsplit(urls[0]).netloc for urls in self.asked.values() if urls}
        assert [url for urls in self.asked.values() for url in urls if urlsplit(url).netloc not in hosts] == []
        assert [text for text in self.errors if ALLOWED not in text] == []
