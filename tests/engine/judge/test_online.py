"""Mining along an EAGLE head's windows: what is tried, what stays, and where the text goes (register A9)."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from engine.config import Sampling
from engine.draft import chain
from engine.errors import ConfigError
from engine.judge.criterion import Response
from engine.judge.events import ForkGenerated, Label, Labelled, MismatchFound, PromptFinished
from engine.judge.online import STRETCH, OnlineRule, OnlineSearch
from engine.judge.search import Prompt
from engine.lab import Lab
from engine.runs.mining import online_search
from engine.tasks.problem import Problem
from engine.view import RoundView
from tests.engine.heads import made
from tests.engine.zoo import Zoo

IDS = [3, 14, 15, 9, 2, 6]
LIMIT, WINDOW = 40, 5


@dataclass
class Always:
    """A criterion with one verdict for all."""

    verdict: bool
    running = False

    def answer(self, problem: Problem, text: str) -> str:
        return text

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        return self.verdict


@pytest.fixture(scope="module")
def headed(zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = zoo.lab("llama", draft=None, vocab=32, seed=5)
    lab.asset_paths["eagle2"] = str(made.eagle(tmp_path_factory.mktemp("head"), lab.target, "eagle2"))
    return lab


def mined(lab: Lab, important: bool, unlikely: float = 0.0, stretch: float = STRETCH) -> tuple[PromptFinished, list]:
    prompt = Prompt("p0", Problem("k", "arithmetic", "words", "", ""), IDS)
    search = online_search(lab, "eagle2", [prompt], Always(important), LIMIT, WINDOW)
    search.unlikely, search.stretch = unlikely, stretch
    *events, done = search.run(prompt)
    assert isinstance(done, PromptFinished) and done.first and not done.skipped
    return done, events


def distributions(lab: Lab, ids: list[int]) -> torch.Tensor:
    """The target's distributions after the prompt and after each token of a response [N + 1, V]."""
    session = lab.target.session(len(IDS) + len(ids) + 1)
    return torch.softmax(session.forward(IDS, chain(ids)).logits.double(), -1)


@pytest.mark.thorough
def test_where_all_is_important_the_text_is_the_targets_own(headed: Lab) -> None:
    done, events = mined(headed, important=True)
    own = headed.run("ar", IDS, max_new_tokens=LIMIT).token_ids
    assert done.first == done.final == own and done.labels
    for label in done.labels:
        assert label.important and label.target_token == own[label.t] != label.draft_token
        assert label.target_rest == own[label.t + 1 :]
    assert [e.label for e in events if isinstance(e, Labelled)] == done.labels


@pytest.mark.thorough
def test_where_nothing_is_important_every_tried_token_stays(headed: Lab) -> None:
    done, _ = mined(headed, important=False)
    p = distributions(headed, done.final)
    assert done.labels and done.final != done.first
    for label in done.labels:
        assert not label.important and done.final[label.t] == label.draft_token != label.target_token
        assert label.target_token == int(p[label.t].argmax())
    tried = {label.t for label in done.labels}
    first = next(i for i, token in enumerate(done.final) if token != int(p[i].argmax()))
    assert first in tried, "the text leaves the target's own only where a swap was tried"
    assert all(t in tried for t, token in enumerate(done.final) if token != int(p[t].argmax()))
    assert any(b.t - a.t == 1 for a, b in zip(done.labels, done.labels[1:], strict=False)), (
        "a window goes on behind a kept token"
    )


@pytest.mark.thorough
def test_refusals_in_the_first_window_are_not_looked_at(headed: Lab) -> None:
    done, _ = mined(headed, important=False)
    knobs = {"tree_top_k": 1, "depth": WINDOW - 1, "total_token": WINDOW}
    window = headed.run("eagle2", IDS, max_new_tokens=LIMIT, **knobs).rounds[0]
    assert [token.token for token in window.tokens] == done.final[: len(window.tokens)]
    assert len(window.tokens) <= WINDOW - 1 and min(label.t for label in done.labels) >= len(window.tokens)


@pytest.mark.thorough
@pytest.mark.parametrize("stretch", [0.6, STRETCH])
def test_an_alternative_is_the_targets_and_of_limited_length(headed: Lab, stretch: float) -> None:
    done, events = mined(headed, important=False, stretch=stretch)
    forks = [event for event in events if isinstance(event, ForkGenerated)]
    assert len(forks) == len(done.labels) == len([e for e in events if isinstance(e, MismatchFound)])
    for label, fork in zip(done.labels, forks, strict=True):
        ids = [*IDS, *done.final[: label.t], label.draft_token]
        most = max(1, min(int(stretch * len(done.first)) - label.t - 1, LIMIT - label.t - 1))
        assert fork.rest == label.draft_rest == headed.run("ar", ids, max_new_tokens=most).token_ids


def tried(lab: Lab, length: int, share: float = 0.3) -> tuple[Label, list[int]]:
    """The label of a rejected token to which the target gives `share`, two tokens into a response whose first has
    `length`; and how many tokens the target was asked for."""
    asked: list[int] = []

    @dataclass
    class Told:
        """A target that notes what it is asked for."""

        def generate(self, ids: list[int], most: int) -> list[int]:
            assert ids == [*IDS, 7, 8, 9]
            asked.append(most)
            return [5]

    search = OnlineSearch(
        decode=lambda ids, limit, rule: [],
        target=Told(),  # type: ignore[arg-type]
        criterion=Always(False),  # type: ignore[arg-type]
        tokenizer=lab.target.tokenizer,
        limit=LIMIT,
        capacity=100,
    )
    prompt = Prompt("p0", Problem("k", "arithmetic", "words", "", ""), IDS)
    rule = OnlineRule(search, prompt, Response("", ""), length, LIMIT)
    row = torch.full((32,), 1e-9).double()
    row[9], row[10] = share, 1 - share
    view = RoundView(chain([9]), row.log().repeat(2, 1), Sampling(), [0.5], 0.5, tokens=[*IDS, 7, 8])
    first = rule.decide(view)  # the first window is not looked at
    assert not first.path and not rule.labels
    assert (rule.decide(view).path == [0]) == (not rule.labels[0].important)
    return rule.labels[0], asked


@pytest.mark.parametrize(("length", "most"), [(4, 3), (7, 7), (20, 27), (30, LIMIT - 3), (1, 1)])
def test_an_alternative_is_at_most_half_as_long_again_as_the_targets_own_response(
    headed: Lab, length: int, most: int
) -> None:
    """A9: 1.5 times, rounded down, less the three tokens that are there; within the limit, and at least one."""
    assert tried(headed, length)[1] == [most]


def test_one_in_a_hundred_is_worth_a_trial(headed: Lab) -> None:
    for share, trial in ((0.0101, True), (0.0099, False)):
        label, asked = tried(headed, 20, share)
        assert bool(asked) is trial and label.unlikely is label.important is not trial


@pytest.mark.thorough
def test_unlikely_tokens_are_important_without_a_trial(headed: Lab) -> None:
    p = mined(headed, important=False)[0].labels
    bound = 0.02
    done, events = mined(headed, important=False, unlikely=bound)
    q = distributions(headed, done.final)
    assert p and {True, False} == {label.unlikely for label in done.labels}
    for label in done.labels:
        assert label.unlikely == label.important == (float(q[label.t][label.draft_token]) < bound)
    assert len([e for e in events if isinstance(e, ForkGenerated)]) == sum(not label.unlikely for label in done.labels)


@pytest.mark.thorough
def test_a_fixed_order_of_windows_repeats(headed: Lab) -> None:
    assert mined(headed, important=False)[0].labels == mined(headed, important=False)[0].labels


def test_other_heads_and_windows_are_refused(headed: Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="eagle2"):
        online_search(headed, "eagle1", [], Always(True), LIMIT)
    with pytest.raises(ConfigError, match="window of 1"):
        online_search(headed, "eagle2", [], Always(True), LIMIT, 1)
