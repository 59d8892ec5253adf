"""Decoders of SentencePiece models (Llama 2, Mistral) strip the space at the beginning of a text. A response goes on its
prompt, so its text keeps it: it is what the pieces make up, as they were streamed."""

from pathlib import Path

import pytest
from tokenizers import decoders

from engine.analysis.reading import read_file
from engine.lab import Lab

PROMPT = "Question: Tom has 3 apples and buys 4 more. How many apples does he have?\nAnswer:"


@pytest.fixture(scope="module")
def stripping() -> Lab:
    """The embedded pair, its texts decoded as theirs are."""
    lab = Lab.load("tiny", threads=1)
    core = lab.target.tokenizer.hf.backend_tokenizer
    core.decoder = decoders.Sequence([core.decoder, decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return lab


@pytest.mark.parametrize("method", ["ar", "sd", "pld"])
def test_a_text_is_what_its_pieces_make_up(stripping: Lab, method: str, tmp_path: Path) -> None:
    trace = stripping.run(method, PROMPT, max_new_tokens=24)
    pieces = "".join(token.piece for token in trace.tokens if token.token not in stripping.target.tokenizer.stop_ids)
    assert pieces.startswith(" ") and trace.text == pieces
    assert stripping.target.tokenizer.decode(trace.token_ids) == pieces.removeprefix(" ")
    trace.save(tmp_path / "one.jsonl.gz")
    assert [run.text for run in read_file(tmp_path / "one.jsonl.gz")] == [pieces]
    first = trace.tokens[0].piece
    stopped = stripping.run(method, PROMPT, max_new_tokens=24, stop=first).end
    assert stopped is not None and stopped.reason == "stop" and stopped.text.startswith(first)


def test_recordings_without_that_space_are_read(stripping: Lab, tmp_path: Path) -> None:
    trace = stripping.run("ar", PROMPT, max_new_tokens=8)
    assert trace.end is not None
    trace.end.text = trace.end.text.removeprefix(" ")
    trace.save(tmp_path / "old.jsonl")
    assert read_file(tmp_path / "old.jsonl")[0].text == trace.end.text
