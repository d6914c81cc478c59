"""`vlm-eval view`: write or serve a page that shows every step of one or more runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

PORT = 8765


@click.command(short_help="Write a page that shows every step of one or more runs.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
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
    choices, conversation and scores.
    """
    if port is not None and not serve:
        raise click.UsageError("--port belongs to --serve")
    from reports.view.write import write

    def make(folder: Path) -> None:
        made = write(runs, folder, count=count, pictures=pictures, overwrite=overwrite, warn=_warn)
        click.echo(f"{folder / 'index.html'}: {made.shown:,} of {made.total:,} steps", err=serve)

    if not serve:
        make(out or Path("view"))
    elif out is not None:
        make(out)
        _serve(out, PORT if port is None else port)
    else:
        with tempfile.TemporaryDirectory(prefix="vlm-eval-view-") as folder:
            make(Path(folder))
            _serve(Path(folder), PORT if port is None else port)
    return 0


def _warn(line: str) -> None:
    click.echo(line, err=True)


def _serve(folder: Path, port: int) -> None:
    from reports.view.folder import ViewError
    from reports.view.serve import HOST, server

    try:
        serving = server(folder, port)
    except OSError as error:
        raise ViewError(f"cannot serve on port {port}: {error.strerror or error}") from error
    with serving:
        click.echo(f"http://{HOST}:{serving.server_address[1]}/index.html (Ctrl-C ends it)")
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            click.echo("", err=True)
