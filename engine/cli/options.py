"""Options that commands share: models, sampling, knobs, prompts; and how they become a Lab and a list of prompts."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.config import RunConfig, Sampling
from engine.errors import AssetError, ConfigError, shown, unknown
from engine.files.places import locate, near, there
from engine.files.shards import Shard
from engine.kinds import COUNT, SIZE, THREADS, option
from engine.lab import Lab
from engine.model.assembly import UNCAPTURED
from engine.model.graphs import SWITCH
from engine.runs.assets import hub_files, kind_of, obstacle
from engine.tasks import Problem, load_problems, tuning_problems
from engine.tasks.marking import EMBEDDED, TASKS
from engine.tasks.prompts import Prompt, read_prompts, turns_left
from engine.tasks.published import PUBLISHED, load_published
from engine.unhurried import UNHURRIED

DRAWS = ("temperature", "top_p", "top_k")  # what `add_draws` gives
TASK_ITEMS = 20


def add_models(parser: argparse.ArgumentParser, *also: str, usual: str = "tiny") -> None:
    """Which pair to load; `also` are further words for `--preset`, `usual` is the one that is taken without it."""
    group = parser.add_argument_group("models")
    group.add_argument(
        *also, "--preset", dest="preset", help=f"name of a preset (default: {usual}, unless --target is given)"
    )
    group.add_argument("--target", help="hub id or folder of the target model")
    group.add_argument("--draft", help="hub id or folder of the draft model; replaces a preset's own")
    group.add_argument(
        "--target-endpoint",
        metavar="URL",
        help="the target stays on this server (vLLM's .../v1, SGLang's .../generate); --target gives its tokenizer",
    )
    group.add_argument("--target-model", default="", metavar="NAME", help="its name on that server")
    group.add_argument(
        "--target-key-env", default="", metavar="NAME", help="environment variable with the server's key"
    )
    group.add_argument("--eagle", help="hub id or folder of an EAGLE-3 head")
    group.add_argument(
        "--asset",
        action="append",
        default=[],
        metavar="ROLE=DIR",
        help="a further head, judge or table, such as judge=DIR or medusa=DIR; repeatable",
    )
    add_places(group)
    group.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (default: auto)")
    group.add_argument(
        "--threads",
        type=THREADS,
        default="auto",
        metavar="auto|N",
        help="CPU threads of torch; auto is the fastest in a short measurement at load (default: auto)",
    )


def add_places(group: Any) -> None:
    """Which languages the models are for, which devices they go on, and how."""
    group.add_argument(
        "--languages", default="", metavar="SOURCE:TARGET", help="for encoder-decoders of several, such as en_XX:de_DE"
    )
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:0, mps, xpu (default: auto)")
    for role in ("target", "draft"):
        group.add_argument(
            f"--{role}-device",
            metavar="DEVICE",
            help=f"device of the {role} alone; several GPUs with commas between share its layers",
        )
    group.add_argument(
        "--graphs",
        choices=SWITCH,
        default="auto",
        help="capture passes as CUDA graphs; auto does where it can be (default: auto)",
    )


def add_sampling(parser: argparse.ArgumentParser, *, method: bool = False) -> None:
    """How to decode; with one `method` also its knobs, which several have behind their names (`sd:gamma=7`)."""
    group = parser.add_argument_group("decoding")
    group.add_argument(
        "--max-new-tokens",
        type=COUNT,
        default=128,
        metavar="N",
        help="limit of the response (default: %(default)d tokens)",
    )
    add_draws(group)
    group.add_argument(
        "--seed", type=int, default=0, help="seed of draws; each further prompt has one of its own (default: 0)"
    )
    group.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end the response once it holds this text; repeatable",
    )
    group.add_argument("--chat", action="store_true", help="wrap the prompt in the target's chat template")
    if method:
        group.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="a knob of the method; repeatable"
        )


def add_draws(group: Any) -> None:
    """What tokens are drawn from."""
    group.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (default: %(default)g)")
    group.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="nucleus mass, above 0 to 1 (default: 1, off)"
    )
    group.add_argument("--top-k", type=int, default=0, metavar="K", help="tokens kept, 0 is off (default: 0)")


def draws(args: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_draws` as keyword arguments of `Lab.stream`; empty where they are greedy.

    Raises:
        ConfigError: one that no run takes.
    """
    if Sampling(args.temperature, args.top_k, args.top_p).greedy:
        return {}
    return {name: getattr(args, name) for name in DRAWS}


def add_prompts(
    parser: argparse.ArgumentParser, task: str = "", items: int = TASK_ITEMS, required: bool = True
) -> None:
    """What to decode: one prompt, a file, or a task; `task` with so many `items` where nothing is asked for."""
    group = parser.add_argument_group("prompts").add_mutually_exclusive_group(required=required and not task)
    group.add_argument("--prompt", help="one prompt")
    group.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help="JSON lines with a prompt, question, text, instruction or turns field, or datasets:NAME:CONFIG:SPLIT; a "
        "category is kept",
    )
    group.add_argument(
        "--task",
        metavar="TASK",
        help=f"held-out problems of {', '.join(EMBEDDED)}; with --source {', '.join(PUBLISHED)}"
        + (f" (default: {task})" if task else ""),
    )
    parser.set_defaults(usual_task=task, usual_items=items)
    parser.add_argument(
        "--source", default="", help="JSON-lines file, or datasets:NAME:CONFIG:SPLIT, of a published task"
    )
    add_shots(parser)
    parser.add_argument(
        "--items",
        type=COUNT,
        metavar="N",
        help=f"how many prompts (default: all of a file or source, {items} of an embedded task)",
    )


def add_shots(parser: argparse.ArgumentParser) -> None:
    """Worked examples before the question, where a published task has such."""
    parser.add_argument(
        "--shots", type=SIZE, default=0, metavar="N", help="worked examples before each gsm8k question (default: 0)"
    )
    parser.add_argument(
        "--shots-from",
        default="",
        metavar="SOURCE",
        help="where they are from (default: the first rows of --source, which are then not asked)",
    )


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Which part of a sweep this process does."""
    parser.add_argument(
        "--shard",
        type=option(Shard.parse, lambda _: True, "i/n with 0 <= i < n"),
        default=Shard.of_launcher(),
        metavar="I/N",
        help="do every Nth prompt, counted from I, of a sweep that N processes share through --out (default: as "
        "accelerate launch or torchrun tell, else all)",
    )


def load_lab(args: argparse.Namespace) -> Lab:
    """The lab that the model options name.

    Raises:
        LabError: it cannot be loaded, one of the assets is for another target, or prompts are to go through a chat
            template and the target has none.
    """
    assets = knobs(args.asset, "--asset takes ROLE=DIR")
    given = {**assets, **({"eagle3": args.eagle} if args.eagle else {})}
    for role, path in given.items():
        kind_of(role)  # before they meet the arguments of Lab.load
        _here(role, str(path))
    if args.preset and args.target is not None:
        raise ConfigError("Give either --preset, which names all models, or --target, not both.")
    which = (
        {"preset": "tiny" if args.preset is None else args.preset} if args.target is None else {"target": args.target}
    )
    places = ("device", "target_device", "draft_device", "graphs")
    names = ("draft", "eagle", *places, "dtype", "threads", "languages")
    where = _server(args) if "target_endpoint" in args else {}
    with UNHURRIED.making():  # it imports the models' files
        lab = Lab.load(**which, **{name: getattr(args, name) for name in names if name in args}, **where, **assets)
    for role, path in given.items():
        if said := obstacle(role, locate(path), lab.target):  # `all` would leave its methods out in silence
            raise AssetError(said)
    if getattr(args, "graphs", "") == "on":  # asked for by name: where it cannot be, that is said
        for role, model in (("target", lab.target), *lab.models.items()):
            for note in (note for note in model.notes if note.startswith(UNCAPTURED)):
                print(f"{role}: {note}", file=sys.stderr)
    if lab.threads and lab.threads.seconds:  # a choice was made
        print(f"torch uses {lab.threads}", file=sys.stderr)
    if getattr(args, "chat", False):
        lab.target.tokenizer.able_to_chat()  # rather than prompt by prompt
    return lab


def load_here(args: argparse.Namespace) -> Lab:
    """As `load_lab`, for a command that measures the target, or reads its numbers.

    Raises:
        ConfigError: a server runs it.
    """
    if args.target_endpoint:
        raise ConfigError(
            "This command measures a target that is loaded here, and of one on a server only its first choices are "
            "known: leave --target-endpoint out."
        )
    return load_lab(args)


def _here(role: str, path: str) -> None:
    """See that an asset is there, or may be on the hub: of one that is missing `all` would leave its methods out in
    silence.

    Raises:
        AssetError: it is not.
    """
    if not there(Path(found := locate(path))) and hub_files(role, found) is None:
        raise AssetError(f"There is no {role} in {path}: no file or folder has that name.{near(found, Path.exists)}")


def goes_with(args: argparse.Namespace, needed: str, *names: str) -> None:
    """Nothing, where options of these names are given with the one that they belong to, or not at all.

    Raises:
        ConfigError: one is given without it, and would change nothing.
    """
    if not getattr(args, needed) and (name := next((name for name in names if getattr(args, name)), "")):
        alone, other = (f"--{one.replace('_', '-')}" for one in (name, needed))
        raise ConfigError(f"{alone} goes with {other}, which is not given.")


def _server(args: argparse.Namespace) -> dict[str, Any]:
    """Where the target stays on a server, as arguments of `Lab.load`."""
    goes_with(args, "target_endpoint", "target_model", "target_key_env")
    if args.target_key_env and args.target_key_env not in os.environ:
        raise ConfigError(f"--target-key-env: there is no environment variable {shown(args.target_key_env)}.")
    key = {"target_key": os.environ[args.target_key_env]} if args.target_key_env else {}
    return {"target_endpoint": args.target_endpoint, "target_model": args.target_model, **key}


def readable(lab: Lab, found: Sequence[Prompt], chat: bool = False) -> None:
    """Nothing where the models can read every prompt: of one that they cannot it is said before minutes are spent on
    others.

    Raises:
        ConfigError: one is empty or too long; of several, which.
    """
    for number, prompt in enumerate(found, 1):
        try:
            lab.check_fit(lab.target.tokenizer.encode(prompt.text, chat))
        except ConfigError as error:
            place = f"Prompt {number} ({prompt.key or prompt.text[:40]!r}): " if len(found) > 1 else ""
            raise ConfigError(f"{place}{error}") from None


def decoding(args: argparse.Namespace) -> dict[str, Any]:
    """The sampling options as keyword arguments of `Lab.stream`.

    Raises:
        ConfigError: one that no run takes.
    """
    names = ("max_new_tokens", *DRAWS, "seed", "stop", "chat")
    given = {name: getattr(args, name) for name in names}
    of_run = {name: given[name] for name in ("max_new_tokens", "seed", "stop")}
    RunConfig("", (0,), sampling=Sampling(args.temperature, args.top_k, args.top_p), **of_run)
    return given


def knobs(given: list[str], rule: str = "--set takes NAME=VALUE") -> dict[str, str]:
    """`--set name=value` pairs (or another option's); names and values are checked where they are used.

    Raises:
        ConfigError: one has no equals sign.
    """
    for item in given:
        if "=" not in item:
            raise ConfigError(f"{rule}, not {item!r}.")
    return {name: value for name, _, value in (item.partition("=") for item in given)}


def prompts(args: argparse.Namespace, tuning: bool = False, *, turns: bool = False) -> list[Prompt]:
    """The prompts that the options name; for `tuning` an embedded family gives others than those it is tested on. It is
    told where a prompt goes on with further turns, unless `turns` says that these are asked too.

    Raises:
        ConfigError: a task without a name, a missing or damaged file, no prompt field, or none found.
    """
    settle_task(args)
    if args.task and args.task not in TASKS:
        raise ConfigError(unknown("task", args.task, TASKS))
    if (args.source or args.shots or args.shots_from) and args.task not in PUBLISHED:
        raise ConfigError(f"--source, --shots and --shots-from are for the tasks {', '.join(PUBLISHED)}.")
    if args.prompt is not None:
        return [Prompt(args.prompt)]
    if args.task:
        return [Prompt(p.prompt, p.key, p.solution, p) for p in _problems(args, tuning)]
    if args.prompts is None:  # `--task ""`, or a comma with nothing behind it
        raise ConfigError(unknown("task", args.task, TASKS))
    found = read_prompts(args.prompts, args.items)
    if not turns and (left := turns_left(found)):
        print(left, file=sys.stderr)
    return found


def settle_task(args: argparse.Namespace) -> None:
    """The usual task, where a command has one and nothing else was asked for."""
    if args.prompt is None and args.prompts is None and not args.task:
        args.task = args.usual_task


def _problems(args: argparse.Namespace, tuning: bool) -> list[Problem]:
    if args.task in PUBLISHED:
        return load_published(args.task, args.source, args.items, args.shots, args.shots_from)
    n = args.items or args.usual_items
    return tuning_problems(args.task, n) if tuning else load_problems(args.task, "heldout", n)
