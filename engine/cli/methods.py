"""`methods`: the catalogue with knobs, units, ranges and defaults."""

import argparse
import json
from typing import Any

from engine.config import AUTO, Card, Knob
from engine.files.places import reachable
from engine.learn.pages import names, page
from engine.methods import CARDS, get_card


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("methods")
    parser.add_argument("name", nargs="?", help="a method; without it, all are listed")
    parser.add_argument("--json", action="store_true", help="cards as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Print cards."""
    cards = [get_card(args.name)] if args.name else list(CARDS)
    if args.json:
        print(json.dumps([card.to_json() for card in cards], indent=1))
    elif args.name:
        print(_whole(cards[0]))
    else:
        for card in cards:
            print(f"{card.name:14} {card.guarantee:10} {card.drafter} x {card.shape} x {card.rule:14} {card.title}")
    return 0


def _whole(card: Card) -> str:
    lines = [card.title, card.paper, "", card.summary, "", f"formula    {card.formula}", f"guarantee  {card.guarantee}"]
    lines += [
        f"{label:10} {text}"
        for label, text in (("helps", card.helps), ("hurts", card.hurts), ("contested", card.contested))
        if text
    ]
    told = reachable(page(card.name).path) if card.name in names() else f"none yet: docs/methods/{card.name}.md"
    lines.append(f"page       {told}")
    return "\n".join([*lines, "", "knobs (--set name=value)", *(f"  {_knob(knob)}" for knob in card.knobs)])


def _knob(knob: Knob) -> str:
    if knob.choices:
        allowed = " | ".join(knob.choices)
    elif isinstance(knob.default, bool):
        allowed = "true | false"
    else:
        allowed = "text" if isinstance(knob.typed, str) else knob.span
    if knob.auto:
        allowed += f" | {AUTO}"
    return f"{knob.name:20} {knob.default!s:12} ({knob.origin}) {allowed}: {knob.help}"
