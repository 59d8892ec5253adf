"""Lookahead decoding: its window is what the target says, its pool holds that, and no rule decides on the window."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.replay import replay
from engine.config import Sampling
from engine.draft import Draft
from engine.drafters.lookahead import Lookahead
from engine.errors import ConfigError
from engine.lab import Lab
from engine.learn.pages import page
from engine.lookup.pool import Met, Pool, trie
from engine.lookup.window import Window
from engine.runs.running import prepare
from engine.trace.store import Trace
from engine.verify import walk
from tests.engine.distributions import Tree, worst
from tests.engine.drafters.lookups import context
from tests.engine.test_sampled import SETTINGS, pair_test
from tests.engine.toy import toy_lab

PROMPT = [5, 9, 3, 4, 5, 9, 7, 6]
SIZES: list[dict[str, Any]] = [
    {"window": 4, "ngram": 3, "ngrams": 3},
    {"window": 6, "ngram": 5, "ngrams": 15},
    {"window": 1, "ngram": 4},
]


def run(lab: Lab, **options: Any) -> Trace:
    trace = lab.run("lookahead", PROMPT, **{"max_new_tokens": 40, "record": "full", **options})
    assert trace.end is not None and trace.end.reason != "error", trace.end
    return trace


# --- the window ---------------------------------------------------------------------------------------------------


def test_a_window_fills_moves_and_gives_the_n_grams_of_its_columns():
    """By hand: three columns, n-grams of four tokens. A digit tens tells the place behind the first root."""
    window = Window(3, 4, lambda n: [10 * (i + 1) for i in range(n)])
    assert window.levels == [[10, 20, 30, 40]] and not window.filled and window.ngrams(0, [1, 2, 3, 4]) == []
    window.learn([21, 31, 41, 51])  # after each token of level 0; the next root stands at place 1
    assert window.levels == [[20, 30, 40], [21, 31, 41, 51]] and not window.filled
    window.learn([32, 42, 52, 62])  # the root at place 2: the column that began at place 1 goes
    assert window.levels == [[30, 40], [31, 41, 51], [42, 52, 62]] and window.filled
    assert window.ngrams(7, [53, 63, 73]) == [(7, (31, 42, 53)), (30, (41, 52, 63)), (40, (51, 62, 73))]
    window.learn([53, 63, 73])
    assert window.levels == [[41, 51], [42, 52, 62], [53, 63, 73]]
    assert len(window) == 8 and window.width == 3 and window.depth == 4


@pytest.mark.parametrize(("columns", "ngram"), [(1, 3), (2, 3), (5, 4), (15, 5)])
def test_each_token_of_a_window_sees_its_column_and_level_0_up_to_it(columns, ngram):
    window = Window(columns, ngram, lambda n: list(range(n)))
    for _ in range(ngram):
        levels = window.levels
        draft = Draft(*window.tree())
        node = 0
        for i, level in enumerate(levels):
            for j, token in enumerate(level):
                before = levels[0][: j + 1] if i == 0 else levels[0][:j]
                assert draft.path_tokens(node) == [*before, *(levels[k][j] for k in range(1, i + 1))], (i, j)
                assert draft.tokens[node] == token
                node += 1
        assert node == len(window) == len(draft) and draft.levels == window.depth
        window.learn([100 * ngram + k for k in range(window.width)])


def check_window(lab: Lab, **knobs: Any) -> None:
    """Every level of a recorded window against plain passes over root, level 0 and the column before it."""
    trace = run(lab, **{"window": 4, "ngram": 3, **knobs})
    text = [*PROMPT, *trace.token_ids]
    assert trace.token_ids == lab.run("ar", PROMPT, max_new_tokens=40, record="light").token_ids
    session = lab.target.session(200)
    seen = 0
    for before, after in pairwise(trace.rounds):
        levels, newest = before.extras["window"], after.extras["window"][-1]
        answers = []
        for j in range(len(levels[-1])):
            column = levels[0][: j + 1] if len(levels) == 1 else [*levels[0][:j], *(level[j] for level in levels[1:])]
            row = session.forward([*text[: len(PROMPT) + before.start], *column]).logits[0]
            answers.append(int(row.argmax()))
        filling = len(after.extras["window"]) > len(levels)
        assert newest == (answers[1:] if filling and len(levels) > 1 else answers)
        seen += len(answers)
    assert seen > 20


@pytest.mark.parametrize("knobs", SIZES)
def test_the_window_holds_what_the_target_says_after_each_column(zoo, knobs):
    check_window(zoo.lab("llama", draft=None, vocab=64, seed=3), **knobs)


def test_the_draft_is_what_windows_gave_after_the_last_token(zoo):
    """Each draft, built anew from the recorded windows alone; the most recent n-grams, the oldest of them first."""
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    trace = run(lab, window=4, ngram=3, ngrams=2, max_new_tokens=60)
    text, pool = [*PROMPT, *trace.token_ids], dict[int, list[tuple[int, ...]]]()
    drafted = 0
    for before, after in zip([None, *trace.rounds], trace.rounds, strict=False):
        if before is not None and len(before.extras["window"]) == 2:
            (zero, one), answers = before.extras["window"], after.extras["window"][-1]
            for first, tail in zip([text[len(PROMPT) + before.start - 1], *zero], zip(one, answers, strict=True)):
                kept = [t for t in pool.get(first, []) if t != tail]
                pool[first] = [*kept, tail][-2:]
        tails = pool.get(text[len(PROMPT) + after.start - 1], []) if len(after.extras["window"]) == 2 else []
        left = 60 - after.start - 1
        wanted = {tuple(tail[: i + 1]) for tail in tails for i in range(min(2, left)) if 1 not in tail[:i]}
        draft = Draft(tuple(n.token for n in after.nodes), tuple(n.parent for n in after.nodes))
        assert {tuple(draft.path_tokens(i)) for i in range(len(draft))} == wanted
        drafted += len(draft)
    assert drafted > 10


@pytest.mark.parametrize("ngram", [3, 4, 5])
def test_a_first_answer_drafts_once_a_full_window_has_given_n_grams_as_the_page_tells(zoo, ngram):
    lab = zoo.lab("llama", draft=None, vocab=10, seed=5)
    drafting = set[int]()
    for seed in range(12):
        rounds = run(lab, window=15, ngram=ngram, max_new_tokens=12, temperature=1.0, seed=seed).rounds
        drafting |= {event.index for event in rounds if event.drafted}
    assert min(drafting) == ngram - 1
    assert "The first $N - 1$ passes of a first answer draft nothing" in page("lookahead").sections[-1].text


# --- the pool -----------------------------------------------------------------------------------------------------


def test_a_pool_keeps_the_n_grams_met_last():
    pool = Pool(10)
    for tail in ((1, 2), (3, 4), (1, 2), (5, 6)):
        pool.put(9, tail, Met(0, 1), 2)
    assert list(pool.after(9)) == [(1, 2), (5, 6)] and pool.after(9)[1, 2].times == 2
    assert pool.after(8) == {} and len(pool) == 1
    small = Pool(1)
    small.put(1, (2,), Met(0), 5)
    small.put(2, (3,), Met(0), 5)
    assert small.after(1) == {} and list(small.after(2)) == [(3,)]


def test_n_grams_that_begin_alike_share_nodes():
    tokens, parents, brought = trie([(1, 2, 3), (1, 4, 3), (5, 2, 3)], room=3, space=20)
    assert tokens == [1, 2, 3, 4, 3, 5, 2, 3] and parents == [-1, 0, 1, 0, 3, -1, 5, 6]
    assert brought == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert trie([(1, 2, 3), (1, 4, 3)], room=2, space=20)[0] == [1, 2, 4]
    assert trie([(1, 2, 3), (1, 4, 3)], room=3, space=4)[0] == [1, 2, 3, 4]
    assert trie([(1, 2)], room=0, space=4)[0] == []


def test_the_text_gives_n_grams_too_where_it_is_asked_for(zoo):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    method = prepare(lab, "lookahead", from_text=True, ngram=3, window=2)
    part = method.drafter
    assert isinstance(part, Lookahead)
    part.begin(PROMPT)
    part.propose(replace(context(PROMPT, len(PROMPT)), target=lab.target.session(100)), method.shape)
    pool = part.pool
    kept = {token: list(pool.after(token)) for token in (5, 9, 3, 6)}
    assert kept == {5: [(9, 3), (9, 7)], 9: [(3, 4), (7, 6)], 3: [(4, 5)], 6: []}
    longer = [*PROMPT, 5, 9]
    part.history.extend(longer)
    part.propose(replace(context(longer, len(PROMPT)), target=lab.target.session(100)), method.shape)
    assert list(pool.after(6)) == [(5, 9)] and list(pool.after(5)) == [(9, 3), (9, 7)]


def test_sources_tell_the_round_of_the_window_or_the_place_in_the_text(zoo):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    trace = run(lab, window=4, ngram=3)
    sources = [(r, n.source) for r in trace.rounds for n in r.nodes if n.source]
    assert len(sources) == sum(r.drafted for r in trace.rounds) > 0
    for event, source in sources:
        assert source["kind"] == "pool" and source["part"] == "window" and source["round"] < event.index
        assert source["seen"] >= 1 and source["ago"] == 0
    trace = run(lab, window=1, ngram=3, from_text=True)
    text = [*PROMPT, *trace.token_ids]
    found = [(n, n.source) for r in trace.rounds for n in r.nodes if n.source and n.source["part"] != "window"]
    assert found
    for node, source in found:
        assert text[source["pos"] + (len(PROMPT) if source["part"] == "response" else 0)] == node.token


def test_a_pool_serves_later_trajectories_of_its_problem(zoo):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    options = {"temperature": 0.5, "max_new_tokens": 30, "record": "full", "seed": 2}
    runs = list(lab.trajectories("lookahead", PROMPT, 2, window=3, ngram=3, **options))
    assert {n.source["ago"] for r in runs[1].rounds for n in r.nodes if n.source} >= {1}
    apart = list(lab.trajectories("lookahead", PROMPT, 2, window=3, ngram=3, scope="run", **options))
    assert {n.source["ago"] for r in apart[1].rounds for n in r.nodes if n.source} <= {0}


# --- the round ----------------------------------------------------------------------------------------------------


def check_round(lab: Lab, record: str = "full") -> Trace:
    """The tokens of the window are read and told, and are no draft tokens."""
    trace = run(lab, record=record, window=4, ngram=3)
    assert identities(trace) == []
    for event in trace.rounds:
        assert event.fed == 1 + event.drafted + event.extras["beside"]
        assert event.extras["beside"] == (4 if event.index == 0 else 4 - 1 + 4)
        assert f"a window of {event.extras['beside']} token" in why(trace.head, event)
        assert ("window" in event.extras) == (record == "full")
    return trace


@pytest.mark.parametrize("record", ["full", "light"])
def test_the_window_is_read_and_counted_and_no_draft(zoo, record):
    trace = check_round(zoo.lab("llama", draft=None, vocab=12, seed=5), record)
    known = set[str]()
    for event in trace.rounds if record == "full" else ():
        known |= event.pieces.keys()
        assert len(event.nodes) == event.drafted
        assert sum(map(len, event.extras["window"])) == event.extras["beside"]
        assert {str(token) for level in event.extras["window"] for token in level} <= known
    event = trace.rounds[-1]
    event.fed = event.extras["beside"]  # the root is missing
    assert len(identities(trace)) == 1


def test_a_recorded_run_is_read_and_replayed(zoo, tmp_path):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    for temperature in (0.0, 0.8):
        trace = run(lab, window=4, ngram=3, temperature=temperature)
        trace.save(tmp_path / "run.jsonl")
        again = Trace.load(tmp_path / "run.jsonl")
        assert [r.extras for r in again.rounds] == [r.extras for r in trace.rounds]
        found = replay(again, None)
        assert found.agrees and found.checked > 5


def test_near_the_end_of_the_context_the_window_is_left_out_and_the_text_stays(zoo):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    room = lab.target.longest
    prompt = [(i * 7) % 9 + 3 for i in range(room - 24)]
    options = {"max_new_tokens": 40, "record": "full"}
    trace = lab.run("lookahead", prompt, window=8, ngram=4, **options)
    assert trace.token_ids == lab.run("ar", prompt, **options).token_ids
    read = ["beside" in event.extras for event in trace.rounds]
    assert read[0] and not read[-1]


def test_models_with_running_states_are_refused_with_the_reason(zoo, monkeypatch):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    monkeypatch.setattr(type(lab.target.decoder), "why_chains", "it goes on with one text")
    with pytest.raises(ConfigError, match=r"its window is a tree, .* check chains only: it goes on with one text"):
        lab.run("lookahead", PROMPT, max_new_tokens=4)


# --- the distribution ---------------------------------------------------------------------------------------------


def test_its_tree_emits_the_distribution_of_the_target():
    tokens, parents, _ = trie([(0, 1), (0, 2), (2, 0)], room=2, space=20)
    draft = Draft(tuple(tokens), tuple(parents))
    model = Tree(3, 3, 5)
    assert worst(model.emitted(walk, [(draft, 1.0)], 3), model.joint(3)) < 1e-12


@pytest.mark.parametrize("sampling", SETTINGS)
def test_sampled_runs_have_the_distribution_of_the_target(sampling: Sampling):
    lab = toy_lab(4, draft=None)
    assert pair_test(lab, "lookahead", sampling, tokens=1400, window=3, ngram=3) > 1e-3


def test_rows_of_a_batch_are_their_single_runs(zoo):
    lab = zoo.lab("llama", draft=None, vocab=12, seed=5)
    prompts = [PROMPT, [5, 9, 3], [7] * 9]
    options = {"max_new_tokens": 24, "record": "light", "window": 4, "ngram": 3}
    rows = lab.run_batch("lookahead", prompts, **options)
    for seed, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
        alone = lab.run("lookahead", prompt, seed=seed, **options)
        assert row.token_ids == alone.token_ids
        assert [(r.fed, r.drafted, r.accepted) for r in row.rounds] == [
            (r.fed, r.drafted, r.accepted) for r in alone.rounds
        ]
