"""python -m app.export TRACE...|--case NAME|--all-cases --out page.html: the page over recorded runs, without a server.

The file holds the page's own modules and the answers that a server would give, packed; it fetches nothing and opens
from a disk, a static host or a notebook.
"""

import sys
from importlib import import_module

from engine.status import status_of

if __name__ == "__main__":  # before what takes seconds to import: an interrupt meanwhile is one like any other
    raise SystemExit(status_of(lambda: import_module("app.export").main()))

import argparse
import base64
import gzip
import hashlib
import html
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.pagefiles import STATIC, STYLES
from app.presets import PresetCatalogue
from app.recorded import body
from app.routes import page_routes
from app.service import Service
from app.state import Limits
from engine import __version__
from engine.analysis import explain
from engine.analysis.reading import named, read_file
from engine.errors import ConfigError, unknown
from engine.files.places import as_path
from engine.files.presets import list_presets
from engine.files.written import in_a_folder, ready_folder
from engine.files.written import write as written
from engine.methods import CARDS
from engine.parser import Parser
from engine.rules import THRESHOLDS
from engine.trace.store import Trace
from engine.trace.sums import as_list

COPY = Path(__file__).parent / "copy"
OWN = Limits(max_upload_bytes=10**12, max_nodes=10**9, max_lanes=10**3)  # others protect a server from visitors
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:{own}; style-src 'unsafe-inline'; img-src data: blob:;{asks} "
    "base-uri 'none'; form-action 'none'"
)
ALONE = _POLICY.format(own="", asks="")  # nothing is fetched: modules are blobs that the page itself makes
HOSTED = _POLICY.format(own=" 'self'", asks=" connect-src 'self';")
ROOMS = ("glossary", "pages")  # of a page with some runs
EVERYTHING = (
    "lessons",
    "gallery",
    "pooled",
    "trajectories",
    "trees",
    "evaluations",
    "mined",
    "papers",
)  # these point at all cases
LIBRARY = "lab-static/vendor/plotly-strict.min.js"  # figures of many runs
SMALL = 100_000  # characters; in a folder longer answers are files of their own, fetched when they are asked for
why = partial(explain.why, thresholds=THRESHOLDS)


@dataclass(frozen=True)
class Content:
    """What a page shows: runs of its own, and recorded cases by name; the first is on show when it opens."""

    traces: Sequence[Trace] = ()
    cases: Sequence[str] = ()
    everything: bool = False  # all cases, and the rooms and lessons that point at them
    title: str = ""  # default: the title of the first case, or the first run's prompt


def main(argv: Sequence[str] | None = None, prog: str = "python -m app.export") -> int:
    """Write the page; what cannot be read is one line and status 2."""
    flags = Parser(prog=prog, description=__doc__)
    flags.add_argument(
        "traces", nargs="*", type=Path, help="trace files (.jsonl or .jsonl.gz) or folders of them; each run is a lane"
    )
    flags.add_argument("--case", action="append", default=[], metavar="NAME", help="a recorded case; repeatable")
    flags.add_argument("--all-cases", action="store_true", help="all recorded cases, lessons and rooms")
    flags.add_argument("--title", default="", help="of the page")
    flags.add_argument(
        "--out",
        default="page.html",
        help="file to write, or a folder/ for static hosting, with parts of its own (default: page.html)",
    )
    args = flags.parse_args(argv)
    return status_of(lambda: _write(args))


def _write(args: argparse.Namespace) -> int:
    traces = [trace for path in named(args.traces) for trace in read_file(path)]
    files = write(Content(traces, args.case, args.all_cases, args.title), args.out)
    size = sum(path.stat().st_size for path in files) / 1e6
    sys.stdout.write(f"{args.out}: {len(files)} {'file' if len(files) == 1 else 'files'}, {size:.1f} MB\n")
    return 0


def write(content: Content, out: str | os.PathLike[str]) -> list[Path]:
    """Write one file, or a folder where `out` ends with a slash or is one; gives the files.

    Raises:
        ConfigError, TraceError: as `export`; no path. OSError: it cannot be written.
    """
    place = as_path(out)
    if not str(out):  # it would be the working folder
        raise ConfigError("A page is written to a file or a folder, not to one named ''.")
    if not str(out).endswith("/") and not place.is_dir():
        in_a_folder(place)  # before the work is done
        return [written(place, export(content).encode())]
    ready_folder(place)
    kept, title = collected(content)
    files = {path: text for path, text in kept.items() if len(text) > SMALL and path != "opened"}
    names = {path: {"file": f"answers/{hashlib.sha256(path.encode()).hexdigest()[:12]}.json"} for path in files}
    if LIBRARY in files:
        names[LIBRARY] = {"file": "answers/plotly.js"}
    texts = {names[path]["file"]: text for path, text in files.items()}
    texts["index.html"] = assemble({**kept, **names}, title, HOSTED)
    for name, text in texts.items():
        ready_folder((place / name).parent).mkdir(parents=True, exist_ok=True)
        written(place / name, text.encode())
    return [place / name for name in texts]


def export(content: Content) -> str:
    """The page as one HTML text: some 0.6 MB, and what the traces take.

    Raises:
        ConfigError: nothing to show, or an unknown case. TraceError: a recorded file is damaged.
    """
    return assemble(*collected(content))


def collected(content: Content) -> tuple[dict[str, str], str]:
    """All that the page will ask for, by path, and its title.

    Raises:
        ConfigError, TraceError: as `export`.
    """
    traces = as_list(content.traces)
    named_cases = [content.cases] if isinstance(content.cases, str) else content.cases
    recorded = {preset.name: preset for preset in list_presets() if preset.kind == "case" and preset.traces}
    for name in named_cases:
        if name not in recorded:
            raise ConfigError(unknown("case", name, recorded))
    chosen = [*named_cases, *(recorded if content.everything else ())]
    if not chosen and not traces:
        raise ConfigError("Nothing to show: name trace files, --case NAME, or --all-cases.")
    cases = [recorded[name] for name in dict.fromkeys(chosen)]
    own = {trace.head.prompt for trace in traces}
    kept = answers(PresetCatalogue(cases, CARDS, why, OWN), [case.name for case in cases], content.everything, own)
    title = content.title or (cases[0].title if cases else "")
    if traces:
        kept["opened"] = json.dumps(body(traces, CARDS, why), ensure_ascii=False)
        title = content.title or " ".join(traces[0].head.prompt.split())[:60]
    return kept, title or "Draftscope"


def answers(
    preset_catalogue: PresetCatalogue, cases: Iterable[str], everything: bool, prompts: Collection[str] = ()
) -> dict[str, str]:
    """What a server without models answers, by path; of the mined sets no more than what flags the runs on show, unless
    it is `everything`. `prompts` are those of runs that are no cases."""
    client = TestClient(Starlette(routes=page_routes(Service(CARDS, {}, why, OWN), preset_catalogue, why)))
    kept: dict[str, str] = {}

    def ask(path: str, **query: str) -> Any:
        path = f"{path}?{urlencode(query)}" if query else path
        answer = client.get(f"/lab/{path}")
        if answer.status_code != 200:
            raise ConfigError(f"{path}: {answer.json().get('error', answer.status_code)}")
        kept[path] = answer.text

    for path in ("catalogue", *ROOMS, *(EVERYTHING if everything else ())):
        ask(path)
    for name in cases:
        ask("trace", name=name)
    if preset_catalogue.first:
        kept["trace?name="] = kept[f"trace?name={preset_catalogue.first}"]
    for page in json.loads(kept["pages"])["pages"]:
        ask("page", name=page["name"])
    if everything:
        for one in json.loads(kept["mined"])["sets"]:
            ask("mined", name=one["name"])
        for one in json.loads(kept["papers"])["papers"]:
            ask("paper", name=one["name"])
        kept[LIBRARY] = (STATIC / LIBRARY.removeprefix("lab-static/")).read_text("utf-8")
    else:
        traces = (json.loads(kept[f"trace?name={name}"]) for name in cases)
        shown = {lane["events"][0]["prompt"] for trace in traces for lane in trace["lanes"]}
        kept |= mined_of({*prompts, *shown}, client)
    return kept


def mined_of(prompts: Collection[str], client: TestClient) -> dict[str, str]:
    """The recorded mined sets, by path, as far as they are about these prompts; so the runs of a page have their
    flags."""
    sets, kept = list[dict[str, Any]](), dict[str, str]()
    for one in client.get("/lab/mined").json()["sets"]:
        path = f"mined?{urlencode({'name': one['name']})}"
        head, *lines = filter(None, client.get(f"/lab/{path}").text.split("\n"))
        lines = [line for line in lines if json.loads(line).get("text") in prompts]
        if lines:
            sets.append({**one, "prompts": len(lines)})
            kept[path] = "".join(f"{line}\n" for line in (head, *lines))
    return {"mined": json.dumps({"sets": sets}), **kept}


def assemble(kept: Mapping[str, str | dict[str, str]], title: str, policy: str = ALONE) -> str:
    """The HTML of a page over such answers."""
    plain = json.dumps({"modules": modules(), "answers": kept}, ensure_ascii=False).encode("utf-8", "replace")
    parts = {
        "generator": f"Draftscope {__version__}",
        "policy": policy,
        "title": html.escape(title),
        "style": "\n".join((STATIC / name).read_text("utf-8") for name in STYLES),
        "page": (COPY / "page.html").read_text("utf-8"),
        "packed": base64.b64encode(gzip.compress(plain, mtime=0)).decode(),
    }
    text = (COPY / "export.html").read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)


def modules() -> dict[str, str]:
    """The page's modules by path, importing each other by names that the page maps: `lab/store.js`."""
    paths = [path for path in STATIC.rglob("*.js") if "vendor" not in path.parts]
    return {
        (name := path.relative_to(STATIC).as_posix()): _mapped(path.read_text("utf-8"), PurePosixPath(name).parent)
        for path in sorted(paths)
    }


_IMPORT = re.compile(r"""((?:^|\s)(?:from|import)\s+["']|\bimport\(["'`])(\.{1,2}/[^"'`]+)""")


def _mapped(text: str, folder: PurePosixPath) -> str:
    return _IMPORT.sub(lambda found: f"{found[1]}lab/{_joined(folder, found[2])}", text)


def _joined(folder: PurePosixPath, relative: str) -> str:
    parts = list(folder.parts)
    for part in relative.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
