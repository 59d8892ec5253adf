"""How plain HTTP answers: JSON that can always be written, errors of a user as a sentence and one line in the log."""

import errno
import json
import logging
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from app.validate import TooLarge

LOG = logging.getLogger(__name__)
LONGEST = 300  # characters of a line in the log
DEEP = 4  # levels down to an event of a lane
LACKING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE, errno.EIO}
)  # what no line of the lab can mend


class Json(JSONResponse):
    """JSON in which half a pair of surrogates is written as a question mark, not as an error of the server."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return "".join(pieces(content, DEEP)).encode("utf-8", "replace")


def pieces(content: Any, deep: int) -> Iterator[str]:
    """The text of JSON; what lies `deep` levels down is a piece of its own, as all threads wait while one is made."""
    if deep and content and isinstance(content, dict | list):
        named = content if isinstance(content, dict) else None
        for number, part in enumerate(content):
            yield "," if number else "[" if named is None else "{"
            if named is not None:
                yield _text({part: None})[1:-5]  # a key as JSON has it, also of a number; and the colon
            yield from pieces(part if named is None else named[part], deep - 1)
        yield "]" if named is None else "}"
    else:
        yield _text(content)


def _text(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def refused(error: Exception | str, status: int = 400) -> Json:
    """What a user did wrong, told to them; one line in the log."""
    log_refusal(error)
    return Json({"error": str(error)}, 413 if isinstance(error, TooLarge) else status)


def log_refusal(error: Exception | str) -> None:
    """One line, whatever is in the message."""
    LOG.info("refused: %s", " ".join(str(error).split())[:LONGEST].encode("ascii", "backslashreplace").decode())


async def fault(_request: Request, error: Exception) -> Json:
    """A fault of the lab: the log has it, the caller gets its kind and no more."""
    return Json({"error": fault_words(error)}, 500)


def fault_words(error: Exception) -> str:
    """What is told of a fault."""
    kind = type(error).__name__
    return lacking(error) or f"The lab failed ({kind}). This is a fault of the lab; the server's log says more."


def lacking(error: Exception) -> str:
    """What the server's machine lacks (room, a permission), in the system's words and with the place; empty where it
    is a fault of the lab."""
    if not isinstance(error, OSError) or error.errno not in LACKING:
        return ""
    place = f" ({error.filename})" if error.filename else ""
    return f"The server's machine says: {error.strerror}{place}."


def log_fault(error: Exception, what: str) -> None:
    """A fault of the lab with its traceback, what the machine lacks in one line."""
    if words := lacking(error):
        LOG.warning("%s failed. %s", what, words)
    else:
        LOG.error("%s failed", what, exc_info=error)
