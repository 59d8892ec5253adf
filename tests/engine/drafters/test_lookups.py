"""What each model-free drafter proposes: continuations, lengths, sources, and greedy output equal to `ar`."""

import json
import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from engine.config import Sampling
from engine.draft import Draft
from engine.drafters import DRAFTERS
from engine.drafters.stand import Stand
from engine.lookup import read
from engine.lookup.distributions import cut
from engine.lookup.static import build_static
from engine.model import Forward
from engine.parts import Outcome
from engine.runs.running import prepare
from engine.sampling import distribution
from engine.trees.template import best_first, chain_template
from engine.verify import Verdict
from engine.view import RoundView
from tests.engine.drafters.lookups import NAMES, context, drafter, grow
from tests.engine.faults import Fault
from tests.engine.zoo import Zoo
from tests.typed import known

LONG = list(range(3, 23))


def propose(name, text, room=50, space=500, **knobs):
    part, shape = drafter(name, text, **knobs)
    return part.propose(context(text, room=room, space=space), shape)


# --- prompt lookup ------------------------------------------------------------------------------------------------


def test_pld_copies_what_followed_the_first_match():
    text = [1, 2, 3, 40, 41, 42, 1, 2, 3, 50, 51, 52, 1, 2, 3]
    draft = propose("pld", text, gamma=3)
    assert draft.tokens == (40, 41, 42) and draft.is_chain and draft.extras["match"] == 3
    assert draft.sources[0] == {
        "kind": "ngram",
        "order": 3,
        "times": 2,
        "step": 0,
        "trajectory": 0,
        "ago": 0,
        "part": "prompt",
        "pos": 3,
    }


def test_pld_wants_a_full_continuation_and_hugging_face_does_not():
    text = [1, 2, 9, 1, 2]
    assert len(propose("pld", text, gamma=4)) == 0
    assert propose("pld", text, gamma=3).tokens == (9, 1, 2)
    assert propose("pld", text, gamma=4, continuation="any").tokens == (9, 1, 2)


def test_a_repeated_token_does_not_match_itself_at_the_end():
    assert len(propose("pld", [5, 5], gamma=2)) == 0
    draft = propose("pld", [5, 5, 5, 5], gamma=2)
    assert draft.tokens == (5, 5) and draft.extras["match"] == 2  # three fives are followed by one token alone
    assert len(propose("pld", [5, 5, 5, 5], gamma=4)) == 0
    assert len(propose("pld", [5], gamma=1)) == 0


def test_pld_falls_back_to_shorter_runs():
    draft = propose("pld", [7, 8, 9, 1, 2, 8], gamma=2)
    assert draft.tokens == (9, 1) and draft.extras["match"] == 1


def test_pld_looks_in_earlier_trajectories_the_latest_first():
    part, shape = drafter("pld", [1, 2], gamma=2)
    for tail in ([10, 11, 12], [10, 20, 21]):
        grow(part, [1, 2, *tail])
        part.begin([1, 2])
    grow(part, [1, 2, 10])
    draft = part.propose(context([1, 2, 10]), shape)
    assert draft.tokens == (20, 21)
    assert (
        draft.sources[0]["trajectory"] == 1 and draft.sources[0]["part"] == "response" and draft.sources[0]["pos"] == 1
    )
    part, shape = drafter("pld", [1, 2], gamma=2, corpus="concatenated")
    for tail in ([10, 11, 12], [10, 20, 21]):
        grow(part, [1, 2, *tail])
        part.begin([1, 2])
    grow(part, [1, 2, 10])
    assert part.propose(context([1, 2, 10]), shape).tokens == (11, 12)
    part, shape = drafter("pld", [1, 2], gamma=1, corpus="current")
    grow(part, [1, 2, 3])
    part.begin([1, 2])
    assert len(part.propose(context([1, 2]), shape)) == 0


# --- counted n-grams ----------------------------------------------------------------------------------------------


def test_anpd_drafts_token_by_token_from_the_longest_context():
    text = [1, 2, 3, 4, 9, 2, 3, 5, 9, 2, 3, 5, 1, 2, 3]
    draft = propose("anpd", text, gamma=4)
    assert draft.tokens[0] == 4 and draft.sources[0]["order"] == 3  # 1 2 3 was followed by 4 alone
    assert draft.tokens[1] == 9
    draft = propose("anpd", text, gamma=1, ngram=3)
    assert draft.tokens == (5,) and draft.sources[0] | {"pos": 0} == {
        "kind": "ngram",
        "order": 2,
        "seen": 2,
        "trajectory": 0,
        "ago": 0,
        "part": "prompt",
        "pos": 0,
    }
    assert len(propose("anpd", [1, 2, 3], gamma=4)) == 0


def test_an_earlier_trajectory_is_named_with_how_often_the_run_stood_there():
    part, shape = drafter("pld", [1, 2], gamma=1)
    grow(part, [1, 2, 10, 11, 12, 13, 10, 11, 12, 14])
    part.begin([1, 2])
    grow(part, [1, 2, 20, 10, 11, 12])
    draft = part.propose(context([1, 2, 20, 10, 11, 12]), shape)
    assert draft.tokens == (13,) and draft.sources[0] == {
        "kind": "ngram",
        "order": 3,
        "times": 2,
        "step": 0,
        "trajectory": 0,
        "ago": 1,
        "part": "response",
        "pos": 3,
    }


def test_a_row_knows_where_its_token_was_read(zoo):
    """Kept tokens by their place in the text, rejected draft tokens by the place of their round's root."""
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    first, second = lab.trajectories(
        "recycle", PROMPTS[3], 2, temperature=0.3, max_new_tokens=30, record="full", seed=5
    )
    sources = [n.source for r in second.rounds for n in r.nodes]
    assert {s["kept"] for s in sources} == {True, False} and {s["ago"] for s in sources} == {0, 1}
    for s in sources:
        text = PROMPTS[3] if s["part"] == "prompt" else (first if s["ago"] else second).token_ids
        assert s["pos"] < len(text) and (not s["kept"] or text[s["pos"]] == s["row"])


@pytest.mark.parametrize("name", ["pld", "anpd", "sam", "suffix"])
def test_what_was_written_is_drafted_from_as_the_prompt_is(name):
    part, shape = drafter(name, [1, 2, 3], gamma=2)
    text = [1, 2, 3, 7, 8, 9, 2, 3]
    assert len(part.propose(context([1, 2, 3]), shape)) == 0
    grow(part, text)
    assert part.propose(context(text), shape).tokens[0] == 7


# --- suffix automaton ---------------------------------------------------------------------------------------------


def test_sam_drafts_alpha_times_the_match():
    text = [*LONG, 1, 2, *LONG[:2]]
    assert propose("sam", text, alpha=4.0).tokens == tuple([*LONG[2:], 1, 2, *LONG[:2]][:8])
    assert propose("sam", text, alpha=1.5).tokens == tuple(LONG[2:5])
    assert propose("sam", text, gamma=2).tokens == tuple(LONG[2:4])
    draft = propose("sam", text, alpha=1.0)
    assert draft.sources[1] == {
        "kind": "automaton",
        "match": 2,
        "where": "dynamic",
        "step": 1,
        "trajectory": 0,
        "ago": 0,
        "part": "prompt",
        "pos": 3,
    }
    assert len(propose("sam", LONG)) == 0  # no match: a plain step


def test_static_matches_count_less_and_lose_ties():
    part, shape = drafter("sam", LONG[:6], alpha=1.0, len_bias=2)
    part.matches.static = build_static([[50, *LONG[:6], 60, 61, 62, 63, 64]])
    part.matches._state = part.matches._match = 0
    part.matches._step(LONG[:6])
    draft = part.propose(context(LONG[:6]), shape)
    assert draft.tokens == (60, 61, 62, 63)  # six matched, less two
    assert draft.sources[0] == {
        "kind": "automaton",
        "match": 6,
        "where": "static",
        "seen": 1,
        "step": 0,
        "document": 0,
        "pos": 7,
        "passage": [50, *LONG[:6], 60, 61, 62, 63, 64],
        "here": 7,
    }
    assert json.loads(json.dumps(draft.sources)) == list(draft.sources), "no numbers of numpy"
    part.matches.bias = 6
    assert len(part.propose(context(LONG[:6]), shape)) == 0


@pytest.mark.parametrize(("bias", "first"), [(2, 60), (3, 40), (4, 40)])
def test_a_static_match_must_be_longer_than_a_dynamic_one_after_its_bias(bias, first):
    """Six tokens match in the collection, three in this text: four, three and two against three."""
    text = [LONG[3], LONG[4], LONG[5], 40, 41, 42, *LONG[:6]]
    part, shape = drafter("sam", text, alpha=1.0, len_bias=bias)
    part.matches.static = build_static([[50, *LONG[:6], 60, 61, 62, 63, 64]])
    part.matches._state = part.matches._match = 0
    part.matches._step(text)
    draft = part.propose(context(text), shape)
    assert draft.tokens[0] == first and len(draft) == max(6 - bias, 3)
    assert draft.extras["where"] == ("static" if first == 60 else "dynamic")


def test_sam_recycle_copies_long_matches_and_fills_a_tree_otherwise():
    text = [*LONG, 1, 2, *LONG[:5]]
    part, shape = drafter("sam_recycle", text, climb=False)
    assert part.propose(context(text), shape).tokens == (*LONG[5:], 1, 2, *LONG[:5])
    assert propose("sam_recycle", text, n_predicts=3).tokens == tuple(LONG[5:8])
    part, shape = drafter("sam_recycle", text[:-1])
    part.adjacency.learn([LONG[3]], torch.arange(64.0)[None])
    draft = part.propose(context(text[:-1]), shape)
    assert draft.tokens == (63, 62, 61, 60, 59, 58, 57, 56) and draft.sources[0] == {
        "kind": "adjacency",
        "row": LONG[3],
        "choice": 1,
    }
    part, shape = drafter("sam_recycle", text, len_threshold=1_000_000)
    other, _ = drafter("recycle", text)
    logits = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    for p in (part, other):
        p.adjacency.learn([LONG[4], 60, 61], logits)
    assert part.propose(context(text), shape).tokens == other.propose(context(text), shape).tokens
    part, shape = drafter("sam_recycle", text[:-1], recycle=False)
    part.adjacency.learn([LONG[3]], torch.arange(64.0)[None])
    assert len(part.propose(context(text[:-1]), shape)) == 0


# --- token recycling ----------------------------------------------------------------------------------------------


def recycled_pass(part, shape, text):
    """Accepted counts when the target goes on with `text` whatever is proposed (greedy, one-hot logits along the text)."""
    following = dict(zip(text, text[1:], strict=False))
    done, accepted = [text[0]], []
    while len(done) < len(text):
        draft = part.propose(context(done, room=len(text) - len(done) - 1), shape)
        rows = torch.zeros(len(draft) + 1, 64)
        for i, token in enumerate([done[-1], *draft.tokens]):
            rows[i, following.get(token, 0)] = 5.0
        node, path = -1, list[int]()
        while len(done) + len(path) < len(text) - 1:
            kid = next((k for k in draft.kids[node + 1] if draft.tokens[k] == text[len(done) + len(path)]), None)
            if kid is None:
                break
            path.append(kid)
            node = kid
        emitted = [draft.tokens[k] for k in path]
        emitted.append(text[len(done) + len(path)])
        done += emitted
        accepted.append(len(path))
        forward, verdict = SimpleNamespace(logits=rows), SimpleNamespace(path=path)
        part.observe(SimpleNamespace(tokens=done, emitted=emitted, draft=draft, forward=forward, verdict=verdict))
    return accepted


def test_second_pass_accepts_the_full_depth_of_the_template():
    text = list(range(1, 57))  # pairwise distinct
    part, shape = drafter("recycle", text[:1], tree="heuristic", scope="global")
    first = recycled_pass(part, shape, text)
    second = recycled_pass(part, shape, text)
    assert sum(first) == 0
    assert shape.tree.depth == 6
    assert all(a == 6 for a in second[:-1])


def test_update_of_recycling_includes_the_root_and_rejected_nodes():
    part, _ = drafter("recycle", [1], width=2)
    draft = Draft((5, 6), (-1, -1))
    logits = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    verdict = SimpleNamespace(path=[])
    part.observe(
        SimpleNamespace(
            tokens=[1, 9], emitted=[9], draft=draft, forward=SimpleNamespace(logits=logits), verdict=verdict
        )
    )
    for token, row in zip((1, 5, 6), logits, strict=True):
        assert part.adjacency.row(token) == tuple(row.topk(2).indices.tolist())
    assert part.adjacency.row(9) == ()


# --- greedy equality ----------------------------------------------------------------------------------------------

PROMPTS = ([5], [5, 6], [7, 8, 9, 10, 11], [20, 21, 22, 23] * 10, [(i * 7) % 50 + 3 for i in range(40)])


@pytest.mark.thorough
@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("name", NAMES)
def test_greedy_output_equals_ar(zoo, family, name):
    lab = zoo.lab(family, draft=None, vocab=64, seed=3)
    prompts = PROMPTS if family == "llama" else PROMPTS[3:4]
    spread = 0
    for prompt in prompts:
        reference = lab.run("ar", prompt, max_new_tokens=30, record="light").token_ids
        spread = max(spread, len(set(reference)))
        for trace in lab.trajectories(name, prompt, 2, temperature=0.0, max_new_tokens=30):
            assert trace.token_ids == reference
            assert sum(r.emitted for r in trace.rounds) == len(reference)
    assert spread >= 8


@pytest.mark.parametrize("name", NAMES)
def test_limits_and_second_trajectory(zoo, name):
    """At one, two, three tokens of room; and a greedy text drawn twice is mostly drafted the second time."""
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    reference = lab.run("ar", PROMPTS[2], max_new_tokens=40, record="light").token_ids
    traces = list(lab.trajectories(name, PROMPTS[2], 2, temperature=0.0, max_new_tokens=40))
    assert len(traces[1].rounds) <= len(traces[0].rounds)
    if name in ("sam", "stand", "pld"):
        assert len(traces[1].rounds) <= min(20, len(traces[0].rounds) - 1)
    for limit in (1, 2, 3):
        for trace in lab.trajectories(name, PROMPTS[2], 2, temperature=0.0, max_new_tokens=limit):
            assert trace.token_ids == reference[:limit]


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_text_and_the_trace_is_whole(zoo, name):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    runs = [
        list(lab.trajectories(name, PROMPTS[3], 2, temperature=0.3, max_new_tokens=30, record="full", seed=5))
        for _ in range(2)
    ]
    assert [t.token_ids for t in runs[0]] == [t.token_ids for t in runs[1]]
    trace = runs[0][1]
    nodes = [n for r in trace.rounds for n in r.nodes]
    assert nodes and all(
        n.source and n.source["kind"] in ("ngram", "automaton", "adjacency", "table", "counts") for n in nodes
    )
    assert all("table_entries" in r.extras for r in trace.rounds)
    told = {"trajectory": 1, "trajectories": 2, "earlier": [[token.piece for token in runs[0][0].tokens]]}
    assert {key: trace.head.extras[key] for key in trace.head.extras if key != "process"} == told
    places = [n.source for n in nodes if "pos" in n.source and n.source.get("where") != "static"]
    texts = {0: runs[0][0].token_ids, 1: trace.token_ids}
    for node, source in ((n, n.source) for n in nodes if n.source in places):
        text = PROMPTS[3] if source["part"] == "prompt" else texts[source["trajectory"]]
        assert 0 <= source["pos"] < len(text)
        assert source["ago"] == 1 - source["trajectory"]
        if source["kind"] == "adjacency" and source["kept"]:
            assert text[source["pos"]] == source["row"]  # the row's own token stands there
        elif source["kind"] in ("ngram", "automaton"):
            assert text[source["pos"]] == node.token  # the passage holds the token


def test_stand_learns_the_distribution_of_every_committed_position(zoo, monkeypatch):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    living = prepare(lab, "stand")
    prompt = PROMPTS[2]
    seen = []
    table = known(Stand, living.drafter).table
    see = table.see

    def spy(context, distribution, place=-1, full=None):
        seen.append((tuple(context), distribution))
        see(context, distribution, place, full)

    monkeypatch.setattr(table, "see", spy)
    trace = lab.run("stand", prompt, reuse=living, temperature=0.5, max_new_tokens=25, seed=2)
    text = [*prompt, *trace.token_ids]
    assert [c for c, _ in seen] == [tuple(text[max(0, at - 4) : at]) for at in range(len(prompt), len(text))]
    session = lab.target.session(200)
    for at in range(len(prompt), len(text), 6):
        distribution = torch.softmax(session.forward(text[:at]).logits[0] / 0.5, -1)
        top = distribution.topk(10)
        got = dict(seen[at - len(prompt)][1])
        for token, p in zip(top.indices.tolist(), top.values.tolist(), strict=True):
            if p > 1e-6:
                assert got[token] == pytest.approx(p, abs=2e-5)


def stored(sampling, rows, **knobs):
    """What STAND keeps after a token, having read there a row of logits for each of its rounds."""
    stand, _ = drafter("stand", [1], **knobs)
    stand.kit = SimpleNamespace(vocab=8, target=None)
    tokens, unread = [1], cast(Forward, None)
    for row in rows:
        tokens = [*tokens, 1]
        view = RoundView(Draft(), row[None], sampling, [], 0.5)
        stand.observe(Outcome(Draft(), unread, Verdict([], 1), view, [1], tokens))
    return dict(stand.table.find([1])[1].entries)


ROW = torch.tensor([0.0, 2.0, 1.0, -1.0, 0.5, -3.0, 0.2, 1.5]).double()


@pytest.mark.parametrize(
    ("sampling", "store", "as_if"),
    [
        (Sampling(0.0), 0.0, Sampling(1.0)),
        (Sampling(0.0), 0.5, Sampling(0.5)),
        (Sampling(0.7), 0.0, Sampling(0.7)),
        (Sampling(0.7), 0.5, Sampling(0.5)),
        (Sampling(0.7, top_k=3), 0.0, Sampling(0.7, top_k=3)),
        (Sampling(0.7, top_p=0.6), 0.4, Sampling(0.4, top_p=0.6)),
    ],
)
def test_stand_stores_what_is_sampled_from_and_when_greedy_the_plain_softmax(sampling, store, as_if):
    """S4; the greedy distribution has one token, which would leave a tree no siblings."""
    found = stored(sampling, [ROW], store_temperature=store)
    want = {token: p for token, p in enumerate(distribution(ROW[None], as_if)[0].tolist()) if p > 0}
    assert found == pytest.approx(want)


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.7), Sampling(0.7, top_k=3)])
@pytest.mark.parametrize("seen", [2, 1])
def test_stand_reads_the_prompt_s_own_distributions_where_asked_to(sampling, seen):
    """Those that the prefill shows: after each token but the last, or after the latest of them."""
    rows = torch.stack([ROW, ROW.flip(0)])[2 - seen :]
    stand, shape = drafter("stand", [1, 3, 4], update_prompt=True)
    stand.kit = SimpleNamespace(vocab=8, target=SimpleNamespace(decoder=SimpleNamespace(head=lambda at: rows[at])))
    given = cast(Forward, SimpleNamespace(last=torch.arange(seen)))
    round_ = replace(context([1, 3, 4], sampling=sampling), last=given)
    assert len(stand.propose(round_, shape)) == 0  # nothing is known after the last
    as_if = sampling if sampling.temperature else Sampling(1.0)
    for key, row in {(1,): ROW, (3,): ROW.flip(0), (1, 3): ROW.flip(0)}.items():
        found = stand.table.find(key)
        if key == (1,) and seen == 1:
            assert found is None
            continue
        want = {token: p for token, p in enumerate(distribution(row[None], as_if)[0].tolist()) if p > 0}
        assert found[0] == len(key) and dict(found[1].entries) == pytest.approx(want)
        assert found[1].place == (1 if key == (1,) else 2)  # where the next token stands
    count = len(stand.table)
    stand.propose(round_, shape)
    assert len(stand.table) == count and stand.table.find([3])[1].count == 1  # once a run


@pytest.mark.parametrize("name", ["recycle", "stand"])
def test_a_prompt_s_own_logits_are_made_in_pieces(zoo: Zoo, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 32,768 tokens over 151,936 would take 20 GB at once; what is learned is the same."""
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    prompt = PROMPTS[3] * 4
    n, given, head = len(prompt) - 1, list[int](), lab.target.decoder.head
    monkeypatch.setattr(lab.target.decoder, "head", lambda x: (given.append(len(x)), head(x))[1])
    traces = []
    for room in (read.ROOM, 64 * 5, 1):
        monkeypatch.setattr(read, "ROOM", room)
        given.clear()
        traces.append(lab.run(name, prompt, max_new_tokens=12, update_prompt=True, record="full"))
        size = max(1, room // lab.vocab)
        pieces = [size] * (n // size) + ([n % size] if n % size else [])
        assert any(given[i : i + len(pieces)] == pieces for i in range(len(given)))
    for other in traces[1:]:
        assert [(r.drafted, r.extras) for r in other.rounds] == [(r.drafted, r.extras) for r in traces[0].rounds]
        drafted = [[[(node.token, node.parent) for node in r.nodes] for r in t.rounds] for t in (other, traces[0])]
        assert drafted[0] == drafted[1]


def test_stand_averages_with_the_whole_distribution_where_asked_to():
    """S14: the first row's second token is the second's third, which its two stored entries do not hold."""
    rows = [torch.tensor(row).double().log() for row in ([0.5, 0.3, 0.2], [0.45, 0.15, 0.4])]
    assert stored(Sampling(1.0), rows, stored=2) == pytest.approx({0: 0.475, 2: 0.2})
    assert stored(Sampling(1.0), rows, stored=2, merge_full=True) == pytest.approx({0: 0.475, 1: 0.225})


def test_stand_follows_the_longest_context_of_text_and_path():
    """Three tokens are known each time; of the last one alone other followers are more frequent."""
    stand, shape = drafter("stand", [1, 2, 3])
    shape.tree = chain_template(3)
    for known_, token in (((1, 2, 3), 10), ((2, 3, 10), 11), ((3, 10, 11), 12)):
        stand.table.see(known_, [(token, 0.6), (40, 0.4)])
        for _ in range(2):
            stand.table.see([50, known_[-1]], [(30, 1.0)])
    draft = stand.propose(context([1, 2, 3], sampling=Sampling()), shape)
    assert draft.tokens == (10, 11, 12) and draft.extras["match"] == draft.extras["hits_3"] == 3
    assert draft.scores == pytest.approx([math.log(0.6) * depth for depth in (1, 2, 3)])  # of the whole path


def test_noise_that_a_run_has_left_is_not_used_in_the_next():
    stand, shape = drafter("stand", [1])
    stand.table.see([1], [(token, 0.1) for token in range(10)])

    def drawn():
        return stand.propose(context([1]), shape).tokens

    first = drawn()
    assert drawn() != first  # within a run each number is used once
    stand.begin([1])
    assert drawn() == first


@pytest.mark.parametrize("all_", [True, False])
def test_stand_may_learn_from_what_was_rejected_too(all_):
    """S9: the root's and the accepted node's rows always; with the option those of the others, behind their own path."""
    stand, _ = drafter("stand", [1], update_rejected=all_)
    rows = torch.eye(8).double()[[5, 2, 3, 4]].clamp(min=1e-12).log()
    draft = Draft((5, 6, 7), (-1, -1, 0))
    view = RoundView(draft, rows, Sampling(1.0), [0.5] * 3, 0.5)
    stand.observe(Outcome(draft, cast(Forward, None), Verdict([0], 2), view, [5, 2], [1, 5, 2]))
    found = {key: stand.table.find(key) for key in ((1,), (1, 5), (1, 6), (1, 5, 7))}
    told = {key: (one[0], one[1].entries[0][0], one[1].place) for key, one in found.items() if one}
    own = {(1,): (1, 5, 1), (1, 5): (2, 2, 2)}
    assert told == (own | {(1, 6): (2, 3, -1), (1, 5, 7): (3, 4, -1)} if all_ else own)


def test_of_equal_entries_stand_keeps_the_smaller_tokens():
    """Between entries that stay and, twice as many being read, where the stored ones end."""
    row = torch.tensor([0.1, 0.2, 0.1, 0.2, 0.2, 0.2]).double().log()
    assert list(stored(Sampling(1.0), [row], stored=3).keys()) == [1, 3, 4]
    assert cut([(7, 0.2), (2, 0.4), (5, 0.2), (3, 0.0), (4, 0.2)], 3) == [(2, 0.4), (4, 0.2), (5, 0.2)]
    assert cut([(3, 0.0), (1, 1.0)], 3) == [(1, 1.0)]


def test_updating_with_the_drafts_own_distribution_is_caught(zoo, monkeypatch):
    fault = Fault(
        "distribution of the draft",
        "engine.drafters.stand:Stand._distributions",
        "sent(rows, outcome.view.p.device, torch.long)",
        "sent([0 for _ in rows], outcome.view.p.device, torch.long)",
    )
    fault.plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        test_stand_learns_the_distribution_of_every_committed_position(zoo, monkeypatch)


def test_empty_table_is_ar(zoo, monkeypatch):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    living = prepare(lab, "stand")
    monkeypatch.setattr(living.drafter, "observe", lambda outcome: None)
    trace = lab.run("stand", PROMPTS[2], reuse=living, temperature=0.7, max_new_tokens=20)
    plain = lab.run("ar", PROMPTS[2], temperature=0.7, max_new_tokens=20)
    assert trace.token_ids == plain.token_ids and len(trace.rounds) == len(plain.rounds) == 20


def test_scope_says_how_long_tables_live(zoo):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    entries = {}
    for scope in ("run", "problem", "global"):
        living = prepare(lab, "stand", scope=scope)
        counts = []
        for prompt in (PROMPTS[2], PROMPTS[2], PROMPTS[4]):
            lab.run("stand", prompt, reuse=living, max_new_tokens=15, temperature=0.5, scope=scope)
            counts.append(len(known(Stand, living.drafter).table))
        entries[scope] = counts
    assert entries["run"][1] <= 60 and entries["problem"][1] > entries["run"][1]
    assert entries["problem"][2] <= 60 < entries["global"][2]


@pytest.mark.thorough
def test_options_of_stand(zoo):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    base = lab.run("ar", PROMPTS[3], max_new_tokens=25).token_ids
    for knobs in (
        {"update_prompt": True},
        {"update_rejected": True},
        {"merge_full": True},
        {"store_temperature": 0.5},
        {"entries": 16},
    ):
        living = prepare(lab, "stand", **knobs)
        assert isinstance(living.drafter, Stand)
        assert lab.run("stand", PROMPTS[3], reuse=living, max_new_tokens=25, **knobs).token_ids == base
        sampled = lab.run("stand", PROMPTS[3], reuse=living, max_new_tokens=25, temperature=0.5, **knobs)
        assert len(sampled.token_ids) == 25
        if "entries" in knobs:
            assert len(living.drafter.table) <= 16
    first_round = lab.run("stand", PROMPTS[3], max_new_tokens=5, update_prompt=True).rounds[0]
    assert first_round.drafted > 0


@pytest.mark.thorough
def test_memory_is_bounded_by_the_knob(zoo):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    for name in NAMES:
        trace = list(lab.trajectories(name, PROMPTS[4], 2, max_new_tokens=40, entries=40))[-1]
        limit = 80 if name == "sam_recycle" else 40
        assert max(r.extras["table_entries"] for r in trace.rounds) <= limit


def test_tree_draft_follows_the_template(zoo):
    lab = zoo.lab("llama", draft=None, vocab=64, seed=3)
    trace = list(
        lab.trajectories("stand", PROMPTS[2], 2, temperature=0.9, max_new_tokens=30, record="full", tree="best_first")
    )[1]
    tree = best_first(80, 20)
    for round_ in trace.rounds:
        widths = Counter(n.parent for n in round_.nodes)
        assert round_.drafted <= 80 and round_.levels <= tree.depth
        assert widths.get(-1, 0) <= len(tree.kids[0])


@pytest.mark.parametrize("name", ["mixed", "sam", "sam_recycle", "suffix"])
def test_a_text_that_outgrows_its_automaton_is_not_said_to_lose_what_was_used_least(name: str) -> None:
    (told,) = [knob.help for knob in DRAFTERS[name].KNOBS if knob.name == "entries"]
    assert "newer half" in told and ("least recently used" in told) == (name == "sam_recycle")
