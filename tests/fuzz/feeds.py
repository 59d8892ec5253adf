"""What is fed: for each kind, a sound input, how to damage it, and the program's own reader with everything behind it."""

import gzip
import json
import random
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from app import mining, miningjob, pooled, recorded, trajectories
from app import request as requests
from app.export import assemble
from app.presets import PresetCatalogue
from app.service import Service
from app.several import parse
from app.state import Limits
from app.trees import described
from app.validate import parsed
from engine.analysis.explain import why
from engine.analysis.identities import identities
from engine.analysis.pool import pool
from engine.analysis.reading import read_runs
from engine.analysis.replay import replay, what_if
from engine.analysis.tables import nodes_df, rounds_df, tokens_df
from engine.analysis.verdict import verdict
from engine.errors import ConfigError
from engine.files.places import PRESETS, ROOT
from engine.files.presets import read_preset
from engine.judge.store import labels_of, read_mined
from engine.lab import Lab
from engine.methods import CARDS
from engine.rules import THRESHOLDS
from engine.threshold import settings
from engine.trace.store import Trace
from engine.trees.template import load_template
from tests.fuzz import mutate

LIMITS = Limits()
TINY = ROOT / "assets" / "tiny"
SMALL = 40_000  # bytes of a recorded trace, packed, that is fed
Feed = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """`damaged(rng)` makes an input, `read(input)` gives it to the program: a LabError is a refusal, a value was accepted."""

    name: str
    damaged: Feed
    read: Callable[[Any], None]
    share: int  # of 100 inputs


def kinds() -> list[Kind]:
    """All of them."""
    heads = [Kind(role, partial(_folder, role), partial(_run_head, role), 4) for role in ROLES]
    return [
        Kind("trace", _trace, _read_trace, 40),
        Kind("what_if", _moves, _read_moves, 4),
        *heads,
        Kind("tree", _tree, _read_tree, 4),
        Kind("mined", _mined, _read_mined, 5),
        Kind("preset", _preset, _read_preset, 5),
        Kind("request", _request, _read_request, 5),
        Kind("knobs", _knobs, _run_knobs, 4),
        Kind("pooled", _pooled, _read_pooled, 2),
        Kind("mining", _mining, _read_mining, 2),
        Kind("trajectories", _trajectories, _read_trajectories, 1),
    ]


# traces


@cache
def _traces() -> list[list[Any]]:
    packed = sorted((PRESETS / "traces").glob("*.jsonl.gz"))
    small = [gzip.decompress(path.read_bytes()) for path in packed if path.stat().st_size < SMALL]
    return [[json.loads(line) for line in data.splitlines()] for data in small]


def _short(sound: list[Any], rng: random.Random) -> list[Any]:
    """The head, some first rounds, and mostly the end: of a run that was cut its rounds still fit."""
    rounds = rng.choice((1, 3, 8, len(sound)))
    return sound if rounds >= len(sound) - 2 else sound[: 1 + rounds]


def _trace(rng: random.Random) -> bytes:
    sound = rng.choice(_traces())
    if rng.random() < 0.05:
        light = [{k: v for k, v in line.items() if k not in ("nodes", "pruned", "pieces", "tcr")} for line in sound]
        return mutate.lines(light, rng)
    data = mutate.lines(_short(sound, rng), rng)
    return mutate.raw(gzip.compress(data, 1), rng) if rng.random() < 0.03 else data


def _read_trace(data: bytes) -> None:
    """As an upload, then all that the page, the tables, the pool, the replay and an exported page make of it."""
    traces = read_runs(data, max_runs=LIMITS.max_lanes)
    for trace in traces:
        broken = identities(trace)
        assert not broken, broken[:2]
    json.dumps(recorded.lanes(traces, CARDS, why), allow_nan=False).encode()
    for table in (tokens_df, nodes_df, rounds_df):
        table(traces).to_json(orient="records")
    for trace in traces:
        verdict(trace)
        _allowed(partial(replay, trace, THRESHOLDS.get(trace.head.rule)))
        assert Trace.loads(trace.to_bytes()).to_bytes() == trace.to_bytes()
    _allowed(lambda: json.dumps(pool(traces), allow_nan=False))
    if len(data) % 16 == 0:
        assemble({"opened": json.dumps(recorded.body(traces, CARDS, why))}, traces[0].head.prompt)


def _allowed(work: Callable[[], Any]) -> None:
    """Work that may say that this cannot be done with such a run."""
    try:
        work()
    except ConfigError:
        return


@cache
def _thresholds() -> list[tuple[list[Any], tuple[str, ...]]]:
    """The recorded runs whose rule declares a threshold, with the knobs that may be moved."""
    found = []
    for lines in _traces():
        threshold = THRESHOLDS.get(lines[0]["rule"])
        names = [name for name in (settings(threshold) if threshold else ()) if name in lines[0]["knobs"]]
        if names:
            found.append((lines, tuple(names)))
    return found


def _moves(rng: random.Random) -> tuple[bytes, Any]:
    """A run, sometimes a damaged one, and knobs moved to where they may be or not."""
    lines, names = rng.choice(_thresholds())
    moves: Any = {name: rng.choice((0.0, 0.1, 0.5, 1.0, 3, -1.0, rng.uniform(0, 4))) for name in names}
    moves = mutate.value(moves, rng) if rng.random() < 0.6 else moves
    sound = b"".join(json.dumps(line).encode() + b"\n" for line in _short(lines, rng))
    return (mutate.lines(_short(lines, rng), rng) if rng.random() < 0.4 else sound), moves


def _read_moves(given: tuple[bytes, Any]) -> None:
    data, moves = given
    if not isinstance(moves, dict):
        raise ConfigError("Moved knobs are an object.")
    for trace in read_runs(data, max_runs=LIMITS.max_lanes):
        found = what_if(trace, THRESHOLDS.get(trace.head.rule), **moves)
        json.dumps(asdict(found), allow_nan=False).encode("utf-8", "replace")
        assert found.changed == (found.pos is not None) and found.decisions >= 0


# heads, judges, automata, strata

ROLES = {
    "eagle2": ("eagle2", "config.json training.json model.safetensors"),
    "eagle3": ("eagle3", "config.json training.json model.safetensors"),
    "medusa": ("medusa", "config.json training.json model.safetensors"),
    "hydra": ("hydra", "config.json training.json model.safetensors"),
    "judge": ("judge-arithmetic", "judge.json judge.safetensors"),
    "automaton": ("automaton", "card.json automaton.safetensors"),
    "strata": ("strata", "strata.json"),
}
METHODS = {"judge": "autojudge", "automaton": "sam", "strata": "heterospec"}
PROMPT = "Question: Emma starts with 66 coins. She gives 9"


@cache
def _lab() -> Lab:
    return Lab.load("tiny")


@cache
def _place() -> Path:
    return Path(tempfile.mkdtemp(prefix="draftscope-fuzz-"))


def clean() -> None:
    """Remove what was written."""
    if _place.cache_info().currsize:
        shutil.rmtree(_place(), ignore_errors=True)


def _folder(role: str, rng: random.Random) -> Path:
    """The role's folder with one file damaged."""
    source, files = TINY / ROLES[role][0], ROLES[role][1].split()
    goal = _place() / role
    shutil.rmtree(goal, ignore_errors=True)
    goal.mkdir()
    hurt = rng.choice(files)
    for name in files:
        if name != hurt:
            (goal / name).symlink_to(source / name)
    data = (source / hurt).read_bytes()
    made = mutate.tensors(data, rng) if hurt.endswith(".safetensors") else mutate.text(json.loads(data), rng)
    (goal / hurt).write_bytes(made)
    return goal


def _run_head(role: str, place: Path) -> None:
    """Load the asset as a run does, and decode with it."""
    whole = _lab()
    paths = {"eagle3": str(TINY / "eagle3")} if role == "strata" else {}
    lab = Lab(whole.target, whole.models, paths | {role: str(place)}, None)
    method = METHODS.get(role, role)
    trace = lab.run(method, PROMPT, max_new_tokens=6)
    assert trace.end is not None and identities(trace) == []


# trees, mined sets, presets


@cache
def _tree_files() -> list[Any]:
    return [json.loads(path.read_bytes()) for path in sorted((ROOT / "assets" / "trees").glob("*.json"))]


def _tree(rng: random.Random) -> bytes:
    return mutate.text(rng.choice(_tree_files()), rng)


def _written(data: bytes, name: str) -> Path:
    path = _place() / name
    path.write_bytes(data)
    return path


def _read_tree(data: bytes) -> None:
    tree = load_template(_written(data, "tree.json"))
    json.dumps(described(tree), ensure_ascii=False, allow_nan=False).encode()
    assert len(tree.cut(20, 4)) <= 20 and len(tree.compact()) == len(tree) == len(tree.paths)


@cache
def _mined_files() -> list[list[Any]]:
    files = sorted((PRESETS / "mined").glob("*.jsonl"))
    return [[json.loads(line) for line in path.read_text("utf-8").splitlines()][:4] for path in files]


def _mined(rng: random.Random) -> bytes:
    return mutate.lines(rng.choice(_mined_files()), rng)


def _read_mined(data: bytes) -> None:
    path = _written(data, "mined.jsonl")
    _head, prompts = read_mined(path)
    labels_of(prompts)
    json.dumps(mining._about(path)).encode()


@cache
def _preset_files() -> list[dict[str, Any]]:
    return [tomllib.loads(path.read_text("utf-8")) for path in sorted(PRESETS.glob("*.toml"))]


def _preset(rng: random.Random) -> bytes:
    data = _toml(mutate.value(rng.choice(_preset_files()), rng)).encode("utf-8", "replace")
    return mutate.raw(data, rng) if rng.random() < 0.2 else data


def _toml(given: Any) -> str:
    if not isinstance(given, dict):
        return str(given)
    return "".join(f"{key} = {_toml_value(item)}\n" for key, item in given.items())


def _toml_value(item: Any) -> str:
    if isinstance(item, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(one)}" for key, one in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(_toml_value, item)) + "]"
    if isinstance(item, float):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(str(item), repr(item))
    return '""' if item is None else json.dumps(item)


def _read_preset(data: bytes) -> None:
    preset = read_preset(_written(data, "preset.toml"))
    preset_catalogue = PresetCatalogue([preset, read_preset(PRESETS / "first_look.toml")], CARDS, why, LIMITS)
    json.dumps(preset_catalogue.listing(), allow_nan=False).encode()


# requests and knobs


@cache
def _service() -> Service:
    return Service(CARDS, {"tiny": _lab}, why, LIMITS)  # type: ignore[dict-item]


SETTINGS = {"max_new_tokens": 16, "temperature": 0.7, "top_p": 0.9, "top_k": 5, "seed": 3, "chat": False}
REQUEST = {
    "models": "tiny",
    "prompt": PROMPT,
    "lanes": ["ar", {"method": "sd", "knobs": {"gamma": 4}}, {"method": "easd", "knobs": {"tau_entropy": 1.0}}],
    "id": "0123456789abcdef" * 2,
    "stop": ["\n"],
    **SETTINGS,
}


def _request(rng: random.Random) -> str:
    return mutate.text(REQUEST, rng).decode("utf-8", "replace")


def _read_request(text: str) -> None:
    found = requests.parse(text, CARDS, ["tiny"], LIMITS)
    for lane in found.lanes:
        json.dumps(found.arguments(lane), allow_nan=False)


def _knobs(rng: random.Random) -> tuple[str, dict[str, Any]]:
    card = rng.choice([card for card in CARDS if card.knobs])
    sound: dict[str, Any] = {knob.name: knob.default for knob in card.knobs}
    if rng.random() < 0.5:
        return card.name, mutate.value(sound, rng)
    for knob in rng.sample(card.knobs, rng.randint(1, len(card.knobs))):
        sound[knob.name] = rng.choice((knob.low, knob.high, *knob.choices, True, False, knob.default))
    return card.name, {name: value for name, value in sound.items() if value is not None}


def _run_knobs(given: tuple[str, Any]) -> None:
    name, knobs = given
    lane = requests.lanes([{"method": name, "knobs": knobs}], CARDS, LIMITS)[0]
    trace = _lab().run(name, PROMPT, max_new_tokens=4, temperature=0.5, **lane.knobs)
    assert identities(trace) == []


def _pooled(rng: random.Random) -> bytes:
    files = [_trace(rng), b"".join(json.dumps(line).encode() + b"\n" for line in rng.choice(_traces()))]
    heads = [{"file": f"{i}.jsonl", "bytes": len(data)} for i, data in enumerate(files)]
    if rng.random() < 0.5:
        heads = [mutate.value(head, rng) for head in heads]
    return b"".join(json.dumps(head).encode() + b"\n" + data for head, data in zip(heads, files, strict=True))


def _read_pooled(body: bytes) -> None:
    json.dumps(pooled.pooled(_service(), body), allow_nan=False).encode()


def _mining(rng: random.Random) -> bytes:
    job = {"key": "0" * 32, "models": "tiny", "task": "arithmetic", "source": "heldout", "n": 2, "naive": False}
    return mutate.text(job | {"prompt": PROMPT}, rng)


def _read_mining(body: bytes) -> None:
    miningjob.problems(miningjob.parse(_service(), parsed(body)))


def _trajectories(rng: random.Random) -> Any:
    return mutate.value({**REQUEST, "n": 2}, rng)


def _read_trajectories(given: Any) -> None:
    if not isinstance(given, dict):
        raise ConfigError("The request must be a JSON object.")
    parse(trajectories.AskedTrajectories, _service(), given)
