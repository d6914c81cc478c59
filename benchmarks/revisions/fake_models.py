"""A server that answers as OpenAI, Anthropic and Google do, the same to the same conversation.

Every client names itself by its API key. The key is where calls are counted, where faults are
counted, and where a client can be held: after so many calls it gets no more answers, so that it
can be killed in the middle of its work.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from benchmarks.revisions.cases import family_of
from tests.servers.answers import Answer as Whole
from tests.servers.batch_apis import route
from tests.servers.batches import BatchStore, Switches

Numbers = tuple[float, ...]
"""The numbers in a request, such as its limit of tokens and its seed."""
Json = dict[str, Any]

FINISHES = {
    "openai": {"stop": "stop", "length": "length", "filter": "content_filter"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"},
    "google": {"stop": "STOP", "length": "MAX_TOKENS", "filter": "PROHIBITED_CONTENT"},
}
GARBAGE = (
    "I am not sure what to do on this page.",
    "ELEMENT: the blue button\nACTION: PRESS\nVALUE:",
    "It depends on what the task is about.",
)
WORD = 20
"""Strings of a request that are not longer are names: models, roles, types of media."""
_LETTERED = re.compile(r"^([A-Z]{1,2})\. ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says and how it ends: `stop`, `length` or `filter`."""

    text: str
    finish: str = "stop"


class FakeModels:
    """The server, as a context manager.

    `book` holds right answers by `key_of` a conversation, `spoken` the right answers of every
    family of cases, in a fixed order: they are wrong for other conversations, in the right form.
    """

    def __init__(self) -> None:
        self.book: dict[str, str] = {}
        self.spoken: dict[str, list[str]] = {}
        self.calls: Counter[str] = Counter()
        self.contents: defaultdict[str, dict[str, set[Numbers]]] = defaultdict(dict)
        """By client, and by the digest of a request's texts and pictures: its numbers."""
        self._tries: Counter[tuple[str, str]] = Counter()
        self._limits: dict[str, int] = {}
        self._reached: dict[str, threading.Event] = {}
        self._released = threading.Event()
        self._batches: dict[str, BatchStore] = {}
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.models = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def hold(self, client: str, calls: int) -> threading.Event:
        """Answer so many calls of a client and no more; the event says when the next one came."""
        self._limits[client] = calls
        self._reached[client] = threading.Event()
        return self._reached[client]

    def respond(self, client: str, provider: str, body: Json) -> tuple[int, bytes] | None:
        """Status and body for a request; None when the connection is to be dropped."""
        texts = _user_texts(provider, body)
        key = key_of(texts)
        drawn = f"{provider} {key} {body.get('seed', '')}".strip()
        seed = int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:8], "big")
        with self._lock:
            self.calls[client] += 1
            digest, numbers = _contents(body)
            self.contents[client].setdefault(digest, set()).add(numbers)
            self._tries[client, key] += 1
            first = self._tries[client, key] == 1
            held = self.calls[client] > self._limits.get(client, 10**9)
        if held:
            self._reached[client].set()
            self._released.wait()
            return None
        if "faults" in client and first and (kind := seed // 64 % 8) < 4:
            return _fault(kind)
        # No reply is cut off where replies are to be cached, and none with a high limit (redo).
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        plain = "cached" in client or limit == 9000
        forms = self.spoken.get(family_of(client.partition(":")[2]), [])
        answer = _answer(self.book.get(key), texts[-1], seed, forms, plain=plain)
        return 200, json.dumps(_BODIES[provider](body, answer, seed)).encode()

    def about_batches(
        self, client: str, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Whole | None:
        """Answer a request about files and batches; None for any other request."""

        def ask(provider: str, model: str, request: Json) -> tuple[int, Json]:
            status, raw = self.respond(client, provider, request) or (500, b"{}")
            return status, json.loads(raw)

        with self._lock:
            store = self._batches.setdefault(client, BatchStore(ask, Switches(polls=0)))
        return route(store, method, path, headers, body)

    def __enter__(self) -> FakeModels:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()


def key_of(user_texts: Iterable[str]) -> str:
    """A conversation's key: the texts of the user, without pictures, system text and replies."""
    return hashlib.sha256("\x00".join(text.strip() for text in user_texts).encode()).hexdigest()


def _contents(body: Json) -> tuple[str, Numbers]:
    """A digest of a request's texts and pictures, and its numbers, wherever they stand in it."""
    texts: list[str] = []
    numbers: list[float] = []
    left: list[Any] = [body]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            texts.extend([value] if len(value) > WORD else [])
        elif not isinstance(value, bool) and value is not None:
            numbers.append(value)
    return hashlib.sha256("\x00".join(sorted(texts)).encode()).hexdigest(), tuple(sorted(numbers))


def _user_texts(provider: str, body: Json) -> list[str]:
    texts = []
    for message in body["contents" if provider == "google" else "messages"]:
        if message.get("role", "user") != "user":
            continue
        content = message["parts" if provider == "google" else "content"]
        parts = [content] if isinstance(content, str) else [p.get("text", "") for p in content]
        texts.append("\n".join(part for part in parts if part))
    return texts


def _answer(
    right: str | None, prompt: str, seed: int, forms: Sequence[str], *, plain: bool
) -> Answer:
    """The right answer about every other time, else one of the ways in which models go wrong.

    In a tournament of small groups, where one wrong answer decides, it is nearly always right. With
    `plain` no reply is cut off or filtered, since such replies are never cached.
    """
    way, seed = seed % 16, seed // 16
    groups = len(_LETTERED.findall(prompt)) <= 6
    if right is not None and way < (14 if groups else 7):
        return Answer(right)
    if right is not None and way == 8:
        return Answer(f"Let me think about it.\n\n**{right.strip()}**")
    if way == 9:
        return Answer(GARBAGE[seed % len(GARBAGE)])
    if way >= 14 and not plain:
        return (Answer("The next action would be to", "length"), Answer("", "filter"))[way - 14]
    return Answer(forms[seed // 2 % len(forms)] if forms and seed % 2 else _guess(prompt, seed))


def _guess(prompt: str, seed: int) -> str:
    """An answer in the form that the prompt asks for, usually a wrong one."""
    action = ("CLICK", "TYPE", "SELECT")[seed % 3]
    if prompt.endswith("YES or NO."):
        return ("YES", "NO", "It looks\nNO", "Perhaps.")[seed % 4]
    value = "None" if action == "CLICK" else ("2", "blue", "rolling pins")[seed // 3 % 3]
    ending = f"ACTION: {action}\nVALUE: {value}"
    if "ELEMENT: x, y" in prompt:
        return f"ELEMENT: {seed // 9 % 1000}, {seed // 9000 % 1000}\n{ending}"
    if "ELEMENT TEXT:" in prompt:
        kind, text = ("BUTTON", "Add to basket") if seed // 9 % 2 else ("LINK", "Baking")
        return f"ELEMENT: it\nELEMENT TYPE: {kind}\nELEMENT TEXT: {text}\n{ending}"
    letters = _LETTERED.findall(prompt)
    letter = letters[seed // 9 % len(letters)] if letters else "ABCDEFGH"[seed // 9 % 8]
    if "ELEMENT:" in prompt:
        return f"ELEMENT: {letter}\n{ending}"
    return f"Answer: {letter}.\nAction: {action}\nValue: {value}"


def _fault(kind: int) -> tuple[int, bytes] | None:
    """What the first try of a request may get: an error, half a reply, or no answer at all."""
    if kind == 3:
        return None
    if kind == 2:
        return 200, b'{"id": "x", "choices": [{"ind'
    status, word = (429, "RESOURCE_EXHAUSTED") if kind else (500, "INTERNAL")
    error = {"message": "now and then", "type": "server_error", "code": None, "status": word}
    return status, json.dumps({"type": "error", "error": error}).encode()


def _counts(seed: int) -> tuple[int, int, int]:
    """Tokens of the prompt, of it read from the provider's cache, and of the reply."""
    return 500 + seed % 1000, seed // 7 % 3 * 100, 5 + seed // 11 % 60


def _openai(body: Json, answer: Answer, seed: int) -> Json:
    prompt, cached, written = _counts(seed)
    return {
        "id": f"chatcmpl-{seed}",
        "object": "chat.completion",
        "created": 1,
        "model": f"{body['model']}-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text, "refusal": None},
                "finish_reason": FINISHES["openai"][answer.finish],
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": seed % 3},
        },
    }


def _anthropic(body: Json, answer: Answer, seed: int) -> Json:
    prompt, cached, written = _counts(seed)
    return {
        "id": f"msg_{seed}",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-20260101",
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": FINISHES["anthropic"][answer.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": prompt - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": written,
        },
    }


def _google(body: Json, answer: Answer, seed: int) -> Json:
    prompt, cached, written = _counts(seed)
    candidate: Json = {"finishReason": FINISHES["google"][answer.finish], "index": 0}
    if answer.text:
        candidate["content"] = {"role": "model", "parts": [{"text": answer.text}]}
    return {
        "modelVersion": "gemini-fake",
        "responseId": f"g{seed}",
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": written,
            "totalTokenCount": prompt + written,
        },
    }


_BODIES = {"openai": _openai, "anthropic": _anthropic, "google": _google}


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False
    models: FakeModels

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: connections break when their clients are killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, else delayed acknowledgements cost 40 ms a call

    def do_GET(self) -> None:
        self._answer(b"")

    def do_DELETE(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

    def _answer(self, raw: bytes) -> None:
        models = cast(_Server, self.server).models
        headers = {name.lower(): value for name, value in self.headers.items()}
        client, path = _client(headers), self.path.partition("?")[0]
        whole = models.about_batches(client, self.command, self.path, headers, raw)
        if whole is not None:
            self._send(whole.status, whole.raw or b"", whole.content_type, whole.headers)
            return
        provider = "anthropic" if path.endswith("/messages") else "openai"
        provider = "google" if ":generateContent" in path else provider
        response = models.respond(client, provider, json.loads(raw or b"{}"))
        if response is None:
            self.close_connection = True
            return
        limited = {"retry-after": "0"} if response[0] == 429 else {}
        self._send(*response, "application/json", limited)

    def _send(self, status: int, body: bytes, kind: str, headers: Mapping[str, str]) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True  # the client was killed

    def log_message(self, format: str, *args: object) -> None:
        return None


def _client(headers: Mapping[str, str]) -> str:
    """The API key, in the header of any provider."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer
