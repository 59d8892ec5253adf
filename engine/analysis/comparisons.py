"""What a rule's declaration says of one node, in words: every comparison in force, with its numbers and the side it
fell on. Knows the numbers that a trace holds, and no rule."""

import re
from collections.abc import Callable, Iterator

from engine.analysis.scene import Scene
from engine.analysis.words import MARKS, number, setting
from engine.threshold import OVERLAP_N, Absent, Compare, Term, calculated_from, in_force, taken_at, term

Clause = tuple[str, str]  # what is spoken of, empty where the words name it themselves; and what is said of it
SIDES = {
    ">": ("above", "not above"),
    ">=": ("at least", "below"),
    "<": ("below", "not below"),
    "<=": ("at most", "above"),
}
NAMES = {
    "h": ("entropy", " nats"),
    "h_draft": ("the draft's entropy", " nats"),
    "h_target": ("the target's entropy", " nats"),
    "overlap": ("the share of common first choices", ""),
    "p": ("the target's probability", ""),
    "q": ("the draft's probability", ""),
    "rank": ("the rank with the target", ""),
    "gap": ("the gap to the target's first choice", " nats"),
    "confidence": ("confidence", ""),
    "score": ("the judge's importance", ""),
    "reward": ("the step's reward", ""),
}


def comparisons(scene: Scene) -> str:
    """The comparisons of the rule's condition with this node's numbers; empty where none is declared or known."""
    clauses = list(_clauses(scene))
    said = ""
    for i, (about, words) in enumerate(clauses):
        whole = words if i and about and about == clauses[i - 1][0] else f"{about} {words}".lstrip()
        said += (_and(said) if i else "") + whole
    return said


def _and(said: str) -> str:
    """A comma before the word where the part before has one; brackets and pieces aside."""
    return ", and " if "," in re.sub(r"\(.*?\)|`.*?`", "", said) else " and "


def _clauses(scene: Scene) -> Iterator[Clause]:
    if scene.threshold is None:
        return
    known: list[tuple[Compare, Term]] = []
    for part in in_force(scene.threshold.condition, scene.head.knobs):
        if isinstance(part, Absent):
            if part.of.name in scene.numbers:
                yield _found(scene, part.of.name)
            continue
        found = term(part, scene.head.knobs, scene.numbers)
        if found.holds is not None:
            known.append((part, found))
    both = _both_entropies([found for _, found in known])
    if both:
        yield both
    for part, found in known:
        if not both or found.name not in ("h_draft", "h_target"):
            yield WORDS.get(found.name, _plain)(scene, part, found)


def _both_entropies(known: list[Term]) -> Clause | None:
    """Both entropies in one clause, where they lie on the same side of the same limit."""
    seen = {one.name: one for one in known if one.name in ("h_draft", "h_target") and one.value is not None}
    if len(seen) < 2 or sum(one.name in seen for one in known) > 2:
        return None
    draft, target = seen["h_draft"], seen["h_target"]
    if (draft.sign, draft.limit, draft.holds) != (target.sign, target.limit, target.holds):
        return None
    values = f"({number(draft.value, draft.limit)}, {number(target.value, target.limit)} nats)"
    if draft.sign == ">" and draft.holds:
        return "", f"both entropies {values} exceed {setting(draft.limit)}"
    return "", f"both entropies {values} are {_side(draft)} {setting(draft.limit)}"


def _side(found: Term) -> str:
    return SIDES[found.sign][0 if found.holds else 1]


def _limit(scene: Scene, part: Compare, found: Term) -> str:
    """The limit as it was set, or as it was calculated and from which numbers of the node."""
    made = [name for name in calculated_from(part.right, scene.head.knobs) if scene.numbers.get(name) is not None]
    if not made:
        return setting(found.limit)
    given = (f"{_name(name)} {number(_float(scene.numbers[name]))}{_unit(name)}" for name in made)
    return f"{number(found.limit, found.value)}, at {' and '.join(given)}"


def _name(name: str) -> str:
    return NAMES[name][0] if name in NAMES else name or "the calculated number"


def _unit(name: str) -> str:
    return NAMES[name][1] if name in NAMES else ""


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _plain(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.value is None:
        return "", f"{_name(found.name)} is not known"
    value = f"({number(found.value, found.limit)}{_unit(found.name)})"
    return f"{_name(found.name)} {value}", f"is {_side(found)} {_limit(scene, part, found)}"


def _entropy(scene: Scene, part: Compare, found: Term) -> Clause:
    about, words = _plain(scene, part, found)
    return about, words.replace("is above", "exceeds", 1) if found.sign == ">" else words


def _overlap(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.sign not in (">", ">=") or found.value is None:
        return _plain(scene, part, found)
    n = taken_at(scene.threshold, "overlap", scene.head.knobs, usual=OVERLAP_N)
    return "", f"{'' if found.holds else 'only '}{round(found.value * n)} of the top {n} agree"


def _rank(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.sign != "<=" or found.value is None or found.limit is None:
        return _plain(scene, part, found)
    side = "within" if found.holds else "outside"
    return scene.piece, f"ranks {found.value:.0f} with the target, {side} the top {found.limit:.0f}"


def _gap(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.sign not in ("<", "<=") or found.value is None:
        return _plain(scene, part, found)
    side = "within" if found.holds else "above"
    return (
        scene.piece,
        f"is {number(found.value, found.limit)} nats behind, {side} {_limit(scene, part, found)}",
    )


def _share(giver: str) -> Callable[[Scene, Compare, Term], Clause]:
    def words(scene: Scene, part: Compare, found: Term) -> Clause:
        if found.value is None:
            return _plain(scene, part, found)
        given = f"{giver} gives {scene.piece} {number(found.value, found.limit)}"
        return "", f"{given}, {_side(found)} the threshold {_limit(scene, part, found)}"

    return words


def _score(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.value is None and not scene.reason.get("edge", True):
        return "", "the judge is not asked: the text is longer than the draft model, which it reads, can read"
    if found.value is None:
        return "", "the judge is not asked about the last draft token of a window"
    given = f"the judge gives importance {number(found.value, found.limit)}"
    return "", f"{given}, {_side(found)} {_limit(scene, part, found)}"


def _reward(scene: Scene, part: Compare, found: Term) -> Clause:
    if found.value is None:
        return _plain(scene, part, found)
    given = f"the reward model gives the step {number(found.value, found.limit)}"
    return "", f"{given}, {_side(found)} {_limit(scene, part, found)}"


def _found(scene: Scene, name: str) -> Clause:
    found = scene.numbers[name]
    kind = {"found": "mathematics"}.get(name, name)
    if found is None:
        return scene.piece, f"is no {kind}"
    return f"`{str(found).translate(MARKS)}`", f"counts as {kind}"


WORDS: dict[str, Callable[[Scene, Compare, Term], Clause]] = {
    "h_draft": _entropy,
    "h_target": _entropy,
    "overlap": _overlap,
    "rank": _rank,
    "gap": _gap,
    "p": _share("the target"),
    "q": _share("the draft"),
    "score": _score,
    "reward": _reward,
}
