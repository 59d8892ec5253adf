"""Beam search: tokens and scores of transformers', the exact optimum where the beams are wide enough, and honest traces."""

import os
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.replay import replay
from engine.drafters.beams import BeamDrafter
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.lab import Lab
from engine.rules.beams import _down
from engine.tasks import load_problems
from engine.trace.metrics import metrics
from engine.trace.store import Trace
from engine.trees.beams import STOPPING, Beam, BeamSearch
from tests.engine.once import loaded_once
from tests.engine.zoo import Zoo

EARLY = dict(zip(STOPPING, (True, False, "never"), strict=True))
SETTINGS = [
    (1, 1.0, "full"),
    (5, 1.0, "full"),
    (16, 1.0, "full"),
    (4, 0.4, "heuristic"),
    (3, 2.0, "never"),
    (3, 0.0, "never"),
]
THIRD = Path(os.environ.get("DRAFTSCOPE_TEST_MODELS", ""))


@cache
def network(folder: Path) -> Any:
    """A model of transformers'."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def theirs(folder: Path, ids: Sequence[int], stops: Sequence[int], new: int, n: int, penalty: float, early: str) -> Any:
    """Tokens (end token included) and score of transformers' beam search."""
    x = torch.tensor([list(ids)])
    out = network(folder).generate(
        x,
        attention_mask=torch.ones_like(x),
        do_sample=False,
        num_beams=n,
        length_penalty=penalty if n > 1 else None,
        early_stopping=EARLY[early] if n > 1 else None,
        max_new_tokens=new,
        eos_token_id=list(stops) or None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = out.sequences[0, len(ids) :].tolist()
    end = next((i + 1 for i, token in enumerate(found) if token in stops), len(found))
    return found[:end], None if n == 1 else float(out.sequences_scores[0])


def check(lab: Lab, folder: Path, ids: Sequence[int], new: int, n: int, penalty: float, early: str) -> Trace:
    trace = lab.run("beam", list(ids), max_new_tokens=new, beams=n, length_penalty=penalty, early_stopping=early)
    tokens, score = theirs(folder, ids, sorted(lab.target.tokenizer.stop_ids), new, n, penalty, early)
    assert trace.token_ids == tokens
    assert score is None or trace.rounds[-1].extras["rating"] == pytest.approx(score, abs=2e-4)
    kept = Trace.loads(trace.to_bytes())
    found = replay(kept, None)
    assert not identities(kept) and not found.faults and found.unknown == 0
    return trace


@pytest.mark.parametrize(("n", "penalty", "early"), SETTINGS)
@pytest.mark.parametrize("family", ["llama", "gpt_neox"])
def test_random_models_are_searched_as_by_transformers(
    zoo: Zoo, family: str, n: int, penalty: float, early: str
) -> None:
    folder = zoo.path(family, layers=2, hidden=32)
    with loaded_once():
        lab = Lab.load(target=folder, device="cpu")
    for ids in ([5, 9, 2, 7], [11, 4]):
        check(lab, folder, ids, 20, n, penalty, early)


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "penalty", "early"), SETTINGS[:4])
def test_the_embedded_target_is_searched_as_by_transformers(n: int, penalty: float, early: str) -> None:
    lab = Lab.load("tiny")
    for family, new in (("sentences", 24), ("arithmetic", 12)):
        prompt = lab.target.tokenizer.encode(load_problems(family, "heldout", 1)[0].prompt)
        check(lab, ROOT / "assets/tiny/target", prompt, new, n, penalty, early)


@pytest.mark.parametrize("name", ["TinyStories-656K", "stories260K-hf"])
@pytest.mark.parametrize(("n", "penalty", "early"), SETTINGS[:4])
def test_models_of_others_are_searched_as_by_transformers(name: str, n: int, penalty: float, early: str) -> None:
    if not (THIRD / name / "config.json").is_file():
        pytest.skip("DRAFTSCOPE_TEST_MODELS names no folder with the third-party models")
    with loaded_once():
        lab = Lab.load(target=THIRD / name, device="cpu", dtype="float32")
    check(lab, THIRD / name, lab.target.tokenizer.encode("Once upon a time"), 24, n, penalty, early)


def test_wide_beams_find_the_most_probable_response(zoo: Zoo) -> None:
    """Three tokens over a small vocabulary, every response enumerated; one beam alone finds another."""
    lab = zoo.lab("llama", draft=None, layers=2)
    lab.target.tokenizer.stop_ids = frozenset()
    vocab, ids = lab.vocab, [5, 9, 2, 7]
    session = lab.target.session(16)

    def logp(tokens: Sequence[int]) -> torch.Tensor:
        return session.forward([*ids, *tokens]).logits[0].double().log_softmax(-1)

    first = logp([])
    best, answer = -float("inf"), (0, 0)
    for a in range(vocab):
        second = logp([a])
        b = int(second.argmax())
        if float(first[a] + second[b]) > best:
            best, answer = float(first[a] + second[b]), (a, b)
    trace = lab.run("beam", ids, max_new_tokens=2, beams=min(64, vocab), length_penalty=0.0)
    assert tuple(trace.token_ids) == answer and trace.rounds[-1].extras["rating"] == pytest.approx(best, abs=1e-4)


def test_one_beam_is_greedy_decoding(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    for prompt in ([5, 9, 2, 7], [3]):
        assert (
            lab.run("beam", prompt, max_new_tokens=30, beams=1).token_ids
            == lab.run("ar", prompt, max_new_tokens=30).token_ids
        )


def test_sampling_does_nothing_to_it(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    plain = lab.run("beam", [5, 9], max_new_tokens=12)
    assert lab.run("beam", [5, 9], max_new_tokens=12, temperature=0.7, top_p=0.8, seed=4).token_ids == plain.token_ids


def test_a_trace_shows_the_beams_and_what_survives(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    trace = lab.run("beam", [5, 9, 2, 7], max_new_tokens=16, beams=4)
    assert trace.head.guarantee == "lossy" and sum(r.emitted for r in trace.rounds) == len(trace.tokens)
    assert trace.rounds[0].drafted == 0 and all(r.extras["beams"] <= 4 for r in trace.rounds)
    leaves = [len([n for n in range(r.drafted) if n not in {x.parent for x in r.nodes}]) for r in trace.rounds]
    assert max(leaves) >= 4, "the beams are the leaves of the tree"
    reasons = {node.reason["id"]: (r, i) for r in trace.rounds for i, node in enumerate(r.nodes) if node.reason}
    assert set(reasons) == {"beam_settled", "beam_open", "beam_left"}
    states = {"beam_settled": "accepted", "beam_open": "discarded", "beam_left": "rejected"}
    for name, (event, i) in reasons.items():
        assert event.nodes[i].state == states[name]
        assert (
            why(trace.head, event, node=i, pieces=trace.pieces).split(":")[0] == name.removeprefix("beam_").capitalize()
        )
    found = metrics(trace)
    nothing = ("drafted", "accepted", "rejected", "discarded", "penalised_rate", "draft_s")
    assert [found[name] for name in nothing] == [0] * 6, "what the beams hold is no draft"
    absent = ("accept_rate_drafted", "accept_rate_tested", "rollback_rate", "penalised_per_tested", "cost_ratio")
    assert [found[name] for name in absent] == [None] * 5
    assert found["accept_by_depth"]["depth"] == found["tcr_histogram"]["counts"] == [] and not identities(trace)
    assert found["rounds"] == len(trace.rounds) and found["verify_tokens"] == sum(r.fed for r in trace.rounds)
    spent = [sum(getattr(r, name) for r in trace.rounds) / 1e3 for name in ("draft_ms", "other_ms")]
    assert found["other_s"] == pytest.approx(sum(spent)) and spent[0] > 0
    plain = lab.run("ar", [5, 9, 2, 7], max_new_tokens=16)
    with pytest.raises(ConfigError, match="another distribution"):
        metrics(plain, trace)
    last = max((r for r in trace.rounds if r.accepted), key=lambda r: r.index)
    assert f"of which {last.accepted} settled now" in why(trace.head, last, pieces=trace.pieces)
    final = tuple(trace.token_ids)
    for r in trace.rounds:  # what settled is never taken back, and what all beams left is no part of the response
        for node in r.nodes:
            if node.reason and node.reason["id"] == "beam_settled":
                assert final[r.start + node.depth - 1] == node.token


def test_beams_that_part_at_once_have_room_beyond_the_context(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None, layers=2, max_position_embeddings=40)
    trace = lab.run("beam", [5] * 20, max_new_tokens=20, beams=16)
    assert max(r.drafted for r in trace.rounds) > 40 and trace.end is not None and len(trace.tokens) <= 20


@pytest.mark.parametrize("knobs", [{"beams": 0}, {"beams": 65}, {"early_stopping": "soon"}, {"length_penalty": 9}])
def test_what_cannot_be_searched(zoo: Zoo, knobs: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        zoo.lab("llama", draft=None).run("beam", [5, 9], **knobs)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_search_by_hand(width: int) -> None:
    """Two letters and an end: every response of at most three tokens, its score the sum of fixed log-probabilities."""
    table = {0: (-0.7, -0.9, -2.3), 1: (-1.2, -0.5, -1.6), None: (-0.6, -0.9, -4.0)}
    search = BeamSearch(width, 3, 1.0, "heuristic")
    while not search.done:
        every = [
            (beam.score + table[beam.tokens[-1] if beam.tokens else None][t], i, t)
            for i, beam in enumerate(search.live)
            for t in range(3)
        ]
        search.step(sorted(every, reverse=True)[: 2 * width], lambda token: token == 2)
    said = [t for n in (1, 2, 3) for t in product(range(3), repeat=n) if 2 not in t[:-1] and (t[-1] == 2 or n == 3)]

    def rated(tokens: tuple[int, ...]) -> float:
        last: int | None = None
        total = 0.0
        for token in tokens:
            total, last = total + table[last][token], token
        return total / len(tokens)

    assert search.best.tokens in said and search.rated(search.best) == pytest.approx(rated(search.best.tokens))
    if width == 3:
        assert search.best.tokens == max(said, key=rated)
    assert Beam().score == 0 and search.settled == len(search.best.tokens)


def test_only_candidates_among_the_first_n_may_end() -> None:
    search = BeamSearch(1, 9, 1.0, "full")
    search.step([(-0.5, 0, 0), (-0.6, 0, 2)], lambda token: token == 2)
    assert not search.ended and [beam.tokens for beam in search.live] == [(0,)]


def test_an_ended_beam_that_all_live_ones_have_left_can_still_be_committed() -> None:
    search = BeamSearch(2, 9, 1.0, "heuristic")
    search.live = [Beam((1, 1, 5), (-1, -2, -3)), Beam((1, 2, 5), (-1, -3, -4))]
    search.ended = [(-0.1, Beam((3, 4, 9), (-0.1, -0.2, -0.3)))]
    drafter = BeamDrafter.__new__(BeamDrafter)
    drafter.search, drafter.stops = search, frozenset({9})
    draft = drafter.propose(SimpleNamespace(space=99), None)  # type: ignore[arg-type]
    assert _down(draft, (3, 4, 9)) == ([5, 6], (9,)) and draft.leaves == (2, 4)
    assert draft.scores is not None and draft.scores[6] == -0.2
