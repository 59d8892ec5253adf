"""What a judge makes of labels (ROC, recall, scores, reliability), and what it is worth: accuracy against tokens."""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

import plotly.graph_objects as go

from app.figures.theme import COLOURS, captioned, figure, no_narrower, plain, round_step, vertical, whiskers
from engine.analysis import judge

THRESHOLD = "threshold"  # the mark that the page's slider moves
Scores = Sequence[float]
Labels = Sequence[bool]
LOOKS: dict[str, dict[str, Any]] = {  # groups of the results' file: colour, symbol, dash of a joined line
    "own": {"colour": "judge", "symbol": "circle", "dash": "solid"},
    "safer": {"colour": "judge", "symbol": "circle-open"},
    "transfer": {"colour": "judge", "symbol": "diamond-open", "dash": "dash"},
    "topk": {"colour": "draft", "symbol": "square", "dash": "solid"},
    "math": {"colour": "neutral", "symbol": "diamond"},
    "exact": {"colour": "target", "symbol": "square", "size": 12},
    "target": {"colour": "target", "symbol": "circle-open", "size": 12},
}
BAND = "draft"
RECALL = re.compile(r"\((\d+) ?% recall\)$")  # within the name of a setting of the judge
LEAST = 720  # pixels of width below which names of settings lie over each other
AXIS = LEAST - 90  # pixels that the axis of calls then has
AWAY, LETTER, LINE = 7, 5.6, 14  # pixels from a point to its name, of a letter of a name, and of a line
TALL = 250  # pixels of the axis of accuracy, roughly
NEAR = (0.026, 0.06)  # settings that share a name: this share of the axes of calls and of accuracy apart at most


def curves(scores: Scores, labels: Labels, threshold: float) -> list[dict[str, Any]]:
    """The four figures with their captions."""
    n, important = len(scores), sum(labels)
    area = judge.roc(scores, labels).auc
    told = "unknown: one class only" if area is None else f"{area:.3f}"
    captions = (
        f"Area {told}; n = {n}, {important} important. Diamond: the threshold above. Dashed: chance.",
        f"A higher threshold keeps more draft tokens and rejects fewer important ones. n = {n}.",
        f"Counts in bins of 0.05, important upwards, others downwards; n = {n}. A good judge has both heaps apart.",
        f"In bins of 0.1 with 95 % intervals, as if swaps of one problem were independent; n = {n}. On the dashed "
        "line a score of 30 % is right in 30 of 100 swaps.",
    )
    drawn = (roc(scores, labels, threshold), recall(scores, labels, threshold), heaps(scores, labels, threshold))
    return captioned(zip((*drawn, reliability(scores, labels)), captions, strict=True))


def roc(scores: Scores, labels: Labels, threshold: float) -> go.Figure:
    """Recall of important swaps against the share of others rejected, and where a threshold stands."""
    curve, at = judge.roc(scores, labels), judge.at_threshold(scores, labels, threshold)
    drawn = figure("ROC", "share of not important swaps rejected", "recall of important swaps")
    _diagonal(drawn)
    drawn.add_scatter(
        x=curve.false_positive,
        y=curve.true_positive,
        mode="lines",
        name="judge",
        line={"color": COLOURS["judge"]},
        customdata=[min(t, 1.0) for t in curve.thresholds],
        hovertemplate="threshold %{customdata:.3f}: recall %{y:.1%}, others rejected %{x:.1%}<extra></extra>",
    )
    others, recalled = at["kept_unimportant"], at["recall"]
    drawn.add_scatter(
        x=[None if others is None else 1 - others],
        y=[recalled],
        mode="markers",
        name=THRESHOLD,
        marker={"symbol": "diamond", "size": 11, "color": COLOURS["target"]},
    )
    return _shares(drawn).update_layout(showlegend=False)


def recall(scores: Scores, labels: Labels, threshold: float) -> go.Figure:
    """Recall, and the share of other swaps accepted, at each threshold of the scores' quantiles and at both ends."""
    sweep = [judge.at_threshold(scores, labels, 0.0), *judge.recall_curve(scores, labels)]
    drawn = figure("Recall against threshold", "threshold, probability", "share")
    for name, key, colour, dash in (
        ("important rejected (recall)", "recall", "judge", "solid"),
        ("others accepted", "kept_unimportant", "draft", "dash"),
    ):
        drawn.add_scatter(
            x=[at["threshold"] for at in sweep],
            y=[at[key] for at in sweep],
            name=name,
            mode="lines",
            line={"color": COLOURS[colour], "dash": dash},
        )
    vertical(drawn, threshold, name=THRESHOLD, colour="target")
    return drawn.update_xaxes(range=[0, 1]).update_yaxes(range=[0, 1.02], tickformat=".0%")


def heaps(scores: Scores, labels: Labels, threshold: float) -> go.Figure:
    """How many swaps have which score: important ones upwards, the others downwards."""
    bins = judge.histogram(scores, labels)
    middles = [(a + b) / 2 for a, b in zip(bins["edges"], bins["edges"][1:], strict=False)]
    drawn = figure("Scores by label", "judge score, probability", "swaps")
    for key, name, sign, colour in (
        ("important", "important", 1, "judge"),
        ("unimportant", "not important", -1, "draft"),
    ):
        drawn.add_bar(
            x=middles,
            y=[sign * count for count in bins[key]],
            name=name,
            marker_color=COLOURS[colour],
            customdata=bins[key],
            hovertemplate=f"score %{{x:.3f}}: %{{customdata}} {name}<extra></extra>",
        )
    vertical(drawn, threshold, name=THRESHOLD, colour="target")
    up, down = (int(max(bins[key], default=0)) for key in ("important", "unimportant"))
    step = round(max(1, round_step(max(up, down, 1) / 4)))
    ticks = [count * step for count in range(-(down // step) - 1, up // step + 2)]
    drawn.update_yaxes(tickvals=ticks, ticktext=[str(abs(count)) for count in ticks])  # counts, downwards too
    return drawn.update_layout(barmode="relative").update_xaxes(range=[0, 1])


def reliability(scores: Scores, labels: Labels) -> go.Figure:
    """How often swaps of like scores were really important, with Wilson's 95 % interval. Recorded scores name no
    problem, so swaps of one count as independent."""
    bins = [(b, b.share) for b in judge.reliability(scores, labels)]
    filled = [(b, share) for b, share in bins if share is not None]
    drawn = figure("Reliability", "mean score of a bin, probability", "share really important")
    _diagonal(drawn)
    drawn.add_scatter(
        x=[b.mean_score for b, _ in filled],
        y=[share.mean for _, share in filled],
        mode="markers",
        marker={"color": COLOURS["judge"], "size": 8},
        error_y=whiskers(((share.mean, share.low, share.high) for _, share in filled), thickness=1),
        customdata=[b.n for b, _ in filled],
        hovertemplate="mean score %{x:.2f}: %{y:.1%} of %{customdata} swaps important<extra></extra>",
    )
    return _shares(drawn).update_layout(showlegend=False)


def accuracy(result: Mapping[str, Any], task: str) -> go.Figure:
    """Held-out problems solved against tokens emitted a target call, a point a setting, with 95 % intervals."""
    rows = [row for row in result["rows"] if row["accuracy"]]
    words = result.get("groups") or {}
    drawn = figure(f"Accuracy on {task}", "tokens emitted a target call", "problems solved", height=400)
    for row in rows:
        if row["group"] not in LOOKS:  # the draft model alone has no calls of the target: a band across
            drawn.add_hrect(
                y0=row["accuracy"]["low"],
                y1=row["accuracy"]["high"],
                fillcolor=COLOURS[BAND],
                opacity=0.12,
                line_width=0,
            )
            drawn.add_hline(
                y=row["accuracy"]["mean"],
                line={"color": COLOURS[BAND], "dash": "dot"},
                annotation_text=row["name"],
                annotation_position="top left",  # few calls, many right: no setting lies there
            )
    for group, style in LOOKS.items():
        own = sorted((row for row in rows if row["group"] == group), key=lambda row: float(row["tokens_per_call"]))
        if own:
            _settings(drawn, words.get(group, group), own, style)
    _names(drawn, rows)
    return drawn.update_yaxes(tickformat=".0%").update_layout(showlegend=True)


def _settings(drawn: go.Figure, name: str, rows: Sequence[Mapping[str, Any]], style: Mapping[str, Any]) -> None:
    colour, shares = COLOURS[style["colour"]], [row["accuracy"] for row in rows]
    drawn.add_scatter(
        x=[row["tokens_per_call"] for row in rows],
        y=[solved["mean"] for solved in shares],
        name=name,
        mode="lines+markers" if "dash" in style else "markers",
        line={"color": colour, "dash": style.get("dash", "solid")},
        marker={"color": colour, "symbol": style["symbol"], "size": style.get("size", 8)},
        error_y=whiskers(((solved["mean"], solved["low"], solved["high"]) for solved in shares), thickness=1),
        text=[row["name"] for row in rows],
        customdata=[[row["accuracy"]["low"], row["accuracy"]["high"], row["accepted_per_call"]] for row in rows],
        hovertemplate="%{text}: solved %{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%}), %{x:.2f} tokens and "
        "%{customdata[2]:.2f} accepted a target call",
    )


def _names(drawn: go.Figure, rows: Sequence[Mapping[str, Any]]) -> None:
    """Names at the math rules and at the judge's settings of a known recall, right of the point, or left of it where
    fewer whiskers cross them; one for several that lie on each other."""
    called = [row for row in rows if row["group"] in LOOKS]
    most = max((float(row["tokens_per_call"]) for row in called), default=0.0)
    ends = [row["accuracy"][end] for row in rows for end in ("low", "high")]  # what the axis of accuracy holds
    right = [1.14 * most]  # names are right of the last point
    high = max(ends, default=0.0) - min(ends, default=0.0)
    near = (NEAR[0] * most, NEAR[1] * high)
    for colour, chosen in (
        ("judge", [row for row in called if row["group"] in ("own", "safer") and RECALL.search(row["name"])]),
        ("ink-2", [row for row in called if row["group"] == "math"]),
    ):
        for heap in _heaps(chosen, near):
            ends_at, name = sorted(float(row["tokens_per_call"]) for row in heap), _named(heap)
            lines = [len(unescape(line)) for line in name.split("<br>")]
            wide, tall = (AWAY + LETTER * max(lines)) / AXIS, LINE * len(lines) / TALL * high
            y = max(row["accuracy"]["mean"] for row in heap)
            others = [row for row in called if row not in heap]
            after, before = (
                _crossed(others, (x, x + wide * most), (y, y + tall)) for x in (ends_at[-1], ends_at[0] - wide * most)
            )
            left = before < after
            if not left:
                right.append(ends_at[-1] / (1 - min(0.5, wide)))
            drawn.add_annotation(
                x=ends_at[0] if left else ends_at[-1],
                y=y,
                text=name,
                showarrow=False,
                xanchor="right" if left else "left",
                yanchor="bottom",
                xshift=-AWAY if left else AWAY,
                align="right" if left else "left",
                font={"size": 11, "color": COLOURS[colour]},
            )
    if drawn.layout.annotations and most:
        drawn.update_xaxes(range=[0, max(right)])
        no_narrower(drawn, LEAST)


def _crossed(rows: Sequence[Mapping[str, Any]], x: tuple[float, float], y: tuple[float, float]) -> int:
    """How many whiskers reach into a part of the figure."""
    return sum(
        x[0] <= row["tokens_per_call"] <= x[1] and row["accuracy"]["low"] <= y[1] and y[0] <= row["accuracy"]["high"]
        for row in rows
    )


def _heaps(rows: Sequence[Mapping[str, Any]], near: tuple[float, float]) -> list[list[Mapping[str, Any]]]:
    """Settings in heaps, each of those that lie near its first."""

    def beside(row: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
        across = abs(row["tokens_per_call"] - first["tokens_per_call"])
        return bool(across <= near[0] and abs(row["accuracy"]["mean"] - first["accuracy"]["mean"]) <= near[1])

    heaps: list[list[Mapping[str, Any]]] = []
    for row in rows:
        heap = next((heap for heap in heaps if beside(row, heap[0])), None)
        heap.append(row) if heap else heaps.append([row])
    return heaps


def _named(heap: Sequence[Mapping[str, Any]]) -> str:
    """What a heap is called: "95, 98 % recall", or its names, a line each."""
    recalls = [int(found[1]) for row in heap if (found := RECALL.search(row["name"]))]
    if recalls:
        return f"{', '.join(map(str, sorted(recalls)))} % recall"
    return "<br>".join(plain(row["name"]) for row in heap)


def _diagonal(drawn: go.Figure) -> None:
    drawn.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": COLOURS["line-2"], "dash": "dash"}, hoverinfo="skip"
    )


def _shares(drawn: go.Figure) -> go.Figure:
    axis = {"range": [0, 1.02], "tickformat": ".0%", "dtick": 0.2}
    return drawn.update_xaxes(axis).update_yaxes(axis)
