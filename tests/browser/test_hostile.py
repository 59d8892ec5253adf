"""Text that would be a script in a page that trusted it: live prompts, knobs in links, mined sets and reviews of others."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.test_workshop import RECORDED, tab, workshop

pytestmark = pytest.mark.browser
MARK = "window.__ran = (window.__ran || 0) + 1"
HOSTILE = [
    f"<script>{MARK}</script>",
    f'<img src=x onerror="{MARK}">',
    f'"><svg onload="{MARK}">',
    '</textarea><iframe srcdoc="<script>parent.__ran = 1</script>"></iframe>',
    f"javascript:{MARK}",
    f"${{{MARK}}}{{{{constructor.constructor('{MARK}')()}}}}",
    f"<math><mtext><style><img src=x onerror='{MARK}'></style></mtext></math>",
]


def unharmed(page: Any) -> None:
    """No script ran, and none of the text became an element."""
    page.wait_for_timeout(300)  # what an image that does not load would do comes later
    assert page.evaluate("window.__ran ?? 0") == 0
    planted = "[onerror], [onload], iframe, [href^='javascript:'], img[src='x']"
    assert page.locator(planted).count() == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_a_live_prompt_is_text(visit: Any, text: str) -> None:
    page = visit()
    page.evaluate(
        "text => draftscope.session.configure({ prompt: text, preset: '', stop: [text.slice(0, 90)],"
        " task: undefined, answer: undefined })",
        text,
    )
    page.evaluate("draftscope.session.run()")
    page.wait_for_function(f"draftscope.store.run()?.head?.prompt === {json.dumps(text)}")
    page.wait_for_function("draftscope.store.status.phase === 'done'")
    for key in ("2", "3", "4", "1"):
        page.keyboard.press(key)
        unharmed(page)
    assert page.evaluate("draftscope.store.lanes.length") > 0


def test_a_link_is_text(visit: Any) -> None:
    odd = quote(HOSTILE[0])
    page = visit(f"?prompt={quote(HOSTILE[1])}&m=chain&m={odd}&v={odd}&at={odd}&f={odd}&tracks={odd}&n=24")
    unharmed(page)


def test_reviews_and_mined_sets_of_others_are_text(visit: Any, tmp_path: Path) -> None:
    page = workshop(visit())
    mined = [json.loads(line) for line in RECORDED.read_text().splitlines()][:4]
    mined[0]["task"] = mined[0].get("task", "arithmetic")
    for line in mined[1:]:
        line["pieces"] = [HOSTILE[i % len(HOSTILE)] for i in range(len(line["pieces"]))]
        for label in line["labels"]:
            label["target_piece"], label["draft_piece"], label["draft_text"] = HOSTILE[0], HOSTILE[1], HOSTILE[2]
    (tmp_path / "mined.jsonl").write_text("".join(json.dumps(line) + "\n" for line in mined))
    page.get_by_label("Open a mined file").set_input_files(tmp_path / "mined.jsonl")
    expect(page.locator(".mismatch").first).to_contain_text("script", timeout=60_000)
    page.locator(".mismatch").first.click()
    unharmed(page)
    tab(page, "reviewers")
    keys = page.evaluate("[...draftscope.mined.sets.values()].flatMap((set) => set.items.map((item) => item.key))")
    theirs = [
        {"kind": "review", "item": key, "verdict": "agree", "reviewer": HOSTILE[1], "note": HOSTILE[i % len(HOSTILE)]}
        for i, key in enumerate(keys)
    ]
    (tmp_path / "second.jsonl").write_text("".join(json.dumps(one) + "\n" for one in theirs))
    page.get_by_label("Import a second reviewer").set_input_files(tmp_path / "second.jsonl")
    expect(page.locator("[data-tab=reviewers]")).to_be_visible()
    unharmed(page)
    (tmp_path / "bad.jsonl").write_text(json.dumps({"item": HOSTILE[0], "verdict": HOSTILE[1]}) + "\n")
    page.get_by_label("Import a second reviewer").set_input_files(tmp_path / "bad.jsonl")
    unharmed(page)
