"""A server on this machine that speaks the three providers' wire formats."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tests.servers.answers import Answer, Ask, Provider, Reaction
from tests.servers.wire import body_of

FINE = Answer()


class _Http(ThreadingHTTPServer):
    request_queue_size = 512  # the default of 5 makes two hundred parallel connects time out
    daemon_threads = True
    block_on_close = False
    owner: WireServer


class WireServer:
    """Use as a context manager; `asks` holds every request that came in, in order.

    `react` is a function of the request, one answer for all, or answers in the order of the
    requests (the last one stays).
    """

    def __init__(
        self, react: Reaction | Answer | Sequence[Answer] = FINE, *, port: int = 0
    ) -> None:
        self.react = react
        self.asks: list[Ask] = []
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
        return url + "/v1" if provider == "openai" else url

    @property
    def count(self) -> int:
        return len(self.asks)

    def answer(self, provider: Provider, path: str, headers: dict[str, str], body: Any) -> Answer:
        """Record a request and say what it gets. The ask comes back with the answer's number."""
        with self._lock:
            ask = Ask(len(self.asks) + 1, provider, path, headers, body)
            self.asks.append(ask)
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        try:
            if callable(self.react):
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
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        owner = cast(_Http, self.server).owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = owner.answer(_provider(self.path), self.path, headers, json.loads(raw or b"{}"))
        if answer.drop:
            self.close_connection = True
            return
        self._send(answer)

    def do_GET(self) -> None:
        """`/asks`: what came in so far, for a test in another process."""
        owner = cast(_Http, self.server).owner
        listing = [{"number": a.number, "rounds": a.rounds, "text": a.text} for a in owner.asks]
        self._send(Answer(raw=json.dumps(listing).encode()))

    def _send(self, answer: Answer) -> None:
        body = answer.raw or b""
        try:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            self.send_header("content-length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in [body[n : n + 1] for n in range(len(body))] if answer.drip_s else [body]:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(answer.drip_s)
        except ConnectionError:
            self.close_connection = True  # the client gave up waiting

    def log_message(self, format: str, *args: object) -> None:
        return None


def _provider(path: str) -> Provider:
    if ":generateContent" in path:
        return "google"
    return "anthropic" if path.partition("?")[0].endswith("/v1/messages") else "openai"
