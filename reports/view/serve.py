"""Serve the folder of a page on localhost only."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from reports.view import POLICY

HOST = "127.0.0.1"
NAMES = {HOST, "localhost"}


class Handler(SimpleHTTPRequestHandler):
    """Serve files with the page's content security policy, without directory listings.

    Requests for other host names are refused, against DNS rebinding: a site that points its own
    name at this address must not be able to read the page through a visitor's browser.
    """

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host not in NAMES:
            self.send_error(HTTPStatus.FORBIDDEN, "ask for localhost")
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server bound to localhost; port 0 picks a free port. Raises `OSError`."""
    return ThreadingHTTPServer((HOST, port), partial(Handler, directory=str(folder)))
