"""The page's type declarations are current, and what the server sends has the shape that they declare."""

import dataclasses
import json
import types
import typing
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Union, get_args, get_origin

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import evaluations, pooled, trajectories, trees
from app.build import Handlers
from app.mining import MINED, _about
from app.routes import catalogue_json, open_traces
from app.typings import declarations, defaulted, main, stale
from app.wire.catalogue import Catalogue
from app.wire.judges import Evaluations, Judged
from app.wire.mining import MinedAbout
from app.wire.pooled import Pooled
from app.wire.runs import Opened, Recorded, RunMessage
from app.wire.shape import Shape
from app.wire.trajectories import Trajectories
from app.wire.trees import Trees
from engine.judge import events as mining
from engine.rules import THRESHOLDS
from engine.threshold import Threshold
from engine.trace import events as trace
from engine.trace.codec import event_json
from engine.trace.store import Trace
from tests.app.fakes import sentence
from tests.app.synthetic import events

REQUEST = {"id": "0" * 32, "prompt": "Once", "lanes": ["plain", {"method": "bush", "knobs": {"width": 2}}]}


def test_declarations_are_current():
    assert stale() == []


def test_stale_declarations_are_named(tmp_path, capsys):
    for name, text in declarations().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "card.d.ts").write_text("export type KnobValue = string;\n")
    (tmp_path / "trace.d.ts").unlink()
    assert stale(tmp_path) == ["trace.d.ts", "card.d.ts"]
    assert main(["check"]) == 0 and "current" in capsys.readouterr().out


def problems(value: Any, hint: Any, at: str = "$") -> list[str]:
    """Where a JSON value departs from its declared type; `sparse` records of a trace leave out what is None."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (NotRequired, ClassVar):
        return problems(value, inner[0], at) if inner else []
    if origin is Annotated:
        shape = next((note.kind for note in hint.__metadata__ if isinstance(note, Shape)), inner[0])
        return problems(value, shape, at)
    if hint is Any:
        return []
    if hint == trace.Event:
        kinds = {kind.kind: kind for kind in get_args(trace.Event)}
        return problems(value, kinds[value["kind"]], at)
    if origin in (Union, types.UnionType):
        found = [problems(value, part, at) for part in inner]
        return [] if [] in found else min(found, key=len)
    if origin is Literal:
        return [] if value in inner else [f"{at}: {value!r}"]
    if origin is tuple and inner[-1] is not ...:
        return [text for i, part in enumerate(inner) for text in problems(value[i], part, f"{at}[{i}]")]
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            return [f"{at}: {type(value).__name__}"]
        return [text for i, item in enumerate(value) for text in problems(item, inner[0], f"{at}[{i}]")]
    if origin is dict or (origin and issubclass(origin, typing.Mapping)):
        return [text for name, item in value.items() for text in problems(item, inner[1], f"{at}.{name}")]
    if hint is Threshold:  # its JSON is tagged: declared by hand in threshold.d.ts, held to Python by tests/vectors
        return [] if value in [threshold.to_json() for threshold in THRESHOLDS.values()] else [f"{at}: {value!r}"]
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        return record(value, hint, at)
    plain = {float: (int, float), type(None): (type(None),)}.get(hint, (hint,))
    right = isinstance(value, plain) and not (isinstance(value, bool) and hint is not bool)
    return [] if right else [f"{at}: {value!r} is no {hint.__name__}"]


def record(value: Any, hint: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: {type(value).__name__}"]
    hints = typing.get_type_hints(hint, include_extras=True)
    free = {"why"} if hint in (trace.Node, trace.Token) else set()  # the server's sentence
    free |= {"checked"} if hint is trace.RunEnded else set()  # the answer, checked by the server
    free |= {"kind", "schema"} if hasattr(hint, "kind") else set()
    out = [f"{at}.{name} is not declared" for name in value.keys() - hints.keys() - free]
    if typing.is_typeddict(hint):
        needed = hint.__required_keys__
    else:
        sparse = hint.__module__ == trace.__name__
        needed = {
            field.name
            for field in dataclasses.fields(hint)
            if not (sparse and type(None) in get_args(hints[field.name]))
        }
        if hint.__module__ == mining.__name__:  # read from files, which may leave out what has a default
            needed -= defaulted(hint)
    out += [f"{at}.{name} is missing" for name in needed - value.keys()]
    return out + [
        text for name in value.keys() & hints.keys() for text in problems(value[name], hints[name], f"{at}.{name}")
    ]


def test_the_catalogue_is_as_declared(service, preset_catalogue):
    assert problems(json.loads(json.dumps(catalogue_json(service, preset_catalogue))), Catalogue) == []


def test_a_run_and_a_recording_are_as_declared(service, preset_catalogue):
    messages = [json.loads(text) for text in Handlers(service, preset_catalogue, sentence).stream(json.dumps(REQUEST))]
    assert messages[-1].get("done") and any("ev" in message for message in messages)
    assert [text for message in messages for text in problems(message, RunMessage)] == []
    body = json.loads(preset_catalogue.body(preset_catalogue.first))
    assert problems(body, Recorded) == []
    opened = json.loads(json.dumps(open_traces(service, sentence, Trace(events("bush", 24)).to_bytes())))
    assert problems(opened, Opened) == []


def test_a_notice_is_as_declared(service, preset_catalogue):
    (only,) = Handlers(service, preset_catalogue, sentence).stream('{"prompt": ""}')
    assert problems(json.loads(only), RunMessage) == []


@pytest.mark.parametrize("path", sorted(MINED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_mined_sets_are_as_declared(path):
    assert problems(_about(path), MinedAbout) == []
    _, line, *_ = path.read_text(encoding="utf-8").splitlines()
    assert problems(json.loads(line), mining.PromptFinished) == []


def test_what_was_measured_is_as_declared(service, preset_catalogue):
    client = TestClient(Starlette(routes=[*evaluations.routes(), *trees.routes(), *pooled.routes(service)]))
    for path, shape in {
        "evaluations": Evaluations,
        "trees": Trees,
        "pooled": Pooled,
    }.items():
        assert problems(client.get(f"/lab/{path}").json(), shape) == [], path
    asked = {"scores": [0.1, 0.7], "important": [False, True], "threshold": 0.5}
    assert problems(client.post("/lab/judged", json=asked).json(), Judged) == []
    trace = Trace(events("bush", 24)).to_bytes()
    own = pooled.pooled(service, b'{"file": "bush.jsonl", "bytes": %d}\n' % len(trace) + trace)
    assert problems(json.loads(json.dumps(own)), Pooled) == []


def test_trajectories_are_as_declared(service):
    client = TestClient(Starlette(routes=trajectories.routes(service)))
    assert problems(client.get("/lab/trajectories").json(), Trajectories) == []


def test_what_is_not_as_declared_is_found():
    node = event_json(next(event for event in events("bush", 24) if event.kind == "round"))["nodes"][0]
    assert problems(node, trace.Node) == []
    assert problems({**node, "rank": "first"}, trace.Node) == ["$.rank: 'first' is no int"]
    assert problems({**node, "colour": 1}, trace.Node) == ["$.colour is not declared"]
    del node["token"]
    assert problems(node, trace.Node) == ["$.token is missing"]
