"""Questions that a visitor comes with: each is answered by what the page shows, within a number of actions from the first paint.

A click, a key, a choice in a menu and a scroll are one action each; what is read has to be inside the window without any further one.
What the page says is held against the recorded traces.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.files.places import PRESETS
from engine.files.presets import get_preset
from engine.trace.outcome import tcr
from engine.trace.store import Trace
from tests.typed import some

pytestmark = pytest.mark.browser


class Visitor:
    """Somebody in front of a window of a laptop who has so many actions, and reads what is in view."""

    def __init__(self, page: Page, actions: int) -> None:
        self.page, self.left = page, actions

    def acts(self) -> None:
        self.left -= 1
        assert self.left >= 0, "no action is left"

    def clicks(self, what: Locator, x: float = 0.5) -> None:
        """Click where one can see it: at a share of its width, without scrolling there."""
        self.acts()
        self.sees(what)
        box = what.bounding_box()
        assert box
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + box["height"] / 2)

    def chooses(self, what: Locator, label: str) -> None:
        self.acts()
        self.sees(what)
        what.select_option(label=label)

    def sees(self, what: Locator) -> None:
        """It is inside the window, and nothing lies over its middle."""
        expect(what).to_be_visible()
        expect(what).to_be_in_viewport(ratio=0.99)
        self.page.wait_for_function(ON_TOP, arg=what.element_handle())

    def reads(self, what: Locator, words: str | re.Pattern[str]) -> None:
        """These words are there, in view."""
        expect(what).to_contain_text(words)
        self.sees(what)


ON_TOP = """(one) => {
  const box = one.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return one.contains(top) || top?.contains(one);
}"""


@pytest.fixture
def visitor(visit_cases: Callable[..., Page]) -> Callable[[int], Visitor]:
    """visitor(actions): the first paint, in a window of 1440 by 900."""
    return lambda actions: Visitor(visit_cases(reduced_motion="reduce"), actions)


@cache
def traces(case: str) -> tuple[Trace, ...]:
    return tuple(Trace.load(PRESETS / path) for path in get_preset(case).traces)


def shown(piece: str) -> str:
    """A piece as the page writes it where a blank would vanish."""
    return piece.replace(" ", "·").replace("\n", "↵")


def rejected(event: Any) -> Any:
    """The rejected draft token that ended a round: the first child of the accepted path that was turned down."""
    tip = event.path[-1] if event.path else -1
    return next(node for node in event.nodes if node.parent == tip and node.state in ("rejected", "vetoed"))


def pieces(trace: Trace, token: int) -> str:
    return trace.pieces[token]


def title(trace: Trace) -> str:
    return trace.head.title


def test_why_was_this_token_rejected(visitor: Any) -> None:
    someone = visitor(1)
    trace = traces("first_look")[1]
    event = next(event for event in trace.rounds if 0 < event.accepted < event.drafted)
    node, token = rejected(event), event.tokens[-1]
    someone.clicks(someone.page.locator(f'[data-lane="{trace.head.method}"] .k.correction[data-i="{token.pos}"] b'))
    sentence = someone.page.locator(".v-why")
    someone.reads(sentence, f"draft gave {shown(pieces(trace, node.token))} {node.q:.2f}, target {node.p:.2f}")
    someone.reads(sentence, shown(token.piece))


def test_which_method_needs_the_fewest_target_calls_and_why(visitor: Any) -> None:
    someone = visitor(1)
    least = min(traces("first_look"), key=lambda trace: len(trace.rounds))
    calls = len(least.rounds)
    lane = someone.page.locator(f'[data-lane="{least.head.method}"]')
    someone.reads(lane.locator(".figures > div").nth(2), str(calls))
    someone.reads(someone.page.locator(".v-verdict-cause"), f"{title(least)} needed the fewest target calls: {calls}")
    someone.clicks(lane.locator(".k.draft").first)
    drafted = sum(event.drafted for event in least.rounds)
    share = sum(event.accepted for event in least.rounds) / drafted
    drafting = sum(event.drafted > 0 for event in least.rounds)
    said = f"{calls} target calls, the fewest here: drafts of {drafted / drafting:.1f} tokens, {share * 100:.0f} % of them accepted"
    someone.reads(someone.page.locator(".v-verdict-cause"), said)


def test_where_two_methods_part_and_why(visitor: Any) -> None:
    someone = visitor(1)
    first, second = traces("first_look")[0], traces("first_look")[2]
    at = next(i for i, (a, b) in enumerate(zip(first.token_ids, second.token_ids, strict=False)) if a != b)
    someone.acts()
    someone.page.mouse.move(300, 500)
    someone.page.mouse.wheel(0, 600)
    card = someone.page.locator(".v-divergence .v-diverge")
    someone.reads(card.locator(".v-context"), f"position {at}")
    for trace in (first, second):
        someone.reads(card.locator(".v-context"), shown(pieces(trace, trace.token_ids[at])))
    someone.reads(card.locator(".v-cause"), "Lossy rule")
    someone.reads(card.locator(".v-cause"), f"{title(first)} has")


def test_is_speculation_worth_it_here(visitor: Any) -> None:
    someone = visitor(0)
    plain, drafted = traces("first_look")[:2]
    ratio = drafted.metrics()["tokens_per_s"] / plain.metrics()["tokens_per_s"]
    line = someone.page.locator(".v-verdict-line")
    someone.reads(line, re.compile(rf"{title(drafted)} is {ratio:.2f}× faster than {title(plain)}"))
    someone.reads(someone.page.locator(".v-verdict-cause"), "pays for itself")


def test_which_token_changed_the_answer(visitor: Any) -> None:
    someone = visitor(2)
    trace = traces("first_look")[0]
    answers = set()  # what the mined swaps of this prompt made of the answer
    for line in (PRESETS / "mined/arithmetic.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item.get("key") == trace.head.prompt:
            answers |= {label["draft_answer"] for label in item["labels"] if label["important"]}
    flag = someone.page.locator(f'[data-lane="{trace.head.method}"] .k .flagmark.mined:not(.hollow)').first
    someone.clicks(flag)
    told = someone.page.locator(".v-flags .flagline").first
    someone.reads(told, "was tried here")
    someone.reads(told, "the answer 38 became")
    answer = re.search(r"became (\S+?)\.", told.inner_text())
    assert answer and answer[1] in answers and answer[1] != "38"


def test_where_top_n_overlap_was_highest_for_each_method(visitor: Any) -> None:
    someone = visitor(2)
    someone.clicks(someone.page.get_by_role("tab", name="Score"))
    someone.clicks(someone.page.get_by_role("button", name="Highest values"))
    table = someone.page.locator(".peaks")
    column = table.locator("thead th").all_inner_texts().index("Top-n overlap")
    for trace in traces("first_look"):
        found = overlaps(trace)
        cell = table.locator("tbody tr", has=someone.page.get_by_role("rowheader", name=title(trace), exact=True))
        if not found:
            someone.reads(cell.locator("> *").nth(column), "–")
            continue
        best = max(found.values())
        first = min(pos for pos, value in found.items() if value == best)
        someone.reads(cell.locator("> *").nth(column), f"{best * 5:g} of 5 at {first}")


def overlaps(trace: Trace) -> dict[int, float]:
    """Overlap by position, of the draft token that was accepted there or rejected for the correction."""
    found = {}
    for event in trace.rounds:
        for token in event.tokens:
            if token.node is not None:
                node = event.nodes[token.node]
            elif token.origin == "correction":
                node = rejected(event)
            else:
                continue
            if node.overlap is not None:
                found[token.pos] = node.overlap
    return found


def test_what_tcr_is_and_what_its_histogram_says(visitor: Any) -> None:
    someone = visitor(2)
    someone.clicks(someone.page.get_by_role("tab", name="Shares"))
    someone.clicks(someone.page.get_by_role("button", name="Terminal confidence rank"))
    someone.reads(
        someone.page.locator(".shares .v-caption"),
        "Terminal confidence rank (TCR): rank by cumulative draft probability",
    )
    for trace in traces("first_look")[1:3]:
        ranks = sorted(some(tcr(event)) for event in trace.rounds if event.drafted)
        said = someone.page.locator(f'.share[data-run="{trace.head.method}"] .says')
        someone.reads(said, f"Half of the rounds end at rank {ranks[(len(ranks) + 1) // 2 - 1]} or below")
        someone.reads(said, f"in {ranks.count(0)} of {len(ranks)} none was accepted")


def test_what_a_lower_entropy_threshold_would_do(visitor: Any) -> None:
    someone = visitor(2)
    case = get_preset("easd_helps")
    someone.chooses(someone.page.get_by_label("Case", exact=True), case.title)
    someone.page.wait_for_function("draftscope.store.status.recorded === 'easd_helps'")
    slider = someone.page.locator("#v-whatif-tau_entropy")
    someone.clicks(slider, 0.02)
    someone.reads(someone.page.locator(".v-whatif-words"), "The first decision to change is")
    moved = float(slider.input_value())
    assert moved < traces("easd_helps")[2].head.knobs["tau_entropy"]


def test_what_trees_looked_like_where_nothing_was_accepted_and_why(visitor: Any) -> None:
    someone = visitor(2)
    someone.clicks(someone.page.get_by_role("tab", name="Trees"))
    trace = traces("first_look")[1]
    event = next(event for event in trace.rounds if event.drafted and not event.accepted)
    card = someone.page.locator(f'[data-tree="{trace.head.method}"]')
    someone.reads(card.locator("header"), f"{len(event.nodes)} draft tokens, 0 accepted")
    node = rejected(event)
    someone.reads(card.locator(".lost"), f"Nothing accepted. Rejected: draft gave {shown(pieces(trace, node.token))}")
    assert card.locator("svg [data-node]").count() == len(event.nodes) + 1


def test_can_lossless_be_trusted(visitor: Any) -> None:
    someone = visitor(1)
    plain, trace = traces("first_look")[:2]
    someone.clicks(someone.page.locator(f'[data-lane="{trace.head.method}"] .badge'))
    proof = someone.page.locator(".proof")
    assert plain.token_ids == trace.token_ids
    someone.reads(proof, f"{len(trace.token_ids)} tokens")
    someone.reads(proof, "enumerates every way")
