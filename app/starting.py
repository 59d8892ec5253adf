"""Start the page: the flags, the service that they ask for, the server."""

import argparse
import errno
import logging
import os
import socket
import sys
import threading
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from engine.errors import ConfigError

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported
if not (PORT := os.environ.get("GRADIO_SERVER_PORT", "0")).isdecimal():  # which it takes for a number then
    del os.environ["GRADIO_SERVER_PORT"]
    if PORT:
        raise ConfigError(f"GRADIO_SERVER_PORT must be an integer from 0 to 65535, not {PORT!r}.")

from app import ending, scratch, zerogpu
from app.flags import parser
from app.guard import LOOPBACK
from app.opener import opener
from app.presets import PresetCatalogue
from app.serve import launch
from app.service import Service
from app.state import Limits
from app.turns import LabLike
from engine.analysis import explain
from engine.files.presets import list_presets
from engine.methods import CARDS
from engine.rules import THRESHOLDS
from engine.runs.findings import Offered
from engine.status import STOPPED
from engine.tasks import permission, sandbox
from engine.unhurried import UNHURRIED

PUBLIC_TOKENS = 256
TAKEN = "Port {} is in use: give another with --port.\n"
why = partial(explain.why, thresholds=THRESHOLDS)  # sentences name comparisons as the rules declare them


def main(argv: Sequence[str] | None = None, prog: str = "python -m app") -> int:
    """Read the flags, build the service, serve.

    Raises:
        LabError: see `assemble`, `open_port`.
    """
    args = parser(prog).parse_args(argv)
    if args.public:
        permission.deny_by_default()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("app").setLevel(logging.INFO)
    host = bracketed(args.host)
    port = open_port(host, args.port)
    if port is None:
        sys.stderr.write(TAKEN.format(args.port))
        return 1
    with UNHURRIED.making():
        service, preset_catalogue = assemble(args)
    threading.Thread(target=service.foresee, daemon=True).start()
    ending.on_signals()
    try:
        with UNHURRIED.making():
            demo = launch(service, preset_catalogue, why, host=host, port=port, prevent_thread_lock=True)
        print(f"Draftscope is on {demo.local_url.replace('[::]', '[::1]')} (Ctrl+C ends it).", flush=True)
        if service.opener and not loopback(host):
            print("Other machines may reach it, and load models here: --public closes that to them.", flush=True)
        print(sandbox.said(), flush=True)
        demo.block_thread()
    except (KeyboardInterrupt, SystemExit) as end:  # also before it stands: models are looked at meanwhile
        ending.leave(scratch.clear, status=STOPPED if isinstance(end, KeyboardInterrupt) else 0)
        raise
    except OSError as error:
        if "empty port" not in str(error):
            raise
        sys.stderr.write(TAKEN.format(port))
        ending.leave(scratch.clear, status=1)  # models are still looked at
        return 1
    ending.leave(scratch.clear)
    return 0


def bracketed(host: str | None) -> str | None:
    """An address as Gradio takes it, which puts it into that of the page: one of IPv6 in brackets."""
    return f"[{host}]" if host and ":" in host and not host.startswith("[") else host


def loopback(host: str | None) -> bool:
    """Whether no other machine reaches an address (None: this machine's own)."""
    name = (host or LOOPBACK[0]).strip("[]").lower()
    return name in LOOPBACK or (name.startswith("127.") and name.replace(".", "").isdecimal())


def open_port(host: str | None, port: int = 0) -> int | None:
    """The port, where nobody listens on it at an address (None: this machine's own), else None; of 0 one that is free.

    Raises:
        ConfigError: nothing can listen at the address, or on the port.
    """
    try:
        name = (host or "127.0.0.1").strip("[]")
        kind, _, _, _, place = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as listener:
            if os.name == "posix":  # as the server: connections that are closing keep nobody out
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            return int(listener.getsockname()[1])
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        said = error.strerror or error
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ConfigError(f"--port: nothing may listen on {port} here ({said}).") from None
        raise ConfigError(f"--host: nothing can listen at {host!r} on this machine ({said}).") from None


def assemble(args: argparse.Namespace) -> tuple[Service, PresetCatalogue]:
    """The service and the recorded cases that the flags ask for.

    Raises:
        LabError: flags that go without another, or a case that is unknown or cannot be read.
    """
    limits = Limits(
        max_tokens=min(args.max_tokens, PUBLIC_TOKENS) if args.public else args.max_tokens,
        max_upload_bytes=int(args.max_upload_mb * 1_000_000),
        max_nodes=args.max_nodes,
    )
    for name in ("draft", "languages"):
        if getattr(args, name) and not args.target:
            raise ConfigError(f"--{name} goes with --target, which is not given: a preset's pair is loaded as it is.")
    loaders = model_loaders(args)
    service = Service(
        CARDS,
        loaders,
        why,
        limits,
        turns=zerogpu.borrowed() if zerogpu.here() else None,
        eager=not args.lazy,
        opener=None if args.public or zerogpu.here() else opener(load, **usual(args)),
        foresee=lambda name: foreseen(loaders[name]) if name in loaders else (),
    )
    if zerogpu.here():
        zerogpu.prepare({name: service.lab(name) for name in loaders})
    return service, PresetCatalogue(list_presets(), CARDS, why, limits, first=args.preset)


def model_loaders(args: argparse.Namespace) -> dict[str, "partial[LabLike]"]:
    """The sets of models that this server may load: the presets' pairs and the flags' pair, and nothing else.

    Heads and other assets of the flags go with the flags' target, or with the presets' pairs where there is none.
    """
    loaders: dict[str, partial[LabLike]] = {}
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


def foreseen(loader: "partial[LabLike]") -> Sequence[Offered]:
    """What becomes of methods on the models of a loader, before it has loaded them."""
    given = {name: one for name, one in loader.keywords.items() if one and name not in ("threads", "draft_device")}
    found: Sequence[Offered] = import_module("engine.runs.preflight").foreseen(**given)
    return found


def usual(args: argparse.Namespace) -> dict[str, str]:
    """What holds for all models that this server loads, whoever names them: devices, dtype and threads."""
    return {name: getattr(args, name) for name in ("device", "target_device", "draft_device", "dtype", "threads")}


def load(**given: str | None) -> LabLike:
    """A lab. How many threads it uses is told."""
    lab = import_module("engine.lab").Lab.load(**given)  # seconds, which no server waits for as it starts
    print(f"{given.get('preset') or given.get('target')}: on {lab.device}, torch uses {lab.threads}", flush=True)
    loaded: LabLike = lab
    return loaded
