"""What `compare` recorded of quality beside speed, as text: every method, and some of them at a glance."""

from pathlib import Path

from engine.papers.systems import Systems, command, recorded

SHOWN = (  # the methods that README.md shows: plain, drafted in each way, lossy by each rule, and the draft alone
    *("ar", "sd", "mtp", "dflash", "eagle3", "heterospec", "medusa", "pld", "suffix", "stand"),
    *("easd", "cm_asd", "specdec", "topk_lossy", "autojudge", "draft_alone"),
)
# and what it shows of them
GLANCE = ("right, %", "less `ar`'s, points", "same output, %", "tokens a call", "speed, x `ar`'s")


def quality(folder: Path) -> str:
    """What `compare` recorded of each task: quality beside calls and tokens a call."""
    found = recorded(folder)
    if not found:
        return f"Not measured yet: run `{command('arithmetic')}`.\n"
    return "\n".join(_quality(sheet, is_open=sheet is found[0]) for sheet in found)


def _quality(sheet: Systems, is_open: bool) -> str:
    many = "1 method" if len(sheet.rows) == 1 else f"{len(sheet.rows)} methods"
    lines = [
        f"<details{' open' * is_open}><summary>{sheet.name}: {many}</summary>",
        "",
        sheet.told,
        "",
        f"| method | {' | '.join(sheet.columns)} |",
        "| --- " + "| --: " * len(sheet.columns) + "|",
        *(f"| `{method}` | {' | '.join(cell or '-' for cell in cells)} |" for method, cells in sheet.rows),
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"


def glance(folder: Path) -> str:
    """Quality beside speed in short: some methods on the first task that `compare` recorded."""
    found = recorded(folder)
    if not found:
        return quality(folder)
    sheet = found[0]
    columns = [name for name in GLANCE if name in sheet.columns]
    at = [sheet.columns.index(name) for name in columns]
    rows = {method: [cells[i] or "-" for i in at] for method, cells in sheet.rows}
    lines = [
        f"On {sheet.name}: {sheet.told}",
        "",
        f"| method | {' | '.join(columns)} |",
        "| --- " + "| --: " * len(columns) + "|",
        *(f"| `{method}` | {' | '.join(rows[method])} |" for method in SHOWN if method in rows),
        "",
        f"All {len(sheet.rows)} methods, and {len(found) - 1} more recordings: [docs/results](docs/results/README.md).",
    ]
    return "\n".join(lines) + "\n"
