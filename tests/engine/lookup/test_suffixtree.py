"""The counted suffix tree against counting by hand, and what it chooses."""

import random

import pytest

from engine.lookup.suffixtree import SuffixMemory, SuffixTree


def counted(text: list[int], run: list[int]) -> int:
    """How often a run stands in a text."""
    return sum(text[i : i + len(run)] == run for i in range(len(text) - len(run) + 1))


def test_counts_are_those_of_the_text() -> None:
    rng = random.Random(3)
    text, tree = [rng.randrange(3) for _ in range(120)], SuffixTree(5)
    for at, token in enumerate(text):
        tree.add(token, at)
    for _ in range(60):
        run = [rng.randrange(3) for _ in range(rng.randint(1, 5))]
        node = tree.find(run)
        assert counted(text, run) == (0 if node is None else tree.count[node])
        if node:
            last = max(i for i in range(len(text)) if text[: i + 1][-len(run) :] == run)
            assert tree.last[node] == last
    assert tree.find([0] * 6) is None


def by_counting(texts: list[list[int]], run: list[int], depth: int, limit: int, least: float) -> list[tuple[int, ...]]:
    """What `likely` promises, counted in the texts anew for each token: token, how often it came, how often anything
    did, and where it was seen last."""
    steps, share, offsets = list[tuple[int, ...]](), 1.0, [sum(map(len, texts[:i])) for i in range(len(texts))]
    while len(steps) < limit and len(run) < depth:
        places = dict[int, list[int]]()
        for text, offset in zip(texts, offsets, strict=True):
            for at in range(len(run), len(text)):
                if text[at - len(run) : at] == run:
                    places.setdefault(text[at], []).append(offset + at)
        if not places:
            break
        seen, token = sum(map(len, places.values())), max(places, key=lambda t: (len(places[t]), max(places[t])))
        share *= len(places[token]) / seen
        if share < least:
            break
        steps.append((token, len(places[token]), seen, max(places[token])))
        run = [*run, token]
    return steps


def test_what_is_likely_is_counted_and_of_equals_the_last() -> None:
    rng = random.Random(7)
    texts, tree, at = [[rng.randrange(4) for _ in range(60)] for _ in range(3)], SuffixTree(6), 0
    for text in texts:
        tree.begin()
        for token in text:
            tree.add(token, at)
            at += 1
    lengths = set[int]()
    for _ in range(200):
        run = [rng.randrange(4) for _ in range(rng.randint(1, 4))]
        if node := tree.find(run):
            steps = tree.likely(node, 5, least := rng.choice([0.0, 0.1, 0.3]))
            assert [(s.token, s.times, s.seen, s.place) for s in steps] == by_counting(texts, run, 6, 5, least)
            lengths.add(len(steps))
    assert lengths >= {0, 1, 2, 3}


def test_the_best_of_both_trees_is_that_of_all_matches() -> None:
    """Against every length of the match tried in both, the longer first, this sequence before the answers."""
    rng, memory = random.Random(11), SuffixMemory("global", 6, 100_000)
    answers, chosen = list[list[int]](), set[tuple[str, int]]()
    for _ in range(6):
        prompt, text = [rng.randrange(4) for _ in range(5)], [rng.randrange(4) for _ in range(40)]
        memory.begin(prompt)
        sequence = prompt
        for token in text:
            found, tried = memory.best(8, factor := rng.choice([0.5, 1.0, 2.0]), 1, 0.1), []
            for where, texts in (("this", [sequence]), ("earlier", [*answers, sequence[5:]])):
                for match in range(min(5, len(sequence)), 0, -1):
                    steps = by_counting(texts, sequence[-match:], 6, min(8, int(factor * match + 1)), 0.1)
                    shares = [steps[0][1] / steps[0][2]] if steps else []
                    for _, times, seen, _ in steps[1:]:
                        shares.append(shares[-1] * times / seen)
                    tried.append((sum(shares), where, match, [step[0] for step in steps]))
            best = max(tried, key=lambda one: one[0])  # the first of equals
            if best[0]:
                assert found.score == pytest.approx(best[0]) and (found.where, found.match) == best[1:3]
                assert [step.token for step in found.steps] == best[3]
                chosen.add((found.where, found.match))
            sequence = [*sequence, token]
            memory.extend(sequence)
        answers.append(text)
    assert {where for where, _ in chosen} == {"this", "earlier"} and len(chosen) >= 6


def test_no_run_crosses_sequences() -> None:
    tree = SuffixTree(4)
    for text in ([1, 2], [3, 4]):
        tree.begin()
        for at, token in enumerate(text):
            tree.add(token, at)
    assert tree.find([1, 2]) and tree.find([3, 4]) and tree.find([2, 3]) is None


def test_the_most_frequent_continuation_while_it_is_sure() -> None:
    tree = SuffixTree(6)
    for at, token in enumerate([1, 2, 5, 1, 2, 6, 1, 2, 5, 9]):
        tree.add(token, at)
    node = tree.find([1, 2])
    assert node is not None
    steps = tree.likely(node, 3, 0.1)
    assert [s.token for s in steps] == [5, 9]
    assert (steps[0].times, steps[0].seen, steps[0].place) == (2, 3, 8) and steps[0].share == pytest.approx(2 / 3)
    assert steps[1].token == 9 and steps[1].share == pytest.approx(1 / 3)  # of equals the one seen last
    assert len(tree.likely(node, 3, 0.5)) == 1 and tree.likely(node, 3, 0.9) == [] == tree.likely(node, 0, 0.0)


def test_the_best_match_is_that_of_the_highest_score() -> None:
    """A long match that was seen once may give few tokens, a shorter one more: the sum of the shares decides."""
    memory = SuffixMemory("problem", 8, 1000)
    memory.begin([1, 2, 3, 7, 8, 9, 1, 2, 3])
    found = memory.best(10, 1.0, 0, 0.1)
    assert (found.where, found.match, [s.token for s in found.steps]) == ("this", 3, [7, 8, 9])
    assert found.score == pytest.approx(3.0)
    assert len(memory.best(10, 2.0, 0, 0.1).steps) == 5  # as deep as runs are counted: 3 + 5 = 8
    assert len(memory.best(2, 9.0, 0, 0.1).steps) == 2 and not memory.best(10, 0.0, 0, 0.1).steps
    assert len(memory.best(10, 0.0, 1, 0.1).steps) == 1


def test_earlier_responses_are_kept_and_their_prompts_are_not() -> None:
    memory = SuffixMemory("problem", 6, 10_000)
    memory.begin([1, 2])
    memory.extend([1, 2, 4, 5, 6])
    memory.begin([1, 2])
    assert memory.best(4, 9.0, 0, 0.1).steps == []  # prompts are this sequence's own
    memory.extend([1, 2, 4])
    found = memory.best(4, 9.0, 0, 0.1)
    assert found.where == "earlier" and [s.token for s in found.steps] == [5, 6]
    assert memory.history.place(found.steps[0].place)["ago"] == 1
    memory.begin([3])
    memory.extend([3, 4])
    assert memory.best(4, 9.0, 0, 0.1).steps == []  # another problem


def test_memory_is_bounded() -> None:
    memory, text = SuffixMemory("global", 8, 200), [0]
    memory.begin(text)
    for i in range(300):
        text = [*text, (i * i) % 11]
        memory.extend(text)
        assert len(memory) <= 200 + 2 * 8
    assert memory.best(4, 4.0, 0, 0.1).steps
