"""An OpenAI-compatible server on loopback that really generates, with a model of the tests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from engine.draft import chain
from engine.judge.continuation import LocalTarget
from engine.judge.gumbel import Chooser
from engine.model import Model


@contextmanager
def serving(
    model: Model | None = None,
    chat: Callable[[list[dict[str, str]], int], str] | None = None,
    failures: list[int] | None = None,
    spoil: Callable[[dict[str, Any]], Any] | None = None,
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Address and the requests seen. `failures` are statuses of the first answers; `spoil` changes a good one."""
    seen: list[dict[str, Any]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                seen.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
                status = failures.pop(0) if failures else 200
                n = len(seen)
            if status != 200:
                return self._send(status, {"error": "busy"})
            if self.path == "/v1/chat/completions" and chat:
                return self._send(200, {"choices": [{"message": {"content": chat(body["messages"], n)}}]})
            answer = self._native(body) if self.path == "/generate" else {"choices": [self._complete(body)]}
            self._send(200, spoil(answer) if spoil else answer)

        def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
            assert model is not None
            words = model.tokenizer
            ids = body["prompt"] if isinstance(body["prompt"], list) else list(words.hf(body["prompt"])["input_ids"])
            with lock:
                new = LocalTarget(model, len(ids) + body["max_tokens"], Chooser()).generate(ids, body["max_tokens"])
            done = bool(new) and new[-1] in words.stop_ids
            choice: dict[str, Any] = {"text": words.decode(new), "finish_reason": "stop" if done else "length"}
            told = [None, *({str(token): {"rank": 1, "logprob": 0.0}, "0": {"rank": 9}} for token in self._firsts(ids))]
            more: dict[str, Any] = {"prompt_logprobs": told[: len(ids)]} if body.get("prompt_logprobs") else {}
            choice |= more
            return choice | ({"token_ids": new} if body.get("return_token_ids") else {})

        def _native(self, body: dict[str, Any]) -> dict[str, Any]:
            """SGLang's own interface."""
            ids, start = body["input_ids"], body["logprob_start_len"]
            firsts = self._firsts(ids)
            rows = [None, *([[0.0, token, None]] for token in firsts[start:-1])]
            return {"output_ids": firsts[-1:], "meta_info": {"input_top_logprobs": rows}}

        def _firsts(self, ids: list[int]) -> list[int]:
            """The model's first choice after each prefix."""
            assert model is not None
            with lock:
                logits = model.session(len(ids) + 1).forward(ids[:1], chain(ids[1:])).logits
            return [int(row.argmax()) for row in logits]

        def _send(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
