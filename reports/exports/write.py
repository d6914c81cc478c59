"""Export runs, from Python as by the command."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from harness.runs import Run, open_run
from harness.tables import clean
from reports.exports.contract import EXPORTS
from reports.exports.folder import ExportError, Folder


class Exported(NamedTuple):
    """The files that were written, and lines for the user."""

    files: list[Path]
    notes: tuple[str, ...]


def export(
    runs: Iterable[Run | Path | str],
    to: str,
    out: Path | str,
    *,
    overwrite: bool = False,
    unfinished: bool = False,
    **options: Any,
) -> Exported:
    """Write runs in a format of another project.

    Args:
        runs: runs or their directories, each once.
        to: the format, one of `EXPORTS`.
        out: the folder to write into; it is made if it is missing.
        overwrite: replace files that are there already.
        unfinished: export runs that are not finished as well; every format marks them.
        options: those of the format, by name.

    Raises:
        ExportError: the export is not possible; then the folder is as it was.
        RunError: a run cannot be read, or holds lines that cannot be.
        UnknownName: an unknown format, or one that does not take these options.
    """
    from reports.load import open_runs

    chosen = EXPORTS.make(to, **options)
    # Not tolerant: what is handed on is whole, or it is not handed on.
    opened = open_runs(run if isinstance(run, Run) else open_run(run) for run in runs)
    for label, run in opened.items():
        if not run.complete and not unfinished:
            raise ExportError(
                f"{clean(label)} is not finished: go on with it, or give --unfinished to export "
                "what there is, marked as such"
            )
    folder = Folder(Path(out), overwrite=overwrite)
    with folder:
        try:
            notes = tuple(chosen.write(opened, folder))
        except OSError as error:
            where = error.filename or os.fspath(out)
            raise ExportError(f"{error.strerror or error}: {where}") from error
    return Exported(folder.files, notes)
