"""The small model as drafter: it drafts its own distribution, and its cache never falls behind."""

import pytest
import torch

from engine.config import RunConfig, Sampling
from engine.drafters.model import ModelDrafter
from engine.errors import EngineFault
from engine.lab import Lab
from engine.methods import get_card
from engine.model import Session
from engine.runs.running import begin
from engine.sampling import distribution, pick
from engine.trace.events import RunEnded
from tests.engine.zoo import Zoo


def check_copy_accepts_all(lab: Lab, **sampling: float) -> None:
    """A draft that is the target is always right (K2 ratio one); a missing or wrong cache row would show here."""
    prompt = [4, 1, 3, 2] if lab.vocab < 10 else [5, 9, 33, 7]
    trace = lab.run("sd", prompt, max_new_tokens=40, gamma=4, seed=3, **sampling)
    assert trace.rounds and all(r.accepted == r.drafted for r in trace.rounds)


def check_rows_fed(lab: Lab) -> None:
    """Per round the draft computes one row a draft token, and one more for the last draft token of a fully accepted round."""
    card = get_card("sd")
    config = RunConfig("sd", (5, 9, 33, 7), max_new_tokens=40, knobs=card.resolve({"gamma": 4}))
    decoding = begin(lab, card, config)
    drafter = decoding.method.drafter
    assert isinstance(drafter, ModelDrafter)
    fed, full = 3, False  # the prompt but its last token
    for event in decoding.run():
        if isinstance(event, RunEnded):
            break
        assert drafter.session.fed - fed == event.drafted + (1 if full and event.drafted else 0)
        fed, full = drafter.session.fed, event.drafted > 0 and event.accepted == event.drafted


def test_a_copy_of_the_target_is_always_right(zoo: Zoo) -> None:
    check_copy_accepts_all(zoo.lab("llama", draft="copy"))
    check_copy_accepts_all(zoo.lab("gpt_neox", draft="copy"))


def test_a_copy_is_right_when_sampled_too() -> None:
    """Above temperature 0 the ratio is one up to the shapes of the passes; the toy has no such noise."""
    from tests.engine.toy import toy_lab

    copy = toy_lab(draft="copy")
    for sampling in ({"temperature": 1.0}, {"temperature": 0.6, "top_k": 3}, {"temperature": 1.4, "top_p": 0.8}):
        check_copy_accepts_all(copy, **sampling)


def test_the_cache_is_fed_once_a_token(zoo: Zoo) -> None:
    check_rows_fed(zoo.lab("llama", draft="noise"))
    check_rows_fed(zoo.lab("llama", draft="copy"))


def check_draws(zoo: Zoo, sampling: Sampling) -> None:
    """Tokens, distributions, scores and sources of one draft, recomputed pass by pass with the same uniforms."""
    lab = zoo.lab("llama", draft="noise")
    card = get_card("sd")
    config = RunConfig("sd", (5, 9, 33, 7), max_new_tokens=12, sampling=sampling, knobs=card.resolve({"gamma": 4}))
    decoding = begin(lab, card, config)
    decoding.method.drafter.begin(decoding.tokens)
    with torch.inference_mode():
        draft = decoding.method.drafter.propose(decoding._context(), decoding.method.shape)
    from engine.streams import Streams

    us, tokens, total = Streams(0).uniforms("draft", 4), [5, 9, 33, 7], 0.0
    for i in range(4):
        row = lab.models["draft"].session(32).forward(tokens).logits
        q = distribution(row, sampling)[0]
        token = int(row[0].argmax()) if sampling.greedy else pick(q, us[i])
        assert draft.tokens[i] == token and draft.logits is not None and draft.scores is not None
        assert torch.allclose(draft.logits[i], row[0], atol=2e-4)
        if sampling.greedy:
            assert draft.distributions is None and draft.draw == "point"
        else:
            assert (
                draft.draw == "sample"
                and draft.distributions is not None
                and torch.allclose(draft.distributions[i], q, atol=1e-4)
            )
        total += float(torch.log_softmax(row[0], -1)[token])
        assert draft.scores[i] == pytest.approx(total, abs=1e-3)
        tokens.append(token)
    assert draft.is_chain and draft.sources == ({"kind": "model", "role": "draft"},) * 4


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 4, 0.9)])
def test_draft_tokens_are_draws_from_the_processed_distribution(zoo: Zoo, sampling: Sampling) -> None:
    check_draws(zoo, sampling)


def test_a_short_draft_context_ends_drafting_not_the_run(zoo: Zoo) -> None:
    """Where the draft model cannot read on, the target goes on alone."""
    target = zoo.path("llama")
    from tests.engine.zoo import make_model

    small = make_model(zoo.root / "short", "llama", seed=9, layers=2, max_position_embeddings=20)
    lab = Lab(zoo.load(target), {"draft": zoo.load(small)})
    for length in (10, 19, 20, 30):
        prompt = list(range(10, 10 + length))
        assert lab.run("sd", prompt, max_new_tokens=16).token_ids == lab.run("ar", prompt, max_new_tokens=16).token_ids
    assert all(r.drafted == 0 for r in lab.run("sd", list(range(10, 40)), max_new_tokens=4).rounds)


def test_nothing_is_drafted_after_the_end() -> None:
    """A drafted stop id is the last of its chain, greedy and sampled; the greedy text is that of `ar`."""
    from tests.engine.toy import toy_lab

    plain = toy_lab(V=5, seed=2, draft="copy").run("ar", "ab", max_new_tokens=30).token_ids
    lab = toy_lab(V=5, seed=2, stop=[plain[6]], draft="copy")
    ended = 0
    for options in ({}, *({"temperature": 1.0, "seed": seed} for seed in range(12))):
        trace = lab.run("sd", "ab", max_new_tokens=30, gamma=5, **options)
        for event in trace.rounds:
            drafted = [node.token for node in event.nodes]
            assert plain[6] not in drafted[:-1]
            ended += plain[6] in drafted and len(drafted) < 5
        if not options:
            assert trace.token_ids == plain[: plain.index(plain[6]) + 1]
    assert ended, "no draft reached the end"


def test_a_draft_of_nan_ends_the_run(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also behind its first token, where nobody looks at the rows one by one."""
    whole = Session.step
    monkeypatch.setattr(Session, "step", lambda self, token: whole(self, token) * torch.nan)
    lab, card = zoo.lab("llama", draft="copy"), get_card("sd")
    decoding = begin(lab, card, RunConfig("sd", (5, 9, 33, 7), max_new_tokens=8, knobs=card.resolve({"gamma": 4})))
    with pytest.raises(EngineFault, match="The draft model returned NaN logits"):
        list(decoding.run())
