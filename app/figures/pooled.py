"""Figures of many runs, from the sections of `engine.analysis.pool`: HeteroSpec's figures 1, 3 and 4."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.theme import COLOURS, captioned, figure, interval, no_narrower, paired, plain, vertical, whiskers
from engine.analysis.words import count, percent

QUARTER = 0.25
FEW = 3  # rounds below which a bar is pale
RANK = "rank of the last accepted token (TCR)"
SPREADS = {  # title -> column of a method's row, whether 1 means the plain target
    "Tokens a target call": ("tau", False),
    "Tokens checked a prompt": ("tokens_each", False),
    "Tokens/s against plain decoding, times": ("speedup", True),
}
SHARE = "share of prompts"
TOGETHER = ("tau", "speedup", "bleu", "bleu_relative", "chrf")  # of sums over all prompts: long answers count more
QUALITY = {  # title -> measure, unit
    "Right answers": ("accuracy", SHARE),
    "Right by majority": ("majority", SHARE),
    "BLEU": ("bleu", "0 to 100"),
    "BLEU against that of plain decoding": ("bleu_relative", "%"),
    "chrF": ("chrf", "0 to 100"),
    "ROUGE-1": ("rouge1", "0 to 100"),
    "ROUGE-2": ("rouge2", "0 to 100"),
    "ROUGE-L": ("rougeL", "0 to 100"),
    "Outputs equal to plain decoding": ("same_as_ar", SHARE),
}
Numbers = Mapping[str, Any]


def of_trees(shown: Numbers) -> list[dict[str, Any]]:
    """The figures of one tree method with their captions; `shown` is its part of a section's `figures`."""
    every = count(shown["rounds"], "round")
    drawn = [
        (
            ranks(shown),
            f"{every}, N up to {shown['size']} with the root. Dark: the first quarter of the largest "
            "N; the shares take each round by its own N. Grey: none accepted.",
        ),
        (quantiles(shown), f"Of the {every}: last accepted token within the first part of N."),
        (
            lengths(shown),
            "Mean of accepted and one, also where the text ended with a draft token. A rank is never below the depth, "
            f"hence the rise at the left (dashed: rank + 1). Pale: fewer than {FEW} rounds.",
        ),
    ]
    rounds = sum(shown["entropy"]["rounds"])
    if rounds:
        words = (
            "Bars: mean tokens a call, as above. Line: mean entropy summed along the draft's surest path, on the right "
            "scale; "
        )
        drawn.append((entropy(shown), f"{words}{count(rounds, 'round')} with an entropy."))
    return captioned(drawn)


def of_methods(section: Numbers) -> list[dict[str, Any]]:
    """The figures that compare all methods of a section, with their captions."""
    drawn = []
    for title, (name, one) in SPREADS.items():
        if any(row[name] for row in section["methods"]):
            note = "; dashed: the plain target" if one else ""
            caption = f"{_over(section, name, [row[name] for row in section['methods']])}{note}."
            drawn.append((spread(section["methods"], title, name, one), caption))
    for title, (name, unit) in QUALITY.items():
        rows = [{**row, name: row.get("quality", {}).get(name)} for row in section["methods"]]
        if any(row[name] for row in rows):
            shown = spread(rows, f"{title}, {unit}", name, shape=".1%" if unit == SHARE else ".1f")
            limits = {"tickformat": ".0%", "range": [0, 1.02]} if unit == SHARE else {}
            drawn.append((shown.update_xaxes(**limits), f"{_over(section, name, [row[name] for row in rows])}."))
    return captioned(drawn)


def _over(section: Numbers, name: str, values: Sequence[Numbers | None]) -> str:
    """What the bars of a column and their whiskers are, and why some have none."""
    if section["prompts"] == 1:
        return "One prompt, which has no interval"
    bare = any(value and value["low"] is None for value in values)
    few = "; without whiskers: too few, or too unlike, for an interval" if bare else ""
    every = count(section["prompts"], "prompt")
    return (f"All {every} taken together, 95 % over them" if name in TOGETHER else f"Mean and 95 % over {every}") + few


def within(shown: Numbers) -> float:
    """Share of the rounds whose last accepted token ranks within a quarter of N."""
    return float(shown["quantiles"]["share"][shown["quantiles"]["quantile"].index(QUARTER)])


def ranks(shown: Numbers) -> go.Figure:
    """Figure 1c: how often each rank of the last accepted token."""
    drawn = figure("Rank of the last accepted token", RANK, "share of rounds")
    drawn.add_bar(**_rank_bars(shown))
    vertical(drawn, QUARTER * shown["size"], f"{percent(within(shown))} within a quarter of N")
    return drawn.update_yaxes(tickformat=".0%").update_layout(showlegend=False)


def tasks(sections: Sequence[Numbers], label: str) -> go.Figure | None:
    """Figure 3: ranks of one method for each task, on one scale; None where fewer than two tasks have it."""
    having = [section for section in sections if label in section["figures"]]
    if len(having) < 2:
        return None
    names = [
        f"{plain(section['task'])}:<br>{percent(within(section['figures'][label]))} within N/4" for section in having
    ]
    grid = make_subplots(rows=1, cols=len(having), shared_yaxes=True, subplot_titles=names)
    for column, section in enumerate(having, 1):
        grid.add_bar(**_rank_bars(section["figures"][label]), row=1, col=column)
    grid.layout.template = "none"
    look = figure(f"{plain(label)}, task by task", RANK, "share of rounds", height=290).layout
    grid.update_layout({key: value for key, value in look.to_plotly_json().items() if not key.endswith("axis")})
    grid.update_xaxes(gridcolor=COLOURS["line"]).update_yaxes(gridcolor=COLOURS["line"])
    grid.update_xaxes(title_text="TCR", ticklabelstandoff=4).update_yaxes(tickformat=".0%")
    grid.update_annotations(font_size=13).update_layout(showlegend=False, margin_t=84)
    grid.update_layout(title_y=0.97, title_yanchor="top")
    last = max(max(section["figures"][label]["ranks"]["tcr"], default=0) for section in having)
    grid.update_xaxes(range=[-0.5, last + 0.5])
    return no_narrower(grid.update_yaxes(title_text="share of rounds", col=1), 60 + 120 * len(having))


def _rank_bars(shown: Numbers) -> dict[str, Any]:
    columns, every = shown["ranks"], count(shown["rounds"], "round")
    shares = [rounds / shown["rounds"] for rounds in columns["rounds"]]
    return {
        "x": columns["tcr"],
        "y": shares,
        "marker_color": [_shade(shown, rank) for rank in columns["tcr"]],
        "customdata": columns["rounds"],
        "hovertemplate": f"rank %{{x}}: %{{customdata}} of {every}, %{{y:.1%}}<extra></extra>",
    }


def _shade(shown: Numbers, rank: int) -> str:
    if rank == 0:
        return COLOURS["neutral"]
    return COLOURS["draft" if rank <= QUARTER * shown["size"] else "draft-2"]


def quantiles(shown: Numbers) -> go.Figure:
    """Figure 1e: the share of rounds within each part of N."""
    parts, shares = shown["quantiles"]["quantile"], shown["quantiles"]["share"]
    drawn = figure("Rounds within the first part of N", "share of rounds", "part of N")
    drawn.add_bar(
        x=shares,
        y=[percent(part) for part in parts],
        orientation="h",
        text=[percent(share) for share in shares],
        marker_color=[COLOURS["draft" if part <= QUARTER else "draft-2"] for part in parts],
        hovertemplate="first %{y} of N: %{x:.1%} of the rounds<extra></extra>",
    )
    drawn.update_yaxes(type="category")
    return drawn.update_xaxes(range=[0, 1.02], tickformat=".0%").update_layout(showlegend=False)


def lengths(shown: Numbers) -> go.Figure:
    """Figure 1d: mean tokens a call by rank."""
    columns = shown["ranks"]
    drawn = figure("Tokens a call by rank", RANK, "tokens a target call")
    drawn.add_bar(**_length_bars(shown, columns))
    top = max(columns["tau"], default=1.0)
    end = min(shown["size"] - 1, max(1.0, top - 1))
    drawn.add_scatter(
        x=[1, end], y=[2, end + 1], mode="lines", line={"color": COLOURS["ink-3"], "dash": "dash"}, hoverinfo="skip"
    )
    vertical(drawn, QUARTER * shown["size"])
    return drawn.update_layout(showlegend=False)


def _length_bars(shown: Numbers, columns: Numbers) -> dict[str, Any]:
    return {
        "x": columns["tcr"],
        "y": columns["tau"],
        "name": "tokens a call",
        "marker": {
            "color": [_shade(shown, rank) for rank in columns["tcr"]],
            "opacity": [0.45 if rounds < FEW else 1.0 for rounds in columns["rounds"]],
        },
        "customdata": columns["rounds"],
        "hovertemplate": "rank %{x}: %{y:.2f} tokens a call, mean of %{customdata} rounds<extra></extra>",
    }


def entropy(shown: Numbers) -> go.Figure:
    """Figure 4: tokens a call as bars, cumulative entropy as a line on its own scale, by rank."""
    columns = shown["entropy"]
    drawn = figure("Tokens a call and cumulative entropy by rank", RANK, "tokens a target call")
    drawn.add_bar(**_length_bars(shown, columns))
    drawn.add_scatter(
        x=columns["tcr"],
        y=columns["phi"],
        yaxis="y2",
        name="cumulative entropy, nats",
        mode="lines+markers",
        line={"color": COLOURS["target"]},
        marker={"symbol": "square", "size": 5},
        hovertemplate="rank %{x}: %{y:.2f} nats<extra></extra>",
    )
    tops = [max((number or 0 for number in columns[name]), default=0) for name in ("tau", "phi")]
    left, right = paired(1.05 * tops[0], 1.05 * tops[1])  # marks at the top are whole
    return drawn.update_yaxes(**left).update_layout(
        yaxis2={
            **right,
            "title": {"text": "cumulative entropy, nats"},
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
            "color": COLOURS["target"],
            "automargin": True,
        }
    )


def spread(methods: Sequence[Numbers], title: str, name: str, one: bool = False, shape: str = ".2f") -> go.Figure:
    """A number of each method with its interval, one row a method; `one` marks where the plain target stands.
    `shape` is the form of the number."""
    rows = [(row, row[name]) for row in methods if row[name]][::-1]
    drawn = figure(title, "", "", height=90 + 24 * len(rows)).update_layout(margin_b=28)  # the title names the axis
    drawn.add_bar(
        x=[value["mean"] for _, value in rows],
        y=[plain(row["label"]) for row, _ in rows],
        orientation="h",
        marker_color=[COLOURS["neutral" if row["guarantee"] == "reference" else "draft-2"] for row, _ in rows],
        error_x=whiskers(
            ((value["mean"], value["low"], value["high"]) for _, value in rows), color=COLOURS["ink"], thickness=1.2
        ),
        customdata=[interval(value, shape) for _, value in rows],
        hovertemplate=f"%{{y}}: %{{x:{shape}}} (%{{customdata}})<extra></extra>",
    )
    if one:
        vertical(drawn, 1.0)
    return drawn.update_layout(showlegend=False)
