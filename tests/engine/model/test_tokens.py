"""Text to ids and back, what a single token is, and whether two models share ids."""

from itertools import product
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Core
from tokenizers import decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from engine.errors import ConfigError
from engine.model import Tokenizer
from engine.model.seam import Seam
from engine.model.tokens import common_prefix
from tests.engine.zoo import EOS, save_tokenizer


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer(save_tokenizer(tmp_path_factory.mktemp("tokens"), 96), [EOS])


@pytest.fixture(scope="module")
def bytewise() -> Tokenizer:
    """Byte-level BPE without merges, as of GPT-2 and Llama 3."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Core(models.BPE({c: i for i, c in enumerate(alphabet)} | {"<|end|>": len(alphabet)}, []))
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return Tokenizer(PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>"), [len(alphabet)])


def test_text_goes_there_and_back(plain: Tokenizer, bytewise: Tokenizer) -> None:
    for tokenizer in (plain, bytewise):
        assert tokenizer.decode(tokenizer.encode("Two plus 2.")) == "Two plus 2."
    assert bytewise.decode(bytewise.encode("Käse 🧀")) == "Käse 🧀"
    assert plain.decode([*plain.encode("ab"), EOS]) == "ab"  # special tokens are no text


def test_ids_are_taken_as_they_are(plain: Tokenizer) -> None:
    assert plain.encode([5, 6, EOS]) == [5, 6, EOS]


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ([], "empty"),
        ([5, 96], "must be from 0 to 95, the vocabulary, not 96"),
        ([-1], "vocabulary, not -1"),
        (["a"], "list of token ids"),
        ([[1, 2]], "list of token ids"),
        (None, "list of token ids"),
        (b"Hi", "list of token ids"),
        ({5: "x"}, "list of token ids"),
        ([1.5], "list of token ids"),
        ([True], "list of token ids"),
        (7, "list of token ids"),
        ("half \ud83e of a pair", "not valid text"),
    ],
)
def test_bad_prompts_are_refused(plain: Tokenizer, prompt: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        plain.encode(prompt)  # type: ignore[arg-type]


def test_chat_needs_a_template(plain: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no chat template"):
        plain.encode("hello", chat=True)
    hf = save_tokenizer(tmp_path, 96)
    hf.chat_template = "{% for m in messages %}[{{ m['role'][0] }}:{{ m['content'] }}]{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    chatty = Tokenizer(hf, [EOS])
    assert chatty.decode(chatty.encode("hi", chat=True)) == "[u:hi]>"
    hf.chat_template = "{% for m in messages %}[{{ m['content'] | upper }}]{% endfor %}"
    assert chatty.decode(chatty.encode("hi", chat=True)) == "[HI]"
    hf.chat_template = "{{ raise_exception('only of three') }}"
    with pytest.raises(ConfigError, match="only of three"):
        chatty.encode("hi", chat=True)


PARTED = (  # as SmolVLM's, which leaves plain text out, and as one that refuses it
    "{% for m in messages %}[{% for part in m['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}]{% endfor %}",
    "{% for m in messages %}[{{ m['content'][0]['text'] + '' }}]{% endfor %}",
)


@pytest.mark.parametrize("template", PARTED)
def test_chat_templates_of_multimodal_models_are_given_parts(template: str, tmp_path: Path) -> None:
    hf = save_tokenizer(tmp_path, 96)
    hf.chat_template = template
    chatty = Tokenizer(hf, [EOS])
    assert chatty.decode(chatty.conversation(["hi", "so", "go on"], chat=True)) == "[hi][so][go on]"


def test_what_goes_on_a_text_keeps_its_first_space(plain: Tokenizer, bytewise: Tokenizer) -> None:
    """Decoders of SentencePiece models strip it where a text begins."""
    core = Core(models.BPE({"▁": 0, "a": 1, "b": 2, "<s>": 3}, [], byte_fallback=True))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    stripping = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<s>"), [3])
    ids = [0, 0, 2, 0, 1]
    assert stripping.decode(ids) == " b a" and stripping.continued(ids) == "  b a"
    assert stripping.continued([*ids, 3]) == "".join(stripping.piece(i) for i in ids)
    for tokenizer in (plain, bytewise):
        assert tokenizer.continued(tokenizer.encode(" b a")) == " b a" and tokenizer.continued([]) == ""
    assert "\ufffd" in bytewise.continued(bytewise.encode("é")[:1])


def test_pieces_show_single_tokens(plain: Tokenizer, bytewise: Tokenizer) -> None:
    assert [plain.piece(i) for i in plain.encode("a b")] == ["a", " ", "b"]
    assert plain.piece(EOS) == "<eos>" and plain.piece(4000) == "<4000>"
    pieces = [bytewise.piece(i) for i in bytewise.encode("é a")]
    assert pieces == ["<0xC3>", "<0xA9>", " ", "a"]
    assert bytewise.piece(next(iter(bytewise.stop_ids))) == "<|end|>"


def test_ids_in_the_middle_of_a_text(plain: Tokenizer, bytewise: Tokenizer) -> None:
    for tokenizer in (plain, bytewise):
        assert tokenizer.inner_ids(" b") == tokenizer.encode("a b")[1:]
    assert plain.text_ids("") == [plain.blank] == [EOS]
    assert EOS in plain.extra_ids and plain.encode("a")[0] not in plain.extra_ids


@pytest.fixture(scope="module")
def framed() -> Tokenizer:
    """Words with a space before each, as SentencePiece has them, with <s> before a text and two </s> behind it."""
    core = Core(models.WordLevel({word: i for i, word in enumerate(("<s>", "</s>", "▁a", "▁0", "▁b", "▁[b]"))}))
    core.pre_tokenizer, core.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s> </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    template = "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    words = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", chat_template=template)
    return Tokenizer(words, [1])


def test_what_stands_around_a_text_stands_around_whole_ones_alone(framed: Tokenizer) -> None:
    """A chat template has written it already; nothing ends a text that goes on, or begins one within another."""
    assert framed.encode("a b") == [0, 2, 4, 1, 1]
    assert framed.encode("b", chat=True) == [5]
    assert framed.text_ids("a b") == [0, 2, 4] and framed.inner_ids(" b") == [4]


def test_what_is_written_for_a_source_begins_a_text(framed: Tokenizer) -> None:
    assert framed.continued([4, 2]) == " b a"
    assert Tokenizer(framed.hf, [1], Seam((0,))).continued([4, 2]) == "b a"


def test_the_common_prefix_of_two_texts() -> None:
    texts = [list(text) for n in range(6) for text in product((1, 2), repeat=n)]
    for a, b in product(texts, texts):
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        assert common_prefix(a, b) == same and common_prefix(a, b, 2) == min(same, 2)
