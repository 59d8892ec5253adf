"""Pictures of every room, view and width, light and dark, to be looked at: python -m tests.browser.everything FOLDER [WIDTH ...]

Pages are taken whole, and what is hard to read on one (`legible.py`) is told beside its name.
"""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from app.flags import parser
from app.serve import launch
from app.starting import assemble
from engine.analysis.explain import why
from tests.app.fakes import free_port
from tests.browser.harness import CHROMIUM, FLAGS
from tests.browser.legible import STILL, faults

WIDTHS = (390, 768, 1024, 1280, 1440, 1920, 2560)
VIEWS = ("text", "score", "trees", "shares")
PLACES = {
    **{f"four-{view}": f"trace=first_look&v={view}&at=specdec~~12~" for view in VIEWS},
    **{f"all-{view}": f"trace=all_methods&v={view}&at=eagle3~~20~" for view in VIEWS},
    "three-sampled": "trace=sampled&v=text",
    **{f"two-{view}": f"trace=sd_loses&v={view}" for view in VIEWS},
    "runs": "room=runs",
    "papers": "room=papers",
    "trajectories": "room=trajectories",
    "judge": "room=judge",
    "lessons": "room=learn",
    "lesson": "room=learn&tab=lessons&name=entropy",
    "gallery": "room=learn&tab=gallery",
    "glossary": "room=learn&tab=glossary",
    "methods": "room=learn&tab=methods",
}
"""Name of a picture: the address of what it shows."""


TALLEST = 2400  # pixels of a page that are taken


def pictures(browser: Browser, port: int, widths: tuple[int, ...]) -> Iterator[tuple[str, bytes, list[str]]]:
    """Each place at each width in both themes, with its name and its faults; one page a theme walks through them."""
    for theme in ("light", "dark"):
        page = browser.new_context(reduced_motion="reduce").new_page()
        for name, query in PLACES.items():
            page.goto(f"http://127.0.0.1:{port}/?__theme={theme}&{query}")
            page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
            page.wait_for_load_state("networkidle")
            for width in widths:
                page.set_viewport_size({"width": width, "height": 844 if width < 500 else 900})
                page.evaluate(STILL)
                yield f"{name}-{width}-{theme}", whole(page, width), faults(page)
        page.context.close()


def whole(page: Page, width: int) -> bytes:
    """The page from its top to its end, within bounds."""
    tall: int = page.evaluate("document.documentElement.scrollHeight")
    return page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": min(TALLEST, tall)})


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    demo = launch(*assemble(parser().parse_args([])), why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, picture, found in pictures(browser, port, tuple(map(int, sys.argv[2:])) or WIDTHS):
            (folder / f"{name}.png").write_bytes(picture)
            print(name, *found, sep="\n  ")
        browser.close()
    demo.close()


if __name__ == "__main__":
    main()
