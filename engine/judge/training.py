"""From a mined file to a judge on disk: features, classifier, ablations, and the numbers of its card."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from engine.analysis.intervals import as_json
from engine.analysis.judge import (
    DECIMALS,
    area_interval,
    at_threshold,
    calibration_error,
    quantile_thresholds,
    recall_threshold,
    roc,
)
from engine.analysis.words import estimate
from engine.errors import AssetError, ModelMismatch
from engine.files.written import write
from engine.judge.classifier import Fit, Settings, scores_of, train, unseen
from engine.judge.equivalence import parse
from engine.judge.events import Label, PromptFinished
from engine.judge.features import Blocks, blocks_of, matrix
from engine.judge.kind import KINDS, FeatureKind
from engine.judge.nested import nested
from engine.judge.store import labels_of, read_mined
from engine.judge.weights import Judge
from engine.model import Model

RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99)
OPTIMISTIC = (
    "C, threshold, ROC area, recall and accepted swaps are all told from the same prompts held out: the area is the "
    "largest of those that were tried, and the recall is what the threshold was set to, so new prompts may show less."
)
CURE = {
    True: "The rows of nested folds are estimates: there neither C nor threshold knew the prompts that were scored.",
    False: "`judge-train --nested` adds an estimate from nested folds; `judge-eval` measures on held-out problems.",
}


@dataclass(eq=False)
class Mined:
    """A mined file with the hidden states of its labels."""

    head: dict[str, Any]
    labels: list[Label]
    prompts: int
    blocks: Blocks
    digest: str
    dtype: str = "float32"  # of the models that read the states

    @property
    def important(self) -> list[bool]:
        """The labels' flags."""
        return [label.important for label in self.labels]

    @property
    def names(self) -> list[str]:
        """The prompt of each label."""
        return [label.prompt for label in self.labels]


def read(path: Path, models: Mapping[str, Model], force: bool = False) -> Mined:
    """A mined file, encoded by the models that it was mined with; `force` takes others, and the head then names both.

    Raises:
        AssetError: no mined file, or one that does not fit the models. ModelMismatch: other models are loaded.
    """
    head, prompts = read_mined(path)
    if "task" not in head:
        raise AssetError(f"{path} does not say for which task it was mined.")
    head = _forced(path, head, models) if force else head
    for role, model in models.items():
        made = _revision(head, role)
        if made is None and head.get("eagle_online"):
            raise ModelMismatch(
                f"{path} was mined along {head['eagle_online']}, without a {role} model: --read target leaves its "
                "states out. --force reads them all the same."
            )
        if made != model.revision:
            raise ModelMismatch(
                f"{path} was mined with the {role} {made}, and {model.revision} is loaded. --force reads its states "
                "all the same."
            )
    named = {role: model.describe() for role, model in models.items() if not _named(head, role)}
    head = head | {"models": head["models"] | named} if named else head
    _fitting(path, prompts, min((model.vocab for model in models.values()), default=0))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    dtype = next((model.dtype for model in models.values()), "float32")
    return Mined(head, labels_of(prompts), len(prompts), blocks_of(prompts, models), digest, dtype)


def _named(head: Mapping[str, Any], role: str) -> bool:
    """Whether a head has the name of a model whose revision it has; a judge on disk is read back with both only."""
    return isinstance(head["models"][role].get("id"), str)


def _revision(head: Mapping[str, Any], role: str) -> Any:
    models = head.get("models")
    made = models.get(role) if isinstance(models, dict) else None
    return made.get("revision") if isinstance(made, dict) else None


def _forced(path: Path, head: dict[str, Any], models: Mapping[str, Model]) -> dict[str, Any]:
    """The head as if these models had mined; `mined_with` keeps those that did, where they are others."""
    others = {role: model for role, model in models.items() if _revision(head, role) != model.revision}
    if not others:
        return head
    made = head.get("models")
    if not isinstance(made, dict):
        raise AssetError(f"{path} does not say which models mined it.")
    read = {role: model.describe() for role, model in others.items()}
    return head | {"models": made | read, "mined_with": {role: made.get(role) for role in others}}


def _fitting(path: Path, prompts: Sequence[PromptFinished], vocab: int) -> None:
    """Nothing when every id is below `vocab`, and every label lies within its prompt's response."""
    for prompt in prompts:
        swapped = (token for label in prompt.labels for token in (label.target_token, label.draft_token))
        if max((*prompt.prompt_ids, *prompt.final, *swapped), default=-1) >= vocab:
            raise AssetError(
                f"{path}, prompt {prompt.prompt}: a token id lies beyond the {vocab} of the loaded models."
            )
        if any(label.t > len(prompt.final) for label in prompt.labels):
            raise AssetError(f"{path}, prompt {prompt.prompt}: a label lies beyond the response.")


def learn(mined: Mined, kind: FeatureKind, settings: Settings) -> Fit:
    """The classifier of one feature kind."""
    return train(matrix(mined.blocks, kind).double().numpy(), mined.important, mined.names, settings)


def one_sided(mined: Mined, fit: Fit, kind: FeatureKind) -> str:
    """See `Fit.one_sided`."""
    return fit.one_sided(matrix(mined.blocks, kind).double().numpy())


def estimate_of(mined: Mined, kind: FeatureKind, settings: Settings) -> dict[str, Any]:
    """Nested folds: area, recall and accepted swaps on prompts by which neither C nor threshold was chosen."""
    x = matrix(mined.blocks, kind).double().numpy()
    return nested(x, mined.important, mined.names, settings).as_json()


def ablations(mined: Mined, fit: Fit, kind: FeatureKind, settings: Settings) -> dict[str, Any]:
    """ROC areas on unseen prompts of every feature kind (figure 7) and every classifier (figure 6), with intervals over
    prompts: of each area, and by how much each is above each other."""
    args = (mined.important, mined.names, fit.c, settings)
    x = matrix(mined.blocks, kind).double().numpy()
    scores = {
        "features": {str(k): scores_of("logistic", matrix(mined.blocks, k).double().numpy(), *args) for k in KINDS},
        "classifiers": {name: scores_of(name, x, *args) for name in ("logistic", "forest", "mlp")},
    }
    rows = unseen(mined.important, mined.names, settings)
    told = [mined.important[row] for row in rows], [mined.names[row] for row in rows]
    areas: dict[str, Any] = {"intervals": {}, "above": {}}
    for group, found in scores.items():
        areas[group] = {name: roc(own, told[0]).auc for name, own in found.items()}
        areas["intervals"][group] = {name: as_json(area_interval(own, *told)) for name, own in found.items()}
        areas["above"][group] = {
            name: {other: as_json(area_interval(own, *told, found[other])) for other in found if other != name}
            for name, own in found.items()
        }
    return areas


def judge_of(mined: Mined, fit: Fit, kind: FeatureKind, settings: Settings, extra: Mapping[str, Any]) -> Judge:
    """The judge, its scaler folded in, with everything that its card says."""
    weight, bias = fit.folded
    scores = [round(score, DECIMALS) for score in fit.scores]
    held = {mined.names[row] for row in unseen(mined.important, mined.names, settings)}
    meta: dict[str, Any] = {
        "task": mined.head["task"],
        "models": mined.head["models"],
        "mined_sha256": mined.digest,
        "mining": _settings(mined.head),
        "dtype": mined.dtype,
        "prompts": mined.prompts,
        "labels": len(mined.labels),
        "important": sum(mined.important),
        "training": asdict(settings),
        "c": fit.c,
        "told_from": {"prompts": len(held), "labels": len(fit.truth), "important": sum(fit.truth)},
        "optimistic": OPTIMISTIC,
        "auc": fit.auc,
        "auc_by_c": fit.auc_by_c,
        "intervals_by_c": {c: as_json(found) for c, found in fit.intervals_by_c.items()},
        "at_threshold": at_threshold(fit.scores, fit.truth, fit.threshold),
        "calibration_error": calibration_error(fit.scores, fit.truth),
        "sweep": quantile_thresholds(fit.scores),
        "thresholds_by_recall": {str(r): recall_threshold(fit.scores, fit.truth, r) for r in RECALLS},
        "scores": scores,
        "truth": [int(t) for t in fit.truth],
    }
    forced = {"mined_with": mined.head["mined_with"]} if "mined_with" in mined.head else {}
    return Judge(torch.from_numpy(weight).float(), bias, kind, fit.threshold, meta | forced | dict(extra))


def save(judge: Judge, fit: Fit, folder: Path, command: str) -> None:
    """Weights, JSON and a card in Markdown."""
    parts = {"coef": fit.coef, "mean": fit.mean, "scale": fit.scale}
    tensors = {name: torch.from_numpy(value).float().contiguous() for name, value in parts.items()}
    judge.save(folder, tensors | {"intercept": torch.tensor([fit.intercept], dtype=torch.float32)})
    write(folder / "README.md", card(judge, command).encode())


def card(judge: Judge, command: str) -> str:
    """The card: what it is for, what it was made from, and how good it is on prompts that it had not seen."""
    m, at, told = judge.meta, judge.meta["at_threshold"], judge.meta["told_from"]
    others = [("mined with other models", _models(m["mined_with"]))] if "mined_with" in m else []
    rows = [
        ("task", m["task"]),
        ("models", _models(m["models"])),
        *others,
        ("features", f"{judge.kind}, in {judge.dtype}"),
        ("prompts mined", m["prompts"]),
        ("labels", f"{m['labels']}, {m['important']} important ({m['important'] / max(m['labels'], 1):.1%})"),
        ("equivalence", _equivalence(m["mining"])),
        ("mining", json.dumps(m["mining"])),
        ("split", f"{m['training']['split']} by prompt, seed {m['training']['seed']}"),
        ("held out", f"{told['prompts']} prompts, {told['labels']} labels, {told['important']} important"),
        ("C", f"{m['c']:.3g}, best of {len(m['auc_by_c'])} by ROC area on those"),
        ("ROC area on those", f"{_area(m)}, the largest of {len(m['auc_by_c'])}"),
        (f"threshold at {m['training']['recall']:.0%} recall on those", f"{judge.threshold:.4f}"),
        ("recall of important swaps there", f"{_percent(at['recall'])}, as it was set"),
        ("unimportant swaps accepted there", _percent(at["kept_unimportant"])),
        *_estimates(m.get("nested")),
        ("thresholds at other recalls", ", ".join(f"{r}: {t:.4f}" for r, t in m["thresholds_by_recall"].items())),
        ("expected calibration error", f"{m['calibration_error']:.3f}"),
        ("mined file", f"sha256 {m['mined_sha256'][:16]}"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return (
        f"# Judge for {m['task']}\n\nA linear classifier on hidden states that tells which swaps of a target token for "
        "a draft token change the answer (AutoJudge). It refuses every other task and pair.\n\n| | |\n|---|---|\n"
        f"{table}\n\n{m['optimistic']} {CURE['nested' in m]}\n{_areas(m.get('ablations'))}\nMade by:\n\n"
        f"```sh\n{command}\n```\n"
    )


def _equivalence(mining: Mapping[str, Any]) -> str:
    """When an altered response was as good as the one that was searched."""
    if "votes" not in mining:
        return parse(mining.get("equivalence", "answer")).words
    who, how = mining.get("judge_model") or "without a name", mining.get("vote", "paper")
    return f"a chat model ({who}) does not find it worse than the response searched, by {mining['votes']} votes ({how})"


def _models(described: Mapping[str, Any]) -> str:
    named = ((role, model or {}) for role, model in sorted(described.items()))
    return "; ".join(
        f"{role} {model.get('id', 'unknown')} ({model.get('revision', 'unknown')})" for role, model in named
    )


def _area(meta: Mapping[str, Any]) -> str:
    """The area of the C that was chosen, with its interval over prompts where there is one."""
    found = meta["intervals_by_c"].get(f"{meta['c']:.3g}")
    return estimate(found or {"mean": meta["auc"], "low": None}, ".3f")


def _estimates(found: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What nested folds say, 95 % intervals over prompts."""
    if not found:
        return []
    return [
        ("ROC area, nested folds", estimate(found["area"], ".3f")),
        ("recall of important swaps, nested folds", estimate(found["recall"], ".1%")),
        ("unimportant swaps accepted, nested folds", estimate(found["kept_unimportant"], ".1%")),
        ("C of each fold", ", ".join(f"{c:.3g}" for c in found["c"])),
    ]


def _areas(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    bounds = found.get("intervals", {})
    lines = [
        f"| {name} | {estimate(bounds.get(group, {}).get(name) or {'mean': area, 'low': None}, '.3f')} |"
        for group in ("features", "classifiers")
        for name, area in found[group].items()
    ]
    return (
        "\nROC areas of other features and classifiers, on the same prompts and with the same C"
        f"{', 95 % intervals over prompts' if bounds else ''}:\n\n| | area |\n|---|---|\n" + "\n".join(lines) + "\n"
    )


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _settings(head: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in head.items() if key not in ("kind", "schema", "task", "models", "mined_with")}
