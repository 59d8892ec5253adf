"""The page's own files: what the first look needs, and for how long a browser may keep them.

Their address holds an edition, a hash of what they all are: under it a browser keeps them for good. Where one of them
is edited under a running server, the page has another edition when it is loaded anew.
"""

import os
import re
import time
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from posixpath import normpath

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC, COPY = Path(__file__).parent / "static", Path(__file__).parent / "copy"
AT = "lab-static"
KEPT = "public, max-age=31536000, immutable"
EVERY = 1.0  # seconds after which files are looked at again
STYLES = (
    "tokens.css",
    "lab.css",
    "lanes.css",
    "drawers.css",
    "views.css",
    "rooms.css",
    "run.css",
    "stage.css",
    "details.css",
    "workshop.css",
    "learn.css",
    "papers.css",
    "forced.css",
    "print.css",
)
EDITION = "e-[0-9a-f]{16}"  # what one looks like
_EDITION = re.compile(rf"{EDITION}(?=/)")
_IMPORT = re.compile(
    r"""^(?:import\s|(?:import|export)\s.*\bfrom\s|\}\s*from\s)\s*["'](\.{1,2}/[^"']+)["']""", re.MULTILINE
)


class Looked:
    """When the files were looked at last, and what they were."""

    at, found = -EVERY, ""
    began = 0.0  # seconds since 1970, before the look

    def edition(self) -> str:
        """A hash of the page's files as part of their address."""
        if time.monotonic() - self.at >= EVERY:
            with suppress(FileNotFoundError):  # an editor's own file went meanwhile: look again the next time
                began, files = time.time(), sorted(path for path in STATIC.rglob("*") if path.is_file())
                state = tuple((path, found.st_mtime_ns, found.st_size) for path in files for found in [path.stat()])
                self.found, self.began, self.at = _hash(state), began, time.monotonic()
        return self.found


LOOKED = Looked()


@lru_cache(maxsize=4)
def _hash(state: tuple[tuple[Path, int, int], ...]) -> str:
    found = sha256()
    for path, *_ in state:
        content = path.read_bytes()
        found.update(f"{path.relative_to(STATIC).as_posix()} {len(content)}\n".encode() + content)
    return f"e-{found.hexdigest()[:16]}"


def address() -> str:
    """Of the folder of the page's files as they are now, from the page's own."""
    return f"./{AT}/{LOOKED.edition()}"


def first_modules() -> list[str]:
    """What the page runs when it opens, by path: `lab.js`, the views that it mounts, and what these import."""
    page = (COPY / "page.html").read_text("utf-8")
    named = [f"{name}.js" for name in re.findall(r'data-view="([\w/]+)"', page)]
    found, open_ = set[str](), ["lab.js", *(name for name in named if (STATIC / name).exists())]
    while open_:
        path = open_.pop()
        if path not in found:
            found.add(path)
            told = _IMPORT.findall((STATIC / path).read_text("utf-8"))
            open_ += [normpath(f"{PurePosixPath(path).parent}/{name}") for name in told]
    return sorted(found)


def further_modules() -> list[str]:
    """What rooms import that are opened later."""
    paths = (path.relative_to(STATIC) for path in STATIC.rglob("*.js"))
    return sorted({path.as_posix() for path in paths if path.parts[0] != "vendor"} - set(first_modules()))


class PageFiles(StaticFiles):
    """The page's files, found as well where a proxy serves them below a path (`GRADIO_ROOT_PATH`) that it cuts off.

    Under another edition than the present one, of a page that was open when a file changed, they are the present files
    and not kept.
    """

    def get_path(self, scope: Scope) -> str:
        """What of the address names the file, as the system writes paths."""
        path = normpath(str(scope["path_params"]["path"]))
        asked = _EDITION.match(path)
        return os.path.normpath(path[asked.end() + 1 :] if asked else path)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with the time for which it is kept."""
        answer = await super().get_response(path, scope)
        asked = _EDITION.match(str(scope["path_params"]["path"]))
        present = answer.status_code in (200, 304) and asked is not None and asked.group() == LOOKED.edition()
        if present and (STATIC / path).stat().st_mtime < LOOKED.began:  # else it may be newer than the edition
            answer.headers["Cache-Control"] = KEPT
        return answer
