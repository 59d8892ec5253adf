"""Training of heads: what is learnt is what the drafter computes; batches, resume and export."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForSeq2SeqLM

from engine.draft import chain
from engine.errors import AssetError, EngineFault, ModelMismatch
from engine.heads.dflash import DflashHead
from engine.heads.eagle import EagleHead
from engine.heads.medusa import MedusaHead
from engine.lab import Lab
from engine.model import load_model
from engine.runs.assets import load_asset
from engine.tasks import SOURCED, load_problems
from engine.training import eagle, features
from engine.training.blockwise import BlockwiseRecipe
from engine.training.command import main as command
from engine.training.dflash import DflashRecipe, mask_of
from engine.training.eagle import Eagle2Recipe, Eagle3Recipe
from engine.training.features import Features, _states
from engine.training.features import _own as own
from engine.training.headcommands import export
from engine.training.headloop import HeadSettings, HeadTrainer, read_head
from engine.training.heads import TrainingContext, rows_of
from engine.training.hydra import HydraRecipe
from engine.training.medusa import MedusaRecipe
from engine.training.recipes import RECIPES
from engine.training.sourcecommands import LONGEST
from engine.training.sourcecommands import greedy as written
from tests.engine.crossed import SOURCE, Crossed, plain_logits
from tests.engine.drafters.heads import reference
from tests.engine.files.test_written import Full
from tests.engine.zoo import EOS, PAD, Zoo
from tests.modes import alike


def test_batches_are_a_function_of_the_step_and_hold_the_texts(context: TrainingContext) -> None:
    one, two = (context.features.batch(5, 4, seed=1) for _ in range(2))
    assert torch.equal(one.ids, two.ids) and one.ids.shape[0] == 4
    seen = [
        tuple(row[:n].tolist())
        for s in range(3)
        for row, n in zip(context.features.batch(s, 4, 0).ids, context.features.batch(s, 4, 0).size)
    ]
    assert len(set(seen)) == 12
    rows = rows_of(one)
    for b in range(4):
        assert rows.at[b, 0] == one.start[b] - 2  # the pair (last prompt token, state before it)
        assert int(rows.valid(0)[b].sum()) == int(one.size[b] - one.start[b])  # one draft token an answer token


def test_features_that_are_unfinished_or_damaged_train_nothing(context: TrainingContext, tmp_path: Path) -> None:
    """A record would tell of more texts than the head saw."""
    card, part = tmp_path / "features.json", tmp_path / "part-0000.safetensors"
    card.write_text(card.read_text().replace('"texts": 12', '"texts": 13'))
    with pytest.raises(AssetError, match=r"unfinished: 12 of 13 texts. `python -m engine.training features` goes on"):
        Features(tmp_path)
    part.write_bytes(part.read_bytes()[:99])
    with pytest.raises(AssetError, match=r"part-0000\.safetensors is damaged"):
        Features(tmp_path)
    card.write_text("{")
    with pytest.raises(AssetError, match=r"features\.json cannot be read"):
        Features(tmp_path)
    for told in ({}, {"texts": "12", "seed": 0, "target": "x"}, {"texts": 12, "seed": 0}):
        card.write_text(json.dumps(told))
        with pytest.raises(AssetError, match=r"features\.json does not tell what was computed"):
            Features(tmp_path)


@pytest.mark.thorough
def test_parts_of_another_cache_or_of_none_that_is_known_are_made_anew(zoo: Zoo, tmp_path: Path) -> None:
    told, card = list[str](), tmp_path / "features.json"
    for texts, lost in ((3, False), (3, False), (6, False), (6, True)):
        if lost:
            card.unlink()
        features.build(zoo.path("llama", context=1024), tmp_path, texts, 0.0, 0, told.append)
        assert len(Features(tmp_path).rows) == texts
    assert len(told) == 9  # a part a family, three times


def test_features_on_a_full_disk_are_told_with_the_file(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, *how: (Full if path.name.startswith("part-") else lambda file: file)(opened(path, *how)),
    )
    with pytest.raises(OSError, match="No space left on device") as told:
        features.build(zoo.path("llama", context=1024), tmp_path, 3, 0.0, 0, lambda _: None)
    assert Path(told.value.filename).name == "part-0000.safetensors"
    assert [path.name for path in tmp_path.iterdir()] == ["features.json"]


@pytest.mark.thorough
def test_texts_end_where_the_target_s_context_does(zoo: Zoo, tmp_path: Path) -> None:
    """Positions behind it have no rotation in any head, and in some targets none at all."""
    whole, cut, short = (zoo.path("llama", max_position_embeddings=n) for n in (512, 300, 64))
    for name, path, greedy in (("whole", whole, 0.0), ("cut", cut, 0.0), ("own", cut, 1.0)):
        features.build(path, tmp_path / name, 6, greedy, 0, lambda _: None)
    sizes = {name: [end - at for _, at, end, _ in Features(tmp_path / name).rows] for name in ("whole", "cut", "own")}
    assert max(sizes["whole"]) > 300 and sizes["cut"] == [min(size, 300) for size in sizes["whole"]]
    assert max(sizes["own"]) <= 300
    model = load_model(cut, device="cpu", dtype="float32")
    trainer = HeadTrainer(HeadSettings("mtp", steps=1), TrainingContext(model, Features(tmp_path / "cut"), 0, "cpu"))
    assert trainer.step() > 0
    with pytest.raises(ModelMismatch, match=r"prompt has \d+ tokens, and .* reads 64 in all: there is no room"):
        features.build(short, tmp_path / "none", 6, 0.0, 0, lambda _: None)


def test_a_tokenizer_without_an_end_still_teaches(zoo: Zoo) -> None:
    model, problems = zoo.model("llama", context=1024), load_problems("arithmetic", "train", 1)

    class Endless:
        eos_token_id = None

        def __call__(self, *given: Any, **how: Any) -> Any:
            return model.tokenizer.hf(*given, **how)

    other: Any = SimpleNamespace(seam=None, context=1024)
    other.tokenizer = SimpleNamespace(encode=model.tokenizer.encode, hf=Endless())
    ended = features._solved(model, problems)
    assert features._solved(other, problems) == [(prompt, rest[:-1]) for prompt, rest in ended]


@pytest.mark.thorough
def test_the_target_writes_the_share_of_texts_that_was_asked_for_however_few_there_are(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer than a hundred texts a family it had written none at a half."""
    for texts in (1, 4, 30, 60, 130, 3000):
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            assert sum(own(texts, share)) == round(texts * share)
    assert own(60, 0.5) == [20, 10], "whole chunks at first, and what is left in the last"
    assert own(3000, 0.9) == [0, *[50] * 9] * 6, "as the embedded heads' texts were chosen"
    written, answered = list[int](), features._answered
    monkeypatch.setattr(features, "_answered", lambda *a: (written.append(len(a[2])), answered(*a))[1])
    features.build(zoo.path("llama", context=1024), tmp_path, 12, 0.5, 0, lambda _: None)
    assert written == [2, 2, 2] and len(Features(tmp_path).rows) == 12


@pytest.mark.parametrize("kind", [Eagle3Recipe, Eagle2Recipe])
def test_the_unrolled_steps_are_what_the_drafter_runs(
    context: TrainingContext, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step's logits, against the head run on the true path without any batching: catches shifts, masks and positions."""
    made = kind(context)
    params = {
        n: torch.nn.Parameter(t + 0.2 * torch.randn(t.shape, generator=torch.Generator().manual_seed(1)))
        for n, t in made.start().items()
    }
    batch = context.features.batch(0, 4, 0).to("cpu")
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(
        eagle, "soft_loss", lambda logits, wanted, valid: (seen.append(logits.detach()), (logits.sum() * 0, 0.0))[1]
    )
    if kind is Eagle2Recipe:
        monkeypatch.setattr(eagle, "NOISE", 0.0)
    made.loss(params, batch)
    weights = {**made.frozen, **{n: p.detach() for n, p in params.items()}}
    head = EagleHead(made.spec, weights, context.model.decoder)
    rows, states = rows_of(batch), batch.taps if kind is Eagle3Recipe else batch.last
    for b in (0, 3):
        ids = batch.ids[b, : batch.size[b]].tolist()
        for j, logits in enumerate(seen):
            for r in range(0, int(rows.valid(j)[b].sum()), 2):
                i = int(rows.at[b, r])
                want = reference(head, ids[: i + 2], states[b, : i + 1], ids[i + 2 : i + 2 + j])
                torch.testing.assert_close(logits[b, r], want, atol=1e-3, rtol=1e-3)


def test_the_first_step_s_loss_is_told(context: TrainingContext, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter(range(10))
    monkeypatch.setattr(eagle, "soft_loss", lambda logits, *_: (logits.sum() * 0 + 1 + next(losses), 0.5))
    made = Eagle3Recipe(context)
    total, told = made.loss(made.start(), context.features.batch(0, 4, 0).to("cpu"))
    assert told["loss_0"] == 1 and float(total) == pytest.approx(sum(0.8**j * (j + 1) for j in range(7)))


def test_targets_of_the_unrolled_steps(context: TrainingContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step j is judged by the target's distribution after the true token j places on, where its first choice can be drafted."""
    made = Eagle3Recipe(context)
    batch = context.features.batch(0, 4, 0).to("cpu")
    asked: list[tuple[torch.Tensor, torch.Tensor]] = []
    monkeypatch.setattr(
        eagle, "soft_loss", lambda logits, wanted, valid: (asked.append((wanted, valid)), (logits.sum() * 0, 0.0))[1]
    )
    made.loss(made.start(), batch)
    rows = rows_of(batch)
    for j, (wanted, valid) in enumerate(asked):
        for b in range(4):
            for r in torch.nonzero(rows.valid(j)[b]).flatten().tolist():
                truth = context.head(batch.last[b, rows.at[b, r] + 1 + j])
                assert bool(valid[b, r]) == (int(truth.argmax()) in made.ids.tolist())
                torch.testing.assert_close(wanted[b, r], truth[made.ids])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", RECIPES)
def test_every_head_learns_resumes_and_loads(context: TrainingContext, tmp_path: Path, kind: str) -> None:
    steps = 24 if kind == "dflash" else 6  # it begins with all tokens alike, which takes longer to beat
    settings = HeadSettings(kind, steps=steps, rows=4, warmup_steps=1, matrix_lr=0.02, other_lr=0.01)
    straight, first, second = (HeadTrainer(settings, context) for _ in range(3))
    losses = [straight.step() for _ in range(steps)]
    for _ in range(steps - 3):
        first.step()
    first.save(tmp_path / "work")
    second.load(read_head(tmp_path / "work"))
    again = [second.step() for _ in range(3)]
    assert again == pytest.approx(losses[-3:], abs=1e-6) and losses[-1] < losses[0]
    export(straight, tmp_path / kind)
    assert alike(tmp_path / kind)
    role = "medusa" if kind == "blockwise" else kind
    head = load_asset(role, str(tmp_path / kind), context.model)
    assert head is not None
    lab = Lab(context.model, {}, {role: str(tmp_path / kind)})
    alone = lab.run("ar", [5, 6], max_new_tokens=8).token_ids
    assert lab.run(kind, [5, 6], max_new_tokens=8).token_ids == alone


def test_a_record_tells_every_leg(context: TrainingContext, tmp_path: Path) -> None:
    """Resumed as it was a run is one; with other settings or features it is not, and a start from another's weights is
    another run."""
    settings = HeadSettings("medusa", steps=4, rows=4)
    first = HeadTrainer(settings, context)
    first.step()
    first.save(tmp_path / "work")

    def told(trainer: HeadTrainer) -> tuple[list[str], list[int]]:
        export(trainer, tmp_path / "out")
        record = json.loads((tmp_path / "out" / "training.json").read_text())
        return [line for line in record["commands"] if " head " in line], [leg["step"] for leg in record["legs"]]

    again = HeadTrainer(settings, context)
    again.load(read_head(tmp_path / "work"))
    plain = (
        "python -m engine.training head medusa --steps 4 --rows 4 --matrix-lr 0.01 --other-lr 0.002 --seed 0 --heads 4"
    )
    assert told(again) == told(first) == ([plain], [1])
    longer = HeadTrainer(replace(settings, steps=9), context)
    longer.load(read_head(tmp_path / "work"))
    longer.step()
    extended = plain.replace("--steps 4", "--steps 9")
    assert told(longer) == ([plain, f"{extended} --resume (at step 1)"], [2])
    longer.save(tmp_path / "work")
    begun = HeadTrainer(settings, context)
    begun.start_from(read_head(tmp_path / "work"))
    begun.step()
    assert told(begun) == (
        [plain, f"{extended} --resume (at step 1)", f"{plain} --start-from build/before"],
        [2, 1],
    )
    state = read_head(tmp_path / "work") | {"features": context.features.card | {"seed": 1}}
    mixed = HeadTrainer(replace(settings, steps=9), context)
    mixed.load(state)
    assert len(told(mixed)[0]) == 3 and told(mixed)[1] == [2]


def test_a_head_starts_from_another_s_weights_by_token(context: TrainingContext) -> None:
    """Rows of the output head go to the same tokens, wherever these stand in the draft vocabulary."""
    settings = HeadSettings("eagle3", steps=4, rows=4)
    other, mine = HeadTrainer(settings, context), HeadTrainer(settings, context)
    other.step()
    drafted = mine.recipe.frozen["t2d"].nonzero().flatten().tolist()
    ids = torch.tensor(sorted([*drafted[4:], *[token for token in range(32) if token not in drafted][:2]]))
    other.recipe.frozen["d2t"] = ids - torch.arange(len(ids))
    other.params["lm_head.weight"] = torch.nn.Parameter(torch.randn(len(ids), 48))
    before = mine.params["lm_head.weight"].detach().clone()
    mine.start_from(other.state())
    assert torch.equal(mine.params["fc.weight"], other.params["fc.weight"])
    for i, token in enumerate(drafted):
        row = other.params["lm_head.weight"][ids.tolist().index(token)] if token in ids else before[i]
        assert torch.equal(mine.params["lm_head.weight"][i], row)
    assert mine.progress.step == 0 and [leg["progress"]["step"] for leg in mine.legs] == [1]


def test_a_head_that_drafts_other_tokens_is_not_gone_on_with(
    context: TrainingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other features have other frequent tokens: row i of the output head had gone on as another token's."""
    settings = HeadSettings("eagle3", steps=4, rows=4)
    state = HeadTrainer(settings, context).state()
    ids = torch.arange(len(state["frozen"]["d2t"])) + state["frozen"]["d2t"]
    counts, other = context.features.counts, ids[:-1].tolist()
    more = next(token for token in range(32) if token not in ids)
    often = torch.tensor([*other, more])
    monkeypatch.setattr(context.features, "counts", lambda vocab: counts(vocab).index_fill(0, often, 99))
    moved = HeadTrainer(settings, context)
    with pytest.raises(ModelMismatch, match=r"drafts other tokens .* --start-from in place of --resume"):
        moved.load(state)
    moved.start_from(state)


@pytest.mark.parametrize("kind", ["eagle3", "dflash"])
def test_a_target_without_three_layers_to_tap_is_refused_before_training(
    zoo: Zoo, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target, cache = zoo.path("llama", context=1024, layers=6), tmp_path / "features"
    features.build(target, cache, 3, 0.0, 0, lambda _: None)
    asked = ["--target", str(target), "--features", str(cache), "--steps", "1"]
    assert command(["head", kind, *asked, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]) == 2
    assert "taps three different layers, so its target needs at least 7" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert Features(cache).batch(0, 1, 0).taps.shape[-1] == 0, "what nobody can read is not kept"


@pytest.mark.parametrize(
    ("pad", "eos", "mask"), [(PAD, EOS, PAD), (None, EOS, EOS), (99, EOS, EOS), (None, None, None)]
)
def test_the_mask_of_a_drafter_is_padding_or_else_the_end_of_a_text(
    pad: int | None, eos: int | None, mask: int | None
) -> None:
    words = SimpleNamespace(hf=SimpleNamespace(pad_token_id=pad, eos_token_id=eos))
    model: Any = SimpleNamespace(tokenizer=words, vocab=32, name="one")
    if mask is None:
        with pytest.raises(ModelMismatch, match="neither one for padding nor one for the end of a text"):
            mask_of(model)
    else:
        assert mask_of(model) == mask


def test_what_is_no_number_is_never_learnt(context: TrainingContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had gone into weights, checkpoint and export, the last good ones with it."""
    trainer = HeadTrainer(HeadSettings("medusa", steps=4, rows=4), context)
    trainer.step()
    learnt = trainer.recipe.loss
    for damage in (lambda x: x * float("nan"), lambda x: x.detach() + (x - x.detach()) * float("inf")):
        monkeypatch.setattr(trainer.recipe, "loss", lambda *a, d=damage: (d(learnt(*a)[0]), {}))
        with pytest.raises(EngineFault, match=r"Step 2 has the loss .* from which nothing can be learnt"):
            trainer.step()
        assert trainer.progress.step == 1 and all(p.isfinite().all() for p in trainer.params.values())


def test_a_checkpoint_of_another_head_is_refused(context: TrainingContext) -> None:
    state = HeadTrainer(HeadSettings("medusa", steps=4, rows=4), context).state()
    for kind, heads in (("hydra", 4), ("medusa", 3)):
        trainer = HeadTrainer(HeadSettings(kind, steps=4, heads=heads), replace(context, heads=heads))
        for take in (trainer.load, trainer.start_from):
            with pytest.raises(ModelMismatch, match=f"is of a head medusa of .* parameters, and {kind} of"):
                take(state)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (MedusaRecipe, "medusa_num_heads"),
        (HydraRecipe, "hydra_num_heads"),
        (BlockwiseRecipe, "medusa_num_heads"),
    ],
)
def test_heads_are_as_many_as_asked_for(context: TrainingContext, kind: type, name: str) -> None:
    """Each has weights of its own and a share in the loss; the texts are shorter than the last one looks ahead."""
    numbers = {}
    for heads in (1, 6):
        made = kind(replace(context, heads=heads))
        params = made.start()
        batch = context.features.batch(0, 4, 0)
        _, told = made.loss({**params, **made.frozen}, batch.to("cpu"))
        numbers[heads] = (made.config[name], sum(key.startswith("match_") for key in told), len(params))
    assert (numbers[1][0], numbers[6][0]) == (1, 6)
    assert numbers[6][1] == numbers[1][1] + 5 and numbers[6][2] > numbers[1][2]


def test_blockwise_heads_learn_what_stands_so_many_places_on(context: TrainingContext) -> None:
    """The loss against one written out place by place, head by head."""
    made = BlockwiseRecipe(replace(context, heads=6, bottleneck=5))
    rng = torch.Generator().manual_seed(1)
    params = {name: 0.3 * torch.randn(t.shape, generator=rng) for name, t in made.start().items()}
    batch = context.features.batch(0, 4, 0).to("cpu")
    loss, told = made.loss(params, batch)
    head, means = MedusaHead(6, 1, params, output=context.head), list[float]()
    for i in range(6):
        each, hits = list[float](), list[bool]()
        for ids, first, size, last in zip(batch.ids, batch.start - 2, batch.size, batch.last, strict=True):
            for at in range(max(0, int(first)), int(size) - 2 - i):
                logits, wanted = head.logits(last[at : at + 1], i)[0], int(ids[at + 2 + i])
                each.append(-float(logits.log_softmax(-1)[wanted]))
                hits.append(int(logits.argmax()) == wanted)
        means.append(fmean(each) if each else 0.0)
        assert told[f"match_{i}"] == pytest.approx(fmean(hits) if hits else 0.0)
    assert float(loss) == pytest.approx(fmean(means), rel=1e-4)


@pytest.mark.thorough
def test_answers_are_those_of_the_target_whatever_its_kind(zoo: Zoo, tmp_path: Path) -> None:
    """Of another architecture, without a token for padding, with two that end a text and a penalty in its settings."""
    folder = tmp_path / "qwen2"
    shutil.copytree(zoo.path("qwen2", context=1024), folder)
    words = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(words | {"pad_token": None}))
    plain = load_model(folder, dtype="float32")
    assert plain.tokenizer.hf.pad_token_id is None
    prompt = plain.tokenizer.encode(load_problems("arithmetic", "train", 1, 7)[0].prompt)
    second = int(plain.session(400).forward(prompt).logits.argmax())
    (folder / "generation_config.json").write_text(
        json.dumps(
            {"eos_token_id": [EOS, second], "repetition_penalty": 1.3, "do_sample": True, "no_repeat_ngram_size": 2}
        )
    )
    features.build(folder, tmp_path / "made", 6, 1.0, 0, lambda _: None)
    for part, begin, end, start in Features(tmp_path / "made").rows:
        ids = part["ids"][begin:end].tolist()
        logits = plain.session(1000).forward(ids[:start], chain(ids[start:-1])).logits
        assert logits.argmax(-1).tolist() == ids[start:]
        assert not {EOS, second} & set(ids[start:-1])


def test_features_of_an_encoder_decoder(crossed: Crossed, tmp_path: Path) -> None:
    """Rows are what its decoder reads, with the states behind transformers' own logits; a head trained on them runs."""
    model = crossed.model("bart")
    lines = [([*SOURCE[i:], EOS], [20 + i, 9, 33, 21 + i, 40, EOS]) for i in range(4)]
    save_file(_states(model, lines), tmp_path / "part-0000.safetensors")
    (tmp_path / "features.json").write_text(json.dumps({"target": model.revision, "texts": 4, "greedy": 1, "seed": 0}))
    cache = Features(tmp_path)
    batch = cache.batch(0, 4, 0).to("cpu")
    assert batch.start.tolist() == [1] * 4 and batch.size.tolist() == [7] * 4 and batch.ids[:, 0].tolist() == [EOS] * 4
    for ids, last in zip(batch.ids, batch.last, strict=True):
        source = SOURCE[int(ids[1]) - 20 :]
        want = plain_logits(crossed.plain("bart"), source, ids.tolist())
        torch.testing.assert_close(model.decoder.head(last), want, atol=0.03, rtol=0.03)  # states are kept in fp16
    settings = HeadSettings("blockwise", steps=8, rows=4, warmup_steps=1, heads=3, bottleneck=8)
    trainer = HeadTrainer(settings, TrainingContext(model, cache, 0, "cpu", heads=3, bottleneck=8))
    losses = [trainer.step() for _ in range(8)]
    assert losses[-1] < losses[0]
    export(trainer, tmp_path / "out")
    lab = Lab(model, {}, {"medusa": str(tmp_path / "out")})
    runs = [lab.run(method, SOURCE, max_new_tokens=8).token_ids for method in ("ar", "blockwise", "medusa")]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.slow
def test_an_encoder_decoder_writes_its_own_texts(crossed: Crossed, tmp_path: Path) -> None:
    """The cache is made of greedy texts of training problems, both families, and finished parts are kept."""
    told = list[str]()
    for _ in range(2):
        features.build(crossed.path("pegasus", max_position_embeddings=512), tmp_path, 4, 1.0, 0, told.append)
    assert len(told) == 2  # a part a family, made once
    lab, cache = crossed.lab("pegasus", sigma=-1, max_position_embeddings=512), Features(tmp_path)
    batch = cache.batch(0, 4, 0)
    prompts = [p.prompt for family in SOURCED for p in load_problems(family, "train", 2, 7)]
    wanted = [lab.run("ar", prompt, max_new_tokens=LONGEST).token_ids for prompt in prompts]
    rows = [ids[1:size].tolist() for ids, size in zip(batch.ids, batch.size, strict=True)]
    assert sorted(rows) == sorted(wanted)


def test_texts_of_an_encoder_decoder_end_and_begin_as_its_own_do(crossed: Crossed, tmp_path: Path) -> None:
    """With a further end, sources that hold the embedded family's padding, and a beginning of two tokens."""
    folder, sources = tmp_path / "t5", [[5, 0, 33, 0, 0, 60, EOS], [60, 8, 21, 4, 9, 33, 12, 5, EOS]]
    shutil.copytree(crossed.path("t5_gated"), folder)
    file = folder / "generation_config.json"
    told = json.loads(file.read_text()) | {"decoder_start_token_id": 50, "forced_bos_token_id": 40}
    file.write_text(json.dumps(told))
    first = Lab(load_model(folder, "cpu")).run("ar", sources[0], max_new_tokens=24).token_ids
    last = next(i for i, token in enumerate(first) if i > 2 and token not in first[:i])
    file.write_text(json.dumps(told | {"eos_token_id": [EOS, first[last]]}))
    model = load_model(folder, "cpu")
    assert model.seam and model.seam.opening == (50, 40)
    wanted = [Lab(model).run("ar", source, max_new_tokens=24).token_ids for source in sources]
    assert len(wanted[0]) == last + 1 < len(wanted[1])
    hf = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    assert written(hf, sources, longest=24, opening=(50, 40), ends=model.tokenizer.stop_ids) == wanted


def test_a_block_in_training_is_the_one_of_drafting(context: TrainingContext) -> None:
    """Several blocks of a text at once, each seeing the text before its root alone, and one after the other."""
    recipe = DflashRecipe(context)
    rng = torch.Generator().manual_seed(4)
    params = {n: t + 0.1 * torch.randn(t.shape, generator=rng) for n, t in recipe.start().items()}
    batch, size = context.features.batch(0, 3, 0).to("cpu"), recipe.spec.size
    roots = torch.tensor([[2, 4], [1, 3], [3, 2]])
    where = (roots.unsqueeze(-1) + torch.arange(size)).flatten(1)
    filled = torch.full((3, 2, size), recipe.spec.mask)
    filled[..., 0] = batch.ids.gather(1, roots)
    with torch.inference_mode():
        states = recipe._forward(params, context.embed(filled.flatten(1)), batch.taps, roots, where)
        wanted = context.head(states.view(3, 2, size, -1)[:, :, 1:])
        head = DflashHead(recipe.spec, params, context.model.decoder, {})
        for line, both in enumerate(roots.tolist()):
            for block, root in enumerate(both):
                memory = head.memory(32)
                head.read(memory, batch.taps[line, :root])
                made = head.fill(memory, head.block(int(batch.ids[line, root]), size - 1))
                torch.testing.assert_close(made, wanted[line, block], atol=2e-4, rtol=1e-4)


def test_a_head_of_a_target_of_the_hub_asks_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder named like its owner would be made where one stands."""
    monkeypatch.chdir(tmp_path)
    assert command(["head", "medusa", "--target", "someone/model"]) == 2
    assert "Say with --out where the export goes: someone/model is no folder here." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
