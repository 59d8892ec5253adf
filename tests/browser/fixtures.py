"""Write made-up traces as JSON for the static harness: python -m tests.browser.fixtures build/fixtures.json"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.app.synthetic import CARDS, events


def traces(names: tuple[str, ...] | None = None, tokens: int = 160) -> list[dict[str, Any]]:
    """Each method's run as the page's store takes it: key, card, events with their sentences."""
    cards = [card for card in CARDS if names is None or card.name in names]
    return [
        {"key": card.name, "card": card.to_json(), "events": [plain(event) for event in events(card.name, tokens)]}
        for card in cards
    ]


def plain(event: Any) -> dict[str, Any]:
    """An event in JSON types, with a stand-in for the sentence that the engine would write."""
    out = {"kind": event.kind, **asdict(event)}
    for item in [*out.get("nodes", []), *out.get("tokens", [])]:
        item["why"] = (
            f"{str(item.get('state', item.get('origin'))).capitalize()}: a stand-in sentence with 0.41 and 0.12."
        )
    return out


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(traces()), encoding="utf-8")
