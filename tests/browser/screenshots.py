"""Take the README's pictures, the first page and all methods, and its film: python -m tests.browser.screenshots [height]"""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from app.flags import parser
from app.serve import launch
from app.starting import assemble
from engine.analysis.explain import why
from tests.app.fakes import free_port
from tests.browser.harness import CHROMIUM, FLAGS

FOLDER = Path("docs/screenshots")
DRAWN = "new Promise((done) => { let left = 3; const next = () => (left-- ? requestAnimationFrame(next) : done()); next(); })"
AT = (3, 52)  # lane and position that the cursor stands on: a draft token that the relaxed rule accepted
ALL = "trace=all_methods&at=eagle3~6~~&dock=hidden"
FILM = "trace=first_look&dock=hidden"
FRAMES, A_SECOND, REST = 72, 12, 3.0  # of the film, whose last frame stands for `REST` seconds


def film(page: Page, path: Path) -> None:
    """A recorded case as its clock ran, slower: every lane at the same moment in every frame, the time below them."""
    images = []
    for i in range(FRAMES + 1):
        page.evaluate(
            "(share) => draftscope.store.setTime({ mode: 'clock', at: share * draftscope.store.span('clock') })",
            i / FRAMES,
        )
        page.evaluate(DRAWN)
        images.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    times = [1000 // A_SECOND] * FRAMES + [int(REST * 1000)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=times, loop=0, quality=60, method=6)


def main() -> None:
    height = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    port = free_port()
    demo = launch(*assemble(parser().parse_args([])), why, host="127.0.0.1", port=port, prevent_thread_lock=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for theme in ("light", "dark"):
            page = browser.new_context(viewport={"width": 1440, "height": height}, color_scheme=theme).new_page()
            page.goto(f"http://127.0.0.1:{port}/?__theme={theme}")
            page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
            page.evaluate("(theme) => document.body.classList.toggle('dark', theme === 'dark')", theme)
            page.locator(".lane").nth(AT[0]).locator(f'[data-i="{AT[1]}"]').click()
            page.mouse.move(5, 5)
            page.locator(".lane .flags").first.wait_for(state="attached")  # mined labels come last
            page.evaluate(DRAWN)
            page.screenshot(path=FOLDER / f"{theme}.png")
        page = browser.new_context(viewport={"width": 1440, "height": height}).new_page()
        page.goto(f"http://127.0.0.1:{port}/?__theme=light&{ALL}")
        page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
        page.wait_for_function("document.querySelectorAll('.score .head').length === draftscope.store.lanes.length")
        page.evaluate(DRAWN)
        page.screenshot(path=FOLDER / "score.png")
        page = browser.new_context(viewport={"width": 1200, "height": 780}).new_page()
        page.goto(f"http://127.0.0.1:{port}/?__theme=light&{FILM}")
        page.wait_for_function("document.documentElement.dataset.draftscope === 'ready'")
        page.wait_for_function("draftscope.store.span('clock') > 0")
        film(page, FOLDER / "film.webp")
        browser.close()
    demo.close()


if __name__ == "__main__":
    main()
