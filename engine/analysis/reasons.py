"""One sentence for each kind of decision a rule records in `reason["id"]`, with the numbers it compared."""

from collections.abc import Callable

from engine.analysis.scene import Scene, share
from engine.analysis.words import number, setting
from engine.threshold import Term
from engine.trace.events import Node, TopN


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
        return "which is another of the draft's candidates" if same else f"and its sibling {scene.taken} was taken"
    return "which is emitted instead"


def _limits(scene: Scene) -> str:
    """Why a lossy rule that was asked did not accept a rejected draft token either."""
    if "k" in scene.reason and "rank" in scene.reason:
        return f" {scene.piece} ranks {scene.reason['rank']} with the target, outside the top {scene.reason['k']}."
    return ""


def _both(scene: Scene) -> str:
    """What either model gives the draft token."""
    p, q = scene.reason.get("p", scene.node.p), scene.reason.get("q", scene.node.q)
    if q is None:
        return f"{scene.piece} was looked up, target {number(p)}"
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
    return f"so it is accepted with probability {number(ratio, u)}; the draw was {number(u, ratio)}"


def _replaced(scene: Scene) -> str:
    """The correction that a sampling rule drew."""
    drawn = scene.corrected
    if scene.taken or drawn is None:
        return _taken(scene)
    if scene.reason.get("correction", "residual") == "target":
        found = f"{scene.quote(drawn)}{share(scene.node.law_target, drawn)}"
        return f" Replaced from the target's own distribution by {found}."
    return f" Replaced from the residual by {scene.quote(drawn)}{share(_residual(scene.node), drawn)}."


def _taken(scene: Scene) -> str:
    return f" Its sibling {scene.taken} was taken." if scene.taken else ""


def _residual(node: Node) -> TopN:
    """norm(max(p - q, 0)) where the recorded entries are (nearly) the whole distributions; else nothing is claimed."""
    p, q = dict(node.law_target or []), dict(node.law_draft or [])
    if min(sum(p.values()), sum(q.values())) < 0.995:
        return []
    rest = {token: max(share - q.get(token, 0.0), 0.0) for token, share in p.items()}
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
    """A guess drawn without replacement (K6); p and q are what earlier siblings have left of both distributions."""
    sentence = _ratio_accept(scene) if scene.node.state == "accepted" else _ratio_reject(scene)
    return sentence.replace(": ", ": of what earlier siblings left, ", 1) if scene.elder else sentence


def _veto(scene: Scene) -> str:
    reason = scene.reason
    h_d, h_t, tau = reason.get("h_draft"), reason.get("h_target"), reason.get("tau_h")
    tau_d = tau if reason.get("tau_h_draft") is None else reason["tau_h_draft"]
    asked = scene.terms or ("h_draft", "overlap")  # an ablation leaves comparisons out
    if "h_draft" not in asked:
        unsure = f"the target's entropy ({number(h_t, tau)} nats) exceeds {setting(tau)}"
    elif tau_d == tau:
        unsure = f"both entropies ({number(h_d, tau)}, {number(h_t, tau)} nats) exceed {setting(tau)}"
    else:
        unsure = f"the draft's entropy ({number(h_d, tau_d)} nats) exceeds {setting(tau_d)}"
        unsure += f" and the target's ({number(h_t, tau)}) {setting(tau)}"
    n, overlap = reason.get("n"), reason.get("overlap")
    agree = ""
    if n and overlap is not None and "overlap" in asked:
        agree = f" and {round(overlap * n)} of the top {n} agree"
    emitted = "" if scene.corrected is None else " " + scene.quote(scene.corrected)
    if scene.node.state != "vetoed":
        return f"Rejected: {unsure}{agree}, which bars {scene.piece}; the exact rule rejects it as well."
    if scene.greedy:
        return f"Vetoed: {unsure}{agree}; the target's next choice{emitted} is emitted."
    return f"Vetoed: {unsure}{agree}; {scene.piece} is barred, and the target draws{emitted or ' again'} from the rest."


def _gap_accept(scene: Scene) -> str:
    rank = scene.reason.get("rank")
    if rank == 1:
        return f"Accepted: {scene.preferred} is the target's first choice as well."
    return f"Accepted although the target prefers {scene.preferred}: {_gap_terms(scene)}."


def _gap_reject(scene: Scene) -> str:
    return f"Rejected: {_gap_terms(scene)}; the target's first choice is {scene.preferred}."


def _gap_terms(scene: Scene) -> str:
    reason = scene.reason
    gap, tau, rank, beta = (reason.get(key) for key in ("gap", "tau", "rank", "top_beta"))
    failed = reason.get("failed", "")
    placed = f"{scene.piece} ranks {rank} with the target"
    placed += f", {'outside' if failed in ('top_beta', 'both') else 'within'} the top {beta}"
    sure = reason.get("confidence")
    moved = f", at confidence {number(sure)}" if sure is not None else ""
    side = "above" if failed in ("gap", "both") else "within"
    limit = setting(tau) if sure is None else number(tau, gap)
    return f"{placed}, and is {number(gap, tau)} nats behind, {side} {limit}{moved}"


def _topk(scene: Scene) -> str:
    rank, k = scene.reason.get("rank"), scene.reason.get("k")
    placed = f"{scene.piece} ranks {rank} with it, within the top {k}"
    return f"Accepted although the target prefers {scene.preferred}: {placed}."


def _judge(scene: Scene) -> str:
    score, threshold = scene.reason.get("score", scene.node.judge), scene.reason.get("threshold")
    given = f"the judge gives importance {number(score, threshold)}"
    if scene.node.state == "relaxed":
        return f"Accepted although the target prefers {scene.preferred}: {given}, below {setting(threshold)}."
    against = f"Rejected: the target prefers {scene.preferred} to {scene.piece}, and"
    if scene.reason.get("edge"):
        return f"{against} the judge is not asked about the last draft token of a window.{_taken(scene)}"
    return f"{against} {given}, not below {setting(threshold)}.{_taken(scene)}"


def _heuristic(scene: Scene) -> str:
    found, rank, k = (scene.reason.get(key) for key in ("found", "rank", "k"))
    if scene.node.state == "relaxed":
        place = f", and it ranks {rank} with the target, within the top {k}" if k else ""
        return f"Accepted although the target prefers {scene.preferred}: {scene.piece} is no mathematics{place}."
    why = f"`{found}` counts as mathematics" if found is not None else "it matters by the rule"
    if found is None and k:
        why = f"it ranks {rank} with the target, outside the top {k}"
    return f"Rejected: the target prefers {scene.preferred} to {scene.piece}, and {why}.{_taken(scene)}"


def _typical(scene: Scene) -> str:
    p, limit, h = (scene.reason.get(key) for key in ("p", "threshold", "h"))
    at = f" at entropy {number(h)} nats" if h is not None else ""
    if scene.node.state in ("accepted", "relaxed"):
        return (
            f"Accepted: the target gives {scene.piece} {number(p, limit)}, above the threshold {number(limit, p)}{at}."
        )
    said = f"the target gives {scene.piece} {number(p, limit)}, not above the threshold {number(limit, p)}{at}"
    return f"Rejected: {said}.{_taken(scene)}"


def _untested(scene: Scene) -> str:
    after = scene.reason.get("after")
    if isinstance(after, int) and 0 <= after < len(scene.event.nodes):
        earlier = scene.event.nodes[after]
        if earlier.state in ("rejected", "vetoed"):
            return f"Never tested: the earlier draft token {scene.quote(earlier.token)} was rejected."
    if scene.branch:
        return f"Never tested: the draft went on with the other candidate {scene.branch}."
    return "Never tested: the response ends before it."


def _threshold(scene: Scene) -> str:
    """A rule that is its declaration: the comparisons in force, each with its numbers and the side it fell on."""
    state = scene.node.state
    verb = {"relaxed": "Accepted although the target prefers", "vetoed": "Vetoed", "accepted": "Accepted"}.get(
        state, "Rejected"
    )
    start = f"{verb} {scene.preferred}" if state == "relaxed" else verb
    said = " and ".join(_term(term) for term in scene.terms.values())
    return f"{start}: {said or f'as the rule {scene.head.rule} says'}.{_taken(scene)}"


def _term(term: Term) -> str:
    over, under = ("above", "not above") if term.sign == ">" else ("at least", "below")
    if term.sign in ("<", "<="):
        over, under = ("below", "not below") if term.sign == "<" else ("at most", "above")
    side = "unknown to be at" if term.holds is None else over if term.holds else under
    name, unit = NAMES.get(term.name, (term.name, ""))
    value = number(term.value, term.limit)
    limit = setting(term.limit) if term.knob else number(term.limit, term.value)
    return f"{name} ({value}{unit}) is {side} {limit}"


NAMES = {
    "h_draft": ("the draft's entropy", " nats"),
    "h_target": ("the target's entropy", " nats"),
    "overlap": ("the share of common first choices", ""),
    "p": ("the target's probability", ""),
    "q": ("the draft's probability", ""),
    "rank": ("the rank with the target", ""),
    "gap": ("the gap to the target's first choice", " nats"),
    "confidence": ("the confidence", ""),
}


def _not_drafted(scene: Scene) -> str:
    return f"Not drafted: {scene.piece} is the target's own token."


SENTENCES: dict[str, Callable[[Scene], str]] = {
    "greedy_match": _greedy_match,
    "greedy_mismatch": _greedy_mismatch,
    "ratio_accept": _ratio_accept,
    "ratio_reject": _ratio_reject,
    "child_accept": _child,
    "child_reject": _child,
    "wr_accept": _drawn,
    "wr_reject": _drawn,
    "veto": _veto,
    "gap_accept": _gap_accept,
    "gap_reject": _gap_reject,
    "topk_relaxed": _topk,
    "judge_relaxed": _judge,
    "judge_refused": _judge,
    "heuristic_relaxed": _heuristic,
    "heuristic_refused": _heuristic,
    "typical_accept": _typical,
    "typical_reject": _typical,
    "threshold_veto": _threshold,
    "threshold_accept": _threshold,
    "threshold_relaxed": _threshold,
    "threshold_reject": _threshold,
    "untested": _untested,
    "not_drafted": _not_drafted,
}
