"""python -m app.report TRACE... --out report.html: recorded runs as one page that stands alone."""

import argparse
import html
import sys
from collections.abc import Sequence
from pathlib import Path

from app.figures import FIGURES
from engine.analysis.reading import read_run
from engine.analysis.tables import nodes_df, rounds_df, tokens_df
from engine.errors import LabError
from engine.trace.store import Trace

TABLES = {"tokens": tokens_df, "nodes": nodes_df, "rounds": rounds_df}
COLUMNS = ("tokens", "rounds", "tau", "verify_tokens", "accept_rate_tested", "tokens_per_s")
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1060px;margin:32px auto;padding:0 16px;color:#22231f}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:4px 10px;border-bottom:1px solid #ddd}"
    "th:first-child,td:first-child{text-align:left}pre{white-space:pre-wrap;background:#f6f5f0;padding:10px;border-radius:6px}"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the report; a trace that cannot be read is one line and status 2."""
    flags = argparse.ArgumentParser(prog="python -m app.report", description=__doc__)
    flags.add_argument("traces", nargs="+", type=Path, help="trace files (.jsonl or .jsonl.gz), one a lane")
    flags.add_argument("--out", type=Path, default=Path("report.html"), help="page to write (default: report.html)")
    args = flags.parse_args(argv)
    try:
        page = report([read_run(path) for path in args.traces])
        args.out.write_text(page, encoding="utf-8")
    except (LabError, OSError) as error:
        flags.exit(2, f"error: {error}\n")
    sys.stdout.write(f"{args.out}\n")
    return 0


def report(traces: Sequence[Trace]) -> str:
    """The page: numbers, figures, then each run's prompt and text."""
    tables = {name: table(list(traces)) for name, table in TABLES.items()}
    order = [t.head.method for t in traces]
    drawn: list[str] = []
    for name, (table, figure) in FIGURES.items():
        script: bool = not drawn  # the library once, with the first figure
        drawn.append(figure(tables[table], order).to_html(full_html=False, include_plotlyjs=script, div_id=name))
    runs = "".join(
        f"<h2>{html.escape(t.head.title)}</h2><p>{html.escape(_about(t))}</p><pre>{html.escape(t.head.prompt)}<b>{html.escape(t.text)}</b></pre>"
        for t in traces
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Draftscope report</title><style>{STYLE}</style>'
        f"<h1>{len(traces)} runs</h1>{_numbers(traces)}{''.join(drawn)}{runs}</html>\n"
    )


def _numbers(traces: Sequence[Trace]) -> str:
    rows = [[t.head.title, *(_cell(t.metrics().get(name)) for name in COLUMNS)] for t in traces]
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ("method", *COLUMNS))
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _about(trace: Trace) -> str:
    head = trace.head
    models = ", ".join(f"{role} {about.get('id', '')}" for role, about in head.models.items())
    knobs = ", ".join(f"{name} {value}" for name, value in head.knobs.items())
    sampling = f"temperature {head.sampling.get('temperature', 0.0):g}, seed {head.seed}"
    return f"{models}; {head.dtype} on {head.device}; {sampling}; {knobs}; {head.created}"


if __name__ == "__main__":
    raise SystemExit(main())
