"""Presets: model pairs and cases as TOML under presets/. Plain data, no torch."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from engine.config import Calibration, Sampling
from engine.errors import AssetError, ConfigError, shown, unknown
from engine.files.documents import fits, read_object, wanted
from engine.files.places import PRESETS, locate, there
from engine.forecast import MIDDLES, Forecast

Family = Literal["decoder-only", "encoder-decoder"]
View = Literal["text", "score", "trees", "shares"]  # of the page's stage
PLACE = {"lane": str, "pos": int, "piece": str}  # of a token
TRACK = re.compile(r"(?:node|reason|round)\.[a-z_0-9]{1,40}")  # of the page's score: a recorded number by its place


@dataclass(frozen=True)
class Lane:
    """One method of a case, with its knobs."""

    method: str
    knobs: Mapping[str, Any] = field(default_factory=dict)
    trajectory: int = (
        0  # from 1: the lane is this answer of several that the method draws one after another; 0: a single run
    )


@dataclass(frozen=True)
class Preset:
    """A pair of models ("kind" pair), or a case that runs on one: a prompt, methods, and the point it makes."""

    name: str
    title: str
    kind: str = "case"  # pair | case
    point: str = ""  # one sentence: what to see here
    story: str = ""
    pair: str = ""  # of a case: the preset that holds its models
    models: Mapping[str, str] = field(default_factory=dict)  # role -> folder or hub id
    assets: Mapping[str, str] = field(default_factory=dict)  # role -> folder: heads, judges, trees
    prompt: str = ""
    searched: str = (
        ""  # which problem a search for the claims stopped at; empty for the first one, or a prompt written by hand
    )
    prompts: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    sampling: Mapping[str, Any] = field(default_factory=dict)  # temperature, top_k, top_p
    seed: int = 0
    max_new_tokens: int = 128
    top_n: int = 10  # entries recorded of each distribution
    chat: bool = False
    traces: tuple[str, ...] = ()  # recorded runs, relative to presets/
    order: int = 100  # place in lists
    group: str = ""  # what a case teaches: the heading that it stands under in the gallery
    every: bool = False  # one lane for each method that the pair can run; the file names those with knobs of their own
    named: tuple[Lane, ...] = ()  # these; `lanes` are the recorded ones then
    task: str = ""  # family of the prompt, when its answer can be checked
    answer: str = ""  # the reference answer, as the task compares it
    dtype: str = "auto"  # of a pair
    calibrated: Mapping[str, Calibration] = field(default_factory=dict)  # of a pair: rule -> its defaults there
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)  # of a pair: drafter -> how often it holds
    expect: Mapping[str, Any] = field(
        default_factory=dict
    )  # what the recording must show (engine/cases/claims.py); checked by tests
    opens: Mapping[str, Any] = field(
        default_factory=dict
    )  # where the gallery opens the case: `view`, and a token's `lane`, `pos` and `piece` (engine/cases/opening.py)

    @property
    def told(self) -> str:
        """The story, and that the prompt was searched for where it was."""
        found = f"The prompt was searched for until it showed this: {self.searched}." if self.searched else ""
        return " ".join(filter(None, (self.story, found)))


def list_presets(folder: Path = PRESETS) -> list[Preset]:
    """All presets, by order and name.

    Raises:
        ConfigError: a file is no valid preset.
    """
    return sorted((read_preset(path) for path in folder.glob("*.toml")), key=lambda p: (p.order, p.name))


def get_preset(name: str, folder: Path = PRESETS) -> Preset:
    """The preset of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    path = folder / f"{name}.toml"
    if Path(str(name)).name != name or not there(path) or not path.is_file():
        raise ConfigError(unknown("preset", name, (p.stem for p in folder.glob("*.toml"))))
    return read_preset(path)


def read_preset(path: Path) -> Preset:
    """A preset file.

    Raises:
        ConfigError: damaged TOML, an unknown key, or one that is missing.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}.") from None
    known = {f.name for f in fields(Preset)} - {"named"}
    for key in raw:
        if key not in known:
            raise ConfigError(f"{path.name}: " + unknown("key", key, known))
    lanes = raw.pop("lanes", [])
    if not isinstance(lanes, list) or any(not isinstance(lane, dict) or "method" not in lane for lane in lanes):
        raise ConfigError(f"{path.name}: each of its lanes names a method.")
    given = raw.pop("calibrated", {})
    if not isinstance(given, dict):
        raise ConfigError(f"{path.name}: calibrated is a table with an entry for each rule.")
    calibrated = {rule: _calibration(one, path) for rule, one in given.items()}
    given = raw.pop("forecasts", {})
    if not isinstance(given, dict):
        raise ConfigError(f"{path.name}: forecasts is a table with an entry for each drafter.")
    forecasts = {drafter: _forecast(one, path) for drafter, one in given.items()}
    for field_ in fields(Preset):
        if field_.name in raw and not fits(raw[field_.name], field_.type):
            given = shown(raw[field_.name])
            raise ConfigError(f"{path.name}: {field_.name} must be {wanted(field_.type)}, not {given}.")
    raw |= {key: tuple(raw[key]) for key in ("prompts", "traces") if key in raw}
    preset = Preset(
        **{"name": path.stem, "title": path.stem} | raw,
        lanes=tuple(_lane(one, path) for one in lanes),
        calibrated=calibrated,
        forecasts=forecasts,
    )
    _check(preset, path)
    return _recorded(preset, path.parent) if preset.every else preset


def _recorded(preset: Preset, folder: Path) -> Preset:
    """A preset of every method, with the lanes that were recorded (`cases record`), in the order of their files."""
    own = {lane.method: lane for lane in preset.lanes}
    named = re.compile(rf"{re.escape(preset.name)}-\d+-(\w+)\.jsonl\.gz")
    found = [(file, one[1]) for file in sorted(folder.glob("traces/*")) if (one := named.fullmatch(file.name))]
    lanes = tuple(own.get(method, Lane(method)) for _, method in found)
    return replace(
        preset,
        lanes=lanes or preset.lanes,
        named=preset.lanes,
        traces=tuple(f"traces/{file.name}" for file, _ in found),
    )


def family(pair: str) -> Family | None:
    """What the target of a pair's preset is, by its configuration; None for models that no preset names, or whose files
    are not here."""
    if not _is_named(pair):
        return None
    target = get_preset(pair).models.get("target", "")
    try:
        config = read_object(Path(locate(target)) / "config.json")
    except AssetError:
        return None
    return "encoder-decoder" if config.get("is_encoder_decoder") else "decoder-only"


def calibrations(pair: str) -> Mapping[str, Calibration]:
    """The defaults that a pair's preset carries, by rule; none for models that no preset names."""
    return get_preset(pair).calibrated if _is_named(pair) else {}


def _is_named(pair: str) -> bool:
    """Whether a preset has this name, which may be any text."""
    return pair in {path.stem for path in PRESETS.glob("*.toml")}


def _calibration(given: Any, path: Path) -> Calibration:
    if not fits(given, dict[str, Any]) or set(given) != {"knobs", "command"}:
        raise ConfigError(f"{path.name}: what is calibrated for a rule has knobs, and the command that made them.")
    if not fits(given["knobs"], dict[str, str | int | float | bool]) or not fits(given["command"], str):
        raise ConfigError(f"{path.name}: calibrated knobs are numbers, texts and switches; the command is a text.")
    return Calibration(given["knobs"], given["command"])


def _forecast(given: Any, path: Path) -> Forecast:
    if not fits(given, dict[str, Any]) or set(given) - {"further"} != {"held", "command"}:
        raise ConfigError(
            f"{path.name}: a drafter's forecast has held, further where that was measured, and the command that "
            "measured it."
        )
    for name, held in given.items():
        if name == "command":
            if not fits(held, str):
                raise ConfigError(f"{path.name}: the command that measured a forecast is a text.")
        elif not fits(held, list[float]) or len(held) != len(MIDDLES) or not all(0 <= one <= 1 for one in held):
            raise ConfigError(f"{path.name}: {name} has {len(MIDDLES)} shares, one for each bin of confidence.")
    return Forecast(tuple(given["held"]), given["command"], tuple(given.get("further", ())))


def _lane(given: Mapping[str, Any], path: Path) -> Lane:
    lane = Lane(given["method"], given.get("knobs", {}), given.get("trajectory", 0))
    scalars = fits(lane.knobs, dict[str, str | int | float | bool])
    if (
        not isinstance(lane.method, str)
        or not scalars
        or not fits(lane.trajectory, int)
        or not 0 <= lane.trajectory < 1000
    ):
        raise ConfigError(
            f"{path.name}: a lane has a method, knobs of numbers, texts and switches, and a trajectory from 0."
        )
    return lane


def _check(preset: Preset, path: Path) -> None:
    """What types do not tell.

    Raises:
        ConfigError: another kind, sampling that cannot be, a number out of range, or a trace outside the folder.
    """
    if preset.kind not in ("pair", "case"):
        raise ConfigError(f"{path.name}: " + unknown("kind", preset.kind, ("pair", "case")))
    for name in preset.sampling:
        if name not in ("temperature", "top_k", "top_p"):
            raise ConfigError(f"{path.name}: " + unknown("sampling setting", name, ("temperature", "top_k", "top_p")))
    try:
        Sampling(**preset.sampling)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from None
    _check_opens(preset.opens, path)
    if not 1 <= preset.max_new_tokens <= 10**6:
        raise ConfigError(f"{path.name}: max_new_tokens must be an integer from 1 to 1000000.")
    for trace in preset.traces:
        if Path(trace).is_absolute() or ".." in Path(trace).parts or "\0" in trace:
            raise ConfigError(f"{path.name}: the trace {trace!r} must lie in the folder of presets.")


def _check_opens(opens: Mapping[str, Any], path: Path) -> None:
    for key in opens:
        if key not in ("view", "track", *PLACE):
            raise ConfigError(f"{path.name}: opens: " + unknown("key", key, ("view", "track", *PLACE)))
    if "view" in opens and opens["view"] not in get_args(View):
        raise ConfigError(f"{path.name}: opens: " + unknown("view", opens["view"], get_args(View)))
    if "track" in opens and not (isinstance(opens["track"], str) and TRACK.fullmatch(opens["track"])):
        raise ConfigError(
            f"{path.name}: opens: a track is a recorded number, as node.confidence, reason.gap or round.bin."
        )
    if "track" in opens and opens.get("view") != "score":
        raise ConfigError(f"{path.name}: opens: a track is of the score, so view must be 'score'.")
    given = {key: opens[key] for key in PLACE if key in opens}
    wrong = given and (set(given) != set(PLACE) or not all(fits(value, PLACE[key]) for key, value in given.items()))
    if wrong or given.get("pos", 0) < 0:
        raise ConfigError(
            f"{path.name}: a token that a case opens at has a lane (its method, or METHOD:2 for a second of it), a "
            "position from 0 and its text."
        )
