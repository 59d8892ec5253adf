"""A light trace of a report that tells its verify passes in order: which token was what, not which token it was."""

from engine.analysis.words import count
from engine.errors import TraceError
from engine.served.report import TITLES, Report
from engine.trace.events import Round, RunEnded, RunStarted, Token
from engine.trace.store import MAX_TOKENS, Trace

UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # stands for a token whose text is not told
NEEDED = "vLLM tells it with --per-request-spec-decode-metrics detailed"


def light(report: Report) -> Trace:
    """The passes as rounds of a chain: accepted, then a correction, or a bonus where the whole draft was accepted.

    Token ids, texts and times are not told: ids are 0 of a vocabulary of one, texts the sign for an unknown character,
    times 0; `head.extras` say so (`served`, `untold`).

    Raises:
        TraceError: the report has no passes in order, or too many.
    """
    if not report.each:
        raise TraceError(
            f"{report.name} counts its verify passes and does not tell them in order ({NEEDED}): a run needs the "
            "order. Its counts are shown under Many runs."
        )
    emitted = sum(accepted + 1 for accepted, _ in report.each)
    if emitted > MAX_TOKENS:
        raise TraceError(f"{report.name} has {emitted} tokens; {MAX_TOKENS} are the limit.")
    trace = Trace([_head(report, emitted)])
    for accepted, drafted in report.each:
        trace.append(_round(len(trace.rounds), len(trace.tokens), accepted, drafted))
    trace.append(RunEnded("stop", text=UNKNOWN * emitted))
    return trace


def _head(report: Report, emitted: int) -> RunStarted:
    missing = [
        "the prompt",
        "the tokens' texts",
        "the time of drafting and of verifying",
        "the rule and its distributions",
    ]
    if report.tokens is not None and report.tokens > emitted:
        missing.append(f"when the {count(report.tokens - emitted, 'token')} came that no verify pass gave")
    return RunStarted(
        id=report.name,
        method=report.engine,
        title=TITLES[report.engine],
        drafter="untold",
        shape="chain",
        rule="untold",
        guarantee="untold",
        knobs={} if report.longest is None else {"gamma": report.longest},
        models={"target": {"id": report.model or "untold", "revision": report.name}},
        prompt="",
        prompt_ids=[],
        prompt_pieces=[],
        sampling={},
        seed=0,
        max_new_tokens=emitted,
        vocab=1,
        dtype="untold",
        device="untold",
        record="light",
        stop=[],
        chat=False,
        top_n=0,
        extras={"served": TITLES[report.engine], "untold": "; ".join(missing)},
    )


def _round(index: int, start: int, accepted: int, drafted: int) -> Round:
    last = "target" if not drafted else "bonus" if accepted == drafted else "correction"
    origins = [*["draft"] * accepted, last]
    return Round(
        index=index,
        start=start,
        drafted=drafted,
        fed=drafted + 1,
        levels=drafted,
        accepted=accepted,
        emitted=accepted + 1,
        path=list(range(accepted)),
        draft_ms=0.0,
        verify_ms=0.0,
        other_ms=0.0,
        tokens=[
            Token(start + place, 0, UNKNOWN, origin, index, place if place < accepted else None)
            for place, origin in enumerate(origins)
        ],
    )
