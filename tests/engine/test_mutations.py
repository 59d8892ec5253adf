"""Deliberate faults, each of which a named check must notice: a test that survives its fault proves nothing.

The list is that of docs/methods/checks.md#faults, and the classic faults of the field. A fault is planted by rebuilding one
function from its own source with one piece replaced, so a rewrite of that function fails here until the fault is
stated anew. What a rule declares is data: such a fault rebuilds the rule's file.
"""

from collections.abc import Callable

import pytest

from engine.config import Sampling
from engine.draft import Draft, chain
from engine.lab import Lab
from tests.engine import test_draft, test_greedy, test_loop, test_record, test_sampled, test_sampling, test_verify
from tests.engine.analysis import test_replay
from tests.engine.drafters import test_lookahead, test_model
from tests.engine.faults import Fault, Misdeclared
from tests.engine.model import test_session
from tests.engine.rules import test_block, test_entropy_veto, test_gap, test_judge_rule, test_top_k, test_typical
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo

Check = Callable[[Zoo], object]
COLD, HOT = Sampling(0.6), Sampling(3.0)
BUSH = Draft((4, 9, 9, 30, 2, 7, 7), (-1, -1, 0, 0, 1, 2, 5), group=(0,) * 7)


def memo(zoo: Zoo) -> None:
    model = zoo.model("llama")
    test_session.check_memo(model, BUSH, [1, 4], 50, chain([8, 8]))
    test_session.check_memo(model, chain([4, 9, 30]), [0, 1], 50, BUSH)


def generic_memo(zoo: Zoo) -> None:
    test_session.check_memo(zoo.model("gpt_neox"), BUSH, [1, 4], 50, chain([8, 8]))


def tree(zoo: Zoo) -> None:
    test_session.check_tree_equals_paths(zoo.model("llama"))


def sampled(*settings: Sampling) -> Check:
    return lambda zoo: test_sampled.check_sampled_distribution(settings or (Sampling(1.0),), 900, "far")


def recorded(zoo: Zoo) -> None:
    lab = toy_lab(V=5, seed=2)
    test_record.check_nodes(lab, lab.run("sd", [0, 1, 2], max_new_tokens=12), Sampling())


def tokens(zoo: Zoo) -> None:
    lab = toy_lab(V=5, seed=2)
    test_record.check_tokens(lab, lab.run("sd", [0, 1, 2], max_new_tokens=12))


def ends(zoo: Zoo) -> None:
    test_loop.check_stops("eos")


def noisy(zoo: Zoo) -> Lab:
    return zoo.lab("llama", draft="noise")


FAULTS: list[tuple[Fault | Misdeclared, Check]] = [
    # kernels
    (
        Fault("p and q swapped", "engine.verify:step_sample", "min(1.0, p / q) if q > 0", "min(1.0, q / p) if p > 0"),
        lambda zoo: test_verify.check_sample_distribution(),
    ),
    (
        Fault(
            "p and q swapped in a bush",
            "engine.verify:step_without_replacement",
            "min(1.0, p / q) if q > 0",
            "min(1.0, q / p) if p > 0",
        ),
        lambda zoo: test_verify.check_replacement_distribution(),
    ),
    (
        Fault("u <= ratio, sampled", "engine.verify:step_sample", "if u < ratio", "if u <= ratio"),
        lambda zoo: test_verify.check_zero_mass_rejected(),
    ),
    (
        Fault("u <= ratio, chosen", "engine.verify:step_point", "if u < ratio", "if u <= ratio"),
        lambda zoo: test_verify.check_zero_mass_rejected(),
    ),
    (
        Fault(
            "u <= ratio, without replacement", "engine.verify:step_without_replacement", "if u < ratio", "if u <= ratio"
        ),
        lambda zoo: test_verify.check_zero_mass_rejected(),
    ),
    (
        Fault("no residual", "engine.verify:residual", "(p_V - q_V).clamp(min=0)", "p_V.clone()"),
        lambda zoo: test_verify.check_chain_distribution(),
    ),
    (
        Fault(
            "q not renormalised",
            "engine.verify:step_without_replacement",
            "torch.where(left > 0, q_left / left, q_left)",
            "q_left",
        ),
        lambda zoo: test_verify.check_bush_distribution(),
    ),
    (
        Fault("a chance without the weight", "engine.rules.block:weigh", "s + (1 - w_N[:-1])", "s + 1"),
        lambda zoo: test_block.check_block_distribution(),
    ),
    (
        Fault("weights beyond one", "engine.rules.block:weigh", ".clamp(max=1)", ""),
        lambda zoo: test_block.check_block_distribution(),
    ),
    (
        Fault("a rest without the weight", "engine.rules.block:rest", "(weight * p_V - q_V)", "(p_V - q_V)"),
        lambda zoo: test_block.check_block_distribution(),
    ),
    (
        Fault(
            "the first prefix that fails ends",
            "engine.rules.block:Block.decide",
            "length = max((i + 1",
            "length = min((i + 1",
        ),
        lambda zoo: test_block.check_block_distribution(),
    ),
    (
        Fault("refused child stays in q", "engine.verify:step_without_replacement", "q_left[token] = 0", "pass"),
        lambda zoo: test_verify.check_replacement_distribution(),
    ),
    (
        Fault("refused child stays in p", "engine.verify:step_point", "rest[token] = 0", "pass"),
        lambda zoo: test_verify.check_point_distribution(),
    ),
    (
        Fault("p not renormalised", "engine.verify:step_point", "min(1.0, p / total) if total > 0 else 0.0", "p"),
        lambda zoo: test_verify.check_chosen_tree_distribution(),
    ),
    (
        Fault(
            "bonus from the row before",
            "engine.verify:walk",
            "verdict.emit = view.emit(at + 1)",
            "verdict.emit = view.emit(at)",
        ),
        lambda zoo: test_verify.check_rows_of_the_bonus(),
    ),
    (
        Fault(
            "bonus from the first row",
            "engine.verify:walk",
            "verdict.emit = view.emit(at + 1)",
            "verdict.emit = view.emit(0)",
        ),
        lambda zoo: test_verify.check_chain_distribution(),
    ),
    (
        Fault("judged by its own row", "engine.verify:_greedy_step", "view.choice[at + 1]", "view.choice[kids[0] + 1]"),
        lambda zoo: test_verify.check_rows_of_the_bonus(),
    ),
    (
        Fault(
            "sampled distribution of another row",
            "engine.verify:_sampled_step",
            "view.p[at + 1]",
            "view.p[kids[0] + 1]",
        ),
        lambda zoo: test_verify.check_chain_distribution(),
    ),
    # distributions and draws
    (
        Fault(
            "top-p drops the token that reaches it",
            "engine.sampling:_top_p",
            "p.cumsum(dim=-1) - p >= top_p",
            "p.cumsum(dim=-1) >= top_p",
        ),
        lambda zoo: test_sampling.check_warpers(),
    ),
    (
        Fault(
            "top-k after top-p",
            "engine.sampling:distribution",
            "x = x.masked_fill(x < kth, -torch.inf)",
            "x = x.masked_fill(x <= kth, -torch.inf)",
        ),
        lambda zoo: test_sampling.check_warpers(),
    ),
    (
        Fault("draws from the left", "engine.sampling:_picked", 'side="right"', 'side="left"'),
        lambda zoo: test_sampling.check_pick(),
    ),
    (
        Fault("draws from the left on a device", "engine.sampling:_place", "right=True", "right=False"),
        lambda zoo: test_sampling.check_pick(),
    ),
    (
        Fault(
            "q of another temperature",
            "engine.parts.writing:_next",
            'return pick(dist, context.streams.uniform("draft")), dist',
            'return pick(dist, context.streams.uniform("draft")), torch.softmax(row_1V, -1)[0]',
        ),
        sampled(HOT),
    ),
    (
        Fault(
            "drawn from another distribution than told",
            "engine.parts.writing:_next",
            "return pick(dist, ",
            "return pick(torch.softmax(row_1V, -1)[0], ",
        ),
        lambda zoo: test_model.check_draws(zoo, COLD),
    ),
    (
        Fault(
            "target not processed",
            "engine.view:RoundView.p",
            "distribution(self.logits, self.sampling)",
            "torch.softmax(self.logits, -1)",
        ),
        sampled(COLD),
    ),
    (
        Fault(
            "corrected from the target",
            "engine.rules.exact:Exact.decide",
            "correction=self.correction",
            'correction="target"',
        ),
        sampled(),
    ),
    (
        Fault(
            "one uniform for all tests of a round",
            "engine.loop:Decoding._view",
            'self.streams.uniforms("accept", len(draft))',
            'self.streams.uniforms("accept", 1) * len(draft)',
        ),
        lambda zoo: test_loop.check_uniforms(toy_lab()),
    ),
    (
        Fault(
            "streams start anew each time",
            "engine.streams:Streams.generator",
            "if name not in self._streams",
            "if True",
        ),
        sampled(),
    ),
    # sessions and drafts
    (Fault("tree positions off by one", "engine.model.session:Session._layout", "n - 1 + depth ", "n + depth "), tree),
    (
        Fault(
            "siblings see each other",
            "engine.model.session:Session._layout",
            "block[tail:, tail:] = draft.ancestors()",
            "pass",
        ),
        tree,
    ),
    (
        Fault(
            "grandparents forgotten",
            "engine.draft:Draft.ancestors",
            "range(self.levels)",
            "range(2)",
        ),
        lambda zoo: test_draft.check_ancestors(BUSH),
    ),
    (
        Fault(
            "grandparents forgotten, in a pass",
            "engine.draft:Draft.ancestors",
            "range(self.levels)",
            "range(2)",
        ),
        tree,
    ),
    (
        Fault(
            "one slot off", "engine.model.session:Session._reuse", "slots.append(m + at)", "slots.append(m + at + 1)"
        ),
        memo,
    ),
    (Fault("accepted rows not moved", "engine.model.lean:LeanCache.gather", "if n and", "if False and"), memo),
    (
        Fault(
            "accepted rows not moved, generic", "engine.model.generic:GenericCache.gather", "if n and", "if False and"
        ),
        generic_memo,
    ),
    (
        Fault(
            "draft tokens see the future",
            "engine.model.lean:LeanDecoder._chain",
            "return aligned(kept[:, kept.shape[1] - T - start :])",
            "return kept.new_zeros(len(kept), start + T)",
        ),
        memo,
    ),
    (
        Fault("everything computed again", "engine.model.session:Session._reuse", "return m + len(slots)", "return m"),
        memo,
    ),
    # the loop
    (
        Fault(
            "draft reads another token than it wrote",
            "engine.parts.writing:_step_by_step",
            "onward.step(token)",
            "onward.step(made.tokens[0])",
        ),
        lambda zoo: test_model.check_copy_accepts_all(zoo.lab("llama", draft="copy")),
    ),
    (
        Fault(
            "draft computes everything again",
            "engine.drafters.model:ModelDrafter._after",
            "return self.session.forward(tokens, checked=True)",
            "self.session._tokens = []; return self.session.forward(tokens, checked=True)",
        ),
        lambda zoo: test_model.check_rows_fed(noisy(zoo)),
    ),
    (
        Fault(
            "the end does not cut",
            "engine.loop:Decoding._commit",
            "if self.reason:",
            "if self.reason and token == new[-1]:",
        ),
        ends,
    ),
    (Fault("stop ids ignored", "engine.loop:Decoding._end", "token in self.tokenizer.stop_ids", "False"), ends),
    (
        Fault(
            "draft one too long for the limit",
            "engine.loop:Decoding._context",
            "remaining - self.method.rule.bonus",
            "remaining",
        ),
        lambda zoo: test_loop.check_limits(toy_lab()),
    ),
    (
        Fault(
            "a token too many",
            "engine.loop:Decoding._end",
            ">= self.config.max_new_tokens",
            "> self.config.max_new_tokens",
        ),
        lambda zoo: test_loop.check_limits(toy_lab()),
    ),
    (
        Fault(
            "path counted before the cut",
            "engine.record:Recorder.round",
            "min(len(verdict.path), len(emitted))",
            "len(verdict.path)",
        ),
        ends,
    ),
    (
        Fault(
            "greedy walk takes the first child",
            "engine.verify:_greedy_step",
            "if token == choice",
            "if token == choice or at < 0",
        ),
        lambda zoo: test_greedy.check_greedy_equality(noisy(zoo)),
    ),
    (
        Fault(
            "target fed the text without its root",
            "engine.loop:Decoding._round",
            "self.target.forward(self.tokens, asked, checked=True)",
            "self.target.forward(self.tokens[:-1] or self.tokens, asked)",
        ),
        lambda zoo: test_greedy.check_greedy_equality(noisy(zoo)),
    ),
    (
        Fault(
            "a column of the window sees the one before it",
            "engine.lookup.window:Window.tree",
            "range(start, start + len(row))",
            "range(start - 1, start - 1 + len(row))",
        ),
        lambda zoo: test_lookahead.check_window(zoo.lab("llama", draft=None, vocab=64, seed=3), ngram=5),
    ),
    (
        Fault(
            "the rows of the window taken for those of the draft",
            "engine.loop:Decoding._view",
            "logits[: len(draft) + 1], hidden",
            "logits[-len(draft) - 1 :], hidden",
        ),
        lambda zoo: test_lookahead.check_window(zoo.lab("llama", draft=None, vocab=64, seed=3)),
    ),
    (
        Fault(
            "the window's tokens not counted as read",
            "engine.loop:Decoding._keep",
            "len(draft.read) if read",
            "len(draft) if read",
        ),
        lambda zoo: test_lookahead.check_round(zoo.lab("llama", draft=None, vocab=12, seed=5)),
    ),
    # rules
    (
        Misdeclared(
            "overlap above instead of at least",
            "engine.rules.entropy_veto",
            'Compare(_AGREE, ">=", Setting("tau_overlap"), tolerance=1e-9)',
            'Compare(_AGREE, ">", Setting("tau_overlap"))',
        ),
        lambda zoo: test_entropy_veto.check_overlap_boundary(),
    ),
    (
        Misdeclared(
            "one unsure model is enough",
            "engine.rules.entropy_veto",
            '_without(("no_draft_entropy", "target_entropy_only"), _DRAFT_UNSURE)',
            "_ALWAYS",
        ),
        lambda zoo: test_entropy_veto.check_condition(),
    ),
    (
        Misdeclared(
            "an ablation of the wrong part",
            "engine.rules.entropy_veto",
            '_without(("no_overlap", "target_entropy_only"), _ENOUGH)',
            '_without(("no_draft_entropy",), _ENOUGH)',
        ),
        lambda zoo: test_entropy_veto.check_condition(),
    ),
    (
        Misdeclared(
            "a switch that is not heeded",
            "engine.rules.entropy_veto",
            '(("gt", Compare(_AGREE, ">", Setting("tau_overlap"))),)',
            "()",
        ),
        lambda zoo: test_entropy_veto.check_overlap_boundary(),
    ),
    (
        Fault(
            "veto without renormalisation",
            "engine.view:RoundView.distribution_without",
            "return distribution(logits, self.sampling)",
            "return distribution(self.logits[row], self.sampling) * (logits > -float('inf'))",
        ),
        lambda zoo: test_entropy_veto.check_always_distribution(),
    ),
    (
        Fault(
            "veto after the processors",
            "engine.view:RoundView.distribution_without",
            "return distribution(logits, self.sampling)",
            "p = distribution(self.logits[row], self.sampling) * (logits > -float('inf')); return p / p.sum() if p.sum() > 0 else self.p[row]",
        ),
        lambda zoo: test_entropy_veto.check_processors_after_veto(),
    ),
    (
        Fault(
            "veto emits the first choice again",
            "engine.view:RoundView.next_choice",
            'logits.index_fill_(0, sent(list(removed), logits.device, torch.long), -float("inf"))',
            "pass",
        ),
        lambda zoo: test_entropy_veto.check_second_best(),
    ),
    (
        Misdeclared("threshold of the other reading", "engine.rules.gap", '(("text", _SURE),)', "()"),
        lambda zoo: test_gap.check_direction("text", 1),
    ),
    (
        Misdeclared("gap below tau only", "engine.rules.gap", '"<=", Op("known"', '"<", Op("known"'),
        lambda zoo: test_gap.check_conditions(),
    ),
    (
        Misdeclared("one place fewer", "engine.rules.top_k", '"<=", Setting("accept_k")', '"<", Setting("accept_k")'),
        lambda zoo: test_top_k.check_kept(),
    ),
    (
        Misdeclared("plausible at the threshold", "engine.rules.typical", '    ">",', '    ">=",'),
        lambda zoo: test_typical.check_threshold(),
    ),
    (
        Misdeclared("the larger of both limits", "engine.rules.typical", '"min",', '"max",'),
        lambda zoo: test_typical.check_threshold(),
    ),
    (
        Fault(
            "the first branch that holds",
            "engine.rules.typical:Typical._longest",
            "max(best, key)",
            "best",
        ),
        lambda zoo: test_typical.check_deeper(),
    ),
    (
        Misdeclared("kept at the threshold", "engine.rules.judge", '    "<",', '    "<=",'),
        lambda zoo: test_judge_rule.check_threshold(zoo),
    ),
    (
        Fault(
            "the judge reads another row",
            "engine.rules.judge:JudgeRule.features",
            '"draft": [n + 1 for n in nodes]',
            '"draft": [*nodes]',
        ),
        lambda zoo: test_judge_rule.check_features(zoo),
    ),
    # the replay
    (
        Fault("u <= ratio, replayed", "engine.analysis.decisions:_strict", "u < chance", "u <= chance"),
        lambda zoo: test_replay.check_sampled(),
    ),
    (
        Fault(
            "a veto that changes nothing",
            "engine.analysis.decisions:_penalised",
            '"vetoed" if strict else "rejected"',
            '"accepted" if strict else "rejected"',
        ),
        lambda zoo: test_replay.check_vetoes(),
    ),
    (
        Fault(
            "relaxed whatever the threshold",
            "engine.analysis.decisions:_overridden",
            '"relaxed" if held',
            '"relaxed" if True',
        ),
        lambda zoo: test_replay.check_overrides(),
    ),
    (
        Fault(
            "a node's own number first",
            "engine.analysis.decisions:_numbers",
            "if name in reason",
            "if name in reason and not field",
        ),
        lambda zoo: test_replay.check_vetoes(),
    ),
    (
        Fault("a limit of any size", "engine.analysis.replay:_limits", "abs(told - term.limit) >", "0 * told >"),
        lambda zoo: test_replay.check_typical(),
    ),
    (
        Fault(
            "a veto of a rejected token overlooked",
            "engine.analysis.replay:_alike",
            "before.fired == after.fired",
            "True",
        ),
        lambda zoo: test_replay.check_veto_of_a_rejected_token(),
    ),
    # the record
    (
        Fault("entropy of the node's own row", "engine.view:Stats.h_target", "self.parents[node] + 1", "node + 1"),
        recorded,
    ),
    (
        Fault("origin of the row before", "engine.record:_measure", "verdict.path[-1] + 1 if verdict.path else 0", "0"),
        tokens,
    ),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=[fault.name for fault, _ in FAULTS])
def test_a_fault_is_noticed(fault: Fault | Misdeclared, check: Check, zoo: Zoo) -> None:
    zoo.model("gpt_neox")  # loaded sound: the trial at load would notice a fault of its decoder by itself
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        with pytest.raises(AssertionError):
            check(zoo)


def test_a_fault_that_no_longer_applies_is_an_error() -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError, match="occurs 0 times"):
        Fault("gone", "engine.verify:residual", "no such text", "").plant(patch)
