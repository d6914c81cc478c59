"""Servers on localhost: of a page, or of an index of runs with the page of each.

The index writes nothing before someone asks. A run's address is a hash of its directory: no address
names a file, and only runs that the index lists are served.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from harness.runs import RunError
from harness.tables import clean, percent
from reports.listing import list_runs
from reports.view import POLICY
from reports.view.write import HERE, RunsPage, ViewError, template

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


FILTERS = ("model", "benchmark", "protocol", "state")
STYLES = ("base", "browse")
_RUNS, _ASSETS = "/runs/", "/assets/"


class Browser:
    """The runs below some folders, and the pages that have been asked for.

    Args:
        folders: where runs are looked for, each time that the index is asked for.
        work: a folder for the pages.
    """

    def __init__(self, folders: tuple[Path, ...], work: Path) -> None:
        self._folders, self._work = folders, work
        self._pages: dict[str, RunsPage] = {}
        self._paths: dict[str, Path] = {}
        self._lock = threading.Lock()

    def _index(self) -> list[dict[str, Any]]:
        """Read the list of runs again, and the key of each."""
        listed = list_runs(self._folders, sort="created")
        self.notes = [str(note) for note in listed.attrs["notes"]]
        records = listed.to_dict("records")
        self._paths = {_key(one["path"]): Path(one["path"]) for one in records}
        return [{str(name): value for name, value in one.items()} for one in records]

    def index(self, chosen: Mapping[str, str]) -> str:
        """Return the index with the runs that have the chosen values."""
        with self._lock:
            records = self._index()
        shown = [
            one
            for one in records
            if all(chosen.get(name) in (None, "", one[name]) for name in FILTERS)
        ]
        return template("browse.html").render(
            policy=POLICY,
            title=", ".join(map(str, self._folders)),
            assets=_ASSETS.rstrip("/"),
            styles=STYLES,
            filters=[
                {
                    "name": name,
                    "options": sorted({str(one[name]) for one in records}),
                    "chosen": chosen.get(name, ""),
                }
                for name in FILTERS
            ],
            rows=[_row(one) for one in shown],
            total=len(records),
            notes=self.notes,
        )

    def page(self, key: str) -> RunsPage | None:
        """Return the page of a run, written when it is asked for first; None for a run that the
        index does not have. Raises `RunError` for one that cannot be read."""
        with self._lock:
            if key not in self._paths:
                self._index()
            if key in self._paths and key not in self._pages:
                page = RunsPage([self._paths[key]], self._work / key, follow=True)
                page.write()
                self._pages[key] = page
            return self._pages.get(key)


class BrowserHandler(Handler):
    """Serve the index, its styles, and the pages of runs."""

    browser: Browser

    def answer(self) -> Any:
        address = urlsplit(self.path)
        path = unquote(address.path)
        if path in ("/", f"/{INDEX}"):
            given = parse_qs(address.query, max_num_fields=20)
            return self._text(self.browser.index({name: one[-1] for name, one in given.items()}))
        if path.startswith(_ASSETS):
            name = path.removeprefix(_ASSETS)
            if name in {f"{style}.css" for style in STYLES}:
                return self._text((HERE / "assets" / name).read_text("utf-8"), "text/css")
            return self._missing()
        if not path.startswith(_RUNS):
            return self._missing()
        key, _, rest = path.removeprefix(_RUNS).partition("/")
        try:
            self.page = self.browser.page(key)
        except RunError as error:
            return self._text(clean(str(error)), "text/plain")
        if self.page is None:
            return self._missing()
        self.directory = str(self.page.out)
        self.path = f"/{rest or INDEX}"
        return super().answer()

    def _missing(self) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)


def serve_runs(folders: tuple[Path, ...], work: Path, port: int) -> Server:
    """Return a server of the runs below some folders, bound to localhost.

    Raises `ViewError` if the port is taken, naming another. Nothing is read before someone asks.
    """

    class Browsing(BrowserHandler):
        """The handler of this server."""

        browser = Browser(folders, work)

    return bound(port, Browsing)


def _key(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:16]


def _row(one: Mapping[str, Any]) -> dict[str, str]:
    value, low, high = one["score"], one["score_low"], one["score_high"]
    known = value == value and value is not None
    done = "" if one["state"] == "complete" else f"{one['settled']} of {one['units']}"
    return {
        "key": _key(one["path"]),
        "title": " · ".join((one["model"], one["protocol"], f"{one['benchmark']} {one['split']}")),
        "state": one["state"],
        "progress": done,
        "measure": one["measure"],
        "score": percent(value) if known else "–",
        "interval": f"[{percent(low)}, {percent(high)}]" if known and low == low else "",
        "path": one["path"],
        "created": one["created"],
        "spent": f"${one['spent']:,.2f}" if one["spent"] else "",
    }
