"""Draft models of other ids: some special tokens apart, or another tokenizer, by common pieces and by text.

Whatever the draft model knows or not, the target's distribution comes out: enumerated on a small vocabulary.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Regex, decoders, models, pre_tokenizers, processors
from tokenizers import Tokenizer as Core
from transformers import AutoModelForCausalLM, AutoTokenizer, CTRLTokenizer, PreTrainedTokenizerFast
from transformers.generation import candidate_generator

from engine.config import Sampling
from engine.costs.chains import ChainChoice
from engine.draft import Draft
from engine.drafters.universal import added, following
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import get_card
from engine.model import BridgedSession, Session, Tokenizer, bridge
from engine.model.bridge import spellings
from engine.parts import writing
from engine.runs import costs as measuring
from engine.runs.running import prepare
from engine.sampling import distribution
from engine.shapes.chain import Chain
from engine.verify import walk
from tests.engine.distributions import Tree, worst
from tests.engine.drafters.lookups import context
from tests.engine.test_greedy import THIRD_PARTY, check_counts
from tests.engine.toy import toy_lab, toy_model, toy_table
from tests.engine.zoo import Zoo, make_model, save_tokenizer
from tests.typed import known, some

SAMPLED = Sampling(temperature=1.0)


def spelt(letters: str) -> PreTrainedTokenizerFast:
    """A tokenizer of these characters, in this order."""
    core = Core(models.WordLevel({c: i for i, c in enumerate(letters)}, unk_token=letters[0]))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=core)


def by_bytes(*merges: tuple[str, str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with these merges and an end."""
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, merges), "<|end|>"]
    core = Core(models.BPE({piece: i for i, piece in enumerate(pieces)}, list(merges)))
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>")


def mixed_lab(letters: str = "dxab", V: int = 4) -> Lab:
    """A toy target of the letters a, b, c, ... and a toy draft model of other letters."""
    lab = toy_lab(V, draft=None)
    draft = toy_model(toy_table(len(letters), 5), "other")
    draft.tokenizer = Tokenizer(spelt(letters), [])
    lab.models["draft"] = draft
    return lab


class _More(Exception):
    pass


def every_chain(propose: Callable[[], Draft], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Draft, float]]:
    """Every draft that can be drawn, with its probability: each draw is forced in turn."""

    def attempt(plan: tuple[int, ...]) -> tuple[Draft | torch.Tensor, float]:
        weight, step, open_ = 1.0, 0, torch.empty(0)

        def forced(q: torch.Tensor, u: float) -> int:
            nonlocal weight, step, open_
            if step >= len(plan):
                open_ = q
                raise _More
            step += 1
            weight *= float(q[plan[step - 1]])
            return plan[step - 1]

        monkeypatch.setattr(writing, "pick", forced)
        try:
            return propose(), weight
        except _More:
            return open_, weight

    def search(plan: tuple[int, ...]) -> Iterator[tuple[Draft, float]]:
        found, weight = attempt(plan)
        if isinstance(found, Draft):
            yield found, weight
            return
        for token in found.nonzero().flatten().tolist():
            yield from search((*plan, token))

    yield from search(())


# --- the mapping --------------------------------------------------------------------------------------------------------


def test_pieces_are_compared_by_what_they_write() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(by_bytes(("Ġ", "a"), ("Ã", "©")), [])
    words = {"<unk>": 0, "</s>": 1, "<0x41>": 2, "▁": 3, "▁a": 4, "é": 5, "A": 6, "\n": 7, "a": 8, "b": 9}
    core = Core(models.BPE(words, [("▁", "a")], unk_token="<unk>", byte_fallback=True))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Metaspace(prepend_scheme="never"), decoders.Metaspace()
    under = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>", unk_token="<unk>"), [])
    a, b = spellings(bytewise), spellings(under)
    assert b[4] == b" a" and b[5] == "é".encode() and b[2] == b[6] == b"A" and 1 not in b
    assert a[alphabet.index("Ċ")] == b"\n" and a[len(alphabet)] == b" a" and a[len(alphabet) + 1] == "é".encode()
    target, draft = toy_model(toy_table(4, 0)), toy_model(toy_table(4, 0))
    target.tokenizer, target.vocab = bytewise, len(bytewise.hf)
    draft.tokenizer, draft.vocab = under, len(under.hf)
    found = bridge(target, draft)
    assert found.kind == "pieces" and len(set(found.theirs)) == len(found.theirs)
    assert found.ids[len(alphabet)] == 4 and found.ids[alphabet.index("Ċ")] == 7
    assert found.ids[alphabet.index("A")] == 6  # the piece, not the byte
    assert found.ids[bytewise.hf.eos_token_id] == 1  # the ends of a text, whatever their names


def test_added_tokens_that_stand_for_text_are_read_and_drafted() -> None:
    """GPT-NeoX and CodeGen write runs of blanks by tokens that were added to the learnt ones and are not special."""
    target, draft = toy_model(toy_table(4, 0)), toy_model(toy_table(4, 0))
    ours, theirs = by_bytes(("Ġ", "a")), by_bytes(("Ġ", "Ġ"))
    ours.add_tokens(["  ", "    "])
    ours.add_special_tokens({"additional_special_tokens": ["<tool>"]})
    target.tokenizer, target.vocab = Tokenizer(ours, []), len(ours)
    draft.tokenizer, draft.vocab = Tokenizer(theirs, []), len(theirs)
    found, names = bridge(target, draft), ours.get_vocab()
    two = theirs.get_vocab()["ĠĠ"]
    assert found.kind == "pieces" and found.ids[names["  "]] == two
    assert names["    "] not in found.ids and found.reads(names["    "]) == [two, two]
    assert found.reads(names["<tool>"]) == []


@pytest.mark.parametrize(("letters", "kind"), [("abcd", "specials"), ("bacd", "pieces")])
def test_special_tokens_of_one_name_are_the_same_whatever_their_ids(letters: str, kind: str) -> None:
    target, draft = toy_model(toy_table(4, 0)), toy_model(toy_table(4, 0))
    for model, own, names in ((target, "abcd", "xyz"), (draft, letters, "zxy")):
        hf = spelt(own)
        hf.add_special_tokens({"additional_special_tokens": [f"<{name}>" for name in names]})
        model.tokenizer, model.vocab = Tokenizer(hf, []), len(hf)
    found = bridge(target, draft)
    assert found.kind == kind
    assert [found.reads(token) for token in (4, 5, 6)] == [[5], [6], [4]]


def test_with_nothing_in_common_only_text_is_drafted() -> None:
    lab = mixed_lab("wxyz")
    assert not lab.bridge("draft").mine and "drafts as text alone" in lab.bridge("draft").words()
    with pytest.raises(
        ConfigError, match=r"toy and other have no piece in common\. Universal assistance drafts as text"
    ):
        lab.run("sd", [0, 1])
    names = {card.name for card in lab.methods()}
    assert {"ar", "pld", "universal"} <= names and not {"sd", "mixed", "easd", "draft_alone"} & names
    assert lab.run("universal", [0, 1], max_new_tokens=8).token_ids == lab.run("ar", [0, 1], max_new_tokens=8).token_ids


def test_special_tokens_apart_leave_the_ids_alone(zoo: Zoo, tmp_path: Path) -> None:
    """One more special token, and one of another name: all other ids are drafted, and the target may write them all."""
    lab = zoo.lab("llama", layers=2, draft="noise")
    target = make_model(tmp_path, "llama", layers=2, vocab=97, words=96)
    hf = save_tokenizer(tmp_path, 96)
    hf.add_special_tokens({"additional_special_tokens": ["<tool>"]})
    hf.save_pretrained(tmp_path)
    text = (tmp_path / "tokenizer.json").read_text().replace('"<pad>"', '"<fill>"')
    (tmp_path / "tokenizer.json").write_text(text)
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        if (tmp_path / file).exists():
            (tmp_path / file).write_text((tmp_path / file).read_text().replace('"<pad>"', '"<fill>"'))
    other = Lab.load(target=target, draft=zoo.path("llama", layers=2), device="cpu")
    assert lab.bridge("draft").kind == "same" and not lab.bridges() and lab.bridge("draft").describe() == {}
    found = other.bridge("draft")
    assert found.kind == "specials" and found.mine == found.theirs == tuple(range(1, 96))
    assert other.vocab == 97 and found.reads(96) == [] and found.reads(0) == [0]
    prompt = [5, 96, 33, 7]
    want = other.run("ar", prompt, max_new_tokens=24).token_ids
    got = other.run("sd", prompt, max_new_tokens=24)
    assert got.token_ids == want and all(n.token not in (0, 96) for r in got.rounds for n in r.nodes)
    assert got.head.models["draft"]["common"] == 95 and got.head.vocab == 97


def test_a_draft_model_of_fewer_rows_leaves_the_target_its_ids(zoo: Zoo, tmp_path: Path) -> None:
    """One tokenizer, and a draft model that was made before its last words: the target wrote none of them any more,
    under any method, the reference among them."""
    short = make_model(tmp_path, "llama", layers=2, vocab=60)
    save_tokenizer(tmp_path, 96)
    alone = zoo.lab("llama", draft=None)
    pair = Lab.load(target=zoo.path("llama"), draft=short, device="cpu")
    want = alone.run("ar", [5, 9, 33], max_new_tokens=24).token_ids
    assert max(want) >= 60 and pair.run("ar", [5, 9, 33], max_new_tokens=24).token_ids == want
    got = pair.run("sd", [5, 9, 33, 80], max_new_tokens=24)
    assert got.token_ids == alone.run("ar", [5, 9, 33, 80], max_new_tokens=24).token_ids
    assert got.head.models["draft"]["common"] == 60 and all(n.token < 60 for r in got.rounds for n in r.nodes)
    assert "it drafts only the 60 ids that agree" in pair.bridge("draft").words()
    assert bridge(pair.models["draft"], pair.models["draft"]).kind == "same"  # that none has rows for counts nothing


@pytest.mark.parametrize("method", ["sd", "universal"])
def test_a_draft_model_is_given_no_id_that_it_has_no_row_for(method: str) -> None:
    """Its tokenizer may know more, and spell the target's text by it: on a GPU such an id ends the process's work there."""
    lab = mixed_lab("xabcd")  # the rows end before d
    lab.models["draft"] = toy_model(toy_table(4, 5), "other")
    lab.models["draft"].tokenizer = Tokenizer(spelt("xabcd"), [])
    for prompt in ([3, 0, 1, 3], [3], [0, 3, 3, 1]):
        want = lab.run("ar", prompt, max_new_tokens=24).token_ids
        trace = lab.run(method, prompt, max_new_tokens=24)
        assert trace.token_ids == want and 3 in want and any(event.drafted for event in trace.rounds)


# --- common pieces (TLI) ------------------------------------------------------------------------------------------------


def test_the_draft_distribution_is_renormalised_over_common_pieces() -> None:
    lab = mixed_lab()
    session = known(BridgedSession, lab_session(lab))
    logits = session.forward([0, 1]).logits
    plain = lab.models["draft"].session(64).forward([2, 3]).logits[0]  # "ab" in the ids of "dxab"
    assert logits.shape == (1, 4) and logits[0, 2] == -torch.inf  # no c
    q, p = distribution(logits, SAMPLED)[0], plain.softmax(-1)
    common = p[[2, 3, 0]]
    assert torch.allclose(q[[0, 1, 3]], common / common.sum())
    assert float(session.common()) == pytest.approx(float(common.sum()))
    with pytest.raises(ConfigError, match="whole draft"):
        session.forward([0, 1], Draft((1,), (-1,)))


def lab_session(lab: Lab) -> Any:
    drafter: Any = prepare(lab, "sd").drafter
    return drafter.session


def test_a_text_is_read_as_one_and_what_follows_token_by_token() -> None:
    """And another text, a shorter one too, as one anew."""
    target, draft = toy_model(toy_table(4, 0)), toy_model(toy_table(3, 5))
    core = Core(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    core.decoder = decoders.Fuse()
    theirs = PreTrainedTokenizerFast(tokenizer_object=core)
    draft.tokenizer = Tokenizer(theirs, [])
    session = BridgedSession(draft.session(32), bridge(target, draft))
    for text, pieces in (
        ("abab", "ab ab"),
        ("ababab", "ab ab a b"),
        ("ababba", "ab ab b a"),
        ("aba", "ab a"),
        ("abaab", "ab a a b"),
        ("b", "b"),
    ):
        session.forward(["abcd".index(letter) for letter in text])
        assert theirs.convert_ids_to_tokens(known(Session, session.inner).cached) == pieces.split()


@pytest.mark.parametrize("letters", ["dxab", "cb", "badc"])
def test_common_pieces_emit_the_distribution_of_the_target(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, method = Tree(4, 3, 0), prepare(mixed_lab(letters), "sd", gamma=2)
    drafts = list(every_chain(lambda: method.drafter.propose(context([0, 1]), method.shape), monkeypatch))
    assert abs(sum(w for _, w in drafts) - 1) < 1e-12 and len(drafts) == len(set(letters) & set("abcd")) ** 2
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) < 1e-12


def test_mass_outside_the_common_pieces_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draft model's own probabilities in place of the renormalised ones are another distribution."""
    model, method = Tree(4, 3, 0), prepare(mixed_lab(), "sd", gamma=2)
    drafts = list(every_chain(lambda: method.drafter.propose(context([0, 1]), method.shape), monkeypatch))
    for draft, _ in drafts:
        known(torch.Tensor, draft.distributions).mul_(0.7)
    assert worst(model.emitted(walk, drafts, 2), model.joint(2)) > 0.005


@pytest.mark.parametrize("method", ["sd", "universal", "cm_asd", "adaedl"])
def test_methods_write_what_ar_writes(zoo: Zoo, method: str, tmp_path: Path) -> None:
    """A draft model with other letters first and fewer of them; also where its text is longer than the target's."""
    lab = zoo.lab("llama", draft=None, layers=2)
    draft = make_model(tmp_path, "llama", layers=2, hidden=32, vocab=60, seed=9)
    lab.models["draft"] = zoo.load(draft)
    for prompt in ([5], [5, 9, 33, 7, 60], [90, 3, 91]):
        want = lab.run("ar", prompt, max_new_tokens=20).token_ids
        got = lab.run(method, prompt, max_new_tokens=20, **({"top_beta": 1} if method == "cm_asd" else {}))
        assert got.token_ids == want and sum(r.drafted for r in got.rounds) > 5
        check_counts(got, 20)


def test_only_what_drafts_common_pieces_says_how_many_there_are() -> None:
    """Universal assistance drafts any of the target's tokens, as its text is cut anew, and so says the head of its run;
    copies are of any token too, so it is the draft model that is spoken of."""
    lab = mixed_lab()
    told = "3 pieces of the draft's 4 are also among the target's 4, and the draft model drafts no other tokens"
    assert told in lab.otherwise(get_card("sd")) and lab.otherwise(get_card("universal")) == ""
    copies = lab.run("mixed", [2, 2, 2, 2], max_new_tokens=4, min_match=2).rounds[0].nodes
    assert copies[0].token == 2 not in lab.bridge("draft").mine and told in lab.otherwise(get_card("mixed"))
    ids = {
        name: lab.run(name, [0, 1], max_new_tokens=4).head.models["draft"].get("ids") for name in ("sd", "universal")
    }
    assert ids == {"sd": "pieces", "universal": None}


def test_a_copy_with_its_ids_shuffled_is_still_always_right(zoo: Zoo, tmp_path: Path) -> None:
    """Reading and drafting go through the mapping: only then does a copy in other ids accept everything."""
    source = zoo.path("llama", layers=2)
    hf = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    order = torch.cat((torch.arange(3), 3 + torch.randperm(93, generator=torch.Generator().manual_seed(1))))
    with torch.no_grad():
        for matrix in (hf.get_input_embeddings().weight, hf.get_output_embeddings().weight):
            matrix.copy_(matrix[order].clone())
    hf.save_pretrained(tmp_path)
    words = AutoTokenizer.from_pretrained(source).get_vocab()
    names = {i: word for word, i in words.items()}
    core = Core(models.WordLevel({names[int(i)]: place for place, i in enumerate(order)}, unk_token="<unk>"))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    specials = {"eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=core, **specials).save_pretrained(tmp_path)
    lab = Lab.load(target=source, draft=tmp_path, device="cpu")
    assert lab.bridge("draft").kind == "pieces"
    for method in ("sd", "universal"):
        trace = lab.run(method, [5, 9, 33, 7], max_new_tokens=24, gamma=4)
        assert all(r.accepted == r.drafted for r in trace.rounds) and len(trace.rounds) <= 5
    assert trace.rounds[0].nodes[0].source == {"kind": "text", "role": "draft", "step": 0}
    common = some(lab.run("sd", [5, 9, 33, 7], max_new_tokens=4).rounds[0].nodes[0].source)["common"]
    assert common == pytest.approx(1.0, abs=1e-3)


# --- text (universal assistance) ----------------------------------------------------------------------------------------


def test_with_one_tokenizer_universal_assistance_is_greedy_drafting(zoo: Zoo) -> None:
    lab = zoo.lab("llama", draft="noise", layers=4)
    for prompt in ([5, 9, 33, 7], [60, 3]):
        ours = lab.run("universal", prompt, max_new_tokens=24, gamma=4)
        theirs = lab.run("sd", prompt, max_new_tokens=24, gamma=4)
        drafts = [[[n.token for n in r.nodes] for r in trace.rounds] for trace in (ours, theirs)]
        assert drafts[0] == drafts[1]


def pairs_lab() -> Lab:
    """A toy target that writes letters, and a toy draft model that writes two at once."""
    lab, words = toy_lab(2, draft=None), ["aa", "ab", "ba", "bb", "a", "b"]
    core = Core(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="a"))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Split(Regex("..?"), "isolated"), decoders.Fuse()
    draft = toy_model(toy_table(len(words), 5), "pairs")
    draft.tokenizer = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=core), [])
    lab.models["draft"] = draft
    return lab


def test_a_length_left_to_the_device_counts_the_draft_models_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what is asked for, timed and learnt; of the target's there are twice as many."""
    lab, grown, timed = pairs_lab(), set[tuple[int, int]](), measuring._Drafts.round

    def watched(self: measuring._Drafts) -> None:
        timed(self)
        grown.add((self.levels, self.steps))

    monkeypatch.setattr(measuring._Drafts, "round", watched)
    costs = lab.costs("universal", "abab", gamma="auto", max_new_tokens=60)
    assert grown == {(1, 1), (7, 7)} and costs.step > 0
    want = lab.run("ar", "abab", max_new_tokens=40).token_ids
    method = prepare(lab, "universal", gamma="auto")
    trace = lab.run("universal", "abab", max_new_tokens=40, reuse=method)
    assert trace.token_ids == want
    costs, whole = lab.costs("universal"), [r for r in trace.rounds[:-1] if r.drafted]
    assert whole and any(r.drafted == 2 * r.extras["draft_tokens"] for r in whole)
    for r in whole:
        assert r.extras["expected_ms"] == costs.round(r.extras["draft_tokens"], r.drafted + 1)
        assert 1 < r.extras["expected"] <= 1 + r.drafted
    assert known(ChainChoice, known(Chain, method.shape).choice)._each.value() > 1.2


def test_text_is_cut_where_a_token_begins(zoo: Zoo) -> None:
    words = zoo.model("llama", layers=2).tokenizer
    assert following(words, "ab", "cd") == words.encode("cd") and following(words, "", "a") == words.encode("a")
    assert added(words, words.encode("ab"), words.encode("c")) == "c"


def test_a_draft_model_reads_no_end_behind_a_text_that_goes_on() -> None:
    """Tokenizers with add_eos_token put one behind every text."""
    hf = by_bytes(("Ġ", "a"))
    hf.add_special_tokens({"bos_token": "<s>"})
    ends = [("<s>", hf.bos_token_id), ("<|end|>", hf.eos_token_id)]
    before = hf("<s>b a", add_special_tokens=False)["input_ids"]
    for single, wanted in (
        ("<s> $A <|end|>", before),
        ("$A <|end|>", before[1:]),
        ("<s> $A", before),
        ("$A", before[1:]),
    ):
        hf.backend_tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=ends)
        assert Tokenizer(hf, []).text_ids("b a") == wanted
    assert Tokenizer(hf, []).text_ids("") == [hf.bos_token_id]


def test_text_is_cut_by_a_tokenizer_that_tells_no_places(tmp_path: Path) -> None:
    """Those of transformers that are written in Python (CTRL, BioGPT) give no offsets."""
    names = ["<unk>", *(f"{c}{end}" for c in "abcd" for end in ("@@", "")), "ab"]
    (tmp_path / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b</w>\n\n")
    words = Tokenizer(CTRLTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")), [])
    assert not words.hf.is_fast
    assert following(words, "a c", " ab d") == words.encode("ab d")
    assert following(words, "", "ab") == [names.index("ab")]
    assert following(words, "a", "b") == [names.index("b")]  # together they are another token, so it is cut by itself


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "draft"), [("stories260K-hf", "TinyStories-656K"), ("TinyStories-656K", "stories260K-hf")]
)
def test_universal_assistance_of_transformers(target: str, draft: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two checkpoints made by others: the same text, and the same draft wherever transformers' windows of ten tokens
    show the draft model what the whole text does and give the target what it wrote (they lose or repeat characters
    where the two tokenizers cut a window differently)."""
    root = os.environ.get(THIRD_PARTY)
    if not root:
        pytest.skip(f"{THIRD_PARTY} names no folder of third-party models")
    a, b = Path(root) / target, Path(root) / draft
    models_ = [AutoModelForCausalLM.from_pretrained(x, dtype=torch.float32).eval() for x in (a, b)]
    words = [AutoTokenizer.from_pretrained(x) for x in (a, b)]
    settings = models_[1].generation_config
    settings.num_assistant_tokens, settings.num_assistant_tokens_schedule = 5, "constant"
    settings.assistant_confidence_threshold = 0.0
    theirs: Any = candidate_generator.AssistedCandidateGeneratorDifferentTokenizers
    seen: list[tuple[list[int], list[int], list[int]]] = []
    plain, reading = theirs.get_candidates, theirs._prepare_assistant_input_ids
    read: list[list[int]] = []

    def spy_read(self: Any, ids: torch.Tensor) -> Any:
        found = reading(self, ids)
        read.append(found[0][0].tolist())
        return found

    def spy(self: Any, ids: torch.Tensor, **more: Any) -> Any:
        found = plain(self, ids, **more)
        seen.append((ids[0].tolist(), read[-1], found[0][0, ids.shape[1] :].tolist()))
        return found

    monkeypatch.setattr(theirs, "get_candidates", spy)
    monkeypatch.setattr(theirs, "_prepare_assistant_input_ids", spy_read)
    lab = Lab.load(target=a, draft=b, device="cpu")
    method = prepare(lab, "universal", gamma=5)
    drafter: Any = method.drafter
    alike = 0
    for text in ("Once upon a time, there was a little girl", "Tom had a big red ball."):
        ids = lab.target.tokenizer.encode(text)
        more = {"tokenizer": words[0], "assistant_tokenizer": words[1], "do_sample": False, "max_new_tokens": 40}
        want = models_[0].generate(torch.tensor([ids]), assistant_model=models_[1], **more)[0, len(ids) :].tolist()
        for name in ("universal", "sd", "universal+entropy_stop+exact"):
            assert lab.run(name, ids, max_new_tokens=40).token_ids == want, name
        for tokens, asked, draft_ids in seen:
            whole = drafter.theirs.text_ids(drafter.mine.decode(tokens))
            if asked != whole:
                continue
            ours = drafter.propose(context(tokens, sampling=Sampling()), method.shape).tokens
            decode = drafter.mine.decode
            if decode([*tokens, *draft_ids]) == decode([*tokens, *ours]):
                alike += 1
                assert list(ours) == draft_ids
        seen.clear()
    assert alike
