"""Every number's unit, formula and public names in vLLM, SGLang, llama.cpp, LM Studio and AIPerf (empty: none)."""

from dataclasses import dataclass
from typing import Any, Literal

from engine.trace.sums import Sums, ratio

Engine = Literal["vllm", "sglang", "llama_cpp", "lm_studio", "aiperf"]
LOGGED = "log"  # printed there, without a field


@dataclass(frozen=True, kw_only=True)
class Name:
    """One number: what it is, how it is computed, and what others call it."""

    name: str
    unit: str
    formula: str
    vllm: str = ""
    sglang: str = ""
    llama_cpp: str = ""
    lm_studio: str = ""
    aiperf: str = ""
    note: str = ""


NAMES: tuple[Name, ...] = (
    Name(
        name="tokens",
        unit="tokens",
        formula="tokens of the response",
        vllm="completion_tokens",
        sglang="completion_tokens",
        llama_cpp="predicted_n",
        aiperf="Output Sequence Length",
    ),
    Name(
        name="rounds",
        unit="calls",
        formula="target calls; the prefill is none, nor what a reward model accepts, nor a call of a lone draft model",
        vllm="num_spec_steps",
        sglang="spec_verify_ct",
        llama_cpp=LOGGED,
        aiperf="Spec Decode Steps",
        note="The engines count only calls that verify a draft.",
    ),
    Name(
        name="verify_tokens",
        unit="tokens",
        formula="sum of the tokens fed to the target, roots included",
        note="HeteroSpec's Tokens.",
    ),
    Name(
        name="drafted",
        unit="draft tokens",
        formula="sum of the draft tokens, roots excluded; what beams hold is no draft",
        vllm="num_draft_tokens",
        sglang="spec_num_proposed_drafts",
        llama_cpp="draft_n",
        lm_studio="totalDraftTokensCount",
        note="llama.cpp leaves out draft tokens that were never verified.",
    ),
    Name(
        name="accepted",
        unit="draft tokens",
        formula="draft tokens accepted, relaxed ones included",
        vllm="num_accepted_draft_tokens",
        sglang="spec_num_correct_drafts",
        llama_cpp="draft_n_accepted",
        lm_studio="acceptedDraftTokensCount",
    ),
    Name(
        name="rejected",
        unit="draft tokens",
        formula="draft tokens tested and rejected, vetoed ones included",
        note="RSD: every token of a rejected step.",
    ),
    Name(
        name="discarded",
        unit="draft tokens",
        formula="drafted - accepted - rejected: never tested, behind what is accepted of a block, or behind the end of "
        "the text",
        lm_studio="ignoredDraftTokensCount",
    ),
    Name(
        name="iterations",
        unit="iterations",
        formula="passes over all places of a text",
        note="Non-autoregressive systems, which ask no target.",
    ),
    Name(name="reward_calls", unit="calls", formula="steps scored by a process reward model", note="RSD."),
    Name(name="reward_tokens", unit="tokens", formula="sum of the tokens fed to the process reward model"),
    Name(
        name="tau",
        unit="tokens a call",
        formula="tokens / rounds, the correction or bonus included",
        vllm="mean_acceptance_length",
        sglang="spec_accept_length",
        llama_cpp=LOGGED,
        aiperf="Acceptance Length",
        note="EAGLE's average acceptance length, CM-ASD's Tok. vLLM's is 1 + accepted / rounds, which is more where a "
        "text ends with a draft token.",
    ),
    Name(
        name="accept_rate_drafted",
        unit="share",
        formula="accepted / drafted",
        vllm="draft_acceptance_rate",
        sglang="spec_accept_rate",
        llama_cpp=LOGGED,
        aiperf="Draft Acceptance Rate",
    ),
    Name(
        name="accept_rate_tested",
        unit="share",
        formula="accepted / (accepted + rejected)",
        note="Leviathan's alpha, for a chain.",
    ),
    Name(
        name="accept_by_depth",
        unit="share",
        formula="marginal: accepted to depth d / rounds with a draft; conditional: / rounds that tested depth d",
        vllm="spec_decode_num_accepted_tokens_per_pos",
        llama_cpp=LOGGED,
        note="vLLM's field is the count above the line of marginal. "
        "RSD: a rejected step counts at its first token alone.",
    ),
    Name(
        name="accepted_histogram",
        unit="rounds",
        formula="h[i] = rounds that accepted i draft tokens",
        vllm="acceptance_histogram",
        sglang="spec_correct_drafts_histogram",
        aiperf=LOGGED,
    ),
    Name(
        name="tcr_histogram",
        unit="rounds",
        formula="counts[r] = rounds whose last accepted draft token has draft rank r",
        note="HeteroSpec's TCR; top_quarter is the share of rounds with r <= N / 4. Of a draft without probabilities r "
        "is the place in it.",
    ),
    Name(
        name="penalised_rate",
        unit="per 100 tokens",
        formula="100 * fired entropy triggers / tokens",
        note="EASD, table 7, which does not define it.",
    ),
    Name(name="penalised_per_tested", unit="share", formula="fired entropy triggers / (accepted + rejected)"),
    Name(
        name="rollback_rate",
        unit="share",
        formula="rounds that end with a rejected draft token / rounds with a draft",
        note="CM-ASD's rollback frequency, which its paper does not define.",
    ),
    Name(name="prefill_s", unit="s", formula="time before the first round"),
    Name(name="draft_s", unit="s", formula="sum of the rounds' time in the drafter; of a beam search none"),
    Name(name="verify_s", unit="s", formula="sum of the rounds' time in the target"),
    Name(name="other_s", unit="s", formula="sum of the rounds' time in neither"),
    Name(name="reward_s", unit="s", formula="of other_s, the time in the process reward model", note="RSD."),
    Name(
        name="network_s",
        unit="s",
        formula="of other_s, the time in a network that writes the text in place",
        note="Non-autoregressive systems, the reading of the source included.",
    ),
    Name(
        name="tokens_per_s",
        unit="tokens/s",
        formula="tokens / (draft_s + verify_s + other_s)",
        llama_cpp="predicted_per_second",
    ),
    Name(
        name="cost_ratio",
        unit="share",
        formula="(drafter's time / draft steps, of rounds that drafted) / (target's time / calls)",
        note="Leviathan's c. A step writes a level, verified or not, or the whole draft where one pass does.",
    ),
    Name(name="speedup", unit="times", formula="tokens_per_s / that of ar on the same target in the same process"),
    Name(name="speedup_perprompt_mean", unit="times", formula="mean over the prompts of their own speedups"),
)

TITLES: dict[Engine, str] = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama_cpp": "llama.cpp",
    "lm_studio": "LM Studio",
    "aiperf": "AIPerf",
}


@dataclass(frozen=True)
class Told:
    """A number as the page tells it."""

    name: str
    unit: str
    formula: str
    elsewhere: str  # its names in other engines, and the note


def told() -> list[Told]:
    """Every number as the page tells it."""
    parts = ((name, [part for part in (_elsewhere(name), name.note) if part]) for name in NAMES)
    return [Told(name.name, name.unit, name.formula, ". ".join(words)) for name, words in parts]


def _elsewhere(name: Name) -> str:
    fields = ((title, getattr(name, engine)) for engine, title in TITLES.items())
    return ", ".join(f"{title} {field}" for title, field in fields if field)


def public(sums: Sums, engine: Engine) -> dict[str, Any]:
    """The numbers of some runs under another engine's field names, by its definitions; those without one are left out.

    Engines count calls that verify a draft, and histograms are over these: sum(histogram) = steps,
    sum(i * histogram[i]) = accepted. SGLang divides the response's tokens by them, the others accepted + steps.
    """
    steps = sums.drafting
    histogram = [*sums.ended, *[0] * (sums.deepest + 1 - len(sums.ended))]
    numbers = sums.numbers() | {
        "rounds": steps,
        "accepted_histogram": histogram,
        "accept_by_depth": sums.by_depth()["accepted"],
        "tau": ratio(sums.tokens if engine == "sglang" else sums.accepted + steps, steps),
    }
    fields = {name.name: getattr(name, engine) for name in NAMES}
    found = {fields[name]: value for name, value in numbers.items() if fields.get(name) not in (None, "", LOGGED)}
    if engine == "llama_cpp":
        found |= {"predicted_ms": sums.ms or None, "prompt_ms": sums.prefill_ms}
    return {name: value for name, value in found.items() if value is not None}
