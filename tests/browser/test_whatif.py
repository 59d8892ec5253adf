"""Moving a threshold on a recorded trace must foretell the first token that a real run with that threshold changes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.trace.store import event_json
from tests.browser.views_page import open_views, static_server

sync_api = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
PROMPT = "Once upon a time there was a small lighthouse. "
MOVES = (
    (
        "easd",
        {"tau_entropy": 1.0, "tau_overlap": 0.4},
        ({"tau_entropy": 1.4}, {"tau_entropy": 0.5}, {"tau_overlap": 0.6}),
    ),
    ("specdec", {}, ({"top_beta": 2}, {"tau_base": 0.5}, {"tau_base": 6.0})),
    ("cm_asd", {}, ({"tau_gamma": 0.3}, {"top_beta": 1})),
    ("topk_lossy", {}, ({"accept_k": 2}, {"accept_k": 1}, {"accept_k": 9})),
)


@pytest.fixture(scope="module")
def lab() -> Any:
    if not Path("assets/tiny/target/config.json").is_file():
        pytest.skip("the embedded pair is not there")
    from engine.lab import Lab

    return Lab.load("tiny")


@pytest.mark.parametrize(("method", "knobs", "moves"), MOVES)
def test_the_first_change_is_foretold(
    lab: Any, method: str, knobs: dict[str, Any], moves: tuple[dict[str, Any], ...]
) -> None:
    def run(**values: Any) -> Any:
        return lab.run(method, PROMPT, max_new_tokens=40, **{**knobs, **values})

    trace = run()
    card = next(card for card in lab.methods() if card.name == method)
    lane = {"key": method, "card": card.to_json(), "events": [event_json(event) for event in trace.events]}
    with static_server() as base, sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        open_views(page, base, [lane])
        for moved in moves:
            told = page.evaluate(
                """async (moved) => { const run = store.run(); const { replay } = await import('./thresholds.js');
                return replay(run, { ...run.head.knobs, ...moved }).changed?.pos ?? null; }""",
                moved,
            )
            other = run(**moved)
            pairs = zip([token.token for token in trace.tokens], [token.token for token in other.tokens], strict=False)
            seen = next((pos for pos, (one, two) in enumerate(pairs) if one != two), None)
            if seen is None and len(trace.tokens) != len(other.tokens):
                seen = min(len(trace.tokens), len(other.tokens))
            assert told == seen, moved
        browser.close()
