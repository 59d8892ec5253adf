"""The tokenizers of the embedded models: byte-level BPE with one token a digit. Here that of the decoder-only pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from engine.tasks import FAMILIES, Problem, load_problems

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"  # ids 0, 1, 2
VOCABULARY = 1536
SAMPLE = 4000  # problems a family that the merges are learnt from
CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ message['content'] }}"
    "{% else %}{{ message['content'] + '\n' }}{% endif %}{% endfor %}"
)


def train(seed: int = 0) -> PreTrainedTokenizerFast:
    """Learn the merges from the training split; the result prepends `<bos>`, as training does."""
    problems = (p for family in FAMILIES for p in load_problems(family, "train", SAMPLE, seed))
    names = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS}
    more = {"model_max_length": 1024, "chat_template": CHAT_TEMPLATE}
    return learnt(problems, VOCABULARY, names, f"{BOS} $A", f"{BOS} $A $B", **more)


def learnt(
    problems: Iterable[Problem], size: int, names: Mapping[str, str], single: str, pair: str, **more: Any
) -> PreTrainedTokenizerFast:
    """`size` pieces learnt from prompts and solutions; `names` are the special tokens, from id 0 on.

    `single` and `pair` say what stands around one text and around two; `more` goes to transformers' class.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(names.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator((text for p in problems for text in (p.prompt, p.solution)), trainer)
    around = [(token, core.token_to_id(token)) for token in names.values() if token in single]
    core.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=around)
    return PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **names, **more)


def save(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write tokenizer.json and its configuration into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
