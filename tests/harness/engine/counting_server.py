"""A chat server that knows which calls it was sent, and kills its client at a moment of choice.

It answers after 20 to 50 ms, with a text that depends on nothing but the messages. A call is known
by the hash of its messages and its seed, which is also the request id of the answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Messages = Sequence[dict[str, Any]]


def key_of(messages: Messages) -> str:
    """What a call is known by."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:24]


def first_round(messages: Messages) -> str | None:
    """The key of the call that this one goes on from, None for a first round."""
    roles = [message["role"] for message in messages]
    if "assistant" not in roles:
        return None
    return key_of(messages[: roles.index("assistant")])


class CountingServer:
    """`asked` and `answered` count by key over all clients; the hooks run in the server's threads.

    `on_asked(messages)` comes before the delay, `on_answered(number)` right after an answer went
    out, with the number of answers since the last `new_client`.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.on_asked: Callable[[Messages], None] = lambda messages: None
        self.on_answered: Callable[[int], None] = lambda number: None
        self.asked_by_client: list[str] = []
        self._answers_to_client = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> CountingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def drain(self) -> None:
        """Return when everything that a dead client sent has been dealt with."""
        quiet = 0
        while quiet < 5:
            time.sleep(0.02)
            quiet = 0 if self._server.connections else quiet + 1

    def new_client(self) -> None:
        """The next requests come from another process. To be called when all is drained."""
        with self._lock:
            self.asked_by_client = []
            self._answers_to_client = 0

    def answer(self, body: dict[str, Any], send: Callable[[bytes], None]) -> None:
        # Equal conversations with other seeds are other calls.
        seeded = [{"role": "seed", "content": body["seed"]}] if "seed" in body else []
        messages = [*seeded, *body["messages"]]
        key = key_of(messages)
        with self._lock:
            self.asked[key] += 1
            self.asked_by_client.append(key)
        self.on_asked(messages)
        time.sleep(0.02 + int(key[:4], 16) / 0xFFFF * 0.03)
        send(json.dumps(_completion(key)).encode())
        with self._lock:
            self.answered[key] += 1
            self._answers_to_client += 1
            number = self._answers_to_client
        self.on_answered(number)


def _completion(key: str) -> dict[str, Any]:
    text = f"ELEMENT: {'ABCD'[int(key[0], 16) % 4]}\nACTION: CLICK\nVALUE: None"
    return {
        "id": key,
        "object": "chat.completion",
        "created": 0,
        "model": "counted",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections = 0
        self._count_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._count_lock:
            self.connections += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._count_lock:
                self.connections -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error."""


def _handler(server: CountingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(length))
            with contextlib.suppress(OSError):
                server.answer(body, self._send)

        def _send(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("x-request-id", json.loads(data)["id"])
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler
