"""The table of a recorded bench: each method on the same prompts."""

from typing import Any

SAID = (
    "Each method on the same prompts: tokens per second, also over those of `ar`, target calls, tokens verified "
    "(roots included), tokens a target call."
)


def table(found: dict[str, Any]) -> list[str]:
    """Its lines, a row each method, by what `python -m engine bench --json` wrote."""
    lines = [
        "| method | tokens/s | against `ar` | range | calls | verified | tau |",
        "| --- | --: | --: | --- | --: | --: | --: |",
    ]
    for name, count in found["counts"].items():
        row = found["ratios"].get(f"{name} / ar", {"median": 1.0, "low": 1.0, "high": 1.0})
        tau = "" if count["tau"] is None else f"{count['tau']:.2f}"  # of what never calls the target
        speed = found["tokens_per_s"][name]["median"]
        lines.append(
            f"| `{name}` | {speed:.0f} | {row['median']:.2f} | {row['low']:.2f} to {row['high']:.2f} | "
            f"{count['calls']} | {count['verify_tokens']} | {tau} |"
        )
    return lines


def ranged(spread: dict[str, float], digits: int = 2) -> str:
    """A median with the smallest and the largest of the repetitions: 1.92 (1.79 to 1.97)."""
    median, low, high = (f"{spread[name]:.{digits}f}" for name in ("median", "low", "high"))
    return f"{median} ({low} to {high})"
