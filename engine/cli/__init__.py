"""The command line. One file a command; each adds its own parser and returns an exit status.

A file is imported when its command is called: all of them together bring torch, transformers and pandas, which take
seconds that neither help nor a command without models needs.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

from engine import __version__
from engine.parser import Parser
from engine.status import status_of
from engine.unhurried import UNHURRIED

COMMANDS = {  # by name: the file with its parser, and what it does
    "methods": ("methods", "list the methods, or show one with its knobs"),
    "preflight": ("preflight", "check how a target and a draft fit together, before any weights are fetched"),
    "doctor": (
        "doctor",
        "check devices, the equality of all paths of a model, launches and bandwidth; write a report",
    ),
    "run": ("run", "run one method on one prompt"),
    "compare": ("compare", "run several methods on the same prompts, side by side"),
    "pooled": ("pooled", "pool the traces of many runs into HeteroSpec's figures and tables"),
    "bench": ("bench", "measure speeds, interleaved in one process: ratios as median (smallest to largest)"),
    "enlarge": ("enlarge", "make a pair as large as real ones that writes what the embedded pair writes"),
    "unpack": ("unpack", "write a GGUF file, or pickled weights, as a folder that loads"),
    "advise": (
        "advise",
        "measure which method and settings pay for which kind of prompt, and write the serving engine's configuration",
    ),
    "calibrate": (
        "calibrate",
        "measure EASD's tau_entropy: mean of the largest target entropies (EASD eq. 8 to 10); or, with --costs, what "
        "rounds cost on this device; or, with --forecast, how often a drafter is right by how sure it is",
    ),
    "cases": ("cases", "list, record, find or adopt the case presets"),
    "mine": ("judge", "label which mismatches of draft and target change the answer (AutoJudge)"),
    "judge-train": ("judge", "train a judge from a mined file"),
    "judge-eval": ("judge", "measure accuracy against accepted tokens: AutoJudge, top-K, math rules, SD"),
    "trajectories": ("trajectories", "draw several answers to a prompt; STAND's tables 1 to 4 and figures 2, 3, 5"),
    "tree": ("tree", "grow, optimise or show a static draft tree"),
    "automaton": ("automaton", "build a static suffix automaton from texts, traces or an embedded task"),
    "train": ("training", "train the embedded family; same as `python -m engine.training train`"),
    "eval": (
        "training",
        "evaluate the embedded pair on held-out problems; same as `python -m engine.training eval`",
    ),
    "reproduce": ("reproduce", "measure the tables and figures of the five papers here"),
    "export": ("export", "write tables or metrics of recorded traces"),
    "import": ("imported", "read the acceptance figures that vLLM, SGLang, llama.cpp and AIPerf report"),
    "index": ("index", "index a folder of traces, in Parquet: for pandas and Many runs"),
    "replay": ("replay", "check every decision and identity of recorded traces"),
    "schema": ("schema", "print the trace format as JSON Schema"),
    "readme": ("readme", "write the generated parts of a checkout's README.md and docs"),
}


def main(
    argv: Sequence[str] | None = None, prog: str = "python -m engine", others: Mapping[str, str] | None = None
) -> int:
    """Run one command; its exit status, see `engine.status`. `others` are commands that the caller runs, in words."""
    given = list(sys.argv[1:] if argv is None else argv)

    def run() -> int:
        with UNHURRIED.making():  # it imports the command's file
            args = _parser(prog, given[0] if given else "", others or {}).parse_args(given)
        args.given = shlex.join([*prog.split(), *given])  # told in what is written
        status: int = args.handler(args)
        return status

    return status_of(run)


def _parser(prog: str, called: str, others: Mapping[str, str]) -> Parser:
    """That of all commands; of those not `called` it knows name and words alone."""
    parser = Parser(prog=prog, description="Speculative decoding, run and measured.")
    parser.add_argument("--version", action="version", version=f"draftscope {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    if called in COMMANDS:
        file, words = COMMANDS[called]
        import_module(f"{__name__}.{file}").add_parser(subparsers)
        own = subparsers.choices[called]
        own.description = own.description or f"{words[0].upper()}{words[1:]}."
    for name, words in {**others, **{name: words for name, (_, words) in COMMANDS.items()}}.items():
        if name not in subparsers.choices:
            subparsers.add_parser(name, help=words)
    return parser
