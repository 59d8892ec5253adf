"""The page's own files: where they are, and for how long a browser may keep them.

Where nobody edits them (the Docker image, an installed package, a Space) their address holds an edition, a hash of what
they are: under it a browser keeps them for good, and a new version of the page has another address. In a checkout they
change under a running server, so that a browser asks each time whether they have.
"""

import os
import re
from functools import cache
from hashlib import sha256
from os.path import normpath
from pathlib import Path, PurePosixPath

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC, COPY = Path(__file__).parent / "static", Path(__file__).parent / "copy"
AT = "lab-static"
KEPT = "public, max-age=31536000, immutable"
_EDITION = re.compile(r"e-[0-9a-f]{16}(?=/)")
_IMPORT = re.compile(
    r"""^(?:import\s|(?:import|export)\s.*\bfrom\s|\}\s*from\s)\s*["'](\.{1,2}/[^"']+)["']""", re.MULTILINE
)


@cache
def edition() -> str:
    """A hash of the page's files as part of their address; empty where they may be edited."""
    if (STATIC.parents[1] / ".git").exists() and "SPACE_ID" not in os.environ:
        return ""
    found = sha256()
    for path in sorted(one for one in STATIC.rglob("*") if one.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(STATIC).as_posix()} {len(content)}\n".encode() + content)
    return f"e-{found.hexdigest()[:16]}"


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


def address() -> str:
    """Of the folder of the page's files, from the page's own."""
    return "/".join(filter(None, ("./" + AT, edition())))


class PageFiles(StaticFiles):
    """The page's files, found as well where a proxy serves them below a path (`GRADIO_ROOT_PATH`) that it cuts off.

    Under another edition than the present one, of a page that was open when the server was replaced, they are the
    present files and not kept.
    """

    def get_path(self, scope: Scope) -> str:
        """What of the address names the file."""
        path = normpath(str(scope["path_params"]["path"]))
        asked = _EDITION.match(path)
        return path[asked.end() + 1 :] if asked else path

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with the time for which it is kept."""
        answer = await super().get_response(path, scope)
        asked = _EDITION.match(str(scope["path_params"]["path"]))
        if asked and asked.group() == edition() and answer.status_code in (200, 304):
            answer.headers["Cache-Control"] = KEPT
        return answer
