"""The one reader of what engines report: any of the formats, told by their content."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from engine.errors import TraceError
from engine.files import marks
from engine.served import logs, responses
from engine.served.report import Report
from engine.trace.store import MAX_BYTES, unpack

MAX_REPORTS = 100_000
STAMP = re.compile(r"\[[\w:., -]*\] +[A-Za-z]")  # as lines of SGLang's log begin; no JSON does
MARKS = (
    b'"speculative_decoding"',
    b'"spec_verify_ct"',
    b'"spec_tokens_details"',
    b'"spec_decode_acceptance"',
    b'"total_spec_decode_steps"',
    b'"spec_decode_num_drafts"',
    b'"timings"',
    b"spec_decode_num_draft_tokens",
    b"sglang:spec_accept_",
    b"SpecDecoding metrics:",
    b"accept len:",
    b"draft acceptance",
    b"#gen drafts",
)
WHERE = (
    "vLLM reports with --per-request-spec-decode-metrics summary or detailed, and at /metrics; SGLang in meta_info of "
    "/generate, with return_spec_tokens_details, and in its log; llama.cpp in timings, at /metrics and in its log; "
    "AIPerf in profile_export.jsonl (--export-level records) and profile_export_aiperf.json."
)


def _utf8(data: bytes) -> bytes:
    """The bytes in UTF-8, where they are in UTF-16, as PowerShell's redirection writes a log."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16", errors="replace").encode() if wide else data


def is_report(data: bytes) -> bool:
    """Whether the bytes of a file, unpacked, are an engine's and no trace."""
    data = _utf8(data)
    return not data.replace(b" ", b"")[:14].startswith(b'{"kind":"run"') and any(mark in data for mark in MARKS)


def read_reports(data: bytes, name: str, max_bytes: int = MAX_BYTES) -> list[Report]:
    """The reports in a file, in its order; of one request that tells its count several times, the last.

    Raises:
        TraceError: too large, damaged, contradicting itself, or without a word of speculation.
    """
    said = _utf8(unpack(data, max_bytes)).decode("utf-8-sig", errors="replace")
    found: dict[tuple[str, str], Report] = {}
    try:
        for report in _json(said, name) or logs.reports(said, name):
            found[report.engine, report.name] = report
            if len(found) > MAX_REPORTS:
                raise TraceError(f"{name} holds more than {MAX_REPORTS} reports, which is the limit.")
    except RecursionError:
        raise TraceError(f"{name} is nested too deeply.") from None
    if not found:
        raise TraceError(f"{name} tells nothing of speculation. {WHERE}")
    return list(found.values())


def _json(said: str, name: str) -> list[Report]:
    """Reports in one JSON value, in lines of it, or in an event stream; answers without an id are told by number, and
    the events of one stream are one answer."""
    values = list(_values(said, name))
    single = len({number for number, _ in values}) == 1
    return [
        report for number, value in values for report in responses.reports(value, name, "" if single else str(number))
    ]


def _values(said: str, name: str) -> Iterator[tuple[int, Any]]:
    """Each with the number of the answer that it is of."""
    begun = said.lstrip()
    if not begun.startswith(("{", "[", "data:", "event:")) or STAMP.match(begun):
        return
    plain = said.encode("utf-8", "replace")
    if much := marks.too_many(plain):
        raise TraceError(f"{name} has {much}, which is the limit.")
    if not marks.at_once(plain):  # in lines, then
        yield from _lines(said.rstrip().split("\n"), name)
        return
    try:
        whole = json.loads(said)
    except ValueError:
        yield from _lines(said.rstrip().split("\n"), name)
    else:
        yield from enumerate(whole if isinstance(whole, list) else [whole], 1)


def _lines(lines: list[str], name: str) -> Iterator[tuple[int, Any]]:
    """JSON lines, an answer each, or an event stream, which llama.cpp ends with `stop`. Only a line feed ends a line:
    answers may hold what else ends one elsewhere."""
    answer = 1
    for number, line in enumerate(lines, 1):
        given = line.removeprefix("data:").strip()
        if not marks.at_once(given.encode("utf-8", "replace")):
            much = f"more than {marks.MOST_AT_ONCE} values, which is the limit"
            raise TraceError(f"{name}, line {number} has {much}: write each report in a line of its own.")
        if given.startswith("{"):
            try:
                value = json.loads(given)
            except ValueError as error:
                if number == len(lines):  # it may be cut
                    return
                raise TraceError(f"{name}, line {number} is not JSON: {str(error)[:80]}.") from None
            yield answer, value
            answer += given == line.strip() or value.get("stop") is True
