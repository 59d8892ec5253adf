"""From a mined file to a judge on disk: features, classifier, ablations, and the numbers of its card."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from engine.analysis.judge import at_threshold, calibration_error, quantile_thresholds, recall_threshold
from engine.errors import ModelMismatch
from engine.judge.classifier import Fit, Settings, area_of, train
from engine.judge.events import Label
from engine.judge.features import Blocks, blocks_of, matrix
from engine.judge.kind import KINDS, FeatureKind
from engine.judge.store import labels_of, read_mined
from engine.judge.weights import Judge
from engine.model import Model

POINTS = 4  # decimals of scores in the JSON
RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)


@dataclass(eq=False)
class Mined:
    """A mined file with the hidden states of its labels."""

    head: dict[str, Any]
    labels: list[Label]
    prompts: int
    blocks: Blocks
    digest: str

    @property
    def important(self) -> list[bool]:
        """The labels' flags."""
        return [label.important for label in self.labels]

    @property
    def names(self) -> list[str]:
        """The prompt of each label."""
        return [label.prompt for label in self.labels]


def read(path: Path, models: Mapping[str, Model]) -> Mined:
    """A mined file, encoded by the models that it was mined with.

    Raises:
        AssetError: no mined file. ModelMismatch: other models are loaded.
    """
    head, prompts = read_mined(path)
    for role, model in models.items():
        made = head["models"].get(role, {}).get("revision")
        if made != model.revision:
            raise ModelMismatch(f"{path} was mined with the {role} {made}, and {model.revision} is loaded.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Mined(head, labels_of(prompts), len(prompts), blocks_of(prompts, models), digest)


def learn(mined: Mined, kind: FeatureKind, settings: Settings) -> Fit:
    """The classifier of one feature kind."""
    return train(matrix(mined.blocks, kind).double().numpy(), mined.important, mined.names, settings)


def ablations(mined: Mined, fit: Fit, kind: FeatureKind, settings: Settings) -> dict[str, Any]:
    """ROC areas on unseen prompts of every feature kind (figure 7) and every classifier (figure 6)."""
    args = (mined.important, mined.names, fit.c, settings)
    kinds = {str(other): area_of("logistic", matrix(mined.blocks, other).double().numpy(), *args) for other in KINDS}
    x = matrix(mined.blocks, kind).double().numpy()
    return {"features": kinds, "classifiers": {name: area_of(name, x, *args) for name in ("logistic", "forest", "mlp")}}


def judge_of(mined: Mined, fit: Fit, kind: FeatureKind, settings: Settings, extra: Mapping[str, Any]) -> Judge:
    """The judge, its scaler folded in, with everything that its card says."""
    weight, bias = fit.folded
    scores = [round(score, POINTS) for score in fit.scores]
    meta: dict[str, Any] = {
        "task": mined.head["task"], "models": mined.head["models"], "mined_sha256": mined.digest, "mining": _settings(mined.head),
        "prompts": mined.prompts, "labels": len(mined.labels), "important": sum(mined.important), "training": asdict(settings),
        "c": fit.c, "auc": fit.auc, "auc_by_c": fit.auc_by_c, "at_threshold": at_threshold(fit.scores, fit.truth, fit.threshold),
        "calibration_error": calibration_error(fit.scores, fit.truth), "sweep": quantile_thresholds(fit.scores),
        "thresholds_by_recall": {str(r): recall_threshold(fit.scores, fit.truth, r) for r in RECALLS},
        "scores": scores, "truth": [int(t) for t in fit.truth],
    }  # fmt: skip
    return Judge(torch.from_numpy(weight).float(), bias, kind, fit.threshold, meta | dict(extra))


def save(judge: Judge, fit: Fit, folder: Path, command: str) -> None:
    """Weights, JSON and a card in Markdown."""
    parts = {"coef": fit.coef, "mean": fit.mean, "scale": fit.scale}
    tensors = {name: torch.from_numpy(value).float().contiguous() for name, value in parts.items()}
    judge.save(folder, tensors | {"intercept": torch.tensor([fit.intercept], dtype=torch.float32)})
    (folder / "README.md").write_text(card(judge, command), encoding="utf-8")


def card(judge: Judge, command: str) -> str:
    """The card: what it is for, what it was made from, and how good it is on prompts that it had not seen."""
    m, at = judge.meta, judge.meta["at_threshold"]
    models = "; ".join(f"{role} {model['id']} ({model['revision']})" for role, model in sorted(m["models"].items()))
    rows = [
        ("task", m["task"]), ("models", models), ("features", str(judge.kind)), ("prompts mined", m["prompts"]),
        ("labels", f"{m['labels']}, {m['important']} important ({m['important'] / max(m['labels'], 1):.1%})"),
        ("mining", json.dumps(m["mining"])), ("split", f"{m['training']['split']} by prompt, seed {m['training']['seed']}"),
        ("C", f"{m['c']:.3g}, best of {len(m['auc_by_c'])} by ROC area"), ("ROC area, unseen prompts", f"{m['auc']:.3f}"),
        (f"threshold at {m['training']['recall']:.0%} recall", f"{judge.threshold:.4f}"),
        ("recall of important swaps there", _percent(at["recall"])),
        ("unimportant swaps kept there", _percent(at["kept_unimportant"])),
        ("thresholds at other recalls", ", ".join(f"{r}: {t:.4f}" for r, t in m["thresholds_by_recall"].items())),
        ("expected calibration error", f"{m['calibration_error']:.3f}"), ("mined file", f"sha256 {m['mined_sha256'][:16]}"),
    ]  # fmt: skip
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return (
        f"# Judge for {m['task']}\n\nA linear classifier on hidden states that tells which swaps of a target token for a draft "
        "token change the answer (AutoJudge). It refuses every other task and pair.\n\n| | |\n|---|---|\n"
        f"{table}\n{_areas(m.get('ablations'))}\nMade by:\n\n```sh\n{command}\n```\n"
    )


def _areas(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    lines = [f"| {name} | {area:.3f} |" for group in ("features", "classifiers") for name, area in found[group].items()]
    return "\nROC areas of other features and classifiers, same split and C:\n\n| | area |\n|---|---|\n" + "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _settings(head: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in head.items() if key not in ("kind", "schema", "task", "models")}


def summary(names: Sequence[str], fits: Sequence[Fit]) -> str:
    """A few words for the terminal."""
    return "\n".join(f"{n}: area {f.auc:.3f}, threshold {f.threshold:.4f}, C {f.c:.3g}" for n, f in zip(names, fits, strict=True))
