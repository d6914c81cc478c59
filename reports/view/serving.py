"""A server of pages on localhost, and what writes a page again as its runs go on."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.runs import RunError
from reports.view import FULL, POLICY
from reports.view.folder import ViewError

if TYPE_CHECKING:
    from reports.view.write import RunsPage


HOST = "127.0.0.1"
NAMES = {HOST, "localhost"}
PICTURES = "/pictures/"
SIGNATURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"GIF8": "image/gif",
}
"""First bytes of encoded pictures; nothing else is served from the data."""
Whole = Callable[[str], bytes | None]
LEAST_PAUSE_S = 5.0
"""Seconds between looking whether a run has gone on."""


class Handler(SimpleHTTPRequestHandler):
    """Serve files with the page's content security policy, without directory listings.

    Requests for other host names are refused, against DNS rebinding: a site that points its own
    name at this address must not be able to read the page through a visitor's browser.
    """

    def __init__(self, *args: Any, whole: Whole = lambda _: None, **more: Any) -> None:
        self._of_data = whole
        super().__init__(*args, **more)

    def send_head(self) -> Any:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host not in NAMES:
            self.send_error(HTTPStatus.FORBIDDEN, "ask for localhost")
            return None
        return self.answer()

    def answer(self) -> Any:
        """Return the content that was asked for, headers sent; None if there is none."""
        if self.path.startswith(PICTURES + FULL):
            return self._whole(self.path.removeprefix(PICTURES))
        try:
            return super().send_head()
        except (ValueError, OSError):  # A name that no file can have, such as one with a null byte.
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def _whole(self, name: str) -> Any:
        """Return a picture in full, which is in no file of the folder."""
        data = self._of_data(name)
        kind = next((k for sign, k in SIGNATURES.items() if data and data.startswith(sign)), None)
        if data is None or kind is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return io.BytesIO(data)

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


@contextmanager
def following(page: RunsPage) -> Iterator[None]:
    """Write a page again, in a thread, whenever one of its runs has gone on.

    Writing takes at most a tenth of the time, and hardly slows the run down.
    """
    ended = threading.Event()

    def follow() -> None:
        pause = LEAST_PAUSE_S
        while not ended.wait(pause):
            if not page.outdated:
                continue
            start = time.monotonic()
            with suppress(RunError, OSError):  # It is tried again after a pause.
                page.write()
            pause = max(LEAST_PAUSE_S, 10 * (time.monotonic() - start))

    thread = threading.Thread(target=follow, name="page", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Server(ThreadingHTTPServer):
    """A server that a visitor cannot make print anything."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget a request that failed, as when the visitor leaves in the middle of a file."""


def server(folder: Path, port: int, whole: Whole = lambda _: None) -> ThreadingHTTPServer:
    """Return a server bound to localhost; port 0 picks a free port. Raises `ViewError`.

    `whole` gives the pictures in full that no file of the folder holds (`RunsPage.whole`).
    """
    return bound(port, partial(Handler, directory=str(folder), whole=whole))


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
