"""A server of pages on localhost."""

from __future__ import annotations

import io
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from reports.view import POLICY
from reports.view.folder import ViewError

if TYPE_CHECKING:
    from reports.view.write import RunsPage


HOST = "127.0.0.1"
NAMES = {HOST, "localhost"}
INDEX = "index.html"


class Handler(SimpleHTTPRequestHandler):
    """Serve files with the page's content security policy, without directory listings.

    Requests for other host names are refused, against DNS rebinding: a site that points its own
    name at this address must not be able to read the page through a visitor's browser.
    """

    def __init__(self, *args: Any, page: RunsPage | None = None, **more: Any) -> None:
        self.page = page
        super().__init__(*args, **more)

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host not in NAMES:
            self.send_error(HTTPStatus.FORBIDDEN, "ask for localhost")
            return None
        return self.answer()

    def answer(self) -> Any:
        """Return the content that was asked for, headers sent; None if there is none.

        A page whose run has gone on is written again when the document, or whether there is news,
        is asked for.
        """
        asked = self.path.partition("?")[0]
        if self.page is not None and asked in ("/", f"/{INDEX}", "/data/stamp.js"):
            self.page.refresh()
        try:
            return super().send_head()
        except (ValueError, OSError):  # A name that no file can have, such as one with a null byte.
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def _text(self, content: str, kind: str = "text/html") -> Any:
        """Send a text that is in no file."""
        data = content.encode("utf-8", "replace")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return io.BytesIO(data)

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


class Server(ThreadingHTTPServer):
    """A server that a visitor cannot make print anything."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget a request that failed, as when the visitor leaves in the middle of a file."""


def server(page: RunsPage, port: int) -> Server:
    """Return a server bound to localhost; port 0 picks a free port. Raises `ViewError`."""
    return bound(port, partial(Handler, directory=str(page.out), page=page))


def bound(port: int, handler: Any) -> Server:
    """Return a server on localhost. Raises `ViewError` for a taken port, with one that is free."""
    try:
        return Server((HOST, port), handler)
    except OSError as error:
        with Server((HOST, 0), handler) as other:
            free = other.server_address[1]
        raise ViewError(
            f"cannot serve on port {port}: {error.strerror or error}; --port {free} is free"
        ) from error
