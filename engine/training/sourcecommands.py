"""The commands that make and judge the embedded encoder-decoder models."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from transformers import PegasusForConditionalGeneration

from engine.files.written import write
from engine.heads.parallel import META
from engine.kinds import COUNT, TO_FOLDER, place
from engine.lab import Lab
from engine.model.devices import pick_device
from engine.tasks import SOURCED, get_task, load_problems
from engine.tasks.references import summarised, translated
from engine.trace.metrics import pooled
from engine.training import card, models, record
from engine.training import tokenizer as files
from engine.training.batches import padded
from engine.training.budget import unused
from engine.training.checkpoints import read_weights, read_words
from engine.training.evaluate import EVAL_SEED, GAMMA, Metrics, rounds_of
from engine.training.headeval import runs_of
from engine.training.options import add_budget, here, parse_mix, say, say_where, settings_of
from engine.training.requirements import check_sourced
from engine.training.sourced import SHAPES, SourceMix, SourceTrainer, train_tokenizer
from engine.training.trainer import CHECKPOINT, hardware_in, read_state, settings_in, write_state

ASSETS = Path("assets/crossed")
LONGEST = 96  # tokens written for one source, in the evaluation
ROWS = 25  # sources read together there


def register(add: Callable[[str, Callable[[argparse.Namespace], None], str], argparse.ArgumentParser]) -> None:
    """The commands, each with its options."""
    learn = add("source-tokenizer", learn_tokenizer, "learn the tokenizer of the encoder-decoder models")
    learn.add_argument("--out", type=TO_FOLDER, default=ASSETS / "tokenizer", help="folder")
    learn.add_argument("--seed", type=int, default=0, help="seed of the corpus")

    train_ = add("source-train", train, "train an encoder-decoder model; checkpoint and export every two minutes")
    add_budget(train_, "seed of weights and corpus")
    train_.add_argument("--mix", nargs="*", default=[], metavar="NAME=N", help="see sourced.SourceMix")
    train_.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    train_.add_argument(
        "--encoder", type=Path, metavar="FOLDER", help="begun with the encoder and embeddings of an exported model"
    )
    out = add("source-export", export, "write the model of a checkpoint in bf16")
    for sub, kind in ((train_, TO_FOLDER), (out, Path)):
        sub.add_argument("--work", type=kind, help="folder of the checkpoint; build/SHAPE if not given")
    for sub in (train_, out):
        sub.add_argument("shape", choices=sorted(SHAPES), help="which model")
        sub.add_argument("--tokenizer", type=Path, default=ASSETS / "tokenizer", help="folder")
        sub.add_argument(
            "--out", type=place(models.exportable), help="folder of the export; assets/crossed/SHAPE if not given"
        )
        sub.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu or cuda")

    judge = add("source-eval", evaluate, "measure encoder-decoder models on held-out problems")
    judge.add_argument("--target", type=Path, default=ASSETS / "source_target", help="folder")
    judge.add_argument("--draft", type=Path, help="folder of a draft; none: the target alone")
    judge.add_argument(
        "--parallel", type=Path, help="folder of a parallel drafter, run by the lab on the same problems"
    )
    judge.add_argument("--items", type=COUNT, default=300, help="held-out problems a family")
    judge.add_argument("--cards", action="store_true", help="write the cards of all that is measured; renew SHA256SUMS")


def learn_tokenizer(options: argparse.Namespace) -> None:
    """Learn the tokenizer and write it."""
    files.save(train_tokenizer(options.seed), options.out)


def train(options: argparse.Namespace) -> None:
    """Train to the end of the budget, with a checkpoint and an export every two minutes.

    Raises:
        ConfigError: a run from the start finds the checkpoint of another, or there is no such device.
    """
    if not options.resume:
        unused(_work(options) / CHECKPOINT)
    device = str(pick_device(options.device))
    torch.set_num_threads(1)
    words = read_words(here(options.tokenizer))
    settings = settings_of(options.shape, options, parse_mix(options.mix, SourceMix))
    trainer = SourceTrainer(settings, words, device, options.threads)
    work = _work(options)
    if options.resume:
        trainer.load(read_state(work))
    elif options.encoder:
        trainer.begin_as(load(here(options.encoder)))
        trainer.begun = f"--encoder {ASSETS / options.encoder.name}"
    say_where(checkpoint=work, export=_out(options))

    def save() -> None:
        write_state(trainer, work)
        _publish(trainer, options)

    trainer.run(say, save)


def export(options: argparse.Namespace) -> None:
    """Write the model of a checkpoint, as it is, to the folder of its export."""
    words = read_words(here(options.tokenizer))
    state = read_state(_work(options))
    trainer = SourceTrainer(settings_in(state, options.shape, SourceMix), words)
    trainer.load(state)
    trainer.hardware = hardware_in(state)
    _publish(trainer, options)


def evaluate(options: argparse.Namespace) -> None:
    """BLEU and ROUGE of greedy texts, and how many of the drafters' tokens the target accepts; printed as JSON."""
    if options.cards:
        card.ready_for_cards(_folders(options).values(), "without --cards")
    torch.set_num_threads(options.threads)
    words = read_words(here(options.target))
    target = load(here(options.target))
    draft = load(here(options.draft)) if options.draft else None
    lab = _beside(options) if options.parallel else None
    report: dict[str, Metrics] = {"target": {}, "draft": {}, "pair": {}, "parallel": {}}
    for family in SOURCED:
        problems = load_problems(family, "heldout", options.items, EVAL_SEED)
        sources = [words(problem.prompt).input_ids for problem in problems]
        written = greedy(target, sources)
        wanted = [problem.answer for problem in problems]
        report["target"][family] = quality(family, [words.decode(w, skip_special_tokens=True) for w in written], wanted)
        if draft:
            own = [words.decode(w, skip_special_tokens=True) for w in greedy(draft, sources)]
            report["draft"][family] = quality(family, own, wanted)
            report["pair"][family] = together(draft, sources, written)
        if lab:
            report["parallel"][family] = filled(lab, [problem.prompt for problem in problems])
    found = {part: rows for part, rows in report.items() if rows}
    checks = check_sourced(found)
    if options.cards:
        _write_cards(options, found, checks)
    say(json.dumps(found | {"checks": checks}, indent=1))


def _folders(options: argparse.Namespace) -> dict[str, Path]:
    """Where each model that is measured is, by its role."""
    given = {"target": options.target, "draft": options.draft, "parallel": options.parallel}
    return {role: folder for role, folder in given.items() if folder}


def _write_cards(options: argparse.Namespace, found: Mapping[str, Metrics], checks: list[dict[str, Any]]) -> None:
    """A card for each model that was measured; SHA256SUMS beside them is renewed."""
    folders = _folders(options)
    named = " ".join(f"--{role} {ASSETS / folder.name}" for role, folder in folders.items())
    command = f"python -m engine.training source-eval --items {options.items} {named} --cards"
    shared = {"items": options.items, "checks": checks}
    for role, folder in folders.items():
        parts = {"model": found[role]} if role != "parallel" else {"pair": found["parallel"]}
        card.write(folder, role, shared | parts | ({"pair": found["pair"]} if role == "draft" else {}), command)
    card.renew_sums(options.target.parent)


def _beside(options: argparse.Namespace) -> Lab:
    """The target with its parallel drafter, which is read before anything is measured.

    Raises:
        LabError: it cannot be loaded.
    """
    models = {"target": str(here(options.target)), "parallel": str(here(options.parallel))}
    lab = Lab.load(**models, device="cpu")
    lab.asset("parallel")
    return lab


def filled(lab: Lab, prompts: list[str]) -> dict[str, float]:
    """Greedy runs of the lab with a parallel drafter: tokens a round, and the share of tested draft tokens accepted.

    Raises:
        EngineFault: a run failed.
    """
    card = lab.compose(drafter="parallel", shape="chain", rule="exact", gamma=GAMMA)
    found = pooled(runs_of(lab, card, prompts, max_new_tokens=LONGEST, record="light"))
    return {name: found[name] or 0.0 for name in ("accept_rate_tested", "tau")}


def greedy(
    model: Any,
    sources: list[list[int]],
    rows: int = ROWS,
    longest: int = LONGEST,
    opening: Sequence[int] = (0,),
    ends: Collection[int] = (1,),
) -> list[list[int]]:
    """What a model writes after each source and the decoder's `opening`: ids up to the first of the `ends`, or the
    `longest`; `rows` sources a time. Openings and ends are those of the embedded family if not given."""
    found: dict[int, list[int]] = {}
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for at in range(0, len(order), rows):
        some = order[at : at + rows]
        ids, seen = padded([sources[i] for i in some]), padded([[1] * len(sources[i]) for i in some])
        with torch.inference_mode():
            out = model.generate(
                input_ids=ids.to(model.device),
                attention_mask=seen.to(model.device),
                decoder_input_ids=torch.tensor([list(opening)] * len(some), device=model.device),
                decoder_start_token_id=opening[0],
                eos_token_id=sorted(ends) or None,
                pad_token_id=0,
                do_sample=False,
                num_beams=1,
                max_new_tokens=longest,
            )
        for i, row in zip(some, out[:, len(opening) :].tolist(), strict=True):
            end = next((n for n, token in enumerate(row, 1) if token in ends), len(row))
            found[i] = row[:end]
    return [found[i] for i in range(len(sources))]


def together(
    draft: PegasusForConditionalGeneration, sources: list[list[int]], written: list[list[int]]
) -> dict[str, float]:
    """How greedy chain speculation goes on the target's own texts; see `engine.training.evaluate.together`."""
    accepted = tested = rounds = tokens = 0
    for source, text in zip(sources, written, strict=True):
        with torch.inference_mode():
            logits = draft(
                input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[0, *text[:-1]]]), use_cache=False
            ).logits[0]
        a, t, r = rounds_of((logits.argmax(-1) == torch.tensor(text)).tolist(), GAMMA)
        accepted, tested, rounds, tokens = accepted + a, tested + t, rounds + r, tokens + len(text)
    return {"accept_rate_tested": accepted / tested, "tested": float(tested), "tau": tokens / rounds}


def quality(family: str, texts: list[str], wanted: list[str]) -> dict[str, float]:
    """Share of canonical texts, and BLEU and chrF or ROUGE, as the family's task has it."""
    task = get_task(family)
    exact = fmean(task.equivalent(text, right) for text, right in zip(texts, wanted, strict=True))
    if "summary" in task.measures:
        return {"exact": exact} | {name: fmean(each) for name, each in summarised(texts, wanted).items()}
    scores = translated(texts, wanted)
    return {"exact": exact} | {name: float(c.score(c.counts.sum(0))) for name, c in scores.items()}


def _work(options: argparse.Namespace) -> Path:
    work: Path = options.work or Path("build") / options.shape
    return work


def _out(options: argparse.Namespace) -> Path:
    out: Path = options.out or ASSETS / options.shape
    return out


def load(folder: Path) -> PegasusForConditionalGeneration:
    """A model of a folder, in fp32."""
    model: PegasusForConditionalGeneration = read_weights(PegasusForConditionalGeneration, folder)
    return model


def _publish(trainer: SourceTrainer, options: argparse.Namespace) -> None:
    out = _out(options)
    told = record.describe(trainer, "source-train")
    models.export(trainer.model, trainer.tokenizer, out, told)
    if masks := trainer.settings.mix.masks:
        write(out / META, (json.dumps({"mask": trainer.tokenizer.pad_token_id, "masks": masks}) + "\n").encode())
