"""The suffix automaton against brute force: sizes, longest earlier match, first occurrence, frozen form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import AssetError, ModelMismatch
from engine.lookup.automaton import SuffixAutomaton
from engine.lookup.matches import Matches
from engine.lookup.memory import DynamicMemory
from engine.lookup.static import build_static, load_static, tokenizer_mark
from tests.modes import alike

texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def longest_earlier(text):
    """Length and first end of the longest suffix that occurs before (it may overlap itself)."""
    for length in range(len(text) - 1, 0, -1):
        tail = text[-length:]
        for end in range(length, len(text)):
            if text[end - length : end] == tail:
                return length, end - 1
    return 0, -1


@settings(max_examples=150)
@given(texts)
def test_match_is_the_longest_suffix_that_occurred_before(text):
    automaton = SuffixAutomaton()
    for i, token in enumerate(text):
        automaton.add(token)
        length, end = longest_earlier(text[: i + 1])
        state, match = automaton.match()
        assert match == length
        if length:
            assert automaton.first[state] == end  # the first occurrence, so the draft continues that one
            assert automaton.follows(state) == end + 1


@settings(max_examples=60)
@given(texts)
def test_size_and_substrings(text):
    automaton = SuffixAutomaton()
    for token in text:
        automaton.add(token)
    L = len(text)
    assert len(automaton) <= max(2 * L - 1, 2)
    if L >= 3:
        assert sum(map(len, automaton.edges)) <= 3 * L - 4
    seen = {tuple(text[i:j]) for i in range(L) for j in range(i + 1, L + 1)}
    for gram in seen:
        state = automaton.find(gram)
        assert state is not None
        first = next(i for i in range(L) if tuple(text[i : i + len(gram)]) == gram)
        assert automaton.first[state] == first + len(gram) - 1
    assert automaton.find([*text, 9]) is None


@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_static_match_against_brute_force(corpus, text):
    static = build_static(corpus)
    state = match = 0
    for i, token in enumerate(text):
        state, match = static.step(state, match, token)
        best = 0
        for length in range(1, i + 2):
            tail = text[i + 1 - length : i + 1]
            if any(tail == d[a : a + length] for d in corpus for a in range(len(d))):
                best = length
        assert match == best
        if best:
            tail = text[i + 1 - best : i + 1]
            occurrences = [
                (n, a) for n, d in enumerate(corpus) for a in range(len(d) - best + 1) if d[a : a + best] == tail
            ]
            assert static.count[state] == len(occurrences)
            document, place = occurrences[0]
            at, follow = static.continuation(state, 5)
            assert follow == corpus[document][place + best : place + best + 5]
            assert static.place(at) == {"document": document, "pos": place + best}


def test_likely_follows_the_most_frequent_edge():
    static = build_static([[1, 2, 3], [1, 2, 4], [1, 2, 4]])
    state = match = 0
    for token in (1, 2):
        state, match = static.step(state, match, token)
    assert static.continuation(state, 3)[1] == [3]
    assert static.likely(state, 3) == ([6], [4])  # where the first of those stands, not the first [1, 2]


@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_each_copied_token_is_told_from_where_it_stands(corpus, text):
    for likely in (False, True):
        matches = Matches("run", 1000, build_static(corpus), 0, likely)
        matches.begin(text)
        copied = matches.copy("static", 1, 4)
        for i, (token, source) in enumerate(zip(copied.tokens, copied.sources, strict=True)):
            assert source["passage"][source["here"]] == token
            document, pos = source["document"], source["pos"]
            known = [*text[len(text) - copied.match :], *copied.tokens[: i + 1]]
            assert corpus[document][pos + 1 - len(known) : pos + 1] == known


@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=4))
def test_no_match_crosses_trajectories(sequences):
    memory = DynamicMemory("global", 10_000)
    for text in sequences:
        memory.begin(text[:1])
        memory.extend(text)
    *earlier, last = sequences
    best = longest_earlier(last)[0]
    for length in range(1, len(last) + 1):
        if any(d[a : a + length] == last[-length:] for d in earlier for a in range(len(d))):
            best = max(best, length)
    assert memory.match() == best
    match, at, tokens = memory.continuation(6)
    if tokens:
        trajectory = memory.history.of(at)
        assert memory.history.tokens[at : at + len(tokens)] == tokens
        assert at + len(tokens) <= memory.history.end(trajectory)
        assert memory.history.tokens[at - match : at] == last[-match:]


def test_climb_takes_a_shorter_match_with_enough_behind_it():
    memory = DynamicMemory("run", 1000)
    text = [1, 2, 9, 9, 9, 9, 5, 1, 2, 7, 5, 1, 2]
    memory.begin(text)
    match, _, tokens = memory.continuation(4)
    assert (match, tokens) == (3, [7, 5, 1, 2])
    match, _, tokens = memory.continuation(6, climb=True)
    assert (match, tokens) == (2, [9, 9, 9, 9, 5, 1])


def test_forgetting_keeps_the_newer_half():
    memory = DynamicMemory("global", 64)
    memory.begin([0])
    text = [0]
    for i in range(500):
        text.append((i * 7) % 23)
        memory.extend(text)
        assert len(memory) <= 64
    match, at, tokens = memory.continuation(3)
    assert match > 0 and memory.history.tokens[at : at + 3] == tokens
    assert memory.history.tokens[at - match : at] == text[-match:]


def test_files(tmp_path, zoo):
    model = zoo.model("llama", vocab=64, layers=2)
    static = build_static(
        [[1, 2, 3, 1, 2], [2, 3]], {"tokenizer": tokenizer_mark(model.tokenizer), "title": "two texts"}
    )
    static.save(tmp_path)
    assert alike(tmp_path)
    again = load_static(tmp_path, model)
    assert again.card["title"] == "two texts"
    assert again.step(*again.step(0, 0, 1), 2) == static.step(*static.step(0, 0, 1), 2)
    static.card["tokenizer"] = "0" * 16
    static.save(tmp_path)
    with pytest.raises(ModelMismatch):
        load_static(tmp_path, model)
    static.card["tokenizer"] = tokenizer_mark(model.tokenizer)
    static.link[1] = 7
    static.save(tmp_path)
    with pytest.raises(AssetError, match="contradicts"):
        load_static(tmp_path, model)
    with pytest.raises(AssetError):
        load_static(tmp_path / "none", model)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("link", lambda x: x + 1000 * (np.arange(len(x), dtype=np.int32) == 2), "contradicts"),
        ("token", lambda x: x.astype(np.float32), "contradicts"),
        ("corpus", lambda x: x.astype(np.int64), "contradicts"),
        ("count", lambda x: x.reshape(1, -1), "contradicts"),
        ("corpus", lambda x: np.where(x == 3, 64, x).astype(np.int32), "beyond the 64"),
        ("token", lambda x: np.where(x == 3, 999, x).astype(np.int32), "beyond the 64"),
        ("card", lambda card: [card], "must be a JSON object"),
    ],
)
def test_damaged_files_are_refused(tmp_path, zoo, name, change, words):
    model = zoo.model("llama", vocab=64, layers=2)
    static = build_static([[1, 2, 3, 1, 2], [2, 3]])
    setattr(static, name, change(getattr(static, name)))
    static.save(tmp_path)
    with pytest.raises(AssetError, match=words):
        load_static(tmp_path, model)
    for text in (b"\xff\xfe", b"[", b"3"):
        (tmp_path / "card.json").write_bytes(text)
        with pytest.raises(AssetError):
            load_static(tmp_path, model)
