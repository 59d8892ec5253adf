"""The words in which a rule declares its condition. Plain frozen data that turns into JSON; evaluate.py gives it a
meaning.

app/static/rules.js reads the same JSON. The two evaluators are held together by tests/vectors.
"""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from engine.errors import ConfigError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Sign = Literal["<", "<=", ">", ">="]
Effect = Literal["veto", "override", "decide"]
Bars = Literal["proposed", "first"]
OPS = ("add", "sub", "mul", "min", "max", "exp", "known", "given")
OVERLAP_N = 5  # the n of overlap@n where a declaration compares none
T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """The value of a knob of the run."""

    name: str

    def to_json(self) -> Json:
        """Tagged by `knob`."""
        return {"knob": self.name}


@dataclass(frozen=True)
class Switch(Generic[T]):
    """One of several parts, chosen by the value of a knob; `otherwise` where no case has it (or the run lacks the
    knob)."""

    knob: str
    cases: tuple[tuple[bool | int | float | str, T], ...]
    otherwise: T

    def to_json(self) -> Json:
        """Tagged by `switch`; the cases are pairs, since a value need not be a string."""
        cases: list[Json] = [[case, plain(part)] for case, part in self.cases]
        return {"switch": self.knob, "cases": cases, "otherwise": plain(self.otherwise)}


@dataclass(frozen=True)
class Recorded:
    """A number of the tested node: what its reason says under this name, else the node's own field.

    `field` is that field's name, the same as `name` if not given; empty where the node has none of this meaning.
    `at` is what the number was taken at, such as the n of overlap@n.
    """

    name: str
    field: "str | Switch[str] | None" = None
    at: "Expression | None" = None

    def to_json(self) -> Json:
        """Tagged by `number`."""
        field = self.name if self.field is None else self.field
        return {"number": self.name, "field": plain(field), "at": plain(self.at)}


@dataclass(frozen=True)
class Op:
    """A number from others. `known` is the first that there is; `given` the first, unless it is negative: then the
    second."""

    op: Literal["add", "sub", "mul", "min", "max", "exp", "known", "given"]
    of: "tuple[Expression, ...]"

    def __post_init__(self) -> None:
        if self.op not in OPS or len(self.of) != {"exp": 1}.get(self.op, 2):
            raise ConfigError(f"{self.op!r} of {len(self.of)} numbers is no expression; known are {', '.join(OPS)}.")

    def to_json(self) -> Json:
        """Tagged by `op`."""
        return {"op": self.op, "of": [plain(part) for part in self.of]}


Expression = float | int | Setting | Recorded | Op | Switch["Expression"]


@dataclass(frozen=True)
class Compare:
    """left sign right; `tolerance` widens <= and >= for quotients (4 / 5 must reach 0.8)."""

    left: Expression
    sign: Sign
    right: Expression
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.sign not in ("<", "<=", ">", ">=") or (self.tolerance and "=" not in self.sign):
            raise ConfigError(f"a comparison is <, <=, > or >=, the latter with a tolerance >= 0, not {self.sign!r}")

    def to_json(self) -> Json:
        """Tagged by `compare`."""
        sides: dict[str, Json] = {"left": plain(self.left), "right": plain(self.right)}
        return {"compare": self.sign, **sides, "tolerance": self.tolerance}


@dataclass(frozen=True)
class Absent:
    """The decision looked for this and recorded that there is none."""

    of: Recorded

    def to_json(self) -> Json:
        """Tagged by `absent`."""
        return {"absent": self.of.to_json()}


@dataclass(frozen=True)
class All:
    """Every part holds; without parts it always holds."""

    parts: "tuple[Condition, ...]" = ()

    def to_json(self) -> Json:
        """Tagged by `all`."""
        return {"all": [plain(part) for part in self.parts]}


@dataclass(frozen=True)
class Any:
    """At least one part holds; without parts it never holds."""

    parts: "tuple[Condition, ...]" = ()

    def to_json(self) -> Json:
        """Tagged by `any`."""
        return {"any": [plain(part) for part in self.parts]}


Condition = Compare | Absent | All | Any | Switch["Condition"]


@dataclass(frozen=True)
class Threshold:
    """A rule's condition and what follows where it holds.

    `effect`: "veto" bars a token before the exact rule is asked, "override" accepts one that the exact rule rejects,
    "decide" alone keeps or rejects. `exact` tells, for "decide", an exact match from a relaxed one (without it all are
    exact). `bars` is the token that a veto removes: the proposed one, or the draft's first choice.
    """

    effect: Effect
    condition: Condition
    says: str  # what follows where, for a reader; knobs by name
    exact: Condition = All()
    bars: Bars | Switch[Bars] = "proposed"
    sampled_only: bool = False  # at temperature 0 the exact rule decides
    longest: bool = False  # of the branches that hold the longest is taken, so untested ones count as well
    limits: tuple[
        tuple[str, str], ...
    ] = ()  # a recorded number, and what the reason calls the limit it was compared with

    def to_json(self) -> dict[str, Json]:
        """JSON types only."""
        return {
            "effect": self.effect,
            "condition": plain(self.condition),
            "says": self.says,
            "exact": plain(self.exact),
            "bars": plain(self.bars),
            "sampled_only": self.sampled_only,
            "longest": self.longest,
            "limits": [list(pair) for pair in self.limits],
        }


def plain(part: object) -> Json:
    """A part of a declaration as JSON types.

    Raises:
        ConfigError: it is none.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, Setting | Switch | Recorded | Op | Compare | Absent | All | Any):
        return part.to_json()
    raise ConfigError(f"{part!r} is no part of a threshold's declaration")
