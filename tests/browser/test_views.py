"""The charts in a real browser, over made-up and real traces."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.fixtures import traces
from tests.browser.views_page import VIEWS, open_views

pytestmark = pytest.mark.browser
METHODS = ("plain", "chain", "bush", "lenient", "wary")


def a_run(name: str, tokens: int = 120) -> list[dict[str, Any]]:
    return traces((name,), tokens)


def renamed(lane: dict[str, Any], key: str, **head: Any) -> dict[str, Any]:
    """The same lane under another name, with fields of its head replaced."""
    events = [dict(lane["events"][0], **head), *lane["events"][1:]]
    return {"key": key, "card": dict(lane["card"], name=key, title=key), "events": events}


def test_every_view_draws_five_lanes(page: Any, base: str) -> None:
    problems = open_views(page, base, traces(METHODS))
    for name in METHODS:
        page.evaluate("async ([run, pos]) => { store.setCursor({ run, pos }); await settle(); }", [name, 12])
        for view in VIEWS:
            page.wait_for_function("(name) => view(name).textContent.length > 0", arg=view)
    assert problems == []


def test_the_cause_of_a_difference_is_told_as_soon_as_it_is_known(page: Any, base: str) -> None:
    """A live run's events come first, what the engine says of its lanes with the last message, often much later."""
    problems = open_views(page, base, traces(("plain", "lenient")))
    cause = page.locator("[data-view=divergence] .v-cause")
    expect(cause).to_contain_text("lossy")
    page.evaluate("""async () => {
      window.found = store.status.compared;
      const { lanes } = await (await fetch('traces.json')).json();
      store.load(lanes, { compared: null });
      await settle();
    }""")
    expect(cause).to_contain_text("when both runs have ended")
    page.wait_for_timeout(700)  # what the last event draws is drawn
    page.evaluate("store.setStatus({ phase: 'done', compared: found })")
    expect(cause).to_contain_text("lossy", timeout=3000)
    assert problems == []


def test_a_lane_that_failed_is_no_lane_to_wait_for(page: Any, base: str) -> None:
    problems = open_views(page, base, traces(("plain", "chain")))
    told = page.locator("[data-view=divergence]")
    page.evaluate("""async () => {
      const { lanes: [plain, chain], compared } = await (await fetch('traces.json')).json();
      const end = { kind: 'end', reason: 'error', prefill_ms: 0, total_ms: 0, text: '', message: 'It has no head.' };
      store.load([plain, { ...chain, key: 'broken', events: [end] }, chain], { compared });
    }""")
    expect(told).to_contain_text("tokens of both lanes are the same")
    told.get_by_label("Second lane").select_option("broken")
    expect(told).to_contain_text("did not run")
    name = page.evaluate("store.runs.get('broken').card.title")
    missing = page.locator(".score .missing")
    expect(missing).to_have_text(f"Did not run, so without a band: {name}. Text tells why.")
    page.evaluate("""async () => {
      const { lanes: [plain, chain], compared } = await (await fetch('traces.json')).json();
      const end = { kind: 'end', reason: 'stopped', prefill_ms: 0, total_ms: 0, text: '', message: '' };
      const begun = { ...chain, key: 'begun', events: [chain.events[0], end] };
      store.load([plain, { ...chain, key: 'broken', events: [end] }, chain, begun], { compared });
    }""")
    told.get_by_label("Second lane").select_option("begun")
    expect(told).to_contain_text(f"{name} (2) was stopped before its first round.")
    told.get_by_label("Second lane").select_option("broken")
    expect(told).to_contain_text(f"{name} was stopped before its first round.")
    expect(missing).to_have_text(f"Stopped before the first round, so without a band: {name}.")
    assert problems == []


def test_one_lane_has_no_menus_of_lanes(page: Any, base: str) -> None:
    problems = open_views(page, base, traces(("plain",)))
    told = page.locator("[data-view=divergence]")
    expect(told).to_contain_text("With two lanes")
    expect(told.locator("select:visible")).to_have_count(0)
    expect(told).not_to_contain_text("and", use_inner_text=True)
    page.evaluate("""async () => {
      const { lanes: [plain] } = await (await fetch('traces.json')).json();
      store.load([plain, { ...plain, key: 'again' }]);
    }""")
    expect(told.locator("select:visible")).to_have_count(2)
    assert problems == []


SAVED = """async (name) => {
  const svg = await (await view(name).exportFigure('svg')).text();
  const root = new DOMParser().parseFromString(svg, 'image/svg+xml');
  const drawn = root.querySelectorAll('text:not(.caption)');
  const foot = [...root.querySelectorAll('text.caption')].map((one) => one.textContent).join(' ');
  const words = [];
  const walker = document.createTreeWalker(view(name), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.parentElement;
    const control = at.closest(
      'button:not(.badge, .word), select, input, .v-alternatives, .v-tools, [aria-hidden=true], title, style');
    if (!control && at.checkVisibility() && node.data.trim()) words.push(node.data.replaceAll(/\\s+/g, ''));
  }
  return { svg, words, foot, drawn: [...drawn].map((one) => one.textContent) };
}"""


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_every_view_can_be_saved(page: Any, base: str, kind: str) -> None:
    problems = open_views(page, base, traces(METHODS))
    page.evaluate("async () => { store.setCursor({ run: 'chain', pos: 12 }); await settle(); }")
    for view in set(VIEWS) - {"whatif"}:
        size = page.evaluate("async ([name, kind]) => (await view(name).exportFigure(kind)).size", [view, kind])
        assert size > 300, view
    if kind == "svg":
        text = page.evaluate("async () => (await view('stage/score').exportFigure('svg')).text()")
        assert "var(--" not in text
        assert "NaN" not in text
        told = {view: page.evaluate(SAVED, view) for view in ("inspector", "verdict", "divergence")}
        assert all("var(--" not in one["svg"] and "NaN" not in one["svg"] for one in told.values())
        for view, one in told.items():  # what the page says there, but for its controls
            said = re.sub(r"\s+", "", "".join(one["words"]))
            drawn = re.sub(r"\s+", "", "".join(one["drawn"]))
            assert said and all(part in drawn for part in one["words"]), view
            assert len(drawn) <= len(said) + 1, view
            assert one["foot"].startswith("“") and " · target " in one["foot"], view
        figures = page.evaluate(SAVED, "aggregates")  # also those that are buttons
        assert "Lenient judge" in "".join(figures["drawn"])
    assert problems == []


@pytest.mark.parametrize("given", ["none", "one token", "light"])
def test_small_states_draw(page: Any, base: str, given: str) -> None:
    lanes: list[dict[str, Any]] = []
    if given != "none":
        lanes = a_run("chain", 1 if given == "one token" else 60)
    if given == "light":
        for event in lanes[0]["events"]:
            if event["kind"] == "round":
                event["nodes"] = []
    problems = open_views(page, base, lanes)
    page.evaluate("settle()")
    expect(page.locator("body")).not_to_contain_text(re.compile("NaN|undefined"))
    assert problems == []


def scripting(page: Any, act: str, times: int = 10) -> float:
    """Milliseconds of processor time that the page's scripts take for an action on `i` and the drawing after it."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})  # not the clock: the machine may be busy

    def spent() -> float:
        found = tools.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in found if metric["name"] == "ScriptDuration"))

    before = spent()
    page.evaluate(
        "async ([act, times]) => { for (let i = 0; i < times; i++) { new Function('i', act)(i); await settle(); } }",
        [act, times],
    )
    return 1000 * (spent() - before) / times


def test_two_thousand_positions(page: Any, base: str) -> None:
    problems = open_views(page, base, a_run("chain", 2000))
    page.evaluate("async () => { store.setCursor({ run: 'chain', pos: 1900 }); await settle(); }")
    assert scripting(page, "view('stage/score').querySelector('.scroller').scrollLeft = 700 * i") < 16
    page.click("text=Fit >> nth=0")
    assert problems == []


def test_the_inspector_keeps_its_height(page: Any, base: str) -> None:
    open_views(page, base, traces(METHODS))
    heights: dict[str, set[int]] = {}
    for run, pos in [("plain", 3), ("plain", 20), ("chain", 4), ("chain", 9), ("bush", 11), ("bush", 30), ("wary", 30)]:
        page.evaluate(
            "async ([run, pos]) => { store.setCursor({ run, pos, node: undefined }); await settle(); }", [run, pos]
        )
        tall = page.evaluate("Math.round(view('inspector').getBoundingClientRect().height)")
        heights.setdefault(run, set()).add(tall)
    assert all(len(tall) == 1 for tall in heights.values()), "within a run nothing below moves"
    assert heights["plain"] != heights["chain"], "where no draft has a list, there are fewer bars"


def test_the_inspector_says_the_sentence_of_the_trace(page: Any, base: str) -> None:
    lane = a_run("chain")[0]
    event = lane["events"][1]
    for item in (event["nodes"][0], event["tokens"][0]):
        item["why"] = "Kept: `a` <b>not bold</b>."
    open_views(page, base, [lane])
    page.evaluate("store.setCursor({ run: 'chain', round: 0, node: 0 })")
    expect(page.locator(".v-why")).to_have_text("Kept: a <b>not bold</b>.")
    expect(page.locator(".v-why code")).to_have_text("a")


def test_the_inspector_is_empty_of_a_token_that_is_gone(page: Any, base: str) -> None:
    lane = a_run("chain")[0]
    open_views(page, base, [lane])
    page.evaluate("async () => { store.setCursor({ run: 'chain', pos: 4 }); await settle(); }")
    inspector = page.locator(".v-inspector")
    name = inspector.locator("h3")
    expect(name.locator(".v-token")).to_have_count(1)
    said = inspector.locator(".v-why").inner_text()
    page.evaluate(
        "async (lane) => { store.begin([lane]); await settle(); }", {key: lane[key] for key in ("key", "card")}
    )
    expect(name).to_have_text("Why this token")  # a heading is never without words
    expect(inspector.locator(".v-sub").first).to_have_text("")
    expect(inspector.locator(".v-why")).to_have_text(re.compile("^Choose a token"))
    for part in ("which", "from", "flags", "bars", "alternatives", "formula", "strip", "numbers"):
        expect(inspector.locator(f".v-{part} > *")).to_have_count(0)
    page.evaluate("async (events) => { store.push('chain', events); await settle(); }", lane["events"])
    page.evaluate("async () => { store.setCursor({ run: 'chain', pos: 4 }); await settle(); }")
    expect(inspector.locator(".v-why")).to_have_text(said)
    expect(inspector.locator(".v-formula > *").first).to_be_attached()


def test_the_tree_follows_the_arrow_keys(page: Any, base: str) -> None:
    open_views(page, base, traces(METHODS))
    page.evaluate("async () => { store.setCursor({ run: 'bush', round: 4, node: null }); await settle(); }")
    page.locator(".v-treebox").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("store.cursor.node !== null")
    first = page.evaluate("store.cursor.node")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("(first) => store.cursor.node !== first", arg=first)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(store.round().nodes[store.cursor.node]?.parent ?? null) !== null")
    expect(page.locator(".v-treebox")).to_have_attribute("aria-activedescendant", re.compile("^v-node-"))


def test_a_discarded_draft_token_that_was_tested_shows_its_chance(page: Any, base: str) -> None:
    """Of a block all draft tokens are tested, also those that do not stay."""
    lane = a_run("chain", 24)[0]
    event = next(e for e in lane["events"] if e["kind"] == "round" and len(e["nodes"]) > 2 and not e["path"])
    tested, untested = event["nodes"][1:3]
    tested.update(state="discarded", accept_prob=0.25)
    untested.update(state="discarded", accept_prob=None)
    problems = open_views(page, base, [lane])
    page.evaluate(
        "async (n) => { store.setCursor({ run: 'chain', round: n, node: 1 }); await settle(); }", event["index"]
    )
    expect(page.locator("#v-node-1")).to_contain_text("accept 0.25")
    expect(page.locator("#v-node-1")).not_to_contain_text("never tested")
    expect(page.locator("#v-node-2")).to_contain_text("never tested")
    assert problems == []


def wide_tree(nodes: int) -> dict[str, Any]:
    """A lane of three rounds, each with a tree of this many nodes, five children each."""
    lane = a_run("bush", 12)[0]
    for event in lane["events"]:
        if event["kind"] != "round" or not event["nodes"]:
            continue
        kept = event["path"]
        model = event["nodes"][0]
        grown = list(event["nodes"])
        parents = [-1, *range(len(grown))]
        for i in range(nodes - len(grown)):
            parent = parents[(i // 5) % len(parents)]
            depth = 1 if parent < 0 else grown[parent]["depth"] + 1
            grown.append(dict(model, parent=parent, depth=depth, state="discarded", rank=i + 5, score=-1.0 - i / 100))
            if depth < 6:
                parents.append(len(grown) - 1)
        event.update(nodes=grown, drafted=len(grown), fed=len(grown) + 1, path=kept, levels=6)
    return lane


def test_625_nodes_are_drawn_in_time(page: Any, base: str) -> None:
    problems = open_views(page, base, [wide_tree(625)])
    ms = scripting(page, "store.setCursor({ run: store.lanes[0], round: i % 2, node: null, pos: null })")
    expect(page.locator("[data-view=tree]")).to_contain_text("625 draft tokens")
    assert ms < 50  # all views together
    assert problems == []


def test_bars_filter_and_the_filters_fit_in_a_link(page: Any, base: str) -> None:
    open_views(page, base, traces(METHODS))
    page.evaluate("async () => { store.setCursor({ run: 'chain', pos: 3 }); await settle(); }")
    page.locator(".v-chart .v-pick").nth(1).click()
    page.wait_for_function("""JSON.stringify(store.filters.get('depth')?.spec) === '{"kind":"depth","depth":2}'""")
    page.locator(".v-chart .v-pick").nth(1).press("Enter")
    page.wait_for_function("store.filters.size === 0")
    for tab in ("accepted", "entropy", "time", "length"):
        page.click(f"[data-tab={tab}]")
        expect(page.locator(f"[data-tab={tab}]")).to_have_attribute("aria-selected", "true")
        expect(page.locator(".v-chart svg").first).to_be_visible()


def test_a_figure_tells_its_formula_and_its_names_elsewhere(page: Any, base: str) -> None:
    open_views(page, base, traces(METHODS))
    page.click("[data-tab=position]")
    page.hover(".v-names")
    expect(page.locator(".v-tip")).to_contain_text("accept_by_depth = marginal")
    expect(page.locator(".v-tip")).to_contain_text("vLLM spec_decode_num_accepted_tokens_per_pos")


def split(
    lane: dict[str, Any], key: str, pos: int, probabilities: tuple[float, float], **head: Any
) -> list[dict[str, Any]]:
    """A plain lane, and one that differs from it at a position, where the target gives these probabilities."""
    twin = renamed(lane, key, **head)
    for which, other in ((lane, False), (twin, True)):
        rounds = [dict(event) for event in which["events"]]
        which["events"] = rounds
        event = rounds[pos + 1]
        token = dict(event["tokens"][0])
        top = [(token["token"], probabilities[0]), (token["token"] + 1, probabilities[1])]
        event["tokens"] = [dict(token, top_target=top, token=token["token"] + 1 if other else token["token"])]
    return [lane, twin]


def test_a_difference_that_nothing_explains_offers_both_traces(page: Any, base: str) -> None:
    open_views(page, base, split(a_run("plain", 20)[0], "twin", 7, (0.6, 0.2)))
    expect(page.locator(".v-cause")).to_have_attribute("data-cause", "unexplained")
    expect(page.locator("[data-view=divergence]")).to_contain_text("position 7")
    with page.expect_download() as first, page.expect_download():
        page.get_by_role("button", name="Save both traces").click()
    assert first.value.suggested_filename.endswith(".jsonl")


def test_dark_mode_redraws_the_canvas(page: Any, base: str) -> None:
    open_views(page, base, traces(METHODS))
    shot = "document.querySelector('.score .tiles canvas').toDataURL()"
    page.evaluate("settle()")
    light = page.evaluate(shot)
    page.evaluate("document.body.classList.add('dark')")
    page.wait_for_function(f"(light) => {shot} !== light", arg=light)
