"""A server on this machine that speaks the three providers' wire formats."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tests.servers import responses
from tests.servers.answers import Answer, Ask, Provider, Reaction, error
from tests.servers.batch_apis import route
from tests.servers.batches import BatchStore, Switches
from tests.servers.wire import body_of

FINE = Answer()
BATCHED = "x-in-a-batch"


class _Http(ThreadingHTTPServer):
    request_queue_size = 512  # the default of 5 makes two hundred parallel connects time out
    daemon_threads = True
    block_on_close = False
    owner: WireServer


class WireServer:
    """Use as a context manager; `asks` holds every request that came in, in order.

    `react` is a function of the request, one answer for all, or answers in the order of the
    requests (the last one stays). Requests in batches are answered like others; `batches` has what
    became of them, and `switches` says what goes wrong.
    """

    def __init__(
        self,
        react: Reaction | Answer | Sequence[Answer] = FINE,
        *,
        port: int = 0,
        switches: Switches | None = None,
    ) -> None:
        self.react = react
        self.batches = BatchStore(self._ask_in_batch, switches or Switches())
        self.asks: list[Ask] = []
        self.told: dict[str, Any] = {
            "/v1/models": {"object": "list", "data": [{"id": "fake-vl", "object": "model"}]},
            "/version": {"version": "0.0.7"},
        }
        self.in_flight = 0
        self.peak = 0
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def base_url(self, provider: Provider) -> str:
        """What to give the provider's SDK as its base URL."""
        url = f"http://127.0.0.1:{self.port}"
        return url + "/v1" if provider in {"openai", "responses"} else url

    @property
    def count(self) -> int:
        return len(self.asks)

    def count_on(self, tier: str) -> int:
        """How many requests asked for a tier, in the provider's word."""
        return sum(ask.tier == tier for ask in self.asks)

    def answer(self, provider: Provider, path: str, headers: dict[str, str], body: Any) -> Answer:
        """Record a request and say what it gets. The ask comes back with the answer's number."""
        with self._lock:
            ask = Ask(len(self.asks) + 1, provider, path, headers, body)
            self.asks.append(ask)
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        wrong = responses.complaint_about(body) if provider == "responses" else None
        try:
            if wrong is not None:
                answer = error(400, wrong)
            elif callable(self.react):
                answer = self.react(ask)
            elif isinstance(self.react, Answer):
                answer = self.react
            else:
                answer = self.react[min(ask.number, len(self.react)) - 1]
            time.sleep(answer.delay_s)
        finally:
            with self._lock:
                self.in_flight -= 1
        if answer.drop or answer.raw is not None:
            return answer
        return _with_body(answer, json.dumps(body_of(ask, answer)).encode())

    def _ask_in_batch(self, provider: Provider, model: str, body: Any) -> tuple[int, Any]:
        path = {"google": f"/v1beta/models/{model}:generateContent"}.get(provider, "/")
        answer = self.answer(provider, path, {BATCHED: "yes"}, body)
        if answer.raw is None:
            return 500, body_of(Ask(0, provider, path, {}, body), error(500, "nothing came"))
        return answer.status, json.loads(answer.raw)

    @property
    def asked_at_once(self) -> list[Ask]:
        """What was asked by itself, and not in a batch."""
        return [ask for ask in self.asks if BATCHED not in ask.headers]

    def __enter__(self) -> WireServer:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self) -> None:
        """Serve until closed, in this thread."""
        self._http.serve_forever(poll_interval=0.02)

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _with_body(answer: Answer, raw: bytes) -> Answer:
    return replace(answer, raw=raw)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet: otherwise delayed acknowledgements cost 40 ms

    def do_POST(self) -> None:
        raw = self._body()
        owner = cast(_Http, self.server).owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = route(owner.batches, self.command, self.path, headers, raw)
        if answer is None:
            body = json.loads(raw or b"{}")
            answer = owner.answer(_provider(self.path), self.path, headers, body)
        self._give(answer)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _give(self, answer: Answer) -> None:
        if answer.drop:
            self.close_connection = True
            return
        self._send(answer)

    def do_DELETE(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        """`/asks`: what came in so far, for a test in another process; what servers tell of
        themselves; else files and batches."""
        owner = cast(_Http, self.server).owner
        if self.path in owner.told:
            self._send(Answer(raw=json.dumps(owner.told[self.path]).encode()))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = route(owner.batches, self.command, self.path, headers, b"")
        if answer is not None:
            self._give(answer)
            return
        if self.path == "/batches":
            store = owner.batches
            counts = {"uploads": store.uploads, "creates": store.creates}
            self._send(Answer(raw=json.dumps(counts).encode()))
            return
        listing = [{"number": a.number, "rounds": a.rounds, "text": a.text} for a in owner.asks]
        self._send(Answer(raw=json.dumps(listing).encode()))

    def _send(self, answer: Answer) -> None:
        body = answer.raw or b""
        try:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            self.send_header("content-length", str(len(body)))
            if answer.tier:
                self.send_header("x-gemini-service-tier", str(answer.tier))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.tear:
                body, self.close_connection = body[: len(body) // 2], True
            for piece in [body[n : n + 1] for n in range(len(body))] if answer.drip_s else [body]:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(answer.drip_s)
        except ConnectionError:
            self.close_connection = True  # the client gave up waiting

    def log_message(self, format: str, *args: object) -> None:
        return None


def _provider(path: str) -> Provider:
    if ":generateContent" in path or ":streamGenerateContent" in path:
        return "google"
    if path.endswith("/responses"):
        return "responses"
    return "anthropic" if path.partition("?")[0].endswith("/v1/messages") else "openai"
