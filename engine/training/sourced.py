"""The embedded encoder-decoder models: tokenizer, shapes, corpus. One pair learns to translate and to summarise.

They are built as Pegasus is (norms before each part, fixed positions), which trains stably from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn
from transformers import (
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from engine.errors import ModelMismatch
from engine.tasks import SOURCED, Problem, load_problems
from engine.training.batches import Pairs, ProblemStream, padded
from engine.training.tokenizer import learnt
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


Row = tuple[list[int], list[int], list[int], list[float]]


class SourceCorpus(ProblemStream[Row, Pairs]):
    """Problems with a source."""

    FAMILIES = SOURCED

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mix: SourceMix, seed: int) -> None:
        super().__init__(tokenizer, mix, seed)
        self.mix = mix

    def row(self, problem: Problem, rng: Random) -> Row:
        row = encode(self.tokenizer, problem, self.mix)
        return masked(row, self.mix.masks, rng) if self.mix.masks else row

    def collate(self, rows: list[Row]) -> Pairs:
        source, read, target = (padded([row[i] for row in rows]) for i in (0, 1, 2))
        return Pairs(source, read, target, padded([row[3] for row in rows], torch.float))


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

    def data(self) -> SourceCorpus:
        """The corpus of these settings."""
        return SourceCorpus(self.tokenizer, self.settings.mix, self.settings.seed)

    def built(self) -> Any:
        """The model of these settings, with fresh weights."""
        return build(self.settings.shape, self.tokenizer, self.settings.seed)

    def begin_as(self, other: PegasusForConditionalGeneration) -> None:
        """Start with the encoder and the embeddings of another model of the same width.

        Raises:
            ModelMismatch: its encoder has another shape.
        """
        body, given = self.model.model, other.model
        wanted = {name: x.shape for name, x in body.encoder.state_dict().items()}
        if wanted != {name: x.shape for name, x in given.encoder.state_dict().items()}:
            raise ModelMismatch(
                f"{self.settings.shape} has an encoder of another shape than the model it was to begin as"
            )
        body.encoder.load_state_dict(given.encoder.state_dict())

    def stacks(self) -> list[nn.ModuleList]:
        """The layers of both stacks."""
        return [self.model.model.encoder.layers, self.model.model.decoder.layers]


def train_tokenizer(seed: int = 0) -> PreTrainedTokenizerFast:
    """Learn the merges from the training split; a text ends with `</s>`, and source and target are cut alike."""
    problems = (p for family in SOURCED for p in load_problems(family, "train", SAMPLE[family], seed))
    names = {"pad_token": PAD, "eos_token": EOS}
    return learnt(problems, VOCABULARY, names, f"$A {EOS}", f"$A {EOS} $B {EOS}", model_max_length=512)
