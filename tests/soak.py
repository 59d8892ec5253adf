"""python -m tests.soak: does the server's memory come back? Mixed API runs, uploads and idle pages against a real server.

After a warm-up, so many runs and uploads, each of a visitor of its own, may grow the process by 5 % at most. Idle pages
hold their event streams open all the while.
"""

import argparse
import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Error, Page, async_playwright

from engine.files.places import PRESETS
from tests.browser.harness import CHROMIUM, FLAGS

MOST = 0.05
LARGE, SMALL = "fourth_try-0-stand.jsonl.gz", "near_tie-1-sd.jsonl.gz"
PROMPT = "Question: Emma starts with 66 coins. She gives 9 to each of 3 friends."
READY = "document.documentElement.dataset.draftscope === 'ready'"
EVERY = 100  # runs between two looks at the memory


def main() -> int:
    """Warm up, run, report; status 1 where the process grew by more."""
    flags = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    flags.add_argument("--runs", type=int, default=1000, help="API runs after the warm-up (default: 1000)")
    flags.add_argument("--uploads", type=int, default=50, help="uploads after the warm-up (default: 50)")
    flags.add_argument("--warm-up", type=int, default=200, help="runs before the first look (default: 200)")
    flags.add_argument("--pages", type=int, default=8, help="idle pages (default: 8)")
    flags.add_argument("--browsers", type=int, default=3, help="idle pages in a real Chromium (default: 3)")
    flags.add_argument("--out", type=Path, help="write the figures there as JSON")
    args = flags.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"GRADIO_ANALYTICS_ENABLED": "False"}
    command = [sys.executable, "-m", "app", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            while "Draftscope is on" not in (line := server.stdout.readline()):
                if not line:
                    raise SystemExit("The server did not start.")
            report = asyncio.run(soak(args, f"http://127.0.0.1:{port}", server.pid))
        finally:
            server.terminate()
    report = {"command": f"python -m tests.soak --runs {args.runs} --uploads {args.uploads}", **report}
    print(json.dumps(report, indent=1))
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    good = report["idle_browser_pages_that_still_run"] == report["idle_browser_pages"]
    return 0 if good and report["growth"] <= MOST and not report["failed"] else 1


async def soak(args: argparse.Namespace, base: str, pid: int) -> dict[str, Any]:
    """All of it, as figures."""
    traces = {name: (PRESETS / "traces" / name).read_bytes() for name in (LARGE, SMALL)}
    started = time.monotonic()
    async with httpx.AsyncClient(base_url=base, timeout=120) as http, _browsers(base, args.browsers) as browsers:
        pages = [asyncio.create_task(_idle(http, number)) for number in range(args.pages)]
        failed = await _runs(
            http, args.warm_up, max(1, args.warm_up * args.uploads // max(1, args.runs)), traces, [], pid
        )
        looks = [held(pid)]
        failed += await _runs(http, args.runs, args.uploads, traces, looks, pid)
        open_pages = sum(not page.done() for page in pages)
        alive = [await _alive(page) for page in browsers]
        for page in pages:
            page.cancel()
        await asyncio.gather(*pages, return_exceptions=True)
    return {
        "warm_up": args.warm_up,
        "runs": args.runs,
        "uploads": args.uploads,
        "idle_pages": args.pages,
        "idle_pages_still_open": open_pages,
        "idle_browser_pages": len(alive),
        "idle_browser_pages_that_still_run": sum(alive),
        "failed": failed,
        "megabytes_after_warm_up": looks[0],
        "megabytes_at_the_end": looks[-1],
        "megabytes": looks,
        "growth": round(looks[-1] / looks[0] - 1, 4),
        "allowed_growth": MOST,
        "minutes": round((time.monotonic() - started) / 60, 1),
    }


async def _runs(
    http: httpx.AsyncClient, runs: int, uploads: int, traces: dict[str, bytes], looks: list[float], pid: int
) -> int:
    """Runs with uploads between them; how many failed. `looks` takes the memory every now and then."""
    failed, due = 0, max(1, runs // max(1, uploads))
    for number in range(runs):
        failed += not await _call(http, number)
        if number % due == 0 and uploads:
            name = LARGE if (number // due) % 2 else SMALL
            answer = await http.post("/lab/open", content=traces[name])
            failed += answer.status_code != 200
            uploads -= 1
        if (number + 1) % EVERY == 0:
            looks.append(held(pid))
    return failed


async def _call(http: httpx.AsyncClient, number: int) -> bool:
    """One call of the named API, of a session of its own; whether it gave a result."""
    trace = PRESETS / "traces" / "near_tie-0-ar.jsonl.gz"
    name, data = _asked(number, trace)
    joined = await http.post(f"/gradio_api/call/{name}", json={"data": data})
    if joined.status_code != 200:
        return False
    answer = await http.get(f"/gradio_api/call/{name}/{joined.json()['event_id']}")
    return "event: complete" in answer.text


def _asked(number: int, trace: Path) -> tuple[str, list[Any]]:
    """Name and arguments of the n-th call of a mix."""

    def decode(methods: list[str], temperature: float = 0.0) -> list[Any]:
        return [methods, PROMPT, "tiny", 12, temperature, 1.0, 0, number, False, {}, []]

    text = gzip.decompress(trace.read_bytes()).decode()
    return (
        ("decode", decode(["ar", "sd"])),
        ("decode", decode(["eagle3"])),
        ("run", decode(["sd", "pld"])),
        ("load_trace", [text]),
        ("decode", decode(["easd"], 0.7)),
        ("explain", [text, 1, None]),
        ("methods", ["tiny"]),
        ("run", decode(["eagle3", "heterospec"])),
        ("decode", decode(["medusa", "stand"], 0.7)),
        ("decode", decode(["autojudge"])),
    )[number % 10]


async def _idle(http: httpx.AsyncClient, number: int) -> None:
    """A page that nobody touches: the page itself, then its heartbeat, which stays open."""
    await http.get("/")
    async with http.stream("GET", f"/gradio_api/heartbeat/soak{number:04}", timeout=None) as beats:
        async for _ in beats.aiter_bytes():
            continue


@asynccontextmanager
async def _browsers(base: str, count: int) -> AsyncIterator[list[Page]]:
    """The page itself, so many times in a real Chromium, opened and left alone; none where there is no Chromium."""
    if not count or not Path(CHROMIUM).exists():
        yield []
        return
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        pages = [await (await browser.new_context()).new_page() for _ in range(count)]
        for page in pages:
            await page.goto(base)
            await page.wait_for_function(READY)
        yield pages
        await browser.close()


async def _alive(page: Page) -> bool:
    """Whether a page that was left alone can still run what it shows."""
    try:
        await page.evaluate("draftscope.session.run()")
        await page.wait_for_function("draftscope.store.status.phase === 'running'", timeout=60_000)
        await page.wait_for_function("draftscope.store.status.phase === 'done'", timeout=120_000)
    except Error:
        return False
    return bool(await page.evaluate("draftscope.store.lanes.length > 0"))


def held(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) * 1024 / 1e6, 1)
    raise ProcessLookupError(pid)


if __name__ == "__main__":
    raise SystemExit(main())
