"""The flags of the server, and the environment variables in their place."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import zerogpu
from app.guard import ORIGINS
from engine import __version__
from engine.config import LAB_OPTIONS
from engine.errors import ConfigError
from engine.files.own import PARTS
from engine.files.places import a_file, near
from engine.kinds import THREADS, option
from engine.model.devices import dtype_on, homes
from engine.model.hub import unread
from engine.parser import Parser
from engine.tasks.permission import SWITCH

PORT = option(int, lambda n: 0 <= n <= 65535, "an integer from 0 to 65535")
MOST = 10**9  # of any limit
ABOUT = "Start the page. Flags win over environment variables (in brackets), which win over defaults."
BESIDES = f"""Variables without a flag: {ORIGINS}, origins of other pages that may ask this server, or of a proxy
before it, with spaces between and * for a part; {SWITCH}, whether generated code is run: 1, 0, or unconfined (also
where the kernel does not confine it); {PARTS}, a folder with methods of your own (CONTRIBUTING.md). An empty variable
counts as none."""
LIKE_FOLDERS = ("./", "../", "~", "/")


def parser(prog: str = "python -m app") -> Parser:
    """The flags, with their environment variables in the help."""
    flags = Parser(prog=prog, description=ABOUT, epilog=BESIDES)
    flags.add_argument("--version", action="version", version=f"draftscope {__version__}")

    def add(name: str, help: str, default: str | None = "", variable: str = "", **more: Any) -> None:
        variable = variable or "DRAFTSCOPE_" + name.upper().replace("-", "_")
        usual = f"default: {default}; {variable}" if default else variable
        flags.add_argument(f"--{name}", default=os.environ.get(variable) or default, help=f"{help} [{usual}]", **more)

    add("host", "address to listen on (127.0.0.1 if not given)", None, "GRADIO_SERVER_NAME")
    add("port", "port", "7860", "GRADIO_SERVER_PORT", type=PORT)
    add("preset", "case to open with, or a pair of models whose first case it is")
    add("target", "a target model: Hugging Face id or folder", None, type=fits(model))
    add("draft", "its draft model", None, type=fits(model))
    add("eagle", "an EAGLE-3 head for the target: Hugging Face id or folder", None, type=fits(model))
    flags.add_argument(
        "--asset",
        type=role_and_place,
        action="append",
        default=[],
        metavar="ROLE=DIR",
        help="a further head, judge or table, such as judge=DIR; repeatable",
    )
    add("languages", "of a target that reads and writes several, such as en_XX:de_DE", metavar="SOURCE:TARGET")
    add("device", "auto, cpu, cuda, cuda:1, mps, xpu", "auto", type=fits(device))
    for role in ("target", "draft"):
        words = f"device of the {role} alone; several GPUs with commas between share its layers"
        add(f"{role}-device", words, metavar="DEVICE", type=fits(device))
    add("dtype", "auto, float32, bfloat16, float16, float64", "auto", type=fits(dtype))
    threads = "CPU threads of torch: a number, or auto, the fastest in a short measurement when models are loaded"
    add("threads", threads, "auto", type=THREADS)
    add("max-tokens", "most new tokens of a run", "1024", type=whole)
    add("max-upload-mb", "largest trace, MB", "20", type=megabytes)
    add("max-nodes", "most draft tokens in a trace", "50000", type=whole)
    flags.add_argument(
        "--public",
        action="store_true",
        default=os.environ.get("DRAFTSCOPE_PUBLIC") == "1",
        help="tighter limits for strangers: no generated code is run, and no models but this server's own are loaded "
        "[DRAFTSCOPE_PUBLIC=1]",
    )
    flags.add_argument("--lazy", action="store_true", help="load models at the first run, not after the first visit")
    return flags


def fits(check: Callable[[str], object]) -> Callable[[str], str]:
    """The type of a flag that is refused as the server starts, not when its models are loaded; empty is none."""

    def read(text: str) -> str:
        try:
            if text and not zerogpu.here():  # whose devices come with the first run
                check(text)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return read


def device(text: str) -> None:
    """A device that is here, or several with commas between.

    Raises:
        ConfigError: it is not.
    """
    homes(text)


def dtype(text: str) -> None:
    """A dtype by name.

    Raises:
        ConfigError: there is none of it.
    """
    dtype_on(homes("cpu")[0], text)


def model(text: str) -> None:
    """A folder that is there, or what may be a hub id.

    Raises:
        ConfigError: it is a file, or is written as a folder and there is none.
    """
    if said := unread(text) or a_file(text):
        raise ConfigError(said)
    if text.startswith(LIKE_FOLDERS) and not Path(text).is_dir():
        raise ConfigError(f"there is no folder {text!r}.{near(text)}")


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
    if role in LAB_OPTIONS:
        raise argparse.ArgumentTypeError(f"{role!r} is no role of an asset; there may be a flag of that name")
    return role, place
