"""`automaton`: build a static suffix automaton from texts, traces or an embedded task (SAM decoding)."""

import argparse
import json
from itertools import chain
from pathlib import Path
from typing import Any

from engine.cli.options import add_models, load_lab
from engine.errors import ConfigError
from engine.kinds import COUNT, TO_FOLDER
from engine.lookup.static import build_static, tokenizer_mark
from engine.tune.texts import encode, of_file, of_task


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("automaton")
    add_models(parser)
    parser.add_argument(
        "--files",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="texts (.txt), JSON lines with texts, or traces",
    )
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="FAMILY",
        help="reference solutions of its training split; repeatable",
    )
    parser.add_argument("--items", type=COUNT, default=100, metavar="N", help="solutions of each task (default: 100)")
    parser.add_argument(
        "--tokens",
        type=COUNT,
        default=1_000_000,
        metavar="N",
        help="stop reading after so many tokens (default: 1000000)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of draws (default: 0)")
    parser.add_argument(
        "--out", type=TO_FOLDER, required=True, metavar="FOLDER", help="folder of the automaton and its card"
    )
    parser.add_argument("--json", action="store_true", help="the card as JSON instead of a line")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Read, build, write."""
    if not args.files and not args.task:
        raise ConfigError("Give --files or --task: an automaton needs texts.")
    lab = load_lab(args)
    texts = chain(
        chain.from_iterable(of_file(path, lab.target.vocab) for path in args.files),
        chain.from_iterable(of_task(family, args.items, args.seed) for family in args.task),
    )
    documents = list(encode(lab.target.tokenizer, texts, args.tokens))
    if not documents:
        raise ConfigError("The files hold no text: an automaton needs some.")
    card = {
        "kind": "automaton",
        "title": f"Suffix automaton of {len(documents)} texts",
        "documents": len(documents),
        "tokens": sum(map(len, documents)),
        "tokenizer": tokenizer_mark(lab.target.tokenizer),
        "target": lab.target.name,
        "made_by": args.given,
    }
    static = build_static(documents, card)
    static.card |= {"states": len(static), "edges": len(static.token)}
    static.save(args.out)
    if args.json:
        print(json.dumps(static.card, ensure_ascii=False))
        return 0
    print(
        f"{card['documents']} texts, {card['tokens']} tokens: {len(static)} states, {len(static.token)} edges in "
        f"{args.out}"
    )
    return 0
