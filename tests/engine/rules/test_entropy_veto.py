"""EASD against its closed forms: when it triggers, what it emits, and the distribution it gives (docs/methods/easd.md)."""

from typing import Any

import pytest
import torch

from engine.config import Sampling
from engine.draft import Draft, chain
from engine.rules.entropy_veto import EntropyVeto
from engine.sampling import entropy
from engine.view import RoundView
from tests.engine.distributions import Tree, distance, outcomes, pairs

GREEDY, SAMPLED = Sampling(), Sampling(1.0)
ALWAYS = {"tau_entropy": -1.0, "tau_overlap": 0.0}


def rule(**knobs: Any) -> EntropyVeto:
    """The rule with its defaults and some knobs changed."""
    values = {knob.name: knob.default for knob in EntropyVeto.KNOBS}
    assert knobs.keys() <= values.keys()
    return EntropyVeto(None, values | knobs)  # type: ignore[arg-type]


def view_of(
    target: torch.Tensor, draft: torch.Tensor, token: int, sampling: Sampling = GREEDY, u: float = 0.5, n: int = 5
) -> RoundView:
    """One draft token between two rows of logits [V]."""
    distributions = None if sampling.greedy else torch.softmax(draft, -1)[None]
    candidate = chain(
        [token], draw="point" if sampling.greedy else "sample", logits=draft[None], distributions=distributions
    )
    return RoundView(candidate, torch.stack([target, target]), sampling, [u], 0.5, n)


def random_rows(count: int, V: int = 12, spread: float = 1.2) -> list[tuple[torch.Tensor, torch.Tensor]]:
    g = torch.Generator().manual_seed(11)
    rows = []
    for _ in range(count):
        target = spread * torch.randn(V, generator=g, dtype=torch.float64)
        rows.append((target, target + 0.7 * torch.randn(V, generator=g, dtype=torch.float64)))
    return rows


def triggers(view: RoundView, veto: EntropyVeto) -> bool:
    reason = veto.decide(view).checks[0].reason
    return reason["id"] == "veto"


def expected(target: torch.Tensor, draft: torch.Tensor, veto: EntropyVeto, ablation: str, gt: bool) -> bool:
    """The condition of section 3.5, recomputed from the raw rows."""
    h_d, h_t = float(entropy(draft)), float(entropy(target))
    share = len(set(draft.topk(5).indices.tolist()) & set(target.topk(5).indices.tolist())) / 5
    close = share > veto.tau_overlap if gt else share >= veto.tau_overlap
    return {
        "none": h_d > veto.tau and h_t > veto.tau and close,
        "no_overlap": h_d > veto.tau and h_t > veto.tau,
        "no_draft_entropy": h_t > veto.tau and close,
        "target_entropy_only": h_t > veto.tau,
    }[ablation]


def check_condition() -> None:
    """All four conditions of table 2, and both readings of the overlap test (E1), on rows around the thresholds."""
    found: dict[str, set[bool]] = {}
    for ablation in ("none", "no_overlap", "no_draft_entropy", "target_entropy_only"):
        for cmp in ("ge", "gt"):
            veto = rule(ablation=ablation, overlap_cmp=cmp, tau_entropy=1.95)
            for target, draft in random_rows(60):
                want = expected(target, draft, veto, ablation, cmp == "gt")
                assert triggers(view_of(target, draft, int(draft.argmax())), veto) == want
                found.setdefault(ablation, set()).add(want)
    assert all(seen == {True, False} for seen in found.values())


def test_the_condition_and_its_ablations() -> None:
    check_condition()


def check_overlap_boundary() -> None:
    """E1: four of five shared choices trigger at 0.8 (at least), and do not when above is asked for."""
    target = torch.tensor([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0, 0.0]).double()
    draft = target.clone()
    draft[4], draft[5] = 0.5, 0.6  # four of the first five in common
    flat = {"tau_entropy": 1.0}
    assert triggers(view_of(target, draft, 0), rule(**flat))
    assert not triggers(view_of(target, draft, 0), rule(**flat, overlap_cmp="gt"))
    assert triggers(view_of(target, target, 0), rule(**flat, tau_overlap=1.0))
    assert not triggers(view_of(target, target, 0), rule(**flat, tau_overlap=1.01))
    assert not triggers(view_of(target, target, 0), rule(**flat, tau_overlap=1.0, overlap_cmp="gt"))


def test_the_overlap_threshold_is_met_by_equality() -> None:
    check_overlap_boundary()


def test_entropies_must_exceed_the_threshold() -> None:
    """Strictly above, in nats, of the raw softmax whatever the sampling temperature (E3)."""
    row = torch.zeros(8).double()  # ln 8 = 2.0794
    for sampling in (GREEDY, Sampling(0.3), Sampling(2.0, top_k=2)):
        assert triggers(view_of(row, row, 0, sampling), rule(tau_entropy=2.07))
        assert not triggers(view_of(row, row, 0, sampling), rule(tau_entropy=2.08))
    assert not triggers(view_of(row, row, 0), rule(tau_entropy=20.0))


def test_the_draft_may_have_its_own_threshold() -> None:
    """E8, and the temperature of the entropies (E3, option)."""
    row = torch.zeros(8).double()
    assert not triggers(view_of(row, row, 0), rule(tau_entropy=1.0, tau_entropy_draft=2.1))
    assert triggers(view_of(row, row, 0), rule(tau_entropy=1.0, tau_entropy_draft=0.5))
    for own, used in ((-1.0, 1.0), (0.0, 0.0), (0.5, 0.5)):
        reason = rule(tau_entropy=1.0, tau_entropy_draft=own).decide(view_of(row, row, 0)).checks[0].reason
        assert (reason["tau_h"], reason["tau_h_draft"]) == (1.0, used)
    peaked = torch.tensor([8.0, 0, 0, 0, 0, 0, 0, 0]).double()
    assert not triggers(view_of(peaked, peaked, 0), rule(tau_entropy=1.0))
    assert triggers(view_of(peaked, peaked, 0), rule(tau_entropy=1.0, entropy_temperature=10.0))


def check_second_best() -> None:
    """T = 0: where the draft token is the target's first choice the second is emitted; elsewhere nothing changes."""
    for target, draft in random_rows(20):
        order = target.argsort(descending=True).tolist()
        hit = rule(**ALWAYS).decide(view_of(target, draft, order[0]))
        assert (hit.checks[0].state, hit.path, hit.emit, hit.origin) == ("vetoed", [], order[1], "correction")
        miss = rule(**ALWAYS).decide(view_of(target, draft, order[3]))
        assert (miss.checks[0].state, miss.path, miss.emit) == ("rejected", [], order[0])


def test_a_greedy_veto_emits_the_second_best() -> None:
    check_second_best()


def test_a_veto_ends_the_block() -> None:
    """Draft tokens after a vetoed one stay untested, even when the target agrees with them."""
    rows = torch.zeros(3, 6).double()
    rows[0, 2] = rows[1, 3] = rows[2, 4] = 1.0
    view = RoundView(chain([2, 3], logits=rows[:2]), rows, GREEDY, [0.5, 0.5], 0.5, 5)
    verdict = rule(**ALWAYS).decide(view)
    assert not verdict.path and list(verdict.checks) == [0]


def always_distribution(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """out(v) = sum over c of q(c) p(v) [v != c] / (1 - p(c)); a target that is all c keeps its distribution (E14)."""
    out = torch.zeros_like(p)
    for c, mass in enumerate(q.tolist()):
        left = p.clone()
        left[c] = 0
        out += mass * (left / left.sum() if left.sum() > 0 else p)
    return out


def one_step_distribution(
    veto: EntropyVeto, p: torch.Tensor, q: torch.Tensor, sampling: Sampling = SAMPLED
) -> torch.Tensor:
    """What one position emits under a rule, the draft token drawn from q."""
    out = torch.zeros_like(p)
    for token, mass in enumerate(q.tolist()):
        if mass > 0:
            draft = Draft((token,), (-1,), "sample", (0,), q[None], q.log()[None])
            for weight, verdict, next_V in outcomes(veto.decide, draft, p.log()[None].repeat(2, 1), sampling):
                if verdict.path:
                    out[token] += mass * weight
                else:
                    out += mass * weight * next_V
    return out


def check_always_distribution() -> None:
    """T > 0: the printed rule with every draft token vetoed has a distribution in closed form."""
    for p, q in pairs(12):
        assert distance(one_step_distribution(rule(**ALWAYS), p, q), always_distribution(p, q)) < 1e-12


def test_the_distribution_of_vetoing_always() -> None:
    check_always_distribution()


def test_the_residual_variant_subtracts_q_from_the_renormalised_distribution() -> None:
    """E2, option: the token after a veto comes from norm(max(p' - q, 0)), p' being p without the draft token."""
    for p, q in pairs(8):
        want = torch.zeros_like(p)
        for c, mass in enumerate(q.tolist()):
            left = p.clone()
            left[c] = 0
            left = left / left.sum() if left.sum() > 0 else p
            rest = (left - q).clamp(min=0)
            want += mass * (rest / rest.sum() if rest.sum() > 0 else left)
        assert distance(one_step_distribution(rule(**ALWAYS, correction="residual"), p, q), want) < 1e-12


def test_never_vetoing_is_the_baseline_of_the_paper() -> None:
    """tau = 20: K3 with correction from the target, and exactly p with the residual."""
    for p, q in pairs(8):
        kept = torch.minimum(p, q)
        assert distance(one_step_distribution(rule(tau_entropy=20.0), p, q), kept + (1 - kept.sum()) * p) < 1e-12
        assert distance(one_step_distribution(rule(tau_entropy=20.0, correction="residual"), p, q), p) < 1e-12


def test_a_veto_is_told_apart_from_a_refusal() -> None:
    """Vetoed only when the strict rule, with the same uniform, would have kept the draft token."""
    target, draft = random_rows(1)[0]
    p, q = torch.softmax(target, -1), torch.softmax(draft, -1)
    token = int((q - p).argmax())
    ratio = float(p[token] / q[token])
    assert ratio < 1
    for u, state in ((ratio * 0.99, "vetoed"), (min(ratio * 1.01, 0.999), "rejected")):
        check = rule(**ALWAYS).decide(view_of(target, draft, token, SAMPLED, u)).checks[0]
        assert (check.state, check.accept_prob, check.reason["id"]) == (state, 0.0, "veto")


def check_processors_after_veto() -> None:
    """E14: with top-k 1 the distribution has one token; its removal leaves the second, not nothing."""
    target, draft = random_rows(1)[0]
    first, second = target.topk(2).indices.tolist()
    verdict = rule(**ALWAYS).decide(view_of(target, draft, first, Sampling(1.0, top_k=1)))
    assert verdict.checks[0].state in ("vetoed", "rejected") and verdict.emit == second


def test_processors_come_after_the_veto() -> None:
    check_processors_after_veto()


def test_one_finite_logit_cannot_be_vetoed() -> None:
    target = torch.full((5,), -torch.inf).double()
    target[3] = 0.0
    verdict = rule(**ALWAYS).decide(view_of(target, torch.zeros(5).double(), 3))
    assert verdict.path == [0] and verdict.checks[0].state == "accepted"
    for rows, path in (((target, torch.zeros(5)), [0]), ((torch.eye(5)[3], target), [])):  # that of its own row
        view = RoundView(chain([3], logits=torch.zeros(1, 5)), torch.stack(rows).double(), GREEDY, [0.5], 0.5, 5)
        assert rule(**ALWAYS).decide(view).path == path


def test_penalising_the_first_choice_of_the_draft() -> None:
    """E4, option: the token removed is the draft's first, which the draft token need not be when it was drawn."""
    target = torch.tensor([3.0, 1.0, 0.0, -1.0]).double()
    draft = torch.tensor([3.0, 1.0, 0.0, -1.0]).double()
    view = view_of(target, draft, 1, SAMPLED, u=0.5)
    verdict = rule(**ALWAYS, penalize="argmax").decide(view)
    p = torch.softmax(target, -1)
    p[0] = 0
    p = p / p.sum()
    assert verdict.path == [0] and verdict.checks[0].accept_prob == pytest.approx(
        min(1.0, float(p[1] / torch.softmax(draft, -1)[1]))
    )


def test_the_reason_holds_every_number_of_the_condition() -> None:
    target, draft = random_rows(1)[0]
    reason = rule(**ALWAYS).decide(view_of(target, draft, int(target.argmax()))).checks[0].reason
    assert reason["h_draft"] == pytest.approx(float(entropy(draft)), abs=1e-6)
    assert reason["h_target"] == pytest.approx(float(entropy(target)), abs=1e-6)
    assert {"tau_h", "tau_h_draft", "tau_o", "n", "overlap", "remove"} <= reason.keys()


def test_entropies_at_another_temperature_are_told_fired_or_not() -> None:
    """E3, option: a node's own entropies are those at temperature 1, so the reason holds what was compared."""
    for target, draft in random_rows(8):
        for tau in (-1.0, 20.0):
            veto = rule(tau_entropy=tau, tau_overlap=0.0, entropy_temperature=2.5, overlap_n=3)
            view = view_of(target, draft, int(target.argmax()))
            reason = veto.decide(view).checks[0].reason
            assert reason["h_draft"] == pytest.approx(float(entropy(draft / 2.5)))
            assert reason["h_target"] == pytest.approx(float(entropy(target / 2.5)))
            assert reason["overlap"] == view.stats.overlap(0, 3)
            assert reason["id"] == ("veto" if tau < 0 else "greedy_match")
    usual = rule(tau_entropy=20.0).decide(view_of(target, draft, int(target.argmax()))).checks[0].reason
    assert usual.keys() == {"id", "choice"}


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_a_veto_of_another_token_leaves_its_mark(sampling: Sampling) -> None:
    """E4, option: the draft token is tested after the draft's first choice was removed; its reason holds both."""
    target, draft = torch.tensor([3.0, 2.0, 0.0, -1.0]).double(), torch.tensor([3.0, 1.0, 0.0, -1.0]).double()
    for token in (1, 2):
        check = rule(**ALWAYS, penalize="argmax").decide(view_of(target, draft, token, sampling)).checks[0]
        assert check.reason["fired"] is True and check.reason["remove"] == 0 and check.reason["id"] != "veto"
        assert {"h_draft", "h_target", "overlap", "tau_h", "n"} <= check.reason.keys()
    own = rule(**ALWAYS, penalize="argmax").decide(view_of(target, draft, 0, sampling)).checks[0].reason
    assert (own["id"], own["remove"], "fired" in own) == ("veto", 0, False)
    quiet = rule(tau_entropy=20.0, penalize="argmax").decide(view_of(target, draft, 1, sampling)).checks[0].reason
    assert not {"fired", "remove"} & quiet.keys()


def test_draft_tokens_without_distributions_are_never_vetoed() -> None:
    """A lookup has no entropy: the rule is then the exact one."""
    view = RoundView(chain([0]), torch.zeros(2, 6), GREEDY, [0.5], 0.5, 5)
    assert rule(**ALWAYS).decide(view).path == [0]


def test_the_joint_distribution_of_chains_without_veto() -> None:
    model = Tree(V=3, depth=2, seed=4)
    veto = rule(tau_entropy=20.0, correction="residual")
    from tests.engine.distributions import worst

    assert worst(model.emitted(veto.decide, model.chains(2), 2), model.joint(2)) < 1e-12
