"""What to draft, against an enumeration of all that could be; and the curve that it rests on."""

import itertools
import random
from dataclasses import replace
from math import exp, log

import pytest

from engine.costs import Costs, Curve
from engine.costs.chains import FIRST_LENGTH, LONGEST, MEMORY, MOST_CHAIN, PAUSE, ChainChoice
from engine.costs.curve import rising
from engine.costs.pace import HELD, KEPT, KEPT_ROUNDS, Pace, Share, best_length, best_size
from engine.costs.trees import PATIENCE, TreeChoice
from engine.errors import ConfigError
from engine.forecast import TRUST, bin_of

CURVE = Costs(passes=Curve(((1, 2.0), (4, 2.6), (8, 3.0), (16, 5.0))), start=0.1, step=0.3, row=0.05, other=0.2)


def test_the_curve_is_a_line_between_what_was_measured_and_beyond() -> None:
    assert [CURVE.verify(n) for n in (1, 2, 4, 6, 8, 12, 20)] == pytest.approx([2.0, 2.2, 2.6, 2.8, 3.0, 4.0, 6.0])
    assert CURVE.further(8) == pytest.approx(0.25)
    assert CURVE.round(None, 1) == pytest.approx(2.2)
    assert CURVE.round(5, 6) == pytest.approx(0.1 + 5 * 0.3 + 2.8 + 0.2)
    assert CURVE.round(2, 9, rows=6) == pytest.approx(0.1 + 2 * 0.3 + 4 * 0.05 + 3.25 + 0.2)
    assert Costs(Curve(((1, 2.0),)), 0, 0).verify(9) == 2.0
    assert Costs.from_json(CURVE.to_json()) == CURVE
    assert CURVE.chains == pytest.approx([CURVE.round(n or None, n + 1) for n in range(127)])
    assert best_length([1.0] * 300, CURVE) == 300  # beyond what is known by heart
    falling = Curve(((1, 2.0), (2, 1.2)))
    assert falling.at(9) == 0.6  # noise at the last two sizes does not make a long pass free
    for samples in ((), ((2, 1.0), (1, 1.0)), ((1, 1.0), (1, 1.0)), ((1, 0.0),)):
        with pytest.raises(ConfigError, match="rise"):
            Curve(samples)


def test_noise_never_makes_a_larger_pass_cheaper() -> None:
    assert rising([(1, 2.0), (2, 3.0), (3, 1.0), (4, 5.0)]) == ((1, 2.0), (2, 2.0), (3, 2.0), (4, 5.0))
    assert rising([(1, 3.0), (2, 2.0), (3, 1.0)]) == ((1, 2.0), (2, 2.0), (3, 2.0))


@pytest.mark.parametrize(
    "costs",
    [CURVE, Costs(Curve(((1, 1.0), (2, 1.9), (9, 9.0))), 0.2, 0.4), Costs(Curve(((1, 9.0), (64, 9.1))), 0, 0.01)],
)
def test_a_chain_has_the_length_that_enumeration_finds(costs: Costs) -> None:
    for chances in itertools.product((0.2, 0.6, 0.9, 0.99), repeat=5):
        rates = [1 / costs.round(None, 1)]
        for n in range(1, 6):
            reached = [1.0]
            for chance in chances[:n]:
                reached.append(reached[-1] * chance)
            rates.append(sum(reached) / costs.round(n, n + 1))
        assert rates[best_length(chances, costs)] == pytest.approx(max(rates))


def test_a_tree_has_the_size_that_enumeration_finds() -> None:
    for rate in (0.05, 0.5, 1.0, 3.0):
        for chances in itertools.combinations_with_replacement((0.9, 0.5, 0.2, 0.05), 6):
            values = [sum(chances[:n]) - rate * CURVE.verify(n + 1) for n in range(7)]
            assert values[best_size(chances, rate, CURVE)] == pytest.approx(max(values))


def draft(choice: ChainChoice, shares: list[float]) -> int:
    """How many tokens a drafter writes that makes them one by one, so sure of each."""
    limit, drafted = min(choice.limit(stepwise=True), len(shares)), 0
    while drafted < limit and choice.more(drafted, shares[drafted]):
        drafted += 1
        if choice.ends(drafted):
            break
    return drafted


def at(choice: ChainChoice, place: int) -> Share:
    """What was learnt of a place of the draft; the choice itself keeps none where nothing was tested."""
    return choice._depths[place] if place < len(choice._depths) else Share(0.0)


def rounds(choice: ChainChoice, held: list[bool], n: int = 60, share: float = 0.5) -> list[int]:
    """Lengths of chains whose draft tokens hold in turn as `held` says, of a drafter that is always as sure."""
    lengths, outcomes = [], itertools.cycle(held)
    for _ in range(n):
        drafted = draft(choice, [share] * MOST_CHAIN)
        accepted = next((i for i in range(drafted) if not next(outcomes)), drafted)
        choice.observe(drafted, accepted)
        lengths.append(drafted)
    return lengths


def test_a_chain_grows_where_drafts_hold_and_shrinks_where_they_do_not() -> None:
    always, mostly, never = (rounds(ChainChoice(CURVE), held) for held in ([True], [True, True, True, False], [False]))
    assert always[-1] == MOST_CHAIN and 1 < mostly[-1] < 12
    assert set(never[-30:]) <= {0, 1}


def test_a_drafter_that_never_holds_is_left_alone_for_longer_and_longer() -> None:
    lengths = rounds(ChainChoice(CURVE), [False], 300)
    pauses = [len(list(run)) for nothing, run in itertools.groupby(lengths, lambda n: n == 0) if nothing]
    assert pauses[:4] == [PAUSE, 2 * PAUSE, LONGEST, LONGEST]
    assert 1 < lengths.index(0) < 12  # one bad draft tells little


def test_nothing_is_drafted_at_first_where_no_draft_can_pay() -> None:
    dear = Costs(Curve(((1, 1.0), (2, 1.9), (9, 9.0))), 9.0, 9.0)
    assert rounds(ChainChoice(dear), [True], PAUSE + 1) == [0] * PAUSE + [1]


def test_a_first_draft_goes_as_far_as_the_drafter_is_sure() -> None:
    assert draft(ChainChoice(CURVE), [0.99] * MOST_CHAIN) > 2 * FIRST_LENGTH
    assert draft(ChainChoice(CURVE), [0.99] * 3 + [0.2] * 9) == 4


def test_one_more_token_is_drafted_exactly_when_it_brings_more_than_its_time() -> None:
    def begun() -> ChainChoice:
        choice = ChainChoice(CURVE)
        rounds(choice, [True, True, True, False], 7)
        choice.limit(stepwise=True)
        choice.more(0, 0.5)
        return choice

    choice = begun()
    worth, reached = choice.pace.rate * CURVE.further(2), choice.told(1).expected - 1
    least = (worth / reached) ** (1 / TRUST)  # untested bins trust the drafter, and a little more
    for share in (0.01, least - 0.001, least + 0.001, 0.96, 1.0):
        one = begun()
        assert one.more(1, share) == (share > least), (share, least)
        told = one.told(1).extras()
        assert (told["following"] is None) == (share > least) and told["least"] == pytest.approx(worth)


def test_the_token_at_which_a_draft_ended_is_learnt_from_where_its_place_is_known() -> None:
    """A bin that is never drafted is else never tested."""
    for accepted, further, tests in ((1, True, 1), (1, False, 1), (1, None, 0), (0, True, 0), (0, False, 0)):
        choice = ChainChoice(CURVE)
        choice.limit(stepwise=True)
        assert choice.more(0, 0.99) and not choice.more(1, 0.02)
        choice.observe(1, accepted, further=further)
        for share in (choice._bins[bin_of(0.02)], at(choice, 1)):
            assert (share.tests, share.held) == (tests, float(tests and bool(further)))
    modest, lengths = ChainChoice(CURVE), list[int]()
    for _ in range(8):
        lengths.append(draft(modest, [0.99] * 3 + [0.02] * 9))
        modest.observe(lengths[-1], lengths[-1], further=True)
    assert lengths[0] == 3 < lengths[-1]


def test_another_step_is_made_exactly_while_a_token_behind_all_that_hold_would_be_worth_it() -> None:
    for share in (0.2, 0.4, 0.5, 0.6, 0.8):
        choice = ChainChoice(CURVE)
        choice.limit(stepwise=True)
        choice.more(0, share)
        worth = choice.pace.rate * (CURVE.step + CURVE.further(2))
        assert choice.ends(1) == (share**TRUST < worth)
        choice.limit()
        choice.more(0, share)
        assert not choice.ends(1)  # of a draft that is made at once every step is spent


def test_a_step_that_was_refused_has_cost_its_time() -> None:
    spent = []
    for shares in ([0.9], [0.9, 0.0]):
        choice = ChainChoice(CURVE)
        assert draft(choice, shares) == 1
        before = MEMORY * choice.pace.ms
        choice.observe(1, 1)
        spent.append(choice.pace.ms - before)
    assert spent == pytest.approx([CURVE.round(1, 2), CURVE.round(2, 2)])


def test_a_drafter_that_shows_nothing_gets_the_best_length_of_its_past() -> None:
    choice = ChainChoice(CURVE)
    assert choice.limit() == FIRST_LENGTH
    for _ in range(50):
        length = choice.limit()
        choice.observe(length, min(length, 3))
    assert choice.limit() == 3  # three always hold, the fourth never
    assert choice.told(3).expected == pytest.approx(4, abs=0.3)


def test_rounds_that_found_nothing_to_draft_say_nothing_of_the_drafter() -> None:
    choice = ChainChoice(CURVE)
    for _ in range(100):
        assert choice.limit() == FIRST_LENGTH
        choice.observe(0, 0)


@pytest.mark.parametrize(("steps", "tokens"), [(2, 6), (6, 2), (4, 4)])
def test_a_draft_is_chosen_in_the_tokens_of_the_model_that_writes_it(steps: int, tokens: int) -> None:
    """Steps that become other tokens are asked for, learnt and paid as steps, verified and told as tokens."""
    choice = ChainChoice(CURVE)
    for _ in range(200):
        choice.limit()
        asked = [choice.more(place, 0.9) for place in range(steps)]
        assert all(asked)
        told = choice.told(tokens, steps)
        choice.observe(tokens, tokens, steps)
    assert told.expected == pytest.approx(1 + tokens, rel=0.02) and told.expected_ms == CURVE.round(steps, tokens + 1)
    assert choice.pace.rate == pytest.approx(told.expected / told.expected_ms, rel=0.02)
    assert [at(choice, place).tests for place in range(steps + 1)] == [200.0] * steps + [0.0]
    choice.limit()
    choice.more(0, 0.9)
    choice.more(1, 0.9)
    each = tokens / steps
    worth = choice.pace.rate * CURVE.further(round(each) + 1)
    assert choice.told(1).least == pytest.approx(worth, rel=0.02)


@pytest.mark.parametrize(
    ("drafted", "accepted", "steps", "held"),
    [(2, 1, 8, 4), (2, 0, 8, 0), (6, 4, 2, 1), (6, 2, 2, 0), (3, 3, 5, 5), (4, 2, 4, 2)],
)
def test_steps_hold_as_far_as_their_tokens_do(drafted: int, accepted: int, steps: int, held: int) -> None:
    choice = ChainChoice(CURVE)
    choice.limit()
    for place in range(steps):
        choice.more(place, 0.99)
    choice.observe(drafted, accepted, steps)
    tested = [(at(choice, place).tests, at(choice, place).held) for place in range(steps)]
    assert tested == [(1, 1)] * held + [(1, 0)] * (held < steps) + [(0, 0)] * (steps - held - 1)


Text = list[tuple[float, bool]]  # at each place how sure the drafter is of its token, and whether that holds
FAMILIES = {  # chances of a confidence, by how often it comes
    "honest": [(0.998, 0.998, 6), (0.9, 0.9, 2), (0.4, 0.4, 2)],
    "too modest": [(0.999, 0.999, 8), (0.4, 0.98, 1)],
    "too sure": [(0.999, 0.97, 8), (0.4, 0.02, 1)],
    "poor": [(0.6, 0.5, 2), (0.3, 0.2, 1)],
}


def texts(family: str, length: int, n: int = 12) -> list[Text]:
    """Some texts of a family, the same each time."""
    draws, kinds = random.Random(family), FAMILIES[family]
    chosen = [draws.choices(kinds, [weight for *_, weight in kinds], k=length) for _ in range(n)]
    return [[(share, draws.random() < chance) for share, chance, _ in text] for text in chosen]


def spent(text: Text, costs: Costs, choice: ChainChoice | None, gamma: int = 0) -> float:
    """Milliseconds of one text, by what rounds really cost."""
    at, ms = 0, 0.0
    if choice:
        choice.begin()
    while at < len(text):
        ahead = text[at : at + MOST_CHAIN]
        n = draft(choice, [share for share, _ in ahead]) if choice else min(gamma, len(ahead))
        accepted = next((i for i, (_, holds) in enumerate(ahead[:n]) if not holds), n)
        steps = max(n, choice._asked if choice else 0)
        ms += costs.round(steps or None, n + 1)
        if choice:
            choice.observe(n, accepted)
        at += accepted + 1
    return ms


def off(costs: Costs, passes: float, drafts: float) -> Costs:
    """Costs that were measured wrong."""
    first = costs.verify(1)
    samples = tuple((n, first + passes * (ms - first)) for n, ms in costs.passes.samples)
    return Costs(Curve(samples), drafts * costs.start, drafts * costs.step, costs.row, costs.other)


REAL = Costs(Curve(((1, 1.0), (2, 1.22), (4, 1.3), (8, 1.45), (16, 1.73), (32, 2.35))), 0.28, 0.155, 0.0, 0.14)


@pytest.mark.parametrize(
    ("family", "length", "bar"),
    [
        ("honest", 14, 0.97),
        ("honest", 80, 0.97),
        ("too modest", 80, 0.97),
        ("too sure", 14, 0.97),
        ("too sure", 80, 0.97),
        ("poor", 80, 0.9),  # best without a draft, which is to be found out in each text anew
    ],
)
def test_a_chosen_length_is_as_fast_as_the_best_fixed_one_even_where_costs_are_wrong(
    family: str, length: int, bar: float
) -> None:
    given = texts(family, length)
    best = min(sum(spent(text, REAL, None, gamma) for text in given) for gamma in (0, 1, 2, 3, 4, 5, 7, 10, 13, 16))
    for passes, drafts in ((1, 1), (1.3, 1), (0.7, 1), (1, 1.3), (1, 0.7)):
        costs = off(REAL, passes, drafts)
        mine, living = sum(spent(text, REAL, ChainChoice(costs)) for text in given), ChainChoice(costs)
        kept = sum(spent(text, REAL, living) for text in given)
        assert best / mine > bar, (passes, drafts, best / mine)
        assert best / kept > bar, (passes, drafts, best / kept)


def test_a_choice_that_lives_on_brings_what_earlier_texts_taught_as_little_evidence() -> None:
    good, bad = ChainChoice(CURVE), ChainChoice(CURVE)
    rounds(good, [True], 200, 0.8)  # what a drafter is unsure of holds,
    rounds(bad, [True, True, False], 200, 0.9)  # and what it is sure of does not
    good.begin()
    bad.begin()
    assert rounds(bad, [True], 1, 0.9) < rounds(ChainChoice(CURVE), [True], 1, 0.9)
    assert rounds(good, [True], 1, 0.8) > rounds(ChainChoice(CURVE), [True], 1, 0.8)
    turned = ChainChoice(CURVE)
    rounds(turned, [False], 200)
    assert sum(rounds(turned, [True], LONGEST)) <= 1  # it drafts as good as nothing
    turned.begin()
    assert rounds(turned, [True], 10) == rounds(ChainChoice(CURVE), [True], 10)


def test_a_pace_that_no_draft_can_reach_ends_none_at_the_start_of_a_new_text() -> None:
    """Texts of 54 tokens that all hold bring more a millisecond than a draft may hope for of which little is known; by
    that pace the steep part of the curve, which the rest of the draft pays for, was never worth its time."""
    passes = ((1, 1.6), (4, 2.2), (8, 2.8), (12, 4.0), (16, 4.9), (24, 5.5), (48, 8.6), (64, 10.4))
    steep = Costs(passes=Curve(passes), start=0.6, step=0.19, other=0.14)
    choice = ChainChoice(steep)
    choice.limit(stepwise=True)
    assert all(choice.more(at, 1.0) for at in range(54))
    for _ in range(4):
        choice.observe(54, 54)
        choice.limit(stepwise=True)
        assert next(n for n in range(54) if not choice.more(n, 1.0) or n == 53) == 53
    pace = choice.pace.rate
    choice.begin()
    assert choice.pace.rate < 0.8 * pace
    choice.limit(stepwise=True)
    assert not any(choice.ends(n + 1) for n in range(54) if choice.more(n, 1.0)) and choice.told(54).following is None
    ended = replace(choice.costs, step=2.0)  # where steps are dear an end comes all the same
    choice.given(ended, None)
    choice.limit(stepwise=True)
    assert any(choice.ends(n + 1) for n in range(54) if choice.more(n, 1.0))


def test_a_draft_whose_length_was_not_chosen_teaches_nothing() -> None:
    choice, alone = ChainChoice(CURVE), ChainChoice(CURVE)
    for one in (choice, alone):
        rounds(one, [True, True, False], 9, 0.9)
    choice.observe(24, 0)  # a copy, say
    assert rounds(choice, [True], 9, 0.9) == rounds(alone, [True], 9, 0.9)


@pytest.mark.parametrize("made", [ChainChoice, TreeChoice])
def test_a_new_text_leaves_a_fresh_choice_as_it_was(made: type[ChainChoice | TreeChoice]) -> None:
    begun, fresh = made(CURVE), made(CURVE)
    begun.begin()
    assert {name: repr(value) for name, value in vars(begun).items()} == {
        name: repr(value) for name, value in vars(fresh).items()
    }


def test_a_share_and_a_pace_keep_their_value_and_little_weight() -> None:
    share, pace = Share(0.5), Pace(CURVE)
    share.add(60.0, 80.0)
    for _ in range(50):
        pace.add(9.0, 1.0)
    value, rate = share.held / share.tests, pace.rate
    share.fade()
    pace.fade()
    assert share.tests == KEPT and share.held == pytest.approx(KEPT * value) and pace.rate == pytest.approx(rate)
    pace.add(0.0, pace.ms)
    assert pace.rate == pytest.approx(rate / 2) and pace.ms == pytest.approx(2 * KEPT_ROUNDS * Pace(CURVE).ms)
    share.add(0.0, 3.0)
    share.fade()
    assert share.tests == KEPT and share.held == pytest.approx(KEPT * 12 / 19)


def test_a_tree_stops_and_narrows_where_it_costs_more_than_it_brings() -> None:
    choice = TreeChoice(CURVE)
    sure, thin = [0.9, 0.05, 0.01], [0.03, 0.01]
    assert choice.onward(sure, stops=True, prunes=True) == 1
    assert choice.onward(sure, stops=True, prunes=False) == 3
    assert choice.onward(thin, stops=True, prunes=True) == 0
    assert choice.onward(thin, stops=False, prunes=False) == 2
    assert choice.onward([], stops=True, prunes=True) == choice.onward([], stops=False, prunes=False) == 0
    told = choice.told([sure[0]])
    assert told.expected == pytest.approx(1.9) and told.following is not None and told.following < told.least


def test_where_a_tree_stopped_is_told_by_what_more_would_have_had_to_bring_and_would_have_brought() -> None:
    choice = TreeChoice(CURVE)
    rate, node = choice.pace.rate, CURVE.further(9)  # 8 nodes and the root, as if there had been rounds
    assert choice.onward([0.03, 0.01], stops=True, prunes=True) == 0
    told = choice.told([])
    assert (told.least, told.following) == pytest.approx((rate * (CURVE.row + node), HELD * 0.03)), "a single node more"
    assert choice.onward([0.3, 0.1], stops=True, prunes=False) == 0
    told = choice.told([])
    level = rate * (CURVE.step + CURVE.row + node)
    assert (told.least, told.following) == pytest.approx((level, HELD * 0.4)), "a level of both"
    assert (told.expected, told.expected_ms) == pytest.approx((1.0, CURVE.round(None, 1)))


def test_a_branch_goes_on_exactly_when_its_children_bring_more_than_a_row_and_a_node_cost() -> None:
    choice = TreeChoice(CURVE)
    worth = (
        choice.pace.rate * (CURVE.row + CURVE.further(9)) / HELD
    )  # 8 nodes and the root, as if there had been rounds
    for share in (0.5 * worth, 0.99 * worth, 1.01 * worth, 2 * worth):
        rows = choice.onward([0.9, share], stops=False, prunes=True)
        assert rows == (2 if share > worth else 1), share


BUSH: tuple[list[int], ...] = ([0, 1], [2, 3], [], [], [])  # two children of the root, two of the likelier of them
SAID = [log(p) for p in (0.5, 0.4, 0.25, 0.2)]
CHANCES = [exp(score) for score in SAID]


def test_a_tree_learns_how_far_the_head_is_to_be_trusted() -> None:
    choice = TreeChoice(CURVE)
    first = choice.trust()
    for _ in range(400):
        choice.start()
        choice.observe(BUSH, SAID, CHANCES, [0, 3], 3, deeper=False)  # one of two steps fails, to the other child
    fails, others = choice.trust()
    assert fails == pytest.approx(1.0, abs=0.02)  # one of 0.5 + 0.5
    assert others == pytest.approx(fails * 1 / (0.4 / 0.5), abs=0.02)  # 0.4 of the half that was left was verified
    choice.begin()
    assert first[0] < choice.trust()[0] < fails  # of another text a little less is taken for granted
    choice = TreeChoice(CURVE)
    for _ in range(400):
        choice.start()
        choice.observe(BUSH, SAID, CHANCES, [0, 2], 3, deeper=False)
    assert choice.trust()[0] < 0.01  # nothing ever fails
    assert choice.trust()[1] == pytest.approx(choice.trust()[0])  # and what the others would do nobody learns


def test_what_was_not_there_teaches_a_tree_nothing() -> None:
    """A chain says nothing of branches, and a round that accepts nothing nothing of where drafts go on."""
    choice = TreeChoice(CURVE)
    branches = choice._branches.value(), choice._branches.tests
    choice.start(forks=False)
    choice.observe([[0], [1], []], [SAID[0], SAID[2]], [CHANCES[0], CHANCES[2]], [0, 1], 3, deeper=False)
    assert (choice._branches.value(), choice._branches.tests) == branches
    going = choice._goes_on.value(), choice._goes_on.tests
    choice.start(forks=True)
    choice.observe(BUSH, SAID, CHANCES, [], 1, deeper=True)
    assert (choice._goes_on.value(), choice._goes_on.tests) == going
    assert choice._branches.tests > branches[1]


def drafts(choice: TreeChoice, chances: list[float], n: int) -> list[bool]:
    """Whether each of so many rounds was a tree, of nodes with such chances; the spine always holds."""
    forked = list[bool]()
    for _ in range(n):
        forked.append(choice.start())
        choice.onward([0.5, 0.4] if forked[-1] else [0.5], stops=False, prunes=False)
        if forked[-1]:
            choice.observe(BUSH, SAID, chances, [0, 2], 3, deeper=False)
        else:
            choice.observe([[0], [1], []], [SAID[0], SAID[2]], [chances[0], chances[2]], [0, 1], 3, deeper=False)
    return forked


def test_a_tree_is_drafted_only_while_its_branches_bring_more_than_they_cost() -> None:
    costs = Costs(Curve(((1, 2.0), (64, 2.6))), start=0.1, step=0.3, row=0.01, fork=0.02, spread=0.03)
    assert all(drafts(TreeChoice(costs), [0.9, 0.9, 0.8, 0.8], 60))
    spines = drafts(TreeChoice(costs), [0.9, 0.01, 0.8, 0.01], 60)  # the others are next to nothing
    first = spines.index(False)
    assert 0 < first < 12 and set(spines[first : first + PATIENCE]) == {False} and spines[first + PATIENCE]
    assert not any(all(spines[i : i + 2]) for i in range(first, 59))


def test_the_first_tree_waits_where_by_the_costs_alone_it_would_not_pay() -> None:
    dear = drafts(TreeChoice(replace(CURVE, fork=9.0)), [0.9, 0.9, 0.8, 0.8], 60)
    assert dear.index(True) == PATIENCE and not all(dear[PATIENCE:])


def test_a_tree_costs_more_than_a_chain_of_its_size() -> None:
    costs = replace(CURVE, fork=0.2, spread=0.3)
    assert costs.round(2, 5) == CURVE.round(2, 5)
    assert costs.round(2, 5, rows=6) == pytest.approx(CURVE.round(2, 5, rows=6) + 2 * 0.2 + 0.3)
    assert costs.round(None, 1, rows=0) == CURVE.round(None, 1)
    assert Costs.from_json(costs.to_json()) == costs


def test_the_pace_begins_at_that_of_a_drafter_that_is_mostly_right() -> None:
    rate = Pace(CURVE).rate
    assert rate == pytest.approx(max(sum(HELD**i for i in range(n + 1)) / CURVE.round(n, n + 1) for n in range(1, 17)))
    dear = Costs(Curve(((1, 1.0), (2, 1.9), (9, 9.0))), 9.0, 9.0)
    assert Pace(dear).rate == 1 / dear.round(None, 1)  # where no draft pays
