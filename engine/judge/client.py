"""A small client for any OpenAI-compatible server (vLLM, SGLang, ...): completions and chat, with retries."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from engine.errors import ConfigError, EngineFault

AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
LARGEST = 16_000_000  # bytes of one answer


@dataclass(frozen=True)
class Endpoint:
    """Where a server is, and which of its models to ask. `url` ends before /completions, as in http://127.0.0.1:8000/v1."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout_s: float = 120.0
    tries: int = 4
    wait_s: float = 0.5  # before the second try; doubles each time
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        try:
            at = httpx.URL(self.url)
            known = at.scheme in ("http", "https") and bool(at.host)
        except (httpx.InvalidURL, ValueError):
            known = False
        if not known:
            raise ConfigError(f"The endpoint {self.url!r} is no http address; give one like http://127.0.0.1:8000/v1.")
        if not self.key.isascii() or not self.key.isprintable():
            raise ConfigError("The key of an endpoint holds only ASCII letters, digits and signs.")

    @property
    def place(self) -> str:
        """The address as it is told: without a name and a password."""
        return str(httpx.URL(self.url).copy_with(userinfo=b""))

    def complete(self, prompt: "str | list[int]", max_tokens: int, **options: Any) -> dict[str, Any]:
        """The first choice of a text completion: `text`, `finish_reason`, perhaps `token_ids`. Greedy unless told.

        Raises:
            EngineFault: no answer after all tries, or one that is not understood.
        """
        body = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0} | options
        found = self._choice(self.post("/completions", body), "text")
        if not isinstance(found["text"], str):
            raise EngineFault(f"The server at {self.place} answered with no text: {str(found)[:200]}")
        return found

    def chat(self, messages: list[dict[str, str]], max_tokens: int = 1024, **options: Any) -> str:
        """The text of a chat answer.

        Raises:
            EngineFault: no answer after all tries, or one that is not understood.
        """
        body = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0} | options
        said = self._choice(self.post("/chat/completions", body), "message")["message"]
        if not isinstance(said, dict):
            raise EngineFault(f"The server at {self.place} answered with no message: {str(said)[:200]}")
        return str(said.get("content") or "")

    def _choice(self, answer: Any, wanted: str) -> dict[str, Any]:
        choices = answer.get("choices") if isinstance(answer, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict) or wanted not in first:
            raise EngineFault(f"The server at {self.place} answered without a {wanted}: {str(answer)[:200]}")
        return dict(first)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON that the server answers to a body.

        Raises:
            EngineFault: no answer after all tries, or one that is no JSON.
        """
        error = ""
        for attempt in range(self.tries):
            if attempt:
                self.sleep(self.wait_s * 2 ** (attempt - 1))
            try:
                status, text = self._once(path, body)
            except (OSError, httpx.HTTPError) as failure:
                error = str(failure) or type(failure).__name__
                continue
            if status == httpx.codes.OK:
                try:
                    return json.loads(text)
                except (ValueError, RecursionError):
                    raise EngineFault(f"The server at {self.place} answered with no JSON: {text[:200]!r}") from None
            error = f"status {status}: {text[:200].decode(errors='replace')}"
            if status not in AGAIN:
                break
        raise EngineFault(f"The server at {self.place} did not answer {path}: {error}")

    def _once(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        text = bytearray()
        try:
            with httpx.stream(
                "POST", self.url.rstrip("/") + path, json=body, headers=headers, timeout=self.timeout_s, trust_env=False
            ) as answer:
                for part in answer.iter_bytes():
                    text += part
                    if len(text) > LARGEST:
                        raise EngineFault(f"The server at {self.place} sent more than {LARGEST} bytes.")
                return answer.status_code, bytes(text)
        except httpx.TimeoutException:
            raise TimeoutError(f"no answer within {self.timeout_s:g} s") from None
