"""When an altered response is as good as the target's own: by its answer, or by a measure with a margin."""

from dataclasses import dataclass
from typing import Literal, get_args

from engine.errors import ConfigError, unknown
from engine.tasks.problem import Measure

Name = Literal["answer", "bleu", "rouge"]
NAMES: tuple[Name, ...] = get_args(Name)
MEASURED: dict[str, Measure] = {"bleu": "translation", "rouge": "summary"}  # what each measures
MARGIN = 5.0  # points of 100


@dataclass(frozen=True, slots=True)
class Equivalence:
    """By which name, and how many points of a measure (0 to 100) may be lost; an answer has no margin."""

    name: Name = "answer"
    margin: float = 0.0

    def __str__(self) -> str:
        return self.name if self.name == "answer" else f"{self.name}:{self.margin:g}"

    @property
    def words(self) -> str:
        """What is the same, for a card."""
        if self.name == "answer":
            return "the answer is right or wrong alike, as the task compares answers"
        measure = {"bleu": "sentence BLEU", "rouge": "ROUGE-L"}[self.name]
        return f"{measure} falls by at most {self.margin:g} points of 100 below that of the target's own text"


def parse(text: str) -> Equivalence:
    """An equivalence as it is written: answer, bleu, bleu:MARGIN, rouge, rouge:MARGIN; margins in points of 100.

    Raises:
        ConfigError: another name, or a margin that is none.
    """
    name, colon, margin = text.partition(":")
    found = next((known for known in NAMES if known == name), None)
    if found is None:
        raise ConfigError(unknown("equivalence", name, NAMES))
    if found == "answer":
        if colon:
            raise ConfigError(f"answers are equal or not: write answer without a margin, not {text!r}.")
        return Equivalence()
    return Equivalence(found, _margin(margin, text) if colon else MARGIN)


def _margin(margin: str, text: str) -> float:
    try:
        points = float(margin)
    except ValueError:
        points = -1.0
    if not 0 <= points <= 100:
        raise ConfigError(f"the margin of {text!r} must be a number from 0 to 100, in points of the measure.")
    return points


def check(equivalence: Equivalence, task: str, measures: tuple[Measure, ...]) -> None:
    """See that a measure fits a task.

    Raises:
        ConfigError: it does not, with what does.
    """
    if equivalence.name == "answer" or MEASURED[equivalence.name] in measures:
        return
    fitting = ["answer", *(name for name, measure in MEASURED.items() if measure in measures)]
    raise ConfigError(
        f"{equivalence.name} measures {'translations' if equivalence.name == 'bleu' else 'summaries'}, and {task} is "
        f"none: for it there is {' or '.join(fitting)}."
    )
