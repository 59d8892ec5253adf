"""Many runs of several methods, reduced to what HeteroSpec's figures 1, 3, 4 and tables 1, 2, 4, 6 show. JSON types.

Runs are taken together by task and by method with its knobs; prompts that are named alike are pairs, whatever the
method.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.analysis import beams
from engine.analysis import heterospec as paper
from engine.analysis.grouping import Knobs, by_cluster, by_method, by_target, one_target, pair_names, task_of, undrafted
from engine.analysis.intervals import Interval, as_json, mean_interval, quotient_interval, speedup_interval
from engine.analysis.quality import quality
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.trace import outcome
from engine.trace.metrics import check_baseline, pooled
from engine.trace.store import Trace
from engine.trace.sums import as_list

RECORDED = ROOT / "docs/results/heterospec.json"  # made by `python -m engine pooled`
ALL = "all tasks"
STEPS = {(True, False, False): "+DED", (True, True, False): "+TNP", (True, True, True): "+DCA"}  # table 2, from knobs
DIGITS = 5
Study = Callable[[Sequence[paper.Sample]], Mapping[str, Any]]


def pool(
    traces: Iterable[Trace], usual: Mapping[str, Knobs] | None = None, study: Study | None = None
) -> dict[str, Any]:
    """One section a task, and one of all where there are several.

    `usual` gives each method's usual knobs, in the order in which methods are listed; `study` is the granularity study
    of table 4 (`engine.strata.learning.study`), which may refuse too few samples with a ConfigError. Runs that were cut
    off are no part of any number; `left_out` says how many there are.

    Raises:
        ConfigError: no trace of a run that came to its end, or traces of different targets.
    """
    given = as_list(traces)
    kept = [trace for trace in given if outcome.whole(trace.end)]
    if not kept:
        raise ConfigError("There is no run to pool" + (": none of these came to its end." if given else "."))
    one_target({target: len(runs) for target, runs in by_target(kept).items()})
    groups = by_method(kept, usual or {})
    tasks = list(dict.fromkeys(task_of(t) for t in kept))
    sections = [
        _section(name, {g: [t for t in runs if task_of(t) == name] for g, runs in groups.items()}, study)
        for name in tasks
    ]
    if len(tasks) > 1:
        sections.insert(0, _section(ALL, groups, study))
    found: dict[str, Any] = _rounded({"kind": "pooled", "schema": 1, **_about(kept), "sections": sections})
    if left_out := len(given) - len(kept):
        found["left_out"] = left_out
    return found


def _about(kept: Sequence[Trace]) -> dict[str, Any]:
    head = kept[0].head
    target = head.models.get("target", {})
    return {
        "target": {
            name: target.get(name)
            for name in ("id", "revision", "sha256", "parameters")
            if target.get(name) is not None
        },
        "device": " and ".join(sorted({t.head.device for t in kept})),
        "dtype": " and ".join(sorted({t.head.dtype for t in kept})),
        "runs": len(kept),
        "created": max(t.head.created for t in kept),
        "commands": list(dict.fromkeys(str(t.head.extras["command"]) for t in kept if t.head.extras.get("command"))),
    }


def _section(task: str, groups: Mapping[str, list[Trace]], study: Study | None) -> dict[str, Any]:
    present = {label: runs for label, runs in groups.items() if runs}
    plain = undrafted(present)
    baselines = dict(zip(pair_names(plain), plain, strict=True))
    prompts = {label: set(pair_names(runs)) for label, runs in present.items()}
    return {
        "task": task,
        "prompts": len({name[:-1] for own in prompts.values() for name in own}),
        "even": len({frozenset(p) for p in prompts.values()}) == 1,
        "methods": [_row(label, runs, baselines) for label, runs in present.items()],
        "figures": {label: _figures(runs) for label, runs in present.items() if _is_tree(runs)},
        "ablation": _ablation(present, baselines),
        "granularity": _granularity(present, study),
    }


def _is_tree(runs: Iterable[Trace]) -> bool:
    """Whether a drafted tree was tested; what a beam search holds is none."""
    return any(r.drafted > r.levels for t in runs if t.head.rule != beams.RULE for r in t.rounds)


def _row(label: str, runs: list[Trace], baselines: Mapping[tuple[Any, ...], Trace]) -> dict[str, Any]:
    """Tables 1 and 6: counts, their mean a prompt, tau and speed-up with intervals over prompts (repeats of one are
    taken together), shares of time; and quality."""
    found = pooled(runs)
    counts = by_cluster(runs, [(len(t.tokens), outcome.calls(t.rounds), sum(r.fed for r in t.rounds), 1) for t in runs])
    head = runs[0].head
    return {
        "label": label,
        "method": head.method,
        "guarantee": head.guarantee,
        "runs": len(runs),
        "generated": found["tokens"],
        "calls": found["rounds"],
        "iterations": found["iterations"],
        "tokens": found["verify_tokens"],
        "calls_each": as_json(mean_interval([c[1] / c[3] for c in counts], positive=True)),
        "tokens_each": as_json(mean_interval([c[2] / c[3] for c in counts], positive=True)),
        "tau": as_json(quotient_interval([c[0] for c in counts], [c[1] for c in counts])),
        "speedup": as_json(_speedup(runs, baselines)),
        "tokens_per_s": found["tokens_per_s"],
        "draft_s": found["draft_s"],
        "verify_s": found["verify_s"],
        "other_s": found["other_s"],
        "quality": quality(runs, list(baselines.values())),
    }


def _speedup(runs: list[Trace], baselines: Mapping[tuple[Any, ...], Trace]) -> Interval | None:
    """Tokens a second against the runs without a draft on the same prompts; None as soon as one has no fair partner."""
    rows = []
    for name, trace in zip(pair_names(runs), runs, strict=True):
        partner = baselines.get(name)
        if partner is None:
            return None
        try:
            check_baseline(trace, partner)
        except ConfigError:
            return None
        rows.append((len(trace.tokens), _ms(trace), len(partner.tokens), _ms(partner)))
    return speedup_interval(by_cluster(runs, rows))


def _ms(trace: Trace) -> float:
    return sum(r.draft_ms + r.verify_ms + r.other_ms for r in trace.rounds)


def _figures(runs: list[Trace]) -> dict[str, Any]:
    """Figures 1c to 1e, 3 and 4 of a method: `size`: the largest N (root included), `steady`: rounds with it, `within`:
    the shares of `quantiles` with their intervals."""
    length, entropy = paper.length_by_tcr(runs), paper.entropy_by_tcr(runs)
    bins = paper.bins(runs)
    sizes = [r.drafted + 1 for t in runs for r in t.rounds if r.drafted]
    return {
        "size": max(sizes),
        "steady": sizes.count(max(sizes)) / len(sizes),
        "rounds": int(length["rounds"].sum()),
        "quantiles": paper.tcr_quantiles(runs).to_dict("list"),
        "within": [as_json(share) for share in paper.tcr_intervals(runs)],
        "ranks": length.to_dict("list"),
        "entropy": entropy.to_dict("list"),
        "bins": bins.to_dict("list"),
    }


def _ablation(groups: Mapping[str, list[Trace]], baselines: Mapping[tuple[Any, ...], Trace]) -> list[dict[str, Any]]:
    """Table 2: the tree that is not binned, then each mechanism added; rows that were not run are missing."""
    steps = {
        label: runs for label, runs in groups.items() if {"ded", "tnp", "dca", "low_bins"} <= set(runs[0].head.knobs)
    }
    # several knob settings of one step: the first listed, which has the fewest unusual knobs
    named: dict[str, list[Trace]] = {}
    for runs in steps.values():
        knobs = runs[0].head.knobs
        step = STEPS.get((knobs["ded"], knobs["tnp"], knobs["dca"]))
        if step and knobs["low_bins"]:
            named.setdefault(step, runs)
    if not named:
        return []
    first = next(iter(named.values()))[0].head
    shared = ("total_token", "depth", "tree_top_k")
    alike = [
        runs
        for label, runs in groups.items()
        if label not in steps
        and runs[0].head.drafter == first.drafter
        and runs[0].head.rule == first.rule
        and set(runs[0].head.knobs) >= set(shared)
        and all(runs[0].head.knobs[k] == first.knobs.get(k) for k in shared)
        and runs[0].head.shape == "dynamic_tree"
    ]
    rows = {alike[0][0].head.title: alike[0]} if alike else {}
    rows |= {step: named[step] for step in STEPS.values() if step in named}
    return [
        {**{str(k): v for k, v in row.items()}, "speedup": as_json(_speedup(rows[row["method"]], baselines))}
        for row in paper.ablation(rows).to_dict("records")
    ]


def _granularity(groups: Mapping[str, list[Trace]], study: Study | None) -> list[dict[str, Any]]:
    """Table 4, a row a method whose rounds have a cumulative entropy; `missing` says why a row has no numbers."""
    rows: list[dict[str, Any]] = []
    for label, runs in groups.items():
        found = paper.samples(runs)
        if not found or study is None:
            continue
        row: dict[str, Any] = {"label": label, "samples": len(found), "full": sum(s.full for s in found)}
        try:
            rows.append(row | dict(study(found)))
        except ConfigError as error:
            rows.append(row | {"missing": str(error)})
    return rows


def _rounded(value: Any) -> Any:
    """JSON types with `DIGITS` significant digits; what is not a number becomes null."""
    if isinstance(value, dict):
        return {str(k): _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    if isinstance(value, float):
        return None if value != value or value in (float("inf"), float("-inf")) else float(f"{value:.{DIGITS}g}")
    return value
