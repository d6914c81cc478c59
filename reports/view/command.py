"""`vlm-eval view`: write or serve a page that shows every step of one or more runs."""

from __future__ import annotations

import io
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.runs import RunError
from harness.tables import say
from reports.output import RUNS
from reports.view import FULL, POLICY

if TYPE_CHECKING:
    from reports.view.write import Page


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
def following(page: Page) -> Iterator[None]:
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
    """Return a server bound to localhost; port 0 picks a free port. Raises `OSError`.

    `whole` gives the pictures in full that no file of the folder holds (`Page.whole`).
    """
    return Server((HOST, port), partial(Handler, directory=str(folder), whole=whole))


PORT = 8765


@click.command(short_help="Write a page that shows every step of one or more runs.")
@RUNS
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="The folder to write, or one file that ends in .html.  [default: view; with --serve a "
    "temporary one]",
)
@click.option("--serve", is_flag=True, help="Serve the page on localhost until interrupted.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"For --serve.  [default: {PORT}]", default=None
)
@click.option(
    "--sample",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show N steps only, of every kind of outcome; tables stay those of the whole runs.",
)
@click.option("--pictures/--no-pictures", default=True, help="Write the screenshots, downscaled.")
@click.option("--overwrite", is_flag=True, help="Replace a page that is in the folder.")
def view(
    runs: tuple[Path, ...],
    out: Path | None,
    serve: bool,
    port: int | None,
    count: int | None,
    pictures: bool,
    overwrite: bool,
) -> int:
    """Write a folder with a page about every RUN (a run directory), finished or not.

    Open its index.html in any browser: it needs neither a server nor a network. It holds tables and
    plots, a comparison of the runs, a list of all steps, and each step with its screenshot, boxes,
    choices, conversation and scores. With --serve, the page of a run under way is written again as
    the run goes on, and says so.
    """
    if port is not None and not serve:
        raise click.UsageError("--port belongs to --serve")
    from reports.view.write import Page

    def make(folder: Path, named: Path | None = None) -> Page:
        page = Page(
            *(runs, folder), count=count, pictures=pictures, follow=serve, warn=_warn, bar=_bar
        )
        made = page.write(overwrite=overwrite and named is None)
        shown = f"{made.shown:,} of {made.total:,} {made.units}"
        say(f"{named or folder / 'index.html'}: {shown}", err=serve)
        return page

    if out is not None and out.suffix.lower() in (".html", ".htm"):
        if serve:
            raise click.UsageError("--serve serves a folder: give one with --out, or none")
        from reports.view.single import write_single

        with tempfile.TemporaryDirectory(prefix="vlm-eval-view-") as folder:
            make(Path(folder), out)
            write_single(Path(folder), out, overwrite=overwrite)
    elif not serve:
        make(out or Path("view"))
    elif out is not None:
        _serve(make(out), out, PORT if port is None else port)
    else:
        with tempfile.TemporaryDirectory(prefix="vlm-eval-view-") as folder:
            _serve(make(Path(folder)), Path(folder), PORT if port is None else port)
    return 0


def _warn(line: str) -> None:
    say(line, err=True)


@contextmanager
def _bar(label: str, length: int) -> Iterator[Callable[[], None]]:
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=length, label=label, file=sys.stderr, hidden=hidden) as bar:
        yield lambda: bar.update(1)


def _serve(page: Page, folder: Path, port: int) -> None:
    from reports.view.folder import ViewError

    try:
        serving = server(folder, port, page.whole)
    except OSError as error:
        raise ViewError(f"cannot serve on port {port}: {error.strerror or error}") from error
    with serving, following(page):
        say(f"http://{HOST}:{serving.server_address[1]}/index.html (Ctrl-C ends it)")
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            say("", err=True)
