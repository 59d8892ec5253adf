"""Baselines that are no speculation: the draft model alone is that model, whatever the target is."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.analysis import index
from engine.analysis.divergence import divergence
from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.intervals import of_sums
from engine.analysis.pool import pool
from engine.analysis.verdict import verdict, verdicts
from engine.errors import ConfigError
from engine.lab import Lab
from engine.trace.metrics import metrics, unfair
from engine.trace.sums import Sums
from tests.engine.zoo import Zoo

PROMPT = [5, 9, 2, 7]


@pytest.fixture(scope="module")
def lab(zoo: Zoo) -> Lab:
    return zoo.lab("llama", draft="noise")


@pytest.mark.parametrize("options", [{}, {"temperature": 0.8, "top_k": 9, "seed": 3}])
def test_it_writes_what_the_draft_model_would_as_a_target(lab: Lab, options: dict[str, float]) -> None:
    other = Lab(lab.models["draft"], {}, {})
    alone = lab.run("draft_alone", PROMPT, max_new_tokens=30, **options)
    assert alone.token_ids == other.run("ar", PROMPT, max_new_tokens=30, **options).token_ids
    assert alone.token_ids != lab.run("ar", PROMPT, max_new_tokens=30, **options).token_ids


def test_it_equals_generate_of_the_draft_model(zoo: Zoo) -> None:
    target = zoo.path("llama")
    folder: Path = zoo.draft_path(target, "noise", sigma=0.3)
    lab = Lab.load(target=target, draft=folder, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([PROMPT])
    stops = sorted(lab.target.tokenizer.stop_ids)
    out = model.generate(ids, do_sample=False, max_new_tokens=30, eos_token_id=stops, pad_token_id=stops[0])
    assert lab.run("draft_alone", PROMPT, max_new_tokens=30).token_ids == out[0, len(PROMPT) :].tolist()


def test_its_numbers_are_the_draft_s_and_no_target_looked(lab: Lab) -> None:
    trace = lab.run("draft_alone", PROMPT, max_new_tokens=12)
    other = Lab(lab.models["draft"], {}, {}).run("ar", PROMPT, max_new_tokens=12)
    assert [t.h_draft for t in trace.tokens] == [t.h_target for t in other.tokens]
    assert {t.origin for t in trace.tokens} == {"draft"} and not any(t.h_target or t.top_target for t in trace.tokens)
    assert set(trace.head.models) == {"target", "draft"} and trace.head.guarantee == "lossy"
    said = why(trace.head, trace.rounds[3], token=3)
    assert said.startswith("Written by the draft model alone") and not identities(trace)
    assert why(trace.head, trace.rounds[3]).endswith(
        "one call of the draft model gives 1 token; the target was not asked."
    )


def test_its_calls_are_the_draft_s_and_nothing_is_divided_by_those_of_the_target(lab: Lab) -> None:
    plain, alone = (lab.run(name, PROMPT, max_new_tokens=12, record="light") for name in ("ar", "draft_alone"))
    assert {(event.fed, event.verify_ms) for event in alone.rounds} == {(0, 0.0)}
    assert all(event.draft_ms > 0 for event in alone.rounds)
    found = metrics(alone, plain)
    assert (found["rounds"], found["verify_tokens"], found["tau"], found["cost_ratio"]) == (0, 0, None, None)
    told = verdict(alone, plain)
    assert (told.cause, told.tau, told.call_ratio) == ("draft alone", None, None) and told.draft_share > 0.5
    assert told.line.endswith(": no target call.") and told.speedup == pytest.approx(found["speedup"])
    listed = index.pool(pd.DataFrame([index.entry(trace, trace.head.method) for trace in (plain, alone)]))
    assert [one["file"] for one in listed["named"]] == ["ar"]
    for found in (pool([plain, alone]), listed):
        rows = {row["method"]: row for row in found["sections"][0]["methods"]}
        assert (rows["draft_alone"]["calls"], rows["draft_alone"]["tau"], rows["ar"]["calls"]) == (0, None, 12)
    assert of_sums([Sums.of_run(alone)], [0])["tau"] is None


def test_it_is_measured_against_plain_decoding_and_is_no_baseline_itself(lab: Lab) -> None:
    plain, alone, sd = (
        lab.run(name, PROMPT, max_new_tokens=12, record="light") for name in ("ar", "draft_alone", "sd")
    )
    assert metrics(alone, plain)["speedup"] > 0
    assert unfair(sd, alone) == "another distribution" and not unfair(alone, plain)
    with pytest.raises(ConfigError, match="another distribution"):
        metrics(sd, alone)
    told = verdicts([alone, sd], ["alone", "sd"])
    assert told[1].speedup is None and told[1].unsaid == "no lane without a draft was run"


def test_where_it_leaves_the_target_s_text_nothing_is_unexplained(lab: Lab) -> None:
    plain, alone = (lab.run(name, PROMPT, max_new_tokens=30) for name in ("ar", "draft_alone"))
    found = divergence(plain, alone)
    assert found is not None and found.cause == "draft alone" and "the draft model wrote alone" in found.text


def test_it_needs_a_draft_model(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft=None)
    assert "needs a draft model" in lab.unavailable()["draft_alone"]
