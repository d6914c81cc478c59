"""`vlm-eval view`: write or serve a page that shows every step of one or more runs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.runs.files import built_aside
from harness.tables import say
from reports.output import FOLDERS, RUNS
from reports.view.serving import HOST, Server, server

if TYPE_CHECKING:
    from reports.view.write import RunsPage


PORT = 8765


@click.command(short_help="Write a page that shows every step of one or more runs.")
@RUNS
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="The folder to write.  [default: view; with --serve a temporary one]",
)
@click.option("--serve", is_flag=True, help="Serve the page on localhost until interrupted.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"For --serve.  [default: {PORT}]", default=None
)
@click.option("--pictures/--no-pictures", default=True, help="Write the screenshots, downscaled.")
@click.option("--overwrite", is_flag=True, help="Replace a page that is in the folder.")
def view(
    runs: tuple[Path, ...],
    out: Path | None,
    serve: bool,
    port: int | None,
    pictures: bool,
    overwrite: bool,
) -> int:
    """Write a folder with a page about every RUN (a run directory), finished or not.

    Open its index.html in any browser: it needs neither a server nor a network. It holds tables and
    plots, a comparison of the runs, a list of all steps, and each step with its screenshot, boxes,
    choices, conversation and scores. With --serve, the page of a run under way is written again as
    the run goes on, and says so; a folder is then an index of all runs below it, whose pages are
    written when they are opened.
    """
    if port is not None and not serve:
        raise click.UsageError("--port belongs to --serve")
    from reports.view.write import RunsPage, ViewError, check, clear

    def make(folder: Path, named: Path | None = None) -> RunsPage:
        """Write the page into a folder; where a new one is moved, `named` is what it becomes."""
        page = RunsPage(runs, folder, pictures=pictures, follow=serve, warn=_warn, bar=_bar)
        made = page.write(overwrite=overwrite and named is None)
        say(f"{named or folder / 'index.html'}: {made}", err=serve)
        return page

    if not serve:
        target = out or Path("view")
        check(target, overwrite=overwrite)
        try:
            with built_aside(target, replaces=overwrite) as made:
                make(made, target / "index.html")
                clear(target)
        except OSError as error:
            raise ViewError(f"cannot write {target}: {error.strerror or error}") from error
    elif out is None and (folders := click.get_current_context().meta.get(FOLDERS)):
        _browse(folders, PORT if port is None else port)
    elif out is not None:
        _serve(make(out), PORT if port is None else port)
    else:
        with tempfile.TemporaryDirectory(prefix="vlm-eval-view-") as folder:
            _serve(make(Path(folder)), PORT if port is None else port)
    return 0


def _warn(line: str) -> None:
    say(line, err=True)


@contextmanager
def _bar(label: str, length: int) -> Iterator[Callable[[], None]]:
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=length, label=label, file=sys.stderr, hidden=hidden) as bar:
        yield lambda: bar.update(1)


def _browse(folders: tuple[Path, ...], port: int) -> None:
    """Serve all runs below some folders until interrupted."""
    from reports.view.serving import serve_runs

    with (
        tempfile.TemporaryDirectory(prefix="vlm-eval-view-") as work,
        serve_runs(folders, Path(work), port) as serving,
    ):
        _run(serving)


def _serve(page: RunsPage, port: int) -> None:
    with server(page, port) as serving:
        _run(serving)


def _run(serving: Server) -> None:
    """Serve until interrupted."""
    say(f"http://{HOST}:{serving.server_address[1]}/ (Ctrl-C ends it)")
    with suppress(KeyboardInterrupt):
        serving.serve_forever()
    say("", err=True)
