"""HeteroSpec's figures and tables at the lab's scale, from traces (figures 1, 3, 4; tables 2, 4, 6). No torch.

TCR is the rank, by cumulative draft probability, of the last accepted draft token among the N - 1 verified; 0 for
none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from engine.analysis.grouping import cluster
from engine.analysis.intervals import Interval, clustered_share
from engine.analysis.tables import Traces
from engine.trace.events import Round
from engine.trace.metrics import pooled
from engine.trace.sums import as_list

QUANTILES = (0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One round that a drafter's tree was scored in: what CART learns from."""

    phi: float  # cumulative meta-path entropy, nats
    tcr: int
    accepted: int
    size: int  # tokens verified, the root included
    full: bool  # the meta-path itself was accepted to its end (register H6)


def samples(traces: Traces) -> list[Sample]:
    """The rounds with a cumulative entropy, in order; rounds cut short by the end of the text have none."""
    return [
        Sample(float(r.extras["phi"]), r.tcr, r.accepted, r.fed, _fully(r))
        for trace in as_list(traces)
        for r in trace.rounds
        if r.extras.get("phi") is not None and r.tcr is not None
    ]


def _fully(event: Round) -> bool:
    """Whether the meta-path was accepted to its end; a correction that happens to be its last token does not count."""
    path: list[int] = event.extras.get("meta_path") or []
    drafted = event.tokens[: event.accepted]
    return bool(path) and [token.token for token in drafted[: len(path)]] == list(path)


def _ranked(traces: Traces) -> list[tuple[int, int, int]]:
    """(TCR, verified draft tokens, accepted) of every round with a draft."""
    return [
        (r.tcr, r.drafted, r.accepted) for t in as_list(traces) for r in t.rounds if r.drafted and r.tcr is not None
    ]


def tcr_quantiles(traces: Traces, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
    """Figure 1e, 3 insets: `share` of rounds with a TCR in the first `quantile` of verified tokens, with the root."""
    ranked = _ranked(traces)
    rows = [(q, sum(tcr <= q * (n + 1) for tcr, n, _ in ranked) / max(1, len(ranked))) for q in quantiles]
    return pd.DataFrame(rows, columns=["quantile", "share"])


def tcr_intervals(traces: Traces, quantiles: Sequence[float] = QUANTILES) -> list[Interval | None]:
    """The shares of `tcr_quantiles` with 95 % intervals over prompts, whose rounds are no independent ones.

    Within all of the verified tokens every rank lies by definition: there is no doubt about that share.
    """
    found: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
    for trace in as_list(traces):
        found.setdefault(cluster(trace), []).extend(_ranked(trace))
    shares = [
        clustered_share((sum(tcr <= q * (n + 1) for tcr, n, _ in own), len(own)) for own in found.values())
        for q in quantiles
    ]
    return [
        replace(share, low=1.0, high=1.0) if q >= 1 and share and share.n > 1 else share
        for q, share in zip(quantiles, shares, strict=True)
    ]


def length_by_tcr(traces: Traces) -> pd.DataFrame:
    """Figure 1d, 3 right: mean tokens a call (`tau`, correction or bonus included) and `rounds`, for each `tcr`."""
    frame = pd.DataFrame([(tcr, accepted + 1) for tcr, _, accepted in _ranked(traces)], columns=["tcr", "tau"])
    return frame.groupby("tcr", as_index=False).agg(tau=("tau", "mean"), rounds=("tau", "size"))


def entropy_by_tcr(traces: Traces) -> pd.DataFrame:
    """Figure 4: mean cumulative entropy (`phi`, nats) and mean tokens a call (`tau`), for each `tcr`."""
    frame = pd.DataFrame([(s.tcr, s.phi, s.accepted + 1) for s in samples(traces)], columns=["tcr", "phi", "tau"])
    return frame.groupby("tcr", as_index=False).agg(phi=("phi", "mean"), tau=("tau", "mean"), rounds=("tau", "size"))


def ablation(runs: Mapping[str, Traces], baseline: Traces | None = None) -> pd.DataFrame:
    """Table 2, a row a label: target `calls`, verified `tokens` (root included), `tau`; `speedup` with `ar` runs.

    `calls_saved` and `tokens_saved` are shares against the first row.
    """
    rows = []
    for label, traces in runs.items():
        found = pooled(traces, baseline)
        row = {"method": label, "calls": found["rounds"], "tokens": found["verify_tokens"], "tau": found["tau"]}
        rows.append(row | ({"speedup": found["speedup"]} if baseline is not None else {}))
    frame = pd.DataFrame(rows)
    for name in ("calls", "tokens"):
        frame[f"{name}_saved"] = 1 - frame[name] / frame[name].iloc[0]
    return frame


def bins(traces: Traces) -> pd.DataFrame:
    """What HeteroSpec did in each bin: `rounds`, their `share`, mean `phi`, `tau`, `levels` and `n_verify`."""
    rows = [
        (r.extras["bin"], r.extras.get("phi"), r.accepted + 1, r.extras.get("levels"), r.fed)
        for t in as_list(traces)
        for r in t.rounds
        if r.extras.get("bin") is not None
    ]
    frame = pd.DataFrame(rows, columns=["bin", "phi", "tau", "levels", "n_verify"])
    found = frame.groupby("bin", as_index=False).agg(
        rounds=("phi", "size"),
        phi=("phi", "mean"),
        tau=("tau", "mean"),
        levels=("levels", "mean"),
        n_verify=("n_verify", "mean"),
    )
    found.insert(2, "share", found["rounds"] / max(1, len(frame)))
    return found


def jaccard(a: Iterable[int], b: Iterable[int]) -> float:
    """Overlap of two sets, eq. 3; two empty sets agree."""
    left, right = set(a), set(b)
    return len(left & right) / len(left | right) if left | right else 1.0
