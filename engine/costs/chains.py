"""How long a chain is drafted so that tokens come fastest, from what was accepted so far and what a round costs."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul

from engine.costs.curve import Costs
from engine.costs.pace import HELD, Pace, Share, Told, best_chain, best_length
from engine.forecast import EDGES, NEAR, TRUST, Forecast, bin_of

MOST_CHAIN = 64  # draft tokens that a choice never exceeds
FIRST_LENGTH = 5  # of a chain about which nothing is known
CHAIN_HELD = (
    0.9  # share taken to hold where the pace of chains begins: tokens of which a drafter is not sure are not among them
)
MEMORY = 0.8  # weight of the past in the pace of chains, each round
PAUSE, LONGEST = 16, 64  # rounds without a draft before one is tried again: at first, and at most


class ChainChoice:
    """The length of a chain. A drafter that asks before each token is told token by token, by its confidence; of one
    that does not, the length is set before the round from how far earlier drafts held.

    What the drafter is so sure of is taken to hold as often as `forecast` says, where one was measured; else a little
    oftener than the drafter says itself. Either counts as one test.

    A draft of a model with another tokenizer is chosen in that model's own tokens (steps); how many of the target's one
    of them becomes is learnt. Which of the steps held is told by their share: of 8 steps that became 2 tokens, of
    which the first holds, 4.

    The token at which a draft ended is tested too where all before it held and the target then says what stands there:
    else nothing would ever be learnt of what is not drafted.

    Rounds without a draft follow where drafts have been slower than plain decoding; they double where a new one is too.
    """

    def __init__(self, costs: Costs, forecast: Forecast | None = None) -> None:
        self.costs, self.forecast = costs, forecast
        self._plain = 1 / costs.round(None, 1)
        self._fresh()

    def given(self, costs: Costs, forecast: Forecast | None) -> None:
        """What the next texts are chosen by, which may be sampled otherwise than those before."""
        self.costs, self.forecast, self.pace.costs = costs, forecast, costs
        self._plain = 1 / costs.round(None, 1)
        self._expect()

    def _fresh(self) -> None:
        self.pace = Pace(self.costs, CHAIN_HELD, MEMORY)  # of the rounds that draft
        self._any, self._each = Share(HELD), Share(1.0)  # tokens that hold; the target's tokens a step
        self._bins = [Share(0.5, 1.0) for _ in range(len(EDGES) + 1)]
        self._depths: list[Share] = []  # by place of the draft, as far as one was tested
        self._expected = [0.0] * len(self._bins), [0.0] * len(self._bins)  # near and further on; see `_expect`
        self._expect()
        self._pause = PAUSE  # how long the next one is
        self._left = 0 if self._pays else PAUSE  # rounds of this one
        self._round(stepwise=True)

    def begin(self) -> None:
        """A new text: nothing is known of the first. Of a later one it is what those before it taught, as little
        evidence; but where they left off drafting it is tried anew.

        The pace is then no more than the share of tokens that hold, which little evidence makes smaller, can bring: one
        that no draft can reach would end every draft where the curve is steep, however sure of it the drafter is.
        """
        if self._pays:
            for share in (self._any, self._each, *self._bins, *self._depths):
                share.fade()
            tokens, ms = best_chain(self._any.value(CHAIN_HELD), self.costs, MOST_CHAIN, self._each.value())
            self.pace.fade(tokens / ms)
            self._expect()
        else:
            self._fresh()

    def _round(self, stepwise: bool) -> None:
        self._chosen = False  # a drafter that copies for once asks for no length
        self._rate, self._length = max(self.pace.rate, self._plain), self._each.value()
        self._stepwise, self._asked = stepwise, 0
        self._places, self._chances, self._reached = list[int](), list[float](), 1.0  # by token its bin, its chance
        self._dear = [self._rate * ms for ms in self._further()]  # what one more behind so many must bring
        self._step = self._rate * self.costs.step / self._length  # and its drafting
        self._least = 0.0
        self._following: float | None = None
        self._refused: int | None = None  # the bin of the token at which the draft ended

    def _further(self) -> Sequence[float]:
        """Milliseconds of one more step's tokens in a pass, behind 0 to `MOST_CHAIN` steps."""
        if self._length == 1:
            return self.costs.passes.ahead[1 : MOST_CHAIN + 2]
        return [self.costs.further(round(self._length * drafted) + 1) for drafted in range(MOST_CHAIN + 1)]

    @property
    def _pays(self) -> bool:
        return self.pace.rate > self._plain

    def limit(self, *, stepwise: bool = False) -> int:
        """Most tokens of this round's draft; `stepwise` says that its drafter makes them one by one, and asks before
        each."""
        self._round(stepwise)
        self._chosen = True
        if self._left:
            self._left -= 1
            return 0
        if stepwise:
            return MOST_CHAIN
        each = self._each.value()
        return max(1, best_length(self._known(), self.costs, each)) if self._any.tests else FIRST_LENGTH

    def _known(self) -> list[float]:
        """By place the chance that a draft token holds where those before it did."""
        overall = self._any.value()
        return [*(share.value(overall) for share in self._depths), *[overall] * (MOST_CHAIN - len(self._depths))]

    def more(self, drafted: int, share: float) -> bool:
        """Whether the next token, of which the drafter is so sure, joins the draft: its own time is spent."""
        self._asked = drafted + 1
        place = bin_of(share)
        known = self.forecast is not None
        chance = self._expected[drafted >= NEAR][place] if known else self._bins[place].value(share**TRUST)
        self._least, following = self._dear[drafted], self._reached * chance
        if drafted and following < self._least:
            self._following, self._refused = following, place
            return False
        self._places.append(place)
        self._chances.append(chance)
        self._reached, self._following = following, None
        return True

    def _expect(self, places: Iterable[int] = range(len(EDGES) + 1)) -> None:
        """Where there is a forecast, what is expected of these bins: worked out when they change, since it is asked at
        every step."""
        if self.forecast is None:
            return
        for expected, priors in zip(
            self._expected, (self.forecast.chances(), self.forecast.chances(NEAR)), strict=True
        ):
            for place in places:
                expected[place] = self._bins[place].value(priors[place])

    def among(self, shares: Sequence[float]) -> int:
        """How many of the tokens of a draft that was made in one pass are verified, by how sure the drafter is of
        each."""
        refused = (n for n, share in enumerate(shares[:MOST_CHAIN]) if not self.more(n, share))
        taken = next(refused, min(len(shares), MOST_CHAIN))
        self._asked = len(shares)
        return taken

    def ends(self, drafted: int) -> bool:
        """Whether another step would cost more than it can bring, which is a token if all before it hold."""
        if not self._stepwise:  # nothing is saved
            return False
        self._least = self._step + self._dear[drafted]
        self._following = self._reached if self._reached < self._least else None
        return self._following is not None

    def told(self, drafted: int, steps: int | None = None) -> Told:
        """This round's choice, of so many draft tokens that are verified, made in as many `steps` or others."""
        steps = drafted if steps is None else steps
        held = sum(accumulate((self._chances or self._known())[:steps], mul))
        tokens = 1.0 + held * (drafted / steps if steps else 1.0)
        return Told(tokens, self.costs.round(steps or None, drafted + 1), self._least, self._following)

    def observe(self, drafted: int, accepted: int, steps: int | None = None, further: bool | None = None) -> None:
        """Learn from a verified round whose length was chosen; `steps` as for `told`, `further` is whether the token at
        which the draft ended would have held, where that is known of a draft that held. The pace takes the tokens that
        were expected, which scatter less than those that came; how often the expectation is wrong is learnt with the
        chances."""
        if not self._chosen:
            return
        self._chosen = False
        steps = drafted if steps is None or not drafted else steps
        if drafted:
            self.pace.add(self.told(drafted, steps).expected, self.costs.round(max(steps, self._asked), drafted + 1))
            self._each.add(drafted, steps)
            accepted = accepted * steps // drafted
        tests = [float(place < accepted) for place in range(min(accepted + 1, steps))]
        if further is not None and self._refused is not None and drafted == steps == accepted:
            tests.append(float(further))
            self._places.append(self._refused)
        self._any.add(sum(tests), len(tests))
        self._depths.extend(Share(HELD, 2.0) for _ in range(len(self._depths), min(len(tests), MOST_CHAIN)))
        for depth, held in zip(self._depths, tests, strict=False):
            depth.add(held)
        for place, held in zip(self._places, tests, strict=False):
            self._bins[place].add(held)
        self._expect(set(self._places[: len(tests)]))
        if drafted:
            self._left = 0 if self._pays else self._pause
            self._pause = PAUSE if self._pays else min(2 * self._pause, LONGEST)
