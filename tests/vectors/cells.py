"""Texts in a table that is saved: what a spreadsheet would run gets an apostrophe."""

from typing import Any

from engine.cli.export import safe

TEXTS = ("=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "=\n1", "=", "-", "+", "@", "", " =1", "'=1", "a=1", "1")


def vectors() -> dict[str, Any]:
    return {"cases": [{"text": text, "cell": safe(text)} for text in TEXTS]}
