"""The map to the public names, and the identities that the engines' own threads print."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine import analysis
from engine.analysis.names import NAMES, public, told
from engine.trace.metrics import metrics
from engine.trace.sums import Sums
from tests.engine.analysis.made import sd


def test_every_number_has_unit_and_formula_once() -> None:
    assert len({name.name for name in NAMES}) == len(NAMES)
    assert all(name.unit and name.formula for name in NAMES)


def test_what_the_page_is_told() -> None:
    rows = {row.name: row for row in told()}
    assert list(rows) == [name.name for name in NAMES]
    assert rows["accepted"].elsewhere.startswith("vLLM num_accepted_draft_tokens, SGLang spec_num_correct_drafts")
    assert rows["accept_rate_tested"].elsewhere == "Leviathan's alpha, for a chain."


def test_vllm_names_and_its_identity() -> None:
    found = public(Sums.of_run(sd()), "vllm")
    assert found["num_draft_tokens"] == 9 and found["num_accepted_draft_tokens"] == 5 and found["num_spec_steps"] == 3
    assert found["spec_decode_num_accepted_tokens_per_pos"] == [3, 1, 1]
    assert found["acceptance_histogram"] == [0, 2, 0, 1]
    assert sum(i * n for i, n in enumerate(found["acceptance_histogram"])) == found["num_accepted_draft_tokens"]


def test_the_published_examples() -> None:
    """1 + accepted / steps is the tokens a step of vLLM and SGLang, corrections and bonuses counted."""
    assert pytest.approx(1.2326, abs=1e-4) == 1 + 10 / 43
    found = metrics(sd())
    last_round_cut = 1  # the run ended inside its last draft, so that call gave no token of its own
    assert found["tau"] == pytest.approx(1 + (found["accepted"] - last_round_cut) / found["rounds"])


def test_other_engines() -> None:
    sums, found = Sums.of_run(sd()), metrics(sd())
    timings = public(sums, "llama_cpp")
    assert timings.items() >= {"draft_n": 9, "draft_n_accepted": 5, "predicted_n": found["tokens"]}.items()
    assert timings["predicted_per_second"] == pytest.approx(1e3 * timings["predicted_n"] / timings["predicted_ms"])
    assert public(sums, "lm_studio") == {
        "totalDraftTokensCount": 9,
        "acceptedDraftTokensCount": 5,
        "ignoredDraftTokensCount": 3,
    }
    sglang = public(sums, "sglang")
    assert sglang["spec_verify_ct"] == 3 == sum(sglang["spec_correct_drafts_histogram"])
    assert sglang["spec_accept_length"] == sglang["completion_tokens"] / 3
    assert public(sums, "aiperf")["Acceptance Length"] == pytest.approx(1 + 5 / 3)


def test_analysis_imports_no_torch() -> None:
    modules = [path.stem for path in Path(analysis.__file__).parent.glob("*.py")]
    assert len(modules) > 10
    code = f"""
import importlib, sys
for name in {modules}: importlib.import_module("engine.analysis." + name)
print([name for name in ("torch", "transformers", "gradio", "plotly") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
