"""Entries of presets/papers/*.toml: every table and figure of a paper, the numbers it prints, and how it is checked."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from engine.errors import ConfigError, shown, unknown
from engine.files.documents import fits, wanted
from engine.files.places import PRESETS

FOLDER = PRESETS / "papers"
Form = Literal["bars", "lines", "points"]
Relation = Literal["above", "below", "within", "equal"]
Cell = str | float | None
T = TypeVar("T")
COLUMN, PLACE = "{x}", "{i}"  # in a quantity: a column, or its place


@dataclass(frozen=True, slots=True)
class Printed:
    """A table, or the values of a figure, as the paper prints them."""

    title: str
    y: str  # what the numbers are, with their unit
    columns: tuple[Cell, ...]  # what the numbers of a row are for
    rows: tuple[tuple[Cell, ...], ...]  # a name, then a number a column; "" where the paper has none
    x: str = ""  # what the columns are
    form: Form = "bars"
    drawn: bool = True  # False: shown as numbers only


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a result: a measure of some runs (`engine.papers.measures`), or a place in a file of results."""

    measure: str = ""
    of: str = ""  # a method as typed, with "@TAG" for a plan that has a tag
    against: str = ""  # runs on the same prompts, for differences and quotients
    task: str = ""
    path: str = ""  # such as compare.over_k[method=stand,k=8].tau


@dataclass(frozen=True, slots=True)
class Ours:
    """A table or figure of ours in the form of the paper's: rows and columns of quantities."""

    title: str
    y: str
    columns: tuple[Cell, ...]
    rows: tuple[tuple[str, str], ...]  # a name, and `of` or the path of its quantities; "{x}" is the column
    measure: str = ""
    against: str = ""
    task: str = ""  # "{x}" where the columns are tasks
    x: str = ""
    form: Form = "bars"
    at: tuple[str, str] = ("", "")  # of points: the fields of an entry that are x and y
    percent: bool = False  # shares shown as per cent
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of the paper as a relation that numbers decide: holds, fails, or stays open."""

    says: str
    q: Quantity
    relation: Relation
    value: float = 0.0
    high: float = 0.0  # of "within": from value to high
    than: Quantity | None = None  # compared with this instead of `value`
    times: float = 1.0  # and with so many times as much
    # Of numbers without an interval one of these tells when they decide; without one the statement stays open.
    margin: float = 0.0  # differences up to it leave the statement open
    scatter: float = 0.0  # and those up to this share of the larger number, as of times taken once
    exact: bool = False  # counts and other properties that would come out the same again


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs of several methods on the same prompts: the arguments of `compare`."""

    methods: tuple[str, ...]
    tasks: tuple[str, ...] = ("arithmetic",)
    items: int = 300
    tag: str = ""
    temperature: float = 0.0
    top_p: float = 1.0
    repeats: int = 1
    max_new_tokens: int = 160
    record: Literal["light", "full"] = "light"
    seed: int = 0
    writer: Literal["target", "draft"] = "target"  # draft: the draft model in the target's place, alone


@dataclass(frozen=True, slots=True)
class Live:
    """What the page may run at once: some methods on one prompt of a task, in less than a minute."""

    methods: tuple[str, ...]
    task: str = "arithmetic"
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Item:
    """A table or figure."""

    id: str
    name: str
    shows: str  # in a few words
    claim: str  # what the paper says with it, in a sentence
    setting: str = ""  # the paper's models, data and machine, where they are not those of the paper's head
    here: str = ""  # what stands for them here
    printed: tuple[Printed, ...] = ()
    stated: str = ""  # of a figure without printed numbers: what the text says of it
    ours: tuple[Ours, ...] = ()
    checks: tuple[Check, ...] = ()
    plans: tuple[Plan, ...] = ()
    source: tuple[
        str, ...
    ] = ()  # files that are already the result, relative to the repository; paths begin with a stem
    commands: tuple[str, ...] = ()  # that make `source`
    larger: str = ""  # what would have to be larger for the paper's own claim to be tested
    untestable: str = ""  # why nothing can be measured here; empty where something can
    hardware: bool = False  # untestable because it needs other hardware or a model of 70 B
    illustration: bool = False  # a scheme or example: nothing is measured in it
    pair: str = "tiny"  # the preset whose models its runs are made with
    live: Live | None = None
    cases: tuple[str, ...] = ()  # recorded cases where one sees why


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper and all its tables and figures."""

    key: str
    title: str
    method: str  # the card that implements it
    setting: str  # models, data and machine of its experiments
    items: tuple[Item, ...]
    note: str = ""

    def item(self, name: str) -> Item:
        """The item of that id, whatever the case.

        Raises:
            ConfigError: with the nearest right id.
        """
        found = {item.id.lower(): item for item in self.items}
        if name.lower() not in found:
            raise ConfigError(unknown(f"item of {self.key}", name, (item.id for item in self.items)))
        return found[name.lower()]


def papers(folder: Path = FOLDER) -> list[Paper]:
    """All papers, in the order of their files' names.

    Raises:
        ConfigError: a file is no valid entry.
    """
    return [read(path) for path in sorted(folder.glob("*.toml"))]


def paper(key: str, folder: Path = FOLDER) -> Paper:
    """One paper.

    Raises:
        ConfigError: with the nearest right name, or a file that is no valid entry.
    """
    names = sorted(path.stem for path in folder.glob("*.toml"))
    if key not in names:
        raise ConfigError(unknown("paper", key, names))
    return read(folder / f"{key}.toml")


def chosen(name: str, folder: Path = FOLDER) -> list[tuple[Paper, Item]]:
    """What "", PAPER or PAPER:ITEM names.

    Raises:
        ConfigError: an unknown paper or item.
    """
    key, colon, item = name.partition(":")
    found = [paper(key, folder)] if name else papers(folder)
    return [(one, each) for one in found for each in ([one.item(item)] if colon else one.items)]


def read(path: Path) -> Paper:
    """A file of entries, checked.

    Raises:
        ConfigError: damaged TOML, an unknown or missing key, a value of another type, or an entry that contradicts
            itself; each with its place.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}.") from None
    found: Paper = _made(Paper, {"key": path.stem, **raw}, path.name)
    ids = [item.id for item in found.items]
    if twice := next((name for name in ids if ids.count(name) > 1), ""):
        raise ConfigError(f"{path.name}: the item {twice} is there twice.")
    for item in found.items:
        _check(item, f"{path.name}, {item.id}")
    return found


def _made(kind: type[T], raw: Any, place: str) -> T:
    """A dataclass from a TOML table, its fields checked against their declared types."""
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{place}: a table is needed.")
    declared = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name in raw:
        if name not in declared:
            raise ConfigError(f"{place}: {unknown('key', name, declared)}")
    hints, values = get_type_hints(kind), dict[str, Any]()
    for name, one in declared.items():
        if name in raw:
            values[name] = _value(hints[name], raw[name], f"{place}, {name}")
        elif one.default is MISSING:
            raise ConfigError(f"{place}: {name} is missing.")
    return kind(**values)


def _value(kind: Any, value: Any, place: str) -> Any:
    inner = [part for part in (kind, *get_args(kind)) if isinstance(part, type) and part in _TABLES]
    if inner and isinstance(value, list):
        return tuple(_made(inner[0], one, f"{place} {_named(one, i)}") for i, one in enumerate(value))
    if inner:
        return _made(inner[0], value, place)
    if not _fits(value, kind):
        raise ConfigError(f"{place} must be {wanted(kind)}, not {shown(value)}.")
    return _frozen(value)


def _named(raw: Any, place: int) -> str:
    return str(raw.get("id", place + 1)) if isinstance(raw, Mapping) else str(place + 1)


def _fits(value: Any, kind: Any) -> bool:
    args = get_args(kind)
    if args and all(isinstance(arg, str) for arg in args):  # a Literal
        return value in args
    if isinstance(value, list) and args:
        each = [arg for arg in args if arg is not Ellipsis]
        if len(each) > 1 and Ellipsis not in args:
            return len(each) == len(value) and all(_fits(v, k) for v, k in zip(value, each, strict=True))
        return all(_fits(one, each[0]) for one in value)
    return fits(value, kind)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


_TABLES = (Item, Printed, Ours, Check, Quantity, Plan, Live)


def _check(item: Item, place: str) -> None:
    """What types do not tell.

    Raises:
        ConfigError: a row of another length than its columns, nothing that can be measured and no reason why, checks
            without runs, or a method that no plan runs.
    """
    for table in item.printed:
        for row in table.rows:
            if len(row) != len(table.columns) + 1 or not isinstance(row[0], str):
                raise ConfigError(
                    f"{place}: the row {row[0]!r} of {table.title!r} must have {len(table.columns)} numbers."
                )
            if bad := next((cell for cell in row[1:] if isinstance(cell, str) and cell), None):
                raise ConfigError(f"{place}: {bad!r} in the row {row[0]!r} of {table.title!r} is no number.")
    told = [bool(item.untestable), item.illustration, bool(item.plans), bool(item.source)]
    if sum(told) != 1:
        raise ConfigError(
            f"{place}: exactly one of plans, source, untestable and illustration says what becomes of it."
        )
    if bool(item.checks) != bool(item.plans or item.source):
        raise ConfigError(f"{place}: checks and what they are decided by (plans or source) go together.")
    known = labels(item)
    for quantity in quantities(item):
        if item.source and not quantity.path:
            raise ConfigError(f"{place}: with a source each quantity needs a path.")
        for name in (quantity.of, quantity.against):
            if item.plans and name and name not in known:
                raise ConfigError(f"{place}: {unknown('method of its plans', name, known)}")


def labels(item: Item) -> list[str]:
    """The runs of an item's plans by name: the method as typed, with "@TAG" where the plan has one."""
    return [label(plan, method) for plan in item.plans for method in plan.methods]


def label(plan: Plan, method: str) -> str:
    """What the runs of a plan's method are called."""
    return method + (f"@{plan.tag}" if plan.tag else "")


def quantities(item: Item) -> Iterable[Quantity]:
    """Every quantity that an item's checks and tables are made of."""
    for check in item.checks:
        yield check.q
        if check.than:
            yield check.than
    for table in item.ours:
        for _, of in table.rows:
            yield from (quantity(table, of, place) for place in range(len(table.columns)))


def quantity(table: Ours, of: str, place: int) -> Quantity:
    """The quantity of a row (its `of`) in a column of a table of ours."""
    column = table.columns[place]
    x = f"{column:g}" if isinstance(column, float | int) else str(column)

    def told(text: str) -> str:
        return text.replace(COLUMN, x).replace(PLACE, str(place))

    if table.measure:
        return Quantity(told(table.measure), told(of), told(table.against), told(table.task))
    return Quantity(path=told(of))
