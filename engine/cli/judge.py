"""`mine`, `judge-train`, `judge-eval`: from a task to a judge, and what the judge is worth. Their options."""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli.options import add_models, add_shard, add_shots
from engine.judge.kind import MODELS, TOKENS
from engine.judge.problems import LIMIT as FEW
from engine.judge.problems import OWN_LIMIT
from engine.kinds import COUNT, MINUTES, SHARE, SIZE, TO_FILE, TO_FOLDER
from engine.tasks.marking import EMBEDDED
from engine.tasks.published import PUBLISHED

LIMITS = ", ".join(f"{name} {task.limit}" for name, task in PUBLISHED.items())
LIMIT = f"most tokens of a response (default: {FEW}, {LIMITS})"
LIMIT_OF_MINING = f"most tokens of a response (default: {FEW}, {LIMITS}, --prompts {OWN_LIMIT})"


def add_parser(subparsers: Any) -> None:
    """Register the three commands."""
    _mine_parser(subparsers.add_parser("mine"))
    _train_parser(subparsers.add_parser("judge-train"))
    _eval_parser(subparsers.add_parser("judge-eval"))


def _later(module: str, name: str) -> Callable[[argparse.Namespace], int]:
    """A handler whose module is imported when it is called: `mine` and each `--help` need no scikit-learn."""
    return lambda args: int(getattr(importlib.import_module(module), name)(args))


def _mine_parser(parser: argparse.ArgumentParser) -> None:
    add_models(parser)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--task",
        help=f"{', '.join(EMBEDDED)}; with --source {', '.join(PUBLISHED)}",
    )
    asked.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help="prompts of your own, as `run` takes them; they have no answers, so --judge-endpoint decides",
    )
    parser.add_argument(
        "--equivalence",
        default="answer",
        metavar="HOW",
        help="when an altered response is as good as the target's own: answer, bleu:MARGIN (translations) or "
        "rouge:MARGIN (summaries), which may fall by at most so many points of 100 (default: answer; margin 5)",
    )
    parser.add_argument(
        "--source", default="", help="JSON-lines file, or datasets:NAME:CONFIG:SPLIT, of a published set"
    )
    parser.add_argument(
        "--out",
        type=TO_FILE,
        help="mined file; one that exists is resumed (default: build/judge/TASK.jsonl, or prompts.jsonl)",
    )
    add_shots(parser)
    parser.add_argument("--items", type=COUNT, default=500, metavar="N", help="prompts (default: 500)")
    parser.add_argument("--minutes", type=MINUTES, metavar="M", help="stop after the prompt that exceeds this time")
    parser.add_argument(
        "--problem-seed", type=int, metavar="SEED", default=7, help="seed of the embedded problems (default: 7)"
    )
    parser.add_argument(
        "--split", choices=("train", "heldout"), default="train", help="of embedded problems (default: train)"
    )
    parser.add_argument("--cases", action="store_true", help="first the prompts of the task's recorded cases")
    parser.add_argument(
        "--score", action="store_true", help="write the score of the task's loaded judge into each label"
    )
    parser.add_argument("--limit", "--max-new-tokens", type=COUNT, metavar="N", help=LIMIT_OF_MINING)
    parser.add_argument("--chat", action="store_true", help="wrap prompts in the target's chat template")
    parser.add_argument("--naive", action="store_true", help="the ablation: each mismatch by itself, no swap is kept")
    parser.add_argument(
        "--most", type=SIZE, default=230, metavar="N", help="skip prompts with more mismatches, 0: none (default: 230)"
    )
    parser.add_argument("--report", action="store_true", help="code: compare how each test ends, not only pass or fail")
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.0,
        metavar="T",
        help="above 0: sampling with a shared Gumbel field (default: 0)",
    )
    parser.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="nucleus mass, above 0 to 1 (default: 1, off)"
    )
    parser.add_argument("--top-k", type=int, default=0, metavar="K", help="tokens kept, 0 is off (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the Gumbel field (default: 0)")
    online = parser.add_argument_group("along an EAGLE head's windows, as the published code does (register A9)")
    online.add_argument("--eagle-online", metavar="HEAD", help="eagle2 or eagle3, the head that drafts; greedy")
    online.add_argument("--window", type=COUNT, metavar="W", help="tokens a window, root included (default: 8)")
    online.add_argument(
        "--unlikely",
        type=SHARE,
        metavar="P",
        help="tokens below this target probability are important without a trial (default: 0.01)",
    )
    remote = parser.add_argument_group("target on a server (OpenAI-compatible, such as vLLM or SGLang)")
    remote.add_argument(
        "--endpoint", metavar="URL", help="address before /completions, such as http://127.0.0.1:8000/v1"
    )
    remote.add_argument("--endpoint-model", default="", metavar="NAME", help="the model's name on the server")
    remote.add_argument("--requests", type=COUNT, default=4, metavar="N", help="prompts at once (default: 4)")
    remote.add_argument("--send-ids", action="store_true", help="send token ids instead of text (vLLM, SGLang)")
    remote.add_argument(
        "--anchor", action="store_true", help="move labels whose text gave other ids, instead of dropping them"
    )
    vote = parser.add_argument_group("a chat model decides what is as good (instead of extracted answers)")
    vote.add_argument("--judge-endpoint", metavar="URL", help="address before /chat/completions")
    vote.add_argument("--judge-model", default="", metavar="NAME", help="the judge's name on the server")
    vote.add_argument("--votes", type=COUNT, default=3, metavar="N", help="votes a comparison (default: 3)")
    vote.add_argument("--vote", choices=("paper", "unanimous"), default="paper", help="how they count (default: paper)")
    parser.add_argument(
        "--key-env",
        default="OPENAI_API_KEY",
        metavar="NAME",
        help="environment variable with the server's key, if any (default: OPENAI_API_KEY)",
    )
    parser.add_argument("--json", action="store_true", help="print every event as a JSON line")
    add_shard(parser)
    parser.set_defaults(handler=_later("engine.cli.mining", "mine_handle"))


def _train_parser(parser: argparse.ArgumentParser) -> None:
    add_models(parser)
    parser.add_argument("--mined", type=Path, required=True, metavar="FILE", help="a mined file")
    parser.add_argument("--out", type=TO_FOLDER, required=True, metavar="DIR", help="folder of the judge")
    parser.add_argument("--token", choices=TOKENS, default="draft", help="whose token is encoded (default: draft)")
    parser.add_argument("--read", choices=MODELS, default="both", help="whose hidden states are read (default: both)")
    parser.add_argument(
        "--split",
        choices=("holdout", "folds"),
        default="holdout",
        help="a tenth of the prompts unseen, or five folds for few prompts (default: holdout)",
    )
    parser.add_argument("--grid", choices=("paper", "repo"), default="paper", help="values of C tried (default: paper)")
    parser.add_argument("--recall", type=SHARE, default=0.9, help="share of important swaps rejected (default: 0.9)")
    parser.add_argument("--balanced", action="store_true", help="weigh both classes alike (the paper does not)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="read the loaded models' states, also if others mined the file (a server, say)",
    )
    parser.add_argument(
        "--nested",
        action="store_true",
        help="also estimate area and recall by five folds within which C and threshold are chosen (some six times the "
        "fits)",
    )
    parser.add_argument("--ablations", action="store_true", help="also measure all features, a forest and an MLP")
    parser.add_argument(
        "--results",
        type=TO_FILE,
        metavar="FILE",
        help="also write the judge's numbers, as --json prints them; AutoJudge's figures 6 and 7 are read from such",
    )
    parser.add_argument("--json", action="store_true", help="the judge's numbers as JSON")
    parser.set_defaults(handler=_later("engine.cli.judging", "train_handle"))


def _eval_parser(parser: argparse.ArgumentParser) -> None:
    add_models(parser)
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=["arithmetic", "functions"],
        help="tasks with a judge of that name (default: arithmetic functions)",
    )
    parser.add_argument("--source", default="", help="file or data set of a published task")
    add_shots(parser)
    parser.add_argument(
        "--method",
        choices=("autojudge", "autojudge_eagle"),
        default="autojudge",
        help="who drafts: the draft model, or EAGLE-2's head (default: autojudge)",
    )
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (default: 0)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of draws; each further prompt has one of its own (default: 0)"
    )
    parser.add_argument(
        "--times", action="store_true", help="share no passes between settings, and write tokens per second (slower)"
    )
    parser.add_argument("--items", type=COUNT, default=300, metavar="N", help="held-out problems a task (default: 300)")
    parser.add_argument(
        "--minutes", type=MINUTES, metavar="M", help="stop each task after this time; running again goes on"
    )
    parser.add_argument(
        "--window",
        type=COUNT,
        default=16,
        metavar="W",
        help="tokens drafted a round by all methods, the root counted with EAGLE (default: 16)",
    )
    parser.add_argument("--thresholds", type=COUNT, default=8, metavar="N", help="thresholds of the sweep (default: 8)")
    parser.add_argument("--limit", "--max-new-tokens", type=COUNT, metavar="N", help=LIMIT)
    parser.add_argument(
        "--problem-seed", type=int, metavar="SEED", default=0, help="seed of the embedded problems (default: 0)"
    )
    parser.add_argument(
        "--out", type=TO_FOLDER, default=Path("docs/results"), metavar="DIR", help="results (default: docs/results)"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_shard(parser)
    parser.set_defaults(handler=_later("engine.cli.judging", "eval_handle"))
