"""Checkpoints by hub id: what they are made of, told without their weights, and fetching them with the bytes told."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open

from engine import progress
from engine.errors import AssetError, LabError, first_line
from engine.files.documents import read_object
from engine.files.places import a_file, near

if TYPE_CHECKING:
    import torch

ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
TEXTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken")  # configuration and tokenizer
WEIGHTS = ("model.safetensors", "model-*.safetensors")
PICKLES = "pytorch_model*.bin"  # not read at load (engine/model/rewritten.py)
INDEX = "model.safetensors.index.json"  # of weights in several files, whose names it gives
POINTER = b"version https://git-lfs"  # how what Git LFS puts in a file's place begins
TEMPLATE = "chat_template.json"
ADAPTER = "adapter_config.json"
MERGE = "it holds an adapter alone. Merge it into its model (peft's merge_and_unload), and save that."
NOTHING = (
    "it has no model.safetensors, and other formats of weights are not read at load. Pickled weights and GGUF files "
    "are written anew by python -m engine unpack."
)
FILES = (LabError, OSError, ValueError, SafetensorError, StrictDataclassError)  # what is raised of a file at fault
WITHIN = ("*/*",)  # copies of the same in other formats


@dataclass(frozen=True)
class Glance:
    """A checkpoint as its list of files tells."""

    folder: Path  # configuration and tokenizer; of a folder also the weights
    weights: Mapping[str, int]  # bytes of each file of weights
    missing: int  # bytes of them that are still to be fetched
    hub: bool

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(self.weights.values())


def is_folder(ref: str) -> bool:
    """Whether a reference names a folder here, not the hub."""
    try:
        return Path(ref).is_dir()
    except (OSError, ValueError):  # no name that a folder could have
        return False


def glance(ref: str) -> Glance:
    """What a folder or hub id is made of. Of the hub only configuration and tokenizer are fetched.

    Raises:
        AssetError: neither a folder here nor a model that the hub gives.
    """
    folder = Path(ref)
    if is_folder(ref):
        return Glance(folder, _sizes(folder), 0, hub=False)
    if said := unread(ref) or a_file(ref):
        raise AssetError(said)
    try:
        folder = Path(_snapshot(ref, allow_patterns=TEXTS))
    except Exception as error:  # the hub's client and its transport raise whatever they like
        raise AssetError(missing(ref, error)) from None
    try:
        listed = _snapshot(ref, allow_patterns=_weights(folder), dry_run=True)
    except Exception:  # no network: what was fetched before may be all there is
        return Glance(folder, _sizes(folder), 0, hub=True)
    sizes = {one.filename: one.file_size or 0 for one in listed}
    return Glance(folder, sizes, sum(one.file_size or 0 for one in listed if one.will_download), hub=True)


def fetch(ref: str, what: str, step: int = 1, of: int = 1, also: Sequence[str] = ()) -> None:
    """Bring all files of a hub id into the hub's cache, with the bytes told to `engine.progress`; a folder is here.

    `also` are names of weights that a head has besides those of models.

    Raises:
        AssetError: the hub does not give it. Stopped: nobody wants it any more.
    """
    if is_folder(ref):
        return
    here = glance(ref)
    with progress.loading(what, step=step, of=of, size=here.missing, doing="Downloading") as told:
        try:
            _snapshot(ref, allow_patterns=(*TEXTS, *_weights(here.folder), *also), tqdm_class=_bar(told))
        except progress.Stopped:
            raise
        except Exception as error:  # as in `glance`
            raise AssetError(missing(ref, error)) from None


def pull(ref: str, patterns: Sequence[str]) -> Path:
    """The folder of a hub id with its texts and the files of such names, fetched where they are not here yet.

    Raises:
        AssetError: the hub does not give it.
    """
    try:
        return Path(_snapshot(ref, allow_patterns=(*TEXTS, *patterns)))
    except Exception as error:  # as in `glance`
        raise AssetError(missing(ref, error)) from None


def indexed(folder: Path) -> set[str]:
    """The files of weights that an index names; none where there is no index.

    Raises:
        AssetError: the index is damaged.
    """
    index = folder / INDEX
    placed = read_object(index).get("weight_map") if index.is_file() else {}
    return {str(file) for file in placed.values()} if isinstance(placed, dict) else set()


def commit_of(ref: str) -> str:
    """The commit of what was fetched of a hub id; empty where nothing was."""
    file = _fetched(ref, "config.json")
    return "" if file is None else file.parent.name


def local(ref: str) -> Path | None:
    """The folder of a reference: itself, or what was fetched of a hub id; None where nothing was."""
    file = None if is_folder(ref) else _fetched(ref, "config.json")
    return Path(ref) if is_folder(ref) else file and file.parent


def template_beside(ref: str) -> str:
    """The chat template that multimodal checkpoints keep beside their tokenizer; empty where there is none.

    Raises:
        AssetError: the file is damaged.
    """
    file = Path(ref) / TEMPLATE if is_folder(ref) else _fetched(ref, TEMPLATE)
    return str(read_object(file).get("chat_template") or "") if file is not None and file.is_file() else ""


def _fetched(ref: str, name: str) -> Path | None:
    """A file of a hub id that was fetched before."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415  (only for hub ids)

    try:
        file = try_to_load_from_cache(ref, name) if ID.fullmatch(ref) else None
    except ValueError:  # looks like an id, and cannot be one
        return None
    return Path(file) if isinstance(file, str) else None


def missing(ref: str, error: Exception) -> str:
    """Why a checkpoint cannot be loaded, in a sentence."""
    if said := unread(ref) or a_file(ref):
        return said
    if is_folder(ref):
        return incomplete(ref, no_model(Path(ref)) or _said(error))
    kind = "Neither a folder here nor a model that the hub gives"
    otherwise = f"Check the spelling, the network, or give a local folder. ({_said(error)})"
    return f"{kind}: {ref!r}.{near(ref)} {otherwise}"


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, LabError) else first_line(error)


def incomplete(ref: str, reason: str) -> str:
    """What a folder or hub id is not, in a sentence."""
    return f"{'The folder ' if is_folder(ref) else ''}{ref} is not a complete model: {reason}"


def no_model(folder: Path) -> str:
    """Why a folder is that of no model at all; empty where it may be one."""
    if (folder / "config.json").is_file():
        return ""
    return MERGE if (folder / ADAPTER).is_file() else "it has no config.json."


def whole(ref: str, files: Glance) -> None:
    """Refuse a checkpoint without a configuration, without weights in safetensors, without some of the files that its
    index names, or with one here that is damaged.

    Raises:
        AssetError: with the reason.
    """
    known = indexed(files.folder) or {WEIGHTS[0]} & files.weights.keys()
    if not known and (said := unread(ref)):
        raise AssetError(said)
    if said := no_model(files.folder) or ("" if known else _no_weights(files)) or _cut(files, known):
        raise AssetError(incomplete(ref, said))


def _no_weights(files: Glance) -> str:
    """What there is in place of weights that can be read."""
    if files.weights:
        return f"its weights lie in several files, and {INDEX}, which tells what is in each, is missing."
    return MERGE if (files.folder / ADAPTER).is_file() else NOTHING


def _cut(files: Glance, known: Collection[str]) -> str:
    """Which of the files of weights are missing, or which one here is damaged; empty where none is."""
    if lost := sorted(set(known) - files.weights.keys()):
        return f"it lacks {lost[0]}" + (f" and {len(lost) - 1} more files." if lost[1:] else ".")
    for name in sorted(known):
        try:
            with safe_open(files.folder / name, framework="pt"):
                pass
        except FileNotFoundError:  # of the hub, and not fetched yet
            continue
        except SafetensorError as error:
            with (files.folder / name).open("rb") as file:
                if file.read(len(POINTER)) == POINTER:
                    return f"{name} is what Git LFS puts in the place of a large file: fetch the file by git lfs pull."
            return f"{name} is damaged, or was not written to its end ({first_line(error)})."
    return ""


def unread(ref: str) -> str:
    """What a reference names, or its folder has in place of safetensors, that is not read at load; with the command
    that makes a folder of it. Empty where there is nothing of that kind."""
    place, anew = Path(ref), "Write it anew first: python -m engine unpack {} --out FOLDER"
    if place.suffix == ".gguf" and place.is_file():
        return f"{place} is a GGUF file. {anew.format(place)}"
    if not is_folder(ref) or any(place.glob("*.safetensors")):
        return ""
    if files := sorted(place.glob("*.gguf")):
        return f"{files[0]} is a GGUF file. {anew.format(files[0])}"
    return f"The weights in {place} are pickled. {anew.format(place)}" if any(place.glob(PICKLES)) else ""


def unpackable(name: str, how: str, error: Exception) -> str:
    """Why packed weights cannot be loaded, and what can be."""
    return (
        f"{name} is packed {f'by {how}, which' if how else 'in a way that'} cannot be loaded here: "
        f"{first_line(error).rstrip('.')}. The same model unpacked can be, or one packed by GPTQ, AWQ, AutoRound or "
        "compressed-tensors, by FP8, or by torchao or bitsandbytes (4 bits) once installed."
    )


def zeros(ref: str, names: Collection[str]) -> set[str]:
    """Those of some tensors of a checkpoint that hold nothing but zeros."""
    here, found = glance(ref), set[str]()
    for file in here.weights:
        with safe_open(here.folder / file, framework="pt") as tensors:
            found |= {name for name in set(tensors.keys()) & set(names) if not tensors.get_tensor(name).any()}
    return found


@dataclass(frozen=True)
class Tensors:
    """What the files of weights that are here tell without being read through."""

    shapes: Mapping[str, tuple[int, ...]]  # by name
    dtype: "torch.dtype | None"  # of the first weights, in which transformers loads where the configuration tells none


def tensors_of(files: Glance) -> Tensors:
    """The tensors of a checkpoint that is here, each file opened once."""
    shapes, dtype = dict[str, tuple[int, ...]](), None
    for file in sorted(files.weights):
        with safe_open(files.folder / file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118
                part = tensors.get_slice(name)
                shapes[name] = tuple(part.get_shape())
                dtype = dtype or _weights_type(part)
    return Tensors(shapes, dtype)


def _weights_type(part: Any) -> "torch.dtype | None":
    """The dtype of a tensor of a file where it may be that of weights."""
    kind = part[:0].dtype if part.get_shape() else None
    return cast("torch.dtype", kind) if kind and kind.is_floating_point and kind.itemsize > 1 else None


def fault(error: Exception) -> Exception | None:
    """What one of our errors is raised from: the error where code may be at fault, nothing where a file is, since then
    the sentence says it all."""
    return None if isinstance(error, FILES) else error


def _snapshot(ref: str, allow_patterns: tuple[str, ...], **asked: Any) -> Any:
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (only for hub ids)

    if not ID.fullmatch(ref):
        raise AssetError("A hub id is one or two names, as in owner/name")
    return snapshot_download(ref, allow_patterns=list(allow_patterns), ignore_patterns=list(WITHIN), **asked)


def _weights(folder: Path) -> tuple[str, ...]:
    """Patterns of the files of weights: those of plain names, and what the index calls them (Qwen3.5)."""
    return (*WEIGHTS, *sorted(indexed(folder)))


def _sizes(folder: Path) -> dict[str, int]:
    found = {file.name: file for pattern in WEIGHTS for file in folder.glob(pattern)}
    found |= {name: folder / name for name in indexed(folder) if Path(name).name == name and (folder / name).is_file()}
    return {name: file.stat().st_size for name, file in found.items()}


def _bar(told: progress.Loading) -> Any:
    """The class of a progress bar that draws nothing: the bytes of the busiest one are told."""
    from tqdm.std import tqdm  # noqa: PLC0415  (comes with the hub's client)

    class Bar(tqdm):  # type: ignore[type-arg]
        """A silent bar."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self.bytewise = options.get("unit") == "B"
            options.pop("name", None)
            super().__init__(*args, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            """Count."""
            self.n += n or 0
            if self.bytewise:
                told.reached(int(self.n))

    return Bar
