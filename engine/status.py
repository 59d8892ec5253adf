"""What a command gives back to the shell, and says where it cannot go on."""

import os
import sys
from collections.abc import Callable

from engine.errors import LabError

REFUSED, STOPPED, CLOSED = 2, 130, 141  # 128 and the signal: an interrupt, a pipe that nobody reads any more


def status_of(command: Callable[[], int]) -> int:
    """Run a command: a LabError or an unusable file is one line on stderr and status 2, an interrupt status 130, a pipe
    that was closed (`... | head`) status 141. What the terminal's encoding lacks is written as escapes.
    """
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    try:
        status = command()
        sys.stdout.flush()
    except LabError as error:
        sys.stderr.write(f"error: {error}\n")
        return REFUSED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes as it ends
        return CLOSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {where}{error.strerror or error}\n")
        return REFUSED
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return STOPPED
    return status
