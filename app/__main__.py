"""python -m app: start the page. Flags win over environment variables, which win over defaults."""

import argparse
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported

from app import scratch, zerogpu
from app.opener import opener
from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.state import Limits
from app.turns import LabLike
from engine import __version__
from engine.analysis import explain
from engine.errors import LabError
from engine.files.presets import list_presets
from engine.methods import CARDS
from engine.rules import THRESHOLDS
from engine.tasks import permission, sandbox

PUBLIC_TOKENS = 256
MOST = 10**9  # of any limit
why = partial(explain.why, thresholds=THRESHOLDS)  # sentences name comparisons as the rules declare them
PLACES = ("device", "target_device", "draft_device", "graphs")
TAKEN = (
    "preset",
    "target",
    "draft",
    "eagle",
    *PLACES,
    "dtype",
    "threads",
    "languages",
)  # names of `Lab.load` that are no roles


def main(argv: Sequence[str] | None = None, prog: str = "python -m app") -> None:
    """Read the flags, build the service, serve."""
    args = parser(prog).parse_args(argv)
    if args.public:
        permission.deny_by_default()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("app").setLevel(logging.INFO)
    service, preset_catalogue = assemble(args)
    scratch.end_on_terminate()
    try:
        demo = launch(service, preset_catalogue, why, host=args.host, port=args.port, prevent_thread_lock=True)
    except OSError as error:
        if "empty port" not in str(error):
            raise
        where = f"Port {args.port} is" if args.port else "The usual ports are"
        raise SystemExit(f"{where} in use: give another with --port.") from None
    print(f"Draftscope is on {demo.local_url} (Ctrl+C ends it).", flush=True)
    print(sandbox.said(), flush=True)
    demo.block_thread()


def assemble(args: argparse.Namespace) -> tuple[Service, PresetCatalogue]:
    """The service and the recorded cases that the flags ask for."""
    limits = Limits(
        max_tokens=min(args.max_tokens, PUBLIC_TOKENS) if args.public else args.max_tokens,
        max_upload_bytes=int(args.max_upload_mb * 1_000_000),
        max_nodes=args.max_nodes,
    )
    for name in ("draft", "languages"):
        if getattr(args, name) and not args.target:
            raise SystemExit(f"--{name} goes with --target, which is not given: a preset's pair is loaded as it is.")
    loaders = model_loaders(args)
    service = Service(
        CARDS,
        loaders,
        why,
        limits,
        turns=zerogpu.borrowed() if zerogpu.here() else None,
        eager=not args.lazy,
        opener=None if args.public or zerogpu.here() else opener(load, **usual(args)),
    )
    if zerogpu.here():
        zerogpu.prepare({name: service.lab(name) for name in loaders})
    try:
        preset_catalogue = PresetCatalogue(list_presets(), CARDS, why, limits, first=args.preset)
    except LabError as error:
        raise SystemExit(str(error)) from None
    return service, preset_catalogue


def model_loaders(args: argparse.Namespace) -> dict[str, Callable[[], LabLike]]:
    """The sets of models that this server may load: the presets' pairs and the flags' pair, and nothing else.

    Heads and other assets of the flags go with the flags' target, or with the presets' pairs where there is none.
    """
    loaders: dict[str, Callable[[], LabLike]] = {}
    heads: dict[str, str] = dict(args.asset) | ({"eagle": args.eagle} if args.eagle else {})
    if args.target:
        name = f"{args.target} + {args.draft}" if args.draft else str(args.target)
        loaders[name] = partial(
            load, target=args.target, draft=args.draft, languages=args.languages, **usual(args), **heads
        )
    for preset in list_presets():
        if preset.kind == "pair":
            where = zerogpu.placed(preset.models, usual(args))
            loaders[preset.name] = partial(load, preset=preset.name, **where, **({} if args.target else heads))
    return loaders


def usual(args: argparse.Namespace) -> dict[str, str]:
    """What holds for all models that this server loads, whoever names them: devices, dtype and threads."""
    return {name: getattr(args, name) for name in ("device", "target_device", "draft_device", "dtype", "threads")}


def load(**given: str | None) -> LabLike:
    """A lab; torch is imported here and not before. How many threads it uses is told."""
    lab = import_module("engine.lab").Lab.load(**given)
    print(f"{given.get('preset') or given.get('target')}: on {lab.device}, torch uses {lab.threads}", flush=True)
    loaded: LabLike = lab
    return loaded


def parser(prog: str = "python -m app") -> argparse.ArgumentParser:
    """The flags and their environment variables."""
    env = os.environ.get
    flags = argparse.ArgumentParser(
        prog=prog, description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    flags.add_argument("--version", action="version", version=f"draftscope {__version__}")
    flags.add_argument(
        "--host", default=env("GRADIO_SERVER_NAME"), help="address to listen on (127.0.0.1 if not given)"
    )
    flags.add_argument("--port", type=int, default=env("GRADIO_SERVER_PORT", "7860"), help="port")
    flags.add_argument("--preset", default=env("DRAFTSCOPE_PRESET", ""), help="case to open with")
    flags.add_argument("--target", default=env("DRAFTSCOPE_TARGET"), help="a target model: Hugging Face id or folder")
    flags.add_argument("--draft", default=env("DRAFTSCOPE_DRAFT"), help="its draft model")
    flags.add_argument(
        "--eagle", default=env("DRAFTSCOPE_EAGLE"), help="an EAGLE-3 head for the target: Hugging Face id or folder"
    )
    flags.add_argument(
        "--asset",
        type=role_and_place,
        action="append",
        default=[],
        metavar="ROLE=DIR",
        help="a further head, judge or table, such as judge=DIR; repeatable",
    )
    flags.add_argument(
        "--languages",
        default=env("DRAFTSCOPE_LANGUAGES", ""),
        metavar="SOURCE:TARGET",
        help="of a target that reads and writes several, such as en_XX:de_DE",
    )
    flags.add_argument("--device", default=env("DRAFTSCOPE_DEVICE", "auto"), help="auto, cpu, cuda, cuda:1, mps, xpu")
    for role in ("target", "draft"):
        flags.add_argument(
            f"--{role}-device",
            default=env(f"DRAFTSCOPE_{role.upper()}_DEVICE", ""),
            help=f"device of the {role} alone; several GPUs with commas between share its layers",
        )
    flags.add_argument("--dtype", default=env("DRAFTSCOPE_DTYPE", "auto"), help="auto, float32, bfloat16, float16")
    flags.add_argument(
        "--threads",
        default=env("DRAFTSCOPE_THREADS", "auto"),
        help="CPU threads of torch: a number, or auto, the fastest in a short measurement when models are loaded",
    )
    flags.add_argument(
        "--max-tokens", type=whole, default=env("DRAFTSCOPE_MAX_TOKENS", "1024"), help="most new tokens of a run"
    )
    flags.add_argument(
        "--max-upload-mb", type=megabytes, default=env("DRAFTSCOPE_MAX_UPLOAD_MB", "20"), help="largest trace, MB"
    )
    flags.add_argument(
        "--max-nodes", type=whole, default=env("DRAFTSCOPE_MAX_NODES", "50000"), help="most draft tokens in a trace"
    )
    flags.add_argument(
        "--public",
        action="store_true",
        default=env("DRAFTSCOPE_PUBLIC", "") == "1",
        help="tighter limits for strangers: no generated code is run, and no models but this server's own are loaded",
    )
    flags.add_argument("--lazy", action="store_true", help="load models at the first run, not after the first visit")
    return flags


def whole(text: str) -> int:
    """A limit: an integer from 1.

    Raises:
        ArgumentTypeError: something else.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MOST:
        raise argparse.ArgumentTypeError(f"it must be an integer from 1 to {MOST}, not {text!r}")
    return value


def megabytes(text: str) -> float:
    """A limit in MB: a number above 0.

    Raises:
        ArgumentTypeError: something else, or more than 1000.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError(f"it must be a number above 0, up to 1000, not {text!r}")
    return value


def role_and_place(text: str) -> tuple[str, str]:
    """`ROLE=DIR` in two.

    Raises:
        ArgumentTypeError: no equals sign, or a role that has a flag of its own.
    """
    role, _, place = text.partition("=")
    if not role or not place:
        raise argparse.ArgumentTypeError(f"it takes ROLE=DIR, not {text!r}")
    if role in TAKEN:
        raise argparse.ArgumentTypeError(f"{role!r} is no role of an asset; there may be a flag of that name")
    return role, place


if __name__ == "__main__":
    main()
