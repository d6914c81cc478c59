"""A log browser: an index of all runs below a folder, and the page of each when it is asked for.

Nothing is written before someone asks. A run's address is a hash of its directory: no address
names a file, and only runs that the index lists are served.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from harness.runs import RunError
from harness.tables import clean, percent
from reports.listing import list_runs
from reports.view import POLICY
from reports.view.serving import LEAST_PAUSE_S, Handler, Server, bound
from reports.view.write import HERE, RunsPage, template

FILTERS = ("model", "benchmark", "protocol", "state")
STYLES = ("base", "browse")
_RUNS, _ASSETS, _INDEX = "/runs/", "/assets/", "index.html"
_ANEW = (_INDEX, "data/stamp.js")


class Browser:
    """The runs below some folders, and the pages that have been asked for.

    Args:
        folders: where runs are looked for, each time that the index is asked for.
        work: a folder for the pages.
    """

    def __init__(self, folders: tuple[Path, ...], work: Path) -> None:
        self._folders, self._work = folders, work
        self._pages: dict[str, RunsPage] = {}
        self._written: dict[str, float] = {}
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

    def page(self, key: str, name: str) -> Path | None:
        """Return the folder of a run's page, where the file `name` of it is asked for.

        The page is written if it is new; or if the run has gone on, and the document, or whether
        there is news, is asked for. None for a run that the index does not have. Raises `RunError`
        for one that cannot be read.
        """
        with self._lock:
            folder = self._work / key
            page = self._pages.get(key)
            if page is not None and name not in _ANEW:
                return folder
            if key not in self._paths:
                self._index()
            path = self._paths.get(key)
            if path is None:
                return None
            if page is None:
                page = RunsPage([path], folder, follow=True)
                page.write()
                self._pages[key] = page
            elif page.outdated and time.monotonic() > self._written[key] + LEAST_PAUSE_S:
                with contextlib.suppress(RunError, OSError):  # It is tried again.
                    page.write()
            else:
                return folder
            self._written[key] = time.monotonic()
            return folder

    def whole(self, key: str, name: str) -> bytes | None:
        """Return a picture of a run's page in full."""
        page = self._pages.get(key)
        return page.whole(name) if page else None


class BrowserHandler(Handler):
    """Serve the index, its styles, and the pages of runs."""

    browser: Browser

    def answer(self) -> Any:
        address = urlsplit(self.path)
        path = unquote(address.path)
        if path in ("/", f"/{_INDEX}"):
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
            folder = self.browser.page(key, rest or _INDEX)
        except RunError as error:
            return self._text(clean(str(error)), "text/plain")
        if folder is None:
            return self._missing()
        self._of_data = lambda name: self.browser.whole(key, name)
        self.directory = str(folder)
        self.path = f"/{rest or _INDEX}"
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
