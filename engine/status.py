"""What a command gives back to the shell, and says where it cannot go on."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from engine.errors import LabError

REFUSED, STOPPED, CLOSED = 2, 130, 141  # 128 and the signal: an interrupt, a pipe that nobody reads any more

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # all but tab and the ends of lines


class Terminal:
    """A terminal to which control characters are written as escapes: in a title out of a file they would command it."""

    def __init__(self, stream: TextIO) -> None:
        """Wrap a stream."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, harmlessly."""
        return self._stream.write(CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's."""
        return getattr(self._stream, name)


def status_of(command: Callable[[], int]) -> int:
    """Run a command: a LabError, an unusable file or a package that is not installed is one line on stderr and status
    2, an interrupt status 130, a pipe
    that was closed (`... | head`) status 141. What the terminal's encoding lacks is written as escapes, and so is
    what would command it.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who called (`>&-`): what is written goes nowhere, to the end
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    out, err = sys.stdout, Terminal(sys.stderr)
    if out.isatty():
        sys.stdout = Terminal(out)
    try:
        status = command()
        sys.stdout.flush()
    except LabError as error:
        err.write(f"error: {error}\n")
        return REFUSED
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", __name__.partition(".")[0]):
            raise
        err.write(
            f"error: {missing} is not installed for {sys.executable}. A checkout has everything in its environment: "
            "`make setup` once, then `. .venv/bin/activate`.\n"
        )
        return REFUSED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes as it ends
        return CLOSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        err.write(f"error: {where}{error.strerror or error}\n")
        return REFUSED
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return STOPPED
    finally:
        sys.stdout = out
    return status
