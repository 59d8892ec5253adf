"""python -m app.typings write | check: the page's type declarations, made from the dataclasses that its data come from.

A field's comment and a class's docstring go along. `tsc` then checks the page against what the engine really sends.
"""

import inspect
import sys
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Union, get_args, get_origin

from app.wire import (
    catalogue,
    figures,
    judges,
    learn,
    mining,
    opening,
    papers,
    pooled,
    requests,
    runs,
    trajectories,
    trees,
)
from app.wire.shape import Shape
from engine.analysis.compared import Compared, Parting
from engine.analysis.divergence import Divergence
from engine.analysis.idle import Idle
from engine.analysis.intervals import Interval, Spread
from engine.analysis.names import Told
from engine.analysis.proof import Proof
from engine.analysis.repeats import Repeated
from engine.analysis.verdict import Verdict
from engine.config import Card, Knob
from engine.judge import events as labels
from engine.runs import findings
from engine.tasks import Checked
from engine.trace import events as trace
from engine.trace import records
from engine.trace.schema import comments

FOLDER = Path(__file__).parent / "static" / "types"
HEAD = "// Written by `python -m app.typings write` from {sources}; do not edit.\n"
JSON = """/** Any JSON value: what the engine leaves free. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}
"""
PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", Any: "Json", type(None): "null"}
NAMED = {("Node", "state"): "NodeState", ("Token", "origin"): "Origin"}  # texts of which `trace` lists the values


def main(argv: Sequence[str] | None = None) -> int:
    """Write the declarations, or say which are not current."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given == ["write"]:
        FOLDER.mkdir(exist_ok=True)
        for name, text in declarations().items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return 0
    if given == ["check"]:
        old = stale()
        say(f"not current, run `python -m app.typings write`: {', '.join(old)}" if old else "current")
        return 1 if old else 0
    say(str(__doc__))
    return 2


def say(text: str) -> None:
    """One line for the person at the terminal."""
    sys.stdout.write(f"{text}\n")


def stale(folder: Path = FOLDER) -> list[str]:
    """Names of files that differ from what would be written."""
    return [
        name
        for name, text in declarations().items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def declarations() -> dict[str, str]:
    """The text of each file."""
    return {
        "trace.d.ts": _file("engine/trace/events.py", [JSON, *_trace()]),
        "card.d.ts": _file(
            "engine/config.py",
            [
                'import type { Threshold } from "./threshold.js";\n',
                "export type KnobValue = boolean | number | string;\n",
                interface(Knob),
                interface(Card),
            ],
        ),
        "analysis.d.ts": _file("engine/analysis", [interface(kind) for kind in ANALYSIS]),
        "wire.d.ts": _file(
            "app/wire",
            [
                IMPORTS,
                *_declared(requests, catalogue, runs, mining, opening, learn),
                *map(interface, (findings.Finding, findings.Side, findings.Offered, findings.Preflight)),
            ],
        ),
        "measured.d.ts": _file(
            "app/wire", [MEASURED, *_declared(figures, judges, pooled, trajectories, trees, papers)]
        ),
        "mining.d.ts": _file(
            "engine/judge/events.py",
            [
                'import type { JsonObject } from "./trace.js";\n',
                interface(labels.Label, late=defaulted(labels.Label)),
                *(interface(kind, late=defaulted(kind)) for kind in get_args(labels.MiningEvent)),
                alias("MiningEvent", (kind.__name__ for kind in get_args(labels.MiningEvent))),
            ],
        ),
    }


TOP_N = """/** [token id, probability], most probable first. */
export type TopN = readonly (readonly [number, number])[];
"""
ANALYSIS = (Spread, Verdict, Repeated, Proof, Divergence, Parting, Idle, Compared, Told, Interval)
IMPORTS = """import type { Compared, Repeated, Told } from "./analysis.js";
import type { Card, Knob, KnobValue } from "./card.js";
import type { Event, HeadExtras } from "./trace.js";
"""
MEASURED = """import type { Interval } from "./analysis.js";
import type { KnobValue } from "./card.js";
import type { JsonObject } from "./trace.js";
import type { LaneRequest } from "./wire.js";
"""


def _file(sources: str, parts: Sequence[str]) -> str:
    return "\n".join([HEAD.format(sources=sources), *parts])


def _trace() -> Iterator[str]:
    for name, values in (("NodeState", trace.NODE_STATES), ("Origin", trace.ORIGINS)):
        yield alias(name, quoted(values))
    yield TOP_N
    yield from map(interface, (records.Reason, records.Source, records.Pruned, records.RoundExtras))
    yield from map(interface, (records.CostsRecord, records.HeadExtras))
    why = ("/** The sentence that the server adds. */", "readonly why?: string;")
    yield from (interface(record, sparse=True, more=why) for record in (trace.Node, trace.Token, trace.Cell))
    yield interface(Checked)
    checked = ("/** Its answer against the reference, which the server adds where the run's head has one. */",)
    for event in get_args(trace.Event):
        more = (*checked, "readonly checked?: Checked;") if event is trace.RunEnded else ()
        yield interface(event, sparse=True, more=more)
    yield alias("Event", (kind.__name__ for kind in get_args(trace.Event)))


def _declared(*modules: types.ModuleType) -> Iterator[str]:
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield interface(value)


def interface(kind: type[Any], sparse: bool = False, late: Collection[str] = (), more: Sequence[str] = ()) -> str:
    """The declaration of a dataclass or TypedDict.

    In a `sparse` record what is None is left out, as in a trace; fields that came `late` may be missing in mined files.
    """
    base = next((parent for parent in kind.__bases__ if is_dataclass(parent)), None)
    inherited = {field.name for field in fields(base)} if base else set()
    own = set(inspect.get_annotations(kind))
    notes = {name: note.replace("*/", "") for name, note in comments(kind).items()}
    body: list[str] = []
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if name in inherited - own:
            continue
        if name in notes:
            body.append(f"/** {notes[name]} */")
        body.append(_member(kind, name, hint, sparse, name in late))
    doc = " ".join((inspect.getdoc(kind) or "").split())
    lines = "".join(f"  {line}\n" for line in [*body, *more])
    return f"/** {doc} */\nexport interface {kind.__name__}{_parent(base, inherited & own)} {{\n{lines}}}\n"


def _parent(base: type[Any] | None, anew: set[str]) -> str:
    """What a dataclass extends, without the fields that it declares anew."""
    if base is None:
        return ""
    return f" extends Omit<{base.__name__}, {union(quoted(sorted(anew)))}>" if anew else f" extends {base.__name__}"


def defaulted(kind: type[Any]) -> set[str]:
    """Fields of a dataclass that have a default."""
    return {field.name for field in fields(kind) if (field.default, field.default_factory) != (MISSING, MISSING)}


def _member(kind: type[Any], name: str, hint: Any, sparse: bool, late: bool) -> str:
    if get_origin(hint) is ClassVar:
        return f'readonly {name}: "{getattr(kind, name)}";'
    if (kind.__name__, name) in NAMED:
        return f"readonly {name}: {NAMED[kind.__name__, name]};"
    optional = late
    if get_origin(hint) is NotRequired:
        (hint,) = get_args(hint)
        optional = True
    if not is_dataclass(kind):
        optional |= name not in getattr(kind, "__required_keys__", ())
    if sparse and type(None) in get_args(hint):
        hint = Union[tuple(part for part in get_args(hint) if part is not type(None))]  # noqa: UP007
        optional = True
    line = f"readonly {name}{'?' if optional else ''}: {typed(hint)};"
    if get_origin(hint) is Literal and len(line) > 118:  # broken as the formatter breaks it
        return line[: line.index(":") + 1] + "".join(f"\n    | {part}" for part in quoted(get_args(hint))) + ";"
    return line


def typed(hint: Any) -> str:
    """A Python type as TypeScript.

    Raises:
        TypeError: a type that nothing is known of.
    """
    if hint == trace.TopN:
        return "TopN"
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return typed(next((note.kind for note in hint.__metadata__ if isinstance(note, Shape)), inner[0]))
    if origin in (Union, types.UnionType):
        if set(inner) == {bool, int, float, str}:
            return "KnobValue"
        if hint == trace.Event:
            return "Event"
        return union(dict.fromkeys(typed(part) for part in inner))
    if origin is Literal:
        return union(quoted(inner))
    if origin is tuple and inner[-1] is not ...:
        return f"readonly [{', '.join(map(typed, inner))}]"
    if origin in (list, tuple):
        item = typed(inner[0])
        return f"readonly ({item})[]" if "|" in item or item.startswith("readonly") else f"readonly {item}[]"
    if origin in (dict, Mapping):
        return "JsonObject" if inner[1] is Any else f"Readonly<Record<string, {typed(inner[1])}>>"
    if isinstance(hint, type):
        return hint.__name__
    raise TypeError(f"no TypeScript for {hint!r}")


def alias(name: str, parts: typing.Iterable[str]) -> str:
    """A type of alternatives under a name, broken as the formatter breaks it."""
    found = list(parts)
    line = f"export type {name} = {union(found)};\n"
    if len(line) <= 121:
        return line
    return f"export type {name} =" + "".join(f"\n  | {part}" for part in found) + ";\n"


def union(parts: typing.Iterable[str]) -> str:
    """Alternatives."""
    return " | ".join(parts)


def quoted(values: typing.Iterable[str]) -> Iterator[str]:
    """Texts as literals."""
    return (f'"{value}"' for value in values)


if __name__ == "__main__":
    raise SystemExit(main())
