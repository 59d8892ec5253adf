"""The embedded encoder-decoder models: tokenizer, shapes, corpus. One pair learns to translate and to summarise.

They are built as Pegasus is (norms before each part, fixed positions), which trains stably from nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from transformers import (
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from engine.tasks import SOURCED, Problem, get_task, load_problems, split_of
from engine.tasks.problem import accent
from engine.training.data import STEPS_A_POOL
from engine.training.trainer import Trainer

PAD, EOS = "<pad>", "</s>"  # ids 0 and 1; a text begins behind <pad>
VOCABULARY = 2048
SAMPLE = {"translation": 24_000, "summaries": 2_000}  # problems that the merges are learnt from
SHAPES = {  # layers of encoder and decoder, width, width of the step in a layer; heads are 64 wide
    "source_target": (3, 6, 192, 512),
    "source_draft": (1, 1, 128, 256),
    "source_parallel": (3, 2, 192, 512),  # fills masks; its encoder may begin as the target's
    "source_micro": (1, 1, 64, 64),  # for tests
}


@dataclass(frozen=True, slots=True)
class SourceMix:
    """Problems of each family a step, and how much a free choice weighs. `accent` rotates the preferred wordings.

    With `masks` a model learns to fill so many masks behind a random beginning, all in one pass (a parallel drafter).
    """

    translation: int = 32
    summaries: int = 4
    choice_weight: float = 0.5
    accent: int = 0
    masks: int = 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sources (B, S); what the decoder reads and is to write (B, T), right-padded with 0; the weight of each token
    (B, T) that is written."""

    source: Tensor
    read: Tensor
    target: Tensor
    weights: Tensor

    @property
    def total(self) -> float:
        """Weight of all that is predicted."""
        return float(self.weights.sum())

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return int((self.source > 0).sum() + (self.target > 0).sum())

    @property
    def size(self) -> int:
        """Places, padding included."""
        return self.source.numel() + self.target.numel()

    def to(self, device: str) -> Pairs:
        """The batch on a device."""
        return Pairs(self.source.to(device), self.read.to(device), self.target.to(device), self.weights.to(device))

    def loss(self, model: Any) -> Tensor:
        """Sum of weight times cross-entropy."""
        with torch.autocast(self.source.device.type, torch.bfloat16, enabled=self.source.is_cuda):
            logits = model(
                input_ids=self.source,
                attention_mask=(self.source > 0).long(),
                decoder_input_ids=self.read,
                use_cache=False,
            ).logits
        each = F.cross_entropy(logits.float().flatten(0, 1), self.target.flatten(), reduction="none")
        return (each * self.weights.flatten()).sum()


Row = tuple[list[int], list[int], list[int], list[float]]


class SourceCorpus:
    """The endless training stream of a seed: `corpus.batches(step)` are one step's batches."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mix: SourceMix, seed: int) -> None:
        self.tokenizer, self.mix, self.seed = tokenizer, mix, seed
        self._pool = lru_cache(maxsize=1)(self._make_pool)

    def batches(self, step: int) -> list[Pairs]:
        """One batch a family for this step."""
        pool, place = divmod(step, STEPS_A_POOL)
        return self._pool(pool)[place]

    def _make_pool(self, pool: int) -> list[list[Pairs]]:
        steps: list[list[Pairs]] = [[] for _ in range(STEPS_A_POOL)]
        for family in SOURCED:
            n: int = getattr(self.mix, family)
            if n == 0:
                continue
            rng = Random(f"pool/{self.seed}/{family}/{pool}")
            rows = sorted(islice(self._rows(family, rng), n * STEPS_A_POOL), key=lambda row: len(row[0]))
            chunks = [rows[i : i + n] for i in range(0, len(rows), n)]
            rng.shuffle(chunks)
            for step, chunk in zip(steps, chunks, strict=True):
                step.append(collate(chunk))
        return steps

    def _rows(self, family: str, rng: Random) -> Iterator[Row]:
        while True:
            with accent(self.mix.accent):
                problem = get_task(family).generate(rng)
            if split_of(problem.key) == "train":
                row = encode(self.tokenizer, problem, self.mix)
                yield masked(row, self.mix.masks, rng) if self.mix.masks else row


def digest(tokenizer: PreTrainedTokenizerBase, mix: SourceMix, seed: int) -> str:
    """sha256 over the ids and weights of the first steps: generator, tokenizer, mix and seed."""
    corpus, total = SourceCorpus(tokenizer, mix, seed), hashlib.sha256()
    for step in range(STEPS_A_POOL):
        for batch in corpus.batches(step):
            for x in (batch.source, batch.read, batch.target, batch.weights):
                total.update(x.numpy().tobytes())
    return total.hexdigest()


def encode(tokenizer: PreTrainedTokenizerBase, problem: Problem, mix: SourceMix) -> Row:
    """Ids of the source, with its end; ids that the decoder reads; those that it is to write, and their weights."""
    solution = tokenizer(problem.solution, return_offsets_mapping=True)
    weights = [
        mix.choice_weight if any(a < end and start < b for a, b in problem.choices) else 1.0
        for start, end in solution.offset_mapping
    ]
    return (
        tokenizer(problem.prompt).input_ids,
        [tokenizer.pad_token_id, *solution.input_ids[:-1]],
        solution.input_ids,
        weights,
    )


def masked(row: Row, masks: int, rng: Random) -> Row:
    """A row whose decoder reads a random beginning and then masks, which are `<pad>`; only what they hide weighs
    anything."""
    source, read, written, weights = row
    known = rng.randrange(len(written))  # tokens before the first that is filled
    end = min(len(written), known + masks + 1)
    hidden = [*read[: known + 1], *[read[0]] * (end - known - 1)]
    return source, hidden, written[:end], [0.0] * known + weights[known:end]


def collate(rows: list[Row]) -> Pairs:
    """Pad rows on the right; padding weighs nothing."""
    widths = [max(len(row[i]) for row in rows) for i in (0, 1, 2)]
    source, read, target = (torch.zeros(len(rows), width, dtype=torch.long) for width in widths)
    weights = torch.zeros(len(rows), widths[2])
    for i, (given, before, written, weighed) in enumerate(rows):
        source[i, : len(given)] = torch.tensor(given)
        read[i, : len(before)] = torch.tensor(before)
        target[i, : len(written)] = torch.tensor(written)
        weights[i, : len(written)] = torch.tensor(weighed)
    return Pairs(source, read, target, weights)


def build(shape: str, tokenizer: PreTrainedTokenizerBase, seed: int) -> PegasusForConditionalGeneration:
    """A freshly initialised model in fp32; the seed decides every weight."""
    encoder, decoder, width, step = SHAPES[shape]
    config = PegasusConfig(
        vocab_size=len(tokenizer),
        d_model=width,
        encoder_layers=encoder,
        decoder_layers=decoder,
        encoder_ffn_dim=step,
        decoder_ffn_dim=step,
        encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64,
        max_position_embeddings=512,
        activation_function="silu",
        scale_embedding=True,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        init_std=0.02,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        decoder_start_token_id=tokenizer.pad_token_id,
        forced_eos_token_id=None,
    )
    torch.manual_seed(seed)
    return PegasusForConditionalGeneration(config)


class SourceTrainer(Trainer):
    """Trains an encoder-decoder: the loop, the optimisers and the checkpoints are those of the other models."""

    def data(self, tokenizer: PreTrainedTokenizerBase) -> tuple[Any, Callable[[], str]]:
        """The corpus of these settings, and what tells its sha256."""
        s = self.settings
        return SourceCorpus(tokenizer, s.mix, s.seed), lambda: digest(tokenizer, s.mix, s.seed)

    def built(self, tokenizer: PreTrainedTokenizerBase) -> Any:
        """The model of these settings, with fresh weights."""
        return build(self.settings.shape, tokenizer, self.settings.seed)

    def begin_as(self, other: PegasusForConditionalGeneration) -> None:
        """Start with the encoder and the embeddings of another model of the same width.

        Raises:
            ValueError: its encoder has another shape.
        """
        body, given = self.model.model, other.model
        wanted = {name: x.shape for name, x in body.encoder.state_dict().items()}
        if wanted != {name: x.shape for name, x in given.encoder.state_dict().items()}:
            raise ValueError(f"{self.settings.shape} has an encoder of another shape than the model it was to begin as")
        body.encoder.load_state_dict(given.encoder.state_dict())

    def stacks(self) -> list[nn.ModuleList]:
        """The layers of both stacks."""
        return [self.model.model.encoder.layers, self.model.model.decoder.layers]


def train_tokenizer(seed: int = 0) -> PreTrainedTokenizerFast:
    """Learn the merges from the training split; a text ends with `</s>`, and source and target are cut alike."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(_texts(seed), trainer)
    core.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", pair=f"$A {EOS} $B {EOS}", special_tokens=[(EOS, core.token_to_id(EOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=EOS,
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )


def _texts(seed: int) -> Iterator[str]:
    for family in SOURCED:
        for problem in load_problems(family, "train", SAMPLE[family], seed):
            yield problem.prompt
            yield problem.solution
