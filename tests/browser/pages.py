"""Pages of the lab in a real browser, each in a context of its own, and what they must not do."""

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

INSIDE = ("data:", "blob:")  # addresses that fetch nothing
ALLOWED = "400 (Bad Request)"  # the console notes each refusal of the server


class Pages:
    """Opens pages, and keeps what they asked for and which errors they logged."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: list[BrowserContext] = []
        self.errors: list[str] = []
        self.asked: dict[Page, list[str]] = {}  # the addresses that each page fetched

    def open(self, address: str, ready: bool = True, **options: Any) -> Page:
        """Open an address, with options of the browser's context; wait until the page is ready."""
        usual = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True}
        context = self.browser.new_context(**{**usual, **options})
        self.contexts.append(context)
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
        for context in self.contexts:
            context.close()
        hosts = {urlsplit(urls[0]).netloc for urls in self.asked.values() if urls}
        assert [url for urls in self.asked.values() for url in urls if urlsplit(url).netloc not in hosts] == []
        assert [text for text in self.errors if ALLOWED not in text] == []
