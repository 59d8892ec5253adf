"""The tokenizer of the embedded models: byte-level BPE with one token a digit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from engine.tasks import FAMILIES, load_problems

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"  # ids 0, 1, 2
VOCABULARY = 1536
SAMPLE = 4000  # problems a family that the merges are learnt from
CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ message['content'] }}"
    "{% else %}{{ message['content'] + '\n' }}{% endif %}{% endfor %}"
)


def train(seed: int = 0) -> PreTrainedTokenizerFast:
    """Learn the merges from the training split; the result prepends `<bos>`, as training does."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(_texts(seed), trainer)
    core.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, core.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )


def save(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write tokenizer.json and its configuration into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)


def _texts(seed: int) -> Iterator[str]:
    for family in FAMILIES:
        for problem in load_problems(family, "train", SAMPLE, seed):
            yield problem.prompt
            yield problem.solution
