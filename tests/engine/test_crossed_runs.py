"""Methods on encoder-decoder pairs: at temperature 0 every lossless one writes what `ar` writes, and `ar` what
transformers writes; above, draws have the target's distribution; who cannot run says why."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import chi2

from engine.cli import main
from engine.config import Sampling
from engine.drafters.medusa import Medusa
from engine.errors import ConfigError, TraceError
from engine.lab import Lab
from engine.runs import costs as measuring
from engine.sampling import distribution
from engine.trace.store import Trace
from tests.engine.crossed import LEAN, SOURCE, TIED, Crossed, generated, plain_logits
from tests.engine.drafters.heads import decoding
from tests.engine.heads import made
from tests.engine.zoo import EOS
from tests.typed import known

TOKENS = 16
LOSSLESS: list[tuple[str, dict[str, Any]]] = [
    ("sd", {"gamma": 4}),
    ("easd", {"tau_entropy": 20.0}),
    ("specdec", {"top_beta": 1}),
    ("cm_asd", {"top_beta": 1, "k_max": 8}),
    ("topk_lossy", {"accept_k": 1}),
    ("adaedl", {}),
    ("mixed", {"min_match": 2}),
    ("layer_skip", {"layers": "first:1", "gamma": 3}),
    ("pld", {"max_ngram": 2, "continuation": "any"}),
    ("anpd", {}),
    ("sam", {}),
    ("sam_recycle", {}),
    ("suffix", {"spec_factor": 4.0}),
    ("recycle", {}),
    ("lookahead", {"window": 4, "ngram": 3}),
    ("stand", {}),
]


def run(lab: Lab, method: str, **options: Any) -> Trace:
    trace = lab.run(method, SOURCE, **{"max_new_tokens": TOKENS, "record": "light", **options})
    assert trace.end is not None and trace.end.reason != "error", trace.end
    return trace


def check_greedy(crossed: Crossed, family: str) -> None:
    lab = crossed.lab(family)
    assert lab.target.seam is not None
    wanted = generated(crossed.plain(family), SOURCE, len(lab.target.seam.opening), TOKENS)
    assert family in TIED or len(set(wanted)) > 1, "a text that says nothing tests nothing"
    assert run(lab, "ar").token_ids == wanted
    chains_only = {"lookahead"} if lab.target.decoder.why_chains else set[str]()
    assert {method for method, _ in LOSSLESS} & lab.unavailable().keys() == chains_only
    for method, knobs in LOSSLESS:
        if method not in chains_only:
            assert run(lab, method, **knobs).token_ids == wanted, method


def test_lossless_methods_write_what_transformers_writes(crossed: Crossed) -> None:
    check_greedy(crossed, "bart")


@pytest.mark.slow
@pytest.mark.parametrize("family", [*(f for f in LEAN if f != "bart"), "bert2bert"])
def test_lossless_methods_on_every_family(crossed: Crossed, family: str) -> None:
    check_greedy(crossed, family)


def test_drafts_are_accepted_and_traces_carry_the_source(crossed: Crossed) -> None:
    lab = crossed.lab("bart")
    trace = run(lab, "sd", record="full", gamma=4)
    assert 0 < sum(r.accepted for r in trace.rounds) < sum(r.drafted for r in trace.rounds)
    head = trace.head
    assert (
        head.source == len(SOURCE) and head.prompt_ids == [*SOURCE, EOS] and len(head.prompt_pieces) == len(SOURCE) + 1
    )
    assert head.prompt == lab.target.tokenizer.decode(SOURCE)
    again = Trace.loads(trace.to_bytes())
    assert again.head.source == len(SOURCE)
    first, rest = trace.to_bytes().split(b"\n", 1)
    before = {name: value for name, value in json.loads(first).items() if name != "source"}
    assert Trace.loads(json.dumps(before).encode() + b"\n" + rest).head.source == 0, "an older file still opens"


def test_lookups_copy_from_the_source(crossed: Crossed) -> None:
    """The places of a copy lie in the prompt, before the seam."""
    lab = crossed.lab("bart", sigma=-1)
    copied = run(lab, "pld", record="full", max_ngram=1, continuation="any", corpus="current")
    places = {
        (node.source or {}).get("part") for round_ in copied.rounds for node in round_.nodes if node.source is not None
    }
    assert "prompt" in places


@pytest.mark.thorough
def test_costs_are_measured_behind_a_source(crossed: Crossed, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a prompt the measured text had no source, where a model starts with the end of one it was refused; behind
    a long source passes of one token alone had been timed."""
    sizes = measuring.SIZES[-1]
    for prompt in ("", [5] * 126 + [EOS]):
        assert crossed.lab("bart", sigma=-1).costs("pld", prompt).passes.samples[-1][0] == sizes
    told = ["--prompt", "ababab", "--max-new-tokens", "8", "--methods", "pld", "--json"]
    assert main(["advise", "--target", str(crossed.path("bart")), "--device", "cpu", *told]) == 0
    assert json.loads(capsys.readouterr().out)["costs"]["passes"][-1][0] == sizes


def test_who_cannot_run_says_why(crossed: Crossed) -> None:
    reasons = crossed.lab("bart").unavailable()
    for method in ("eagle3", "eagle2", "mtp", "hydra", "universal", "rsd"):
        assert "decoder-only" in reasons[method], method
    assert not {name for name, _ in LOSSLESS} & reasons.keys()


def check_heads(crossed: Crossed, family: str, folder: Path, n: int = 5) -> None:
    """Random heads over few ids, with matrices of their own and without (nearly silent, so that they say the last token
    again): `ar`'s texts, some draft tokens accepted and some not, and each draft token the first choice of its head
    for the state before the root."""
    lab, sources = crossed.lab(family, sigma=-1, vocab=12), [[5, 9, 3 + i, 7, 6, EOS] for i in range(n)]
    options = {"max_new_tokens": TOKENS, "record": "full"}
    wanted = [lab.run("ar", source, **options).token_ids for source in sources]
    shared: dict[str, Any] = {"heads": 6, "shared": True, "bottleneck": 8, "std": 0.05}
    rounds, kinds = list[Any](), {"own": dict[str, Any](), "shared": shared}
    for kind, made_of in kinds.items():
        lab.asset_paths["medusa"] = str(made.medusa(folder / kind, lab.target, **made_of))
        head, runs = lab.asset("medusa"), list[Trace]()
        for source, text in zip(sources, wanted, strict=True):
            assert lab.run("medusa", source, tree_depth=2, tree_nodes=9, **options).token_ids == text
            runs.append(lab.run("blockwise", source, gamma=5, **options))
            assert runs[-1].token_ids == text
            tokens, session = [*runs[-1].head.prompt_ids], lab.target.session(64)
            for at, found in enumerate(runs[-1].rounds):
                last = len(runs[-1].rounds) - 1
                assert found.drafted or at in (0, last), "only before the first pass there is no state to draft from"
                state = session.forward(tokens[:-1]).last[-1:] if found.drafted else None
                first = [] if state is None else [int(head.logits(state, i)[0].argmax()) for i in range(found.drafted)]
                assert [node.token for node in found.nodes] == first
                tokens += text[len(tokens) - len(runs[-1].head.prompt_ids) :][: found.emitted]
        rounds += [r for trace in runs for r in trace.rounds]
    unlucky = family in ("t5_gated", "marian")  # no random head is right once
    assert (0 - unlucky) < sum(r.accepted for r in rounds) < sum(r.drafted for r in rounds)


def test_heads_stand_on_the_decoders_states(crossed: Crossed, tmp_path: Path) -> None:
    check_heads(crossed, "bart", tmp_path, 2)


def test_heads_pass_over_the_rows_of_a_source(crossed: Crossed, tmp_path: Path) -> None:
    """They follow the decoder's rows, each once: as many as tokens before the root, a source's among them."""
    lab = crossed.lab("bart", sigma=-1, vocab=12)
    lab.asset_paths["medusa"] = str(made.medusa(tmp_path, lab.target))
    run = decoding(lab, "blockwise", [5, 9, 3, 7, 6, EOS, EOS], 6)
    drafter, rounds = known(Medusa, run.method.drafter), run.run()
    with torch.inference_mode():
        for _ in range(3):
            before = len(run.tokens)
            next(rounds)
            assert drafter.follower.count == before - 1


@pytest.mark.slow
@pytest.mark.parametrize("family", ["t5", "t5_gated", "marian", "pegasus"])
def test_heads_on_every_family(crossed: Crossed, family: str, tmp_path: Path) -> None:
    check_heads(crossed, family, tmp_path)


def test_a_continuation_goes_on_where_it_was_cut(crossed: Crossed) -> None:
    lab = crossed.lab("bart")
    whole = run(lab, "ar")
    ids = [*whole.head.prompt_ids, *whole.token_ids[:9]]
    rest = lab.run("sd", ids, max_new_tokens=TOKENS - 9, record="light")
    assert rest.head.source == len(SOURCE) and rest.token_ids == whole.token_ids[9:]


def test_tables_live_on_through_trajectories(crossed: Crossed) -> None:
    lab = crossed.lab("bart")
    for method in ("stand", "sd"):
        found = list(lab.trajectories(method, SOURCE, 2, max_new_tokens=8))
        assert [trace.head.source for trace in found] == [len(SOURCE)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sd", "stand"])
def test_draws_have_the_targets_distribution(crossed: Crossed, method: str) -> None:
    """Two tokens of many runs on a pair over eight ids, whose joint distribution is computed exactly."""
    lab, hf = crossed.lab("bart", sigma=0.2, vocab=8, layers=1), crossed.plain("bart", vocab=8, layers=1)
    source, runs = [4, 5, 6, 7, EOS], 1200
    joint: dict[tuple[int, ...], float] = {}
    first = distribution(plain_logits(hf, source, [EOS])[-1:], Sampling(1.0))[0].tolist()
    for a, mass in enumerate(first):
        if a == EOS:
            joint[(a,)] = mass
            continue
        row = distribution(plain_logits(hf, source, [EOS, a])[-1:], Sampling(1.0))[0].tolist()
        joint |= {(a, b): mass * p for b, p in enumerate(row)}
    seen = Counter(
        tuple(lab.run(method, source, max_new_tokens=2, temperature=1.0, seed=seed, record="light").token_ids)
        for seed in range(runs)
    )
    statistic, cells, rest = 0.0, 0, [0.0, 0.0]
    for outcome, mass in joint.items():
        if runs * mass >= 5:
            statistic, cells = statistic + (seen[outcome] - runs * mass) ** 2 / (runs * mass), cells + 1
        else:
            rest = [rest[0] + seen[outcome], rest[1] + runs * mass]
    statistic += (rest[0] - rest[1]) ** 2 / max(rest[1], 1e-9) if rest[1] >= 5 else 0.0
    assert cells > 8 and chi2.sf(statistic, cells - 1) > 1e-3
    assert not set(seen) - set(joint)
    assert torch.isfinite(torch.tensor(statistic))


def test_where_tokens_look_is_told_on_demand(crossed: Crossed) -> None:
    """The places of each token are those of transformers' own attention, the mean over layers and heads."""
    lab = crossed.lab("bart")
    trace = run(lab, "sd", record="full", looks=3, gamma=4)
    hf = crossed.plain("bart")
    hf.set_attn_implementation("eager")
    text = torch.tensor([[EOS, *trace.token_ids[:-1]]])
    try:
        out = hf(input_ids=torch.tensor([SOURCE]), decoder_input_ids=text, output_attentions=True)
    finally:
        hf.set_attn_implementation("sdpa")
    wanted = torch.stack(out.cross_attentions).mean((0, 2))[0].topk(3)
    for token, places, shares in zip(trace.tokens, wanted.indices.tolist(), wanted.values.tolist(), strict=True):
        assert token.looks is not None and [place for place, _ in token.looks] == places
        assert [share for _, share in token.looks] == pytest.approx(shares, abs=1e-5)
    assert run(lab, "sd", record="full").tokens[0].looks is None
    assert Trace.loads(trace.to_bytes()).tokens[3].looks == trace.tokens[3].looks
    trace.tokens[3].looks = [(len(SOURCE), 0.5)]
    with pytest.raises(TraceError, match=r"looks must be from 0 to 10, not 11"):
        Trace.loads(trace.to_bytes())
    trace.head.source = len(SOURCE) + 2
    with pytest.raises(TraceError, match=r"run\.source must be from 0 to 12, not 13"):
        Trace.loads(trace.to_bytes())
    with pytest.raises(ConfigError, match="does not tell where it looks"):
        crossed.lab("bert2bert", sigma=-1, layers=1).run("ar", SOURCE, looks=2)


def test_a_decoder_only_model_looks_at_no_source(lab: Lab) -> None:
    with pytest.raises(ConfigError, match="has no source to look at"):
        lab.run("ar", "abc", looks=1)
