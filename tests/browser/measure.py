"""The page's speed: python -m tests.browser.measure [--tokens N] [--json FILE]. Made-up runs, five lanes, a real Chromium, this machine.

Targets: 15 updates a second, at most 30 ms from event to frame at 2,000 tokens a lane, 50 frames a second while streaming, hover to
highlight in the next frame, first paint under 2 s warm, no external request. The score is held to the same figures with 6 methods of 2,000
positions and all tracks, and with 24 of 500: streamed into the store at 15 updates a second, then panned and zoomed.
"""

import os
from typing import Any, cast

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from app.request import Request
from app.serve import launch
from app.service import Service
from app.state import Limits
from app.wire.runs import RunMessage
from tests.app.fakes import free_port, sentence
from tests.browser.fixtures import traces
from tests.browser.harness import CHROMIUM, FLAGS, METHODS, made_up_service

WATCH = """(from) => {
  const m = (window.measured = { late: [], frames: 0, slow: 0, began: 0, updates: 0 });
  const { bus } = draftscope, { store } = draftscope, receive = bus.receive;
  const mean = () => [...store.runs.values()].reduce((sum, run) => sum + run.tokens.length, 0) / store.runs.size;
  bus.receive = (text) => {
    const sent = Number(/"sent": ([0-9.]+)/.exec(text)?.[1]);
    receive(text);
    if (!sent || !text.includes('"ev"') || mean() < from) return;
    m.began ||= performance.now();
    m.ended = performance.now();
    if (m.ended - m.began > 6000 && !m.over) (m.over = true), bus.stop();
    m.updates += 1;
    requestAnimationFrame(() => {
      const after = new MessageChannel();
      after.port1.onmessage = () => m.late.push(Date.now() - sent);
      after.port2.postMessage(0);
    });
  };
  let last = performance.now();
  const tick = (now) => {
    if (m.began && !m.over) (m.frames += 1), now - last > 50 && (m.slow += 1);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
HOVER = """() => new Promise((done) => {
  const lane = document.querySelector('[data-lane=chain] .flow').getBoundingClientRect();
  const inside = (k) => k.getBoundingClientRect().top > lane.top && k.getBoundingClientRect().bottom < lane.bottom;
  const chips = [...document.querySelectorAll('[data-lane=chain] .k')].filter(inside).slice(0, 60);
  const times = [];
  let i = 0;
  const next = () => {
    if (i >= chips.length) return done(times);
    const chip = chips[i++], at = performance.now();
    chip.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
    const marked = chip.classList.contains('hov') ? performance.now() - at : NaN;
    requestAnimationFrame(() => { times.push([marked, performance.now() - at]); setTimeout(next, 20); });
  };
  next();
})"""

SCORE = """async ([text, count, folded]) => {
  const traces = JSON.parse(text);
  const { store } = draftscope;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = () => done(performance.now());
    after.port2.postMessage(0);
  }));
  const lanes = Array.from({ length: count }, (_, i) => ({ ...traces[i % traces.length], key: `lane${i}` }));
  store.begin(lanes.map(({ key, card }) => ({ key, card })));
  store.setOption("stage", "score");
  store.setOption("folded", folded);
  const rounds = lanes.map(({ events }) => events.filter((event) => event.kind === "round"));
  for (const [i, { key, events }] of lanes.entries())
    store.push(key, [events[0], ...rounds[i].slice(0, Math.floor(rounds[i].length * 0.85))]);
  for (let i = 0; i < 12; i++) await frame();
  let [frames, running, began] = [0, true, performance.now()];
  const count_ = () => { frames += 1; if (running) requestAnimationFrame(count_); };
  requestAnimationFrame(count_);
  const late = [];
  for (let step = 0; step < 60; step++) {
    const at = performance.now();
    for (const [i, { key }] of lanes.entries()) {
      const [from, more] = [Math.floor(rounds[i].length * 0.85), rounds[i].length * 0.15 / 60];
      const batch = rounds[i].slice(from + Math.floor(step * more), from + Math.floor((step + 1) * more));
      if (batch.length) store.push(key, batch);
    }
    late.push((await painted()) - at);
    await new Promise((done) => setTimeout(done, Math.max(0, 66 - (performance.now() - at))));
  }
  running = false;
  const seconds = (performance.now() - began) / 1000;
  for (const { key, events } of lanes) store.push(key, [events.at(-1)]);
  store.setStatus({ phase: "done" });
  for (let i = 0; i < 12; i++) await frame();
  const view = document.querySelector(".score .scroller");
  const keys = document.querySelector(".score .over");
  const press = (key) => keys.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const timed = async (act) => { const at = performance.now(); act(); return (await painted()) - at; };
  const zoom = [];
  for (const key of ["+", "+", "+", "-", "+", "-", "+"]) zoom.push(await timed(() => press(key)));
  const pan = [];
  for (let i = 0; i < 60; i++) pan.push(await timed(() => (view.scrollLeft += 25)));
  return { late, frames: frames / seconds, zoom, pan, tracks: store.options.tracks.length };
}"""


class Stamped(Service):
    """A service whose messages carry the time they were sent, in milliseconds since 1970."""

    def run(self, request: Request, keeps: bool = True) -> Iterator[RunMessage]:
        for message in super().run(request, keeps):
            stamped: dict[str, Any] = {"sent": time.time() * 1000, **message}
            yield cast(RunMessage, stamped)


def main() -> None:
    flags = argparse.ArgumentParser(prog="python -m tests.browser.measure", description=__doc__)
    flags.add_argument(
        "--tokens", type=int, default=2000, help="tokens a lane before streaming is measured (default: 2000)"
    )
    flags.add_argument("--json", type=Path, metavar="FILE", help="also write the figures, as docs/results/page.json")
    args = flags.parse_args()
    tokens: int = args.tokens
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        plain, preset_catalogue, lab = made_up_service(Path(folder), pause=0.0045)
        service = Stamped(plain.cards, {"made-up": lambda: lab}, sentence, replace(Limits(), max_tokens=5000))
        port = free_port()
        demo = launch(service, preset_catalogue, sentence, host="127.0.0.1", port=port, prevent_thread_lock=True)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1600, "height": 1000})
        outside: list[str] = []
        context.on(
            "request",
            lambda request: (
                None
                if f":{port}/" in request.url or request.url[:5] in ("data:", "blob:")
                else outside.append(request.url)
            ),
        )
        page = context.new_page()
        paint = {name: opened(page, port) for name in ("cold", "warm", "warm")}
        for name, seconds in paint.items():
            print(f"first paint, {name}: {seconds:.2f} s (all views of a recorded run drawn)")
        figures = stream(page, tokens)
        hover = page.evaluate(HOVER)
        script, frame = (statistics.median(pair[i] for pair in hover) for i in (0, 1))
        print(f"hover: {script:.2f} ms of script, highlighted in the next frame after {frame:.1f} ms")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        print(f"heap: {heap:.0f} MB; chips: {page.locator('.lane .k').count()}")
        figures["score"] = [score(page, port, count, each) for count, each in ((6, 2000), (24, 500))]
        print(f"external requests: {len(outside)}")
        figures |= {"first_paint_s": paint, "hover": {"script_ms": script, "frame_ms": frame}, "heap_mb": heap}
        figures |= {"outside": len(outside)}
        browser.close()
        demo.close()
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def opened(page: Page, port: int) -> float:
    """Seconds from navigation to a page whose views have all been drawn."""
    page.goto(f"http://127.0.0.1:{port}/")
    page.wait_for_function(
        "document.documentElement.dataset.draftscope === 'ready' && document.querySelectorAll('.lane .k').length >= 600"
    )
    marks: Any = page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
    )
    return float(marks) / 1000


def score(page: Page, port: int, count: int, tokens: int) -> dict[str, Any]:
    """The score while runs grow, then under a hand that pans and zooms. Six lanes are open with all tracks, more are folded."""
    opened(page, port)
    m = page.evaluate(SCORE, [json.dumps(traces(METHODS, tokens)), count, count > 6])
    late = sorted(m["late"])
    figures = {
        "methods": count,
        "positions": tokens,
        "event_to_frame_ms": {"median": statistics.median(late), "p95": late[int(0.95 * len(late))]},
        "frames_per_s": m["frames"],
        "zoom_to_frame_ms": statistics.median(m["zoom"]),
        "pan_to_frame_ms": {"median": statistics.median(m["pan"]), "p95": sorted(m["pan"])[56]},
    }
    shown = "spans" if count > 6 else f"{m['tracks']} tracks"
    print(
        f"score, {count} methods x {tokens} positions, {shown}: "
        f"event to frame p50 {statistics.median(late):.0f} ms, p95 {late[int(0.95 * len(late))]:.0f} ms; "
        f"{m['frames']:.0f} frames/s while streaming; zoom to frame {statistics.median(m['zoom']):.0f} ms; "
        f"pan to frame {statistics.median(m['pan']):.0f} ms, p95 {sorted(m['pan'])[56]:.0f} ms"
    )
    return figures


def stream(page: Page, tokens: int) -> dict[str, Any]:
    """Five lanes live, printed and returned; figures are of the part after `tokens` tokens a lane."""
    page.evaluate(WATCH, tokens)
    page.evaluate("draftscope.session.configure({max_new_tokens: 5000})")
    assert page.evaluate("draftscope.session.config.lanes.length") == len(METHODS)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("draftscope.store.status.phase === 'running'", timeout=60_000)
    page.wait_for_function("draftscope.store.status.phase === 'done'", timeout=600_000)
    m = page.evaluate("measured")
    late, seconds = sorted(m["late"]), (m["ended"] - m["began"]) / 1000
    middle, most = statistics.median(late), late[int(0.95 * len(late))]
    print(
        f"streaming beyond {tokens} tokens a lane, {len(METHODS)} lanes: event to frame p50 {middle:.0f} ms, p95 {most:.0f} ms; "
        f"{m['updates'] / seconds:.1f} updates/s; {m['frames'] / seconds:.0f} frames/s, {m['slow']} frames over 50 ms"
    )
    return {
        "tokens": tokens,
        "lanes": len(METHODS),
        "event_to_frame_ms": {"median": middle, "p95": most},
        "updates_per_s": m["updates"] / seconds,
        "frames_per_s": m["frames"] / seconds,
        "frames_over_50_ms": m["slow"],
    }


if __name__ == "__main__":
    main()
