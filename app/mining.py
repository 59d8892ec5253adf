"""Mined sets over HTTP: those of the repository, and mining live into a visitor's own file. No gradio, no torch."""

import contextlib
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app import scratch
from app.answers import Json, refused
from app.endpoint import ZIPPED, answered, streamed
from app.miningjob import SEEDS, Job, parse, problems
from app.ndjson import Lines
from app.rounds import NOBODY, Visitor
from app.service import Service
from app.validate import parsed
from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.files.written import naming
from engine.judge.events import Progress, to_json
from engine.tasks import Problem

MINED = PRESETS / "mined"
MAX_BYTES = 8_000_000
KEEP_FILES = 64


@dataclass(frozen=True)
class Folder:
    """Visitors' mined files in a temporary folder: few, small, named by a hash of the visitor's key and settings; and
    who began each."""

    path: Path = field(default_factory=lambda: scratch.fresh("mined"))
    keep: int = KEEP_FILES
    busy: set[Path] = field(default_factory=set)
    owners: dict[Path, Visitor] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def file(self, key: str, *settings: object) -> Path:
        """The file of a key and settings.

        Raises:
            ConfigError: the key is malformed.
        """
        if len(key) != 32 or any(char not in "0123456789abcdef" for char in key):
            raise ConfigError("A key is 32 hexadecimal digits.")
        name = hashlib.sha256(json.dumps([key, *settings]).encode()).hexdigest()
        return self.path / f"{name}.jsonl"

    @contextlib.contextmanager
    def at_work(self, path: Path) -> Iterator[None]:
        """One writer a file.

        Raises:
            ConfigError: another page is at it.
        """
        with self.lock:
            if path in self.busy:
                raise ConfigError("This set is being mined already, perhaps in another tab. Stop it there first.")
            self.busy.add(path)
        try:
            yield
        finally:
            self.busy.discard(path)

    def make_room(self, path: Path, visitor: Visitor = NOBODY) -> None:
        """Room for one more file, of a visitor: whose address has most files forgets one, of its visitor who has most
        the oldest. Keys are free, so that by them alone one could have all other visitors' files forgotten."""
        with self.lock:
            self._make_room(path, visitor)

    def _make_room(self, path: Path, visitor: Visitor) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        files = sorted(self.path.glob("*.jsonl"), key=lambda one: one.stat().st_mtime)
        owners = {one: self.owners.get(one, NOBODY) for one in files} | {path: visitor}
        while len(files) >= self.keep and (idle := [one for one in files if one not in self.busy]):
            own, near = Counter(owners.values()), Counter(owner.address for owner in owners.values())
            gone = max(idle, key=lambda one: (near[owners[one].address], own[owners[one]]))
            files.remove(gone)
            del owners[gone]
            gone.unlink(missing_ok=True)
        path.touch()  # so that it counts while its visitor is in the line
        self.owners.clear()
        self.owners.update(owners)


def routes(service: Service, mined: Path = MINED, folder: Folder | None = None) -> list[BaseRoute]:
    """The list of recorded sets, one of them, mining, and what was mined before."""
    own = folder or Folder()
    return [
        Route("/lab/mined", partial(recorded, mined), middleware=ZIPPED),
        streamed("/lab/mine", partial(prepared, service, own), partial(events, service, own)),
        answered("/lab/mine/kept", partial(kept, service, own)),
    ]


async def recorded(mined: Path, request: Request) -> Response:
    """The recorded sets by name, or the lines of one."""
    names = sorted(path.stem for path in mined.glob("*.jsonl"))
    name = request.query_params.get("name")
    if name is None:
        return Json({"sets": [await run_in_threadpool(_about, mined / f"{name}.jsonl") for name in names]})
    if name not in names:
        return refused(ConfigError(unknown("mined set", name, names)), 404)
    return Response(await run_in_threadpool((mined / f"{name}.jsonl").read_bytes), media_type="application/x-ndjson")


def _about(path: Path) -> dict[str, Any]:
    """Name, task, size and the command of a recorded set."""
    with path.open(encoding="utf-8") as lines:
        head, prompts = json.loads(next(lines)), sum(1 for _ in lines)
    return {
        "name": path.stem,
        "task": head.get("task", ""),
        "naive": bool(head.get("naive")),
        "prompts": prompts,
        "command": command(head, prompts, path.stem),
    }


def command(head: dict[str, Any], prompts: int, name: str) -> str:
    """The command that makes a recorded set again."""
    how = " --naive" if head.get("naive") else ""
    return (
        f"python -m engine mine --preset tiny --task {head.get('task', '')} --split {head.get('split', 'train')} "
        f"--problem-seed {head.get('problem_seed', 0)} --cases --items {prompts}{how} --score --out "
        f"presets/mined/{name}.jsonl"
    )


@dataclass(frozen=True)
class Ready:
    """A job that may begin: its problems, and the file that they go into."""

    job: Job
    problems: Sequence[Problem]
    path: Path
    visitor: Visitor = NOBODY


def prepared(service: Service, folder: Folder, given: object, address: str = "") -> Ready:
    """What a page asks to be mined, with room for it; `address` is where it comes from.

    Raises:
        ConfigError: something is wrong with the request, the device is only lent, or the file is full.
    """
    job = parse(service, given)
    if service.borrows(job.models):
        raise ConfigError(
            "Mining needs the device for minutes, and here it is only lent for seconds. Run the page yourself."
        )
    path, visitor = _path(folder, job), Visitor(address, job.key)
    found = problems(job)
    if path.exists() and path.stat().st_size > MAX_BYTES:
        raise ConfigError(
            f"This file has reached {MAX_BYTES // 1_000_000} MB, which is the limit. Export it and start anew."
        )
    if not path.exists():
        folder.make_room(path, visitor)
    return Ready(job, found, path, visitor)


def events(service: Service, folder: Folder, ready: Ready) -> Lines:
    """The events of a job. The device is given back after each prompt, so that others need not wait for all.

    Closing the connection stops after the current fork; finished prompts stay.
    """
    job, path = ready.job, ready.path
    yield {"kind": "queued"}
    split = "train" if job.source == "train" else "heldout"
    seed = SEEDS[job.source]
    with naming(path), folder.at_work(path), service.line(ready.visitor) as ticket:
        for _ in service.comes(job.models):
            yield {"kind": "queued"}
        lab = service.lab(job.models)
        mining = lab.mine(job.task, ready.problems, path, naive=job.naive, problem_seed=seed, split=split)
        with contextlib.closing(mining):
            while True:
                for spot in ticket.waits():
                    yield {"kind": "queued", "line": spot}
                for event in mining:
                    yield to_json(event)
                    if isinstance(event, Progress):
                        break
                else:
                    return
                ticket.again()


def kept(service: Service, folder: Folder, data: bytes) -> Response:
    """What this visitor mined before with these settings: the lines of the file, none if there is none."""
    path = _path(folder, parse(service, parsed(data)))
    try:
        lines = path.read_bytes()
    except FileNotFoundError:
        lines = b""
    return Response(lines, media_type="application/x-ndjson")


def _path(folder: Folder, job: Job) -> Path:
    return folder.file(job.key, job.models, job.task, job.source, job.naive, job.prompt)
