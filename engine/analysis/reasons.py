"""One sentence for each kind of decision a rule records in `reason["id"]`, with the numbers it compared.

The exact rule's tests have sentences of their own; what a threshold says is read from the rule's declaration.
"""

from collections.abc import Callable

from engine.analysis.comparisons import comparisons
from engine.analysis.scene import Scene, share
from engine.analysis.words import number
from engine.trace.events import Node, TopN

# how a draft token without a draft probability came about, by the kind of its source; another was made by a model or
# came from who knows where
LOOKED_UP = ("ngram", "table", "automaton", "adjacency", "counts", "pool")
ORIGINS = dict.fromkeys(LOOKED_UP, "looked up") | {"text": "cut from the draft model's text"}


def neutral(scene: Scene) -> str:
    """For a decision of unknown kind, or none recorded."""
    rule = f" by the rule {scene.node.rule}" if scene.node.rule else ""
    verbs = {"accepted": "accepted", "relaxed": "accepted", "vetoed": "vetoed", "rejected": "rejected"}
    return f"{scene.piece} was {verbs.get(scene.node.state, 'not tested')}{rule}."


def _greedy_match(scene: Scene) -> str:
    return f"Accepted: {scene.preferred} is the target's first choice as well."


def _greedy_mismatch(scene: Scene) -> str:
    return (
        f"Rejected: {_both(scene)}; the target's first choice is {scene.preferred}, {_instead(scene)}.{_limits(scene)}"
    )


def _instead(scene: Scene) -> str:
    if scene.taken:
        same = scene.preferred.startswith(scene.taken)
        return "which is another of the draft's tokens" if same else f"and its sibling {scene.taken} was taken"
    return "which is emitted instead"


def _limits(scene: Scene) -> str:
    """Why a lossy rule that was asked did not accept a rejected draft token either."""
    if scene.threshold is None or scene.threshold.effect != "override" or scene.node.state != "rejected":
        return ""
    said = comparisons(scene)
    return f" {said[0].upper()}{said[1:]}." if said else ""


def _both(scene: Scene) -> str:
    """What either model gives the draft token."""
    p, q = scene.reason.get("p", scene.node.p), scene.reason.get("q", scene.node.q)
    if q is None:
        kind = str((scene.node.source or {}).get("kind", ""))
        origin = ORIGINS.get(kind, "drafted with a probability that was not recorded")
        return f"{scene.piece} was {origin}, target {number(p)}"
    return f"draft gave {scene.piece} {number(q, p)}, target {number(p, q)}"


def _ratio_accept(scene: Scene) -> str:
    ratio, u = scene.reason.get("ratio"), scene.reason.get("u")
    if ratio is not None and ratio >= 1:
        return f"Accepted: {_both(scene)}, at least as much, so it is accepted for certain."
    return f"Accepted: {_both(scene)}, {_chance(ratio, u)}."


def _ratio_reject(scene: Scene) -> str:
    ratio, u = scene.reason.get("ratio"), scene.reason.get("u")
    tail = _replaced(scene) + _limits(scene)
    return f"Rejected: {_both(scene)}, {_chance(ratio, u)}.{tail}"


def _chance(ratio: float | None, u: float | None) -> str:
    return f"so its acceptance probability was {number(ratio, u)}; the draw was {number(u, ratio)}"


def _replaced(scene: Scene, weight: float = 1.0) -> str:
    """The correction that a sampling rule drew; `weight` is that of the block before it."""
    drawn = scene.corrected
    if scene.taken or drawn is None:
        return _taken(scene)
    if scene.reason.get("correction", "residual") == "target":
        found = f"{scene.quote(drawn)}{share(scene.node.law_target, drawn)}"
        return f" Replaced from the target's own distribution by {found}."
    return f" Replaced from the residual by {scene.quote(drawn)}{share(_residual(scene.node, weight), drawn)}."


def _taken(scene: Scene) -> str:
    return f" Its sibling {scene.taken} was taken." if scene.taken else ""


def _residual(node: Node, weight: float = 1.0) -> TopN:
    """norm(max(weight p - q, 0)) where the recorded entries are (nearly) the whole distributions; else nothing is
    claimed."""
    p, q = dict(node.law_target or []), dict(node.law_draft or [])
    if min(sum(p.values()), sum(q.values())) < 0.995:
        return []
    rest = {token: max(weight * share - q.get(token, 0.0), 0.0) for token, share in p.items()}
    total = sum(rest.values())
    return [(token, share / total) for token, share in rest.items()] if total > 0 else []


def _child(scene: Scene) -> str:
    """A chosen, not drawn, candidate (K5): accepted with the target's probability of it among what is left."""
    left, u = scene.reason.get("p_left", scene.node.accept_prob), scene.reason.get("u", scene.node.u)
    p = scene.reason.get("p", scene.node.p)
    kept = scene.node.state == "accepted"
    after = (
        "" if p is None or left is None or abs(left - p) < 1e-6 else f", {number(left)} once rejected siblings are out"
    )
    chance = f"so it is accepted with {'that ' if after else 'this '}probability; the draw was {number(u, left)}"
    said = f"the target gives {scene.piece} {number(p, u)}{after}, {chance}."
    if kept:
        return f"Accepted: {said}"
    tail = _taken(scene)
    if not tail and scene.corrected is not None:
        tail = f" Replaced by {scene.quote(scene.corrected)}, drawn from what is left of the target's distribution."
    return f"Rejected: {said}{tail}{_limits(scene)}"


def _drawn(scene: Scene) -> str:
    """Drawn without replacement (K6); p and q are what earlier siblings have left of both distributions."""
    sentence = _ratio_accept(scene) if scene.node.state == "accepted" else _ratio_reject(scene)
    return sentence.replace(": ", ": of what earlier siblings left, ", 1) if scene.elder else sentence


def _block(scene: Scene) -> str:
    """A draft token of a chain that was tested as a whole (K11)."""
    chance, u = scene.node.accept_prob, scene.node.u
    weight, state = scene.reason.get("weight"), scene.node.state
    so = f"so the block up to here weighs {number(weight)} and passes with probability {number(chance, u)}"
    said = f"{_both(scene)}, {so}; the draw was {number(u, chance)}"
    if state == "accepted":
        carried = chance is not None and u is not None and u >= chance
        return f"Accepted: {said}{', too much, but a draft token behind it passed' if carried else ''}."
    if state == "rejected":
        behind = ", and none behind it passed" if scene.index + 1 < len(scene.event.nodes) else ""
        return f"Rejected: {said}{behind}.{_replaced(scene, _above(scene))}"
    return f"Rejected with the block: {said}."


def _above(scene: Scene) -> float:
    """The weight of the block before a draft token."""
    parent = scene.node.parent
    return float((scene.event.nodes[parent].reason or {}).get("weight", 1.0)) if parent >= 0 else 1.0


def by_threshold(scene: Scene) -> str:
    """A rule that declares its condition: what followed, and the comparisons in force with their numbers."""
    if scene.threshold is None:
        return neutral(scene)
    state, said = scene.node.state, comparisons(scene)
    effect = scene.threshold.effect
    because = f": {said}" if said else f" by the rule {scene.head.rule}"
    if state == "vetoed" or (state == "rejected" and effect == "veto"):
        return _vetoed(scene, because)
    if state == "rejected" and effect == "override":
        return f"Rejected: {_against(scene)}{f', and {said}' if said else ''}.{_taken(scene)}"
    if state == "rejected":
        choice = f"; the target's first choice is {scene.preferred}" if "choice" in scene.reason else ""
        return f"Rejected{because}{choice}.{_taken(scene)}"
    if state == "relaxed":
        although = f"the target prefers {scene.preferred}" if effect == "decide" else _against(scene, whom="")
        return f"Accepted although {although}{because}."
    if scene.choice == scene.node.token:
        return _greedy_match(scene)
    return f"Accepted{because}."


def _against(scene: Scene, whom: str = "to {}") -> str:
    """What the exact rule says against the draft token: the target's first choice, or the draw."""
    ratio, u = scene.reason.get("ratio"), scene.reason.get("u")
    if ratio is not None and not scene.greedy:
        chance = f"accepts {scene.piece} with probability {number(ratio, u)}"
        return f"the exact rule {chance} and the draw was {number(u, ratio)}"
    return f"the target prefers {scene.preferred} {whom.format(scene.piece)}".rstrip()


def _vetoed(scene: Scene, because: str) -> str:
    emitted = "" if scene.corrected is None else " " + scene.quote(scene.corrected)
    if scene.node.state != "vetoed":
        return f"Rejected{because}, which bars {scene.piece}; the exact rule rejects it as well."
    if scene.greedy:
        return f"Vetoed{because}; the target's next choice{emitted} is emitted."
    return f"Vetoed{because}; {scene.piece} is barred, and the target draws{emitted or ' again'} from the rest."


def _untested(scene: Scene) -> str:
    after = scene.reason.get("after")
    if isinstance(after, int) and 0 <= after < len(scene.event.nodes):
        earlier = scene.event.nodes[after]
        if earlier.state in ("rejected", "vetoed"):
            return f"Never tested: the earlier draft token {scene.quote(earlier.token)} was rejected."
    if scene.branch:
        return f"Never tested: the draft went on with the other draft token {scene.branch}."
    return "Never tested: the response ends before it."


def _not_drafted(scene: Scene) -> str:
    return f"Not drafted: {scene.piece} is the target's own token."


def _beams(scene: Scene) -> str:
    return f"{scene.reason.get('n', 'the')} beams"


def _outdone(scene: Scene) -> str:
    """By how much a beam that ends here is outdone; of tokens further up nothing was compared."""
    best, last = scene.reason.get("best"), scene.reason.get("last")
    if best is None or last is None:
        return "others rate higher"
    return (
        f"with its best next token its log-probability is {number(best, last)} nats, that of the last that goes on "
        f"{number(last, best)}"
    )


SENTENCES: dict[str, Callable[[Scene], str]] = {
    "beam_settled": lambda scene: f"Settled: of {_beams(scene)}, all that are left hold {scene.piece} here.",
    "beam_open": lambda scene: f"Open: of {_beams(scene)} some hold {scene.piece} here, others do not.",
    "beam_left": lambda scene: f"Left: none of {_beams(scene)} goes on from {scene.piece}; {_outdone(scene)}.",
    "greedy_match": _greedy_match,
    "greedy_mismatch": _greedy_mismatch,
    "ratio_accept": _ratio_accept,
    "ratio_reject": _ratio_reject,
    "child_accept": _child,
    "child_reject": _child,
    "wr_accept": _drawn,
    "wr_reject": _drawn,
    "block_accept": _block,
    "block_reject": _block,
    "block_behind": _block,
    "untested": _untested,
    "not_drafted": _not_drafted,
}
