"""An index of many runs: one Parquet file beside their traces, a row a run, so that 100,000 are opened in seconds.

It is written while traces are (`compare --out`) or from them (`python -m engine index`), row group by row group, and
holds what tables need: counts and times, not rounds. A single run is then read from its own file.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from engine.analysis.grouping import one_target, task_of
from engine.analysis.intervals import as_json, mean_interval, quotient_interval
from engine.errors import TraceError, shown
from engine.files.documents import fits
from engine.files.written import beside, naming, ready_folder, writable
from engine.trace.store import Trace
from engine.trace.sums import Sums

NAME = "index.parquet"
MAGIC = b"PAR1"
GROUP = 5_000  # rows held before they are written
MOST_RUNS = 1_000_000  # of all indexes that are opened together
MOST_BYTES = 400_000_000  # of theirs once unpacked
MOST = 1e15  # of any number
MOST_KINDS = {"task": 100, "label": 500}  # each task is a section of figures, each label a row in it
TEXTS = (
    "file",
    "label",
    "method",
    "title",
    "guarantee",
    "task",
    "category",
    "key",
    "prompt",
    "asked",
    "conversation",
    "device",
    "dtype",
    "target",
)
COUNTS = ("limit", "repeat", "tokens", "rounds", "drafting", "drafted", "accepted", "levels", "fed")
TIMES = ("temperature", "draft_ms", "verify_ms", "other_ms")
SCHEMA = pa.schema(
    [(name, pa.string()) for name in TEXTS]
    + [(name, pa.int64()) for name in COUNTS]
    + [(name, pa.float64()) for name in TIMES]
)
PAIR = ["task", "asked", "temperature", "limit", "repeat", "again"]  # what two runs on one prompt share
ASKED = PAIR[:4]  # and what makes them runs of one prompt
CLUSTER = ["task", "cluster", "temperature", "limit"]  # and of one prompt or conversation
OLDER = {"conversation"}  # what indexes of before lack
PLACE = ["device", "dtype"]  # and what two must share whose times are compared
SHOWN = 20  # runs told by name at either end of a method
PROMPT = 120  # characters kept of a prompt; `asked` is a fingerprint of the whole


def entry(trace: Trace, file: str, label: str = "") -> dict[str, Any]:
    """The row of a run; `file` is relative to the index, `label` the method with its knobs."""
    head, sums = trace.head, Sums.of_run(trace)
    return {
        "file": file,
        "label": label or head.title,
        "method": head.method,
        "title": head.title,
        "guarantee": head.guarantee,
        "task": task_of(trace),
        "category": str(head.extras.get("category") or ""),
        "key": str(head.extras.get("key") or ""),
        "prompt": head.prompt[:PROMPT],
        "asked": hashlib.blake2b(head.prompt.encode(), digest_size=8).hexdigest(),
        "conversation": str(head.extras.get("conversation") or ""),
        "device": head.device,
        "dtype": head.dtype,
        "target": str(head.models.get("target", {}).get("id", "")),
        "limit": head.max_new_tokens,
        "repeat": int(head.extras.get("repeat") or 0),
        "temperature": float(head.sampling.get("temperature") or 0.0),
        "tokens": sums.tokens,
        "rounds": sums.rounds,
        "drafting": sums.drafting,
        "drafted": sums.drafted,
        "accepted": sums.accepted,
        "levels": sums.levels,
        "fed": sums.verify_tokens,
        "draft_ms": sums.draft_ms,
        "verify_ms": sums.verify_ms,
        "other_ms": sums.other_ms,
    }


def flaw(row: Any) -> str:
    """What is wrong with a value that should be a row; nothing of a sound one."""
    if not isinstance(row, dict):
        return "an entry of the index is an object"
    if wrong := next((name for name in TEXTS if not isinstance(row.get(name), str | None)), ""):
        return f"{wrong} in the index is a text, not {shown(row[wrong])}"
    for name, kind in (dict.fromkeys(COUNTS, int) | dict.fromkeys(TIMES, float)).items():
        if not (fits(row.get(name), kind) and 0 <= row[name] <= MOST):
            return f"{name} in the index is a number >= 0, up to {MOST:g}, not {shown(row.get(name))}"
    return ""


class Writer:
    """Writes an index; it appears whole once all is written, or not at all."""

    def __init__(self, path: Path) -> None:
        """Nothing is written yet."""
        self._goal, self._held = writable(path), list[Mapping[str, Any]]()
        self._part = beside(self._goal)
        self._sink: Any = None  # opened here, since pyarrow takes a path for an address
        self._file: Any = None
        self.count = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """The next run."""
        self._held.append(row)
        self.count += 1
        if len(self._held) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        with naming(self._goal):
            self._sink = self._sink or self._part.open("xb")
            self._file = self._file or parquet.ParquetWriter(self._sink, SCHEMA, compression="zstd")
            self._file.write_table(pa.Table.from_pylist(list(self._held), SCHEMA))
        self._held.clear()

    def __enter__(self) -> "Writer":
        ready_folder(self._goal.parent).mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
                self._close()
                self._part.replace(self._goal)
            else:
                with suppress(OSError):  # the error that ended the work is the one to be told
                    self._close()
        finally:
            self._part.unlink(missing_ok=True)

    def _close(self) -> None:
        with naming(self._goal):
            for one in filter(None, (self._file, self._sink)):
                one.close()


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write an index of these rows; how many there are."""
    with Writer(path) as writer:
        for row in rows:
            writer.add(row)
    return writer.count


def read(data: bytes, name: str = NAME) -> pd.DataFrame:
    """The rows of an index; see `read_all`."""
    return read_all([(name, data)])


def read_all(files: Iterable[tuple[str, bytes]]) -> pd.DataFrame:
    """The rows of indexes, given by name and bytes, one after another.

    Raises:
        TraceError: one is no index, damaged, or with those before it larger than a limit once it is unpacked.
    """
    frames, runs, room = list[pd.DataFrame](), MOST_RUNS, MOST_BYTES
    for name, data in files:
        try:
            table, size = _table(data, name, runs, room)
            frame = table.to_pandas(ignore_metadata=True)  # where texts are looked at: not all may be some
        except (OSError, ValueError, pa.ArrowException) as error:
            raise TraceError(f"{name} is no Parquet file that can be read: {str(error)[:120]}") from None
        frames.append(_checked(frame.reindex(columns=SCHEMA.names), name))
        runs, room = runs - table.num_rows, room - size
    whole = pd.concat(frames, ignore_index=True)
    for column, most in MOST_KINDS.items():
        if (kinds := whole[column].nunique()) > most:
            raise TraceError(f"The runs have {kinds:,} different values of {column}; at most {most:,} are compared.")
    return whole


def _table(data: bytes, name: str, runs: int, room: int) -> tuple[pa.Table, int]:
    """The columns of an index, and their bytes. It packs well, so it is unpacked bit by bit, each text once."""
    kinds = {field.name: field.type for field in parquet.ParquetFile(io.BytesIO(data)).schema_arrow}
    columns = [column for column in SCHEMA.names if column in kinds or column not in OLDER]
    for column in columns:
        if column not in kinds:
            raise TraceError(f"{name} is no index of runs: it has no column {column!r}.")
        if column in TEXTS and not _is_text(kinds[column]):
            raise TraceError(f"{name}: {column} must hold texts.")
        if column not in TEXTS and not (pa.types.is_integer(kinds[column]) or pa.types.is_floating(kinds[column])):
            raise TraceError(f"{name}: {column} must hold numbers >= 0.")
    file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=[column for column in TEXTS if column in columns])
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) > runs:
        raise TraceError(f"{name}: more than {MOST_RUNS:,} runs, which is the limit.")
    if max((group.total_byte_size for group in groups), default=0) > room:
        raise _too_large(name)
    batches, size = [file.schema_arrow.empty_table().select(columns)], 0
    for batch in file.iter_batches(GROUP, columns=columns):
        size += sum(map(_unpacked, batch.columns))
        if size > room:
            raise _too_large(name)
        batches.append(pa.Table.from_batches([batch]).select(columns))
    return pa.concat_tables(batches), size


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unpacked(column: pa.Array) -> int:
    """The bytes of a column whose texts stand in every row."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return int(compute.sum(lengths).as_py() or 0) + 8 * len(column)


def _too_large(name: str) -> TraceError:
    return TraceError(f"{name}: once unpacked, indexes are larger than {MOST_BYTES / 1e6:g} MB, which is the limit.")


def _checked(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    for column in (*COUNTS, *TIMES):
        if not ((frame[column] >= 0) & (frame[column] <= MOST)).all():
            raise TraceError(f"{name}: {column} must hold numbers >= 0, up to {MOST:g}.")
    whole: pd.DataFrame = frame.assign(
        **{column: frame[column].astype(object).fillna("").astype(str) for column in TEXTS}
    )
    return whole


def pool(frame: pd.DataFrame) -> dict[str, Any]:
    """The runs of an index as `engine.analysis.pool.pool` gives those of traces, without what needs their rounds.

    `runs` names, for each method, those with the fewest and the most tokens a target call. Intervals are 95 %, of means
    over prompts (t) and of quotients of sums over prompts (linearised; there are many), the runs of a prompt or a
    conversation taken together.

    Raises:
        TraceError: no run. ConfigError: runs of different targets.
    """
    if frame.empty:
        raise TraceError("The index names no run.")
    targets = frame["target"].value_counts()
    one_target({str(target): int(n) for target, n in targets.items()})
    cluster = frame["conversation"].where(frame["conversation"] != "", frame["asked"])
    frame = frame.assign(cluster=cluster, again=frame.groupby(["label", *PAIR[:-1], *PLACE], sort=False).cumcount())
    tasks = list(dict.fromkeys(frame["task"]))
    sections = [_section(task, frame[frame["task"] == task]) for task in tasks]
    if len(tasks) > 1:
        sections.insert(0, _section("all tasks", frame))
    return {
        "kind": "pooled",
        "schema": 1,
        "target": {"id": str(targets.index[0])},
        "device": " and ".join(sorted(set(frame["device"]))),
        "dtype": " and ".join(sorted(set(frame["dtype"]))),
        "runs": len(frame),
        "created": "",
        "commands": [],
        "sections": sections,
        "named": [one for label, own in frame.groupby("label", sort=False) for one in _named(str(label), own)],
    }


def _section(task: str, frame: pd.DataFrame) -> dict[str, Any]:
    plain = frame[_plain(frame)].drop_duplicates([*PAIR, *PLACE])
    asked = frame[["label", *PAIR]].drop_duplicates()
    return {
        "task": task,
        "prompts": len(frame[ASKED].drop_duplicates()),
        "even": len(asked) == asked["label"].nunique() * len(asked[PAIR].drop_duplicates()),
        "methods": [_method(str(label), own, plain) for label, own in frame.groupby("label", sort=False)],
        "figures": {},
        "ablation": [],
        "granularity": [],
    }


def _plain(frame: pd.DataFrame) -> "pd.Series[bool]":
    """The runs of plain decoding: the reference's, else those of methods that drafted in none of their runs. A look-up
    that found nothing on one prompt is no plain decoding."""
    reference = frame["guarantee"] == "reference"
    if reference.any():
        return reference
    drafted = frame.groupby("label", sort=False)["drafted"].transform("sum")
    return (drafted == 0) & (frame["guarantee"] != "lossy")


def _method(label: str, own: pd.DataFrame, plain: pd.DataFrame) -> dict[str, Any]:
    ms = own["draft_ms"] + own["verify_ms"] + own["other_ms"]
    first = own.iloc[0]
    return {
        "label": label,
        "method": first["method"],
        "guarantee": first["guarantee"],
        "runs": len(own),
        "generated": int(own["tokens"].sum()),
        "calls": int(own["rounds"].sum()),
        "tokens": int(own["fed"].sum()),
        "calls_each": _each(own, own["rounds"]),
        "tokens_each": _each(own, own["fed"]),
        "tau": _quotient(own, own["tokens"], own["rounds"]),
        "speedup": _speedup(own.assign(ms=ms), plain),
        "tokens_per_s": float(1e3 * own["tokens"].sum() / ms.sum()) if ms.sum() else None,
        "draft_s": float(own["draft_ms"].sum() / 1e3),
        "verify_s": float(own["verify_ms"].sum() / 1e3),
        "other_s": float(own["other_ms"].sum() / 1e3),
    }


def _speedup(own: pd.DataFrame, plain: pd.DataFrame) -> dict[str, Any] | None:
    """Tokens a second over plain decoding's on the same prompts, device and dtype; None where one has no partner."""
    if plain.empty:
        return None
    shared = [*PAIR, *PLACE]
    base = plain.assign(ms=plain["draft_ms"] + plain["verify_ms"] + plain["other_ms"])[[*shared, "tokens", "ms"]]
    both = own[[*shared, "cluster", "tokens", "ms"]].merge(base, on=shared, suffixes=("", "_plain"))
    if len(both) < len(own):
        return None
    return _quotient(both, both["tokens"], both["ms"], both["tokens_plain"], both["ms_plain"])


def _each(own: pd.DataFrame, column: "pd.Series[Any]") -> dict[str, Any] | None:
    """Mean of a column over prompts, of each over its runs."""
    each = column.groupby([own[name] for name in CLUSTER], sort=False).mean()
    return as_json(mean_interval(each.to_list(), positive=True))


def _quotient(own: pd.DataFrame, *columns: "pd.Series[Any]") -> dict[str, Any] | None:
    """Of columns of runs: those of one cluster are added up, since they are no independent ones."""
    keys = [own[name] for name in CLUSTER]
    prompts = (column.groupby(keys, sort=False).sum() for column in columns)
    return as_json(quotient_interval(*(column.to_numpy(dtype=np.float64) for column in prompts)))


def _named(label: str, own: pd.DataFrame) -> Iterator[dict[str, Any]]:
    called = own[own["rounds"] > 0]  # a draft model that writes alone has no tokens a target call
    tau = (called["tokens"] / called["rounds"]).sort_values(kind="stable")
    chosen = tau.index if len(tau) <= 2 * SHOWN else [*tau.index[:SHOWN], *tau.index[-SHOWN:]]
    for place in chosen:
        row = own.loc[place]
        yield {
            "file": row["file"],
            "label": label,
            "task": row["task"],
            "key": row["key"],
            "prompt": row["prompt"],
            "tokens": int(row["tokens"]),
            "calls": int(row["rounds"]),
            "tau": float(tau[place]),
        }
