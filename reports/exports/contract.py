"""The contract of export formats, and their registry.

    @dataclass(frozen=True, slots=True)
    class Lines:
        \"\"\"A JSON line per run.\"\"\"

        names_only: bool = option(False, "Leave the settings out.")

        def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
            for label, run in runs.items():
                with folder.path(f"{file_name(label)}.jsonl").open("w", encoding="utf-8") as file:
                    ...
            return ()

Its module is imported for the help of the command, so it imports other packages where they are
used. Equal runs and options give equal files: no format reads the clock.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from adapters.registry import Registry
from harness.runs import Run, open_run
from harness.tables import clean
from reports.exports.folder import ExportError, Folder

if TYPE_CHECKING:
    from harness.runs import Run
    from reports.exports.folder import Folder


class ExportFormat(Protocol):
    """A format of another project. Fields made by `option` are options of the command."""

    def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
        """Write runs, by label, to paths that `folder` gives; labels are unique, and hostile texts.

        All runs are readable, and finished unless the user asked for unfinished ones
        (`Run.complete` says so).

        Returns:
            Lines for the user, such as the command that uploads the files; with the note on
            test data (`reports.load.guarding_notes`) where the files hold texts of it.

        Raises:
            ExportError: something is missing that the format needs, in one line.
            RunError: a run cannot be read.
        """


EXPORTS: Registry[ExportFormat] = Registry("export format", "vlm_eval.exports", has=("write",))
EXPORTS.add(
    "hub", "reports.exports.hub:HubExport", "evaluation results for model repositories on the hub"
)
EXPORTS.add("eee", "reports.exports.eee:EeeExport", "JSON of Every Eval Ever")
EXPORTS.add("csv", "reports.exports.csv:CsvExport", "tables for spreadsheets and pandas")
EXPORTS.add("inspect", "reports.exports.inspect:InspectExport", "logs of inspect_ai, one per run")


def option(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of a format that is an option of `vlm-eval export`: `--with-steps` for
    `with_steps`.

    A switch where the default is a bool; `facts` are further arguments of `click.Option`, such as
    `type` or `metavar`.
    """
    return field(default=default, metadata={"help": help, **facts})


def options_of(format_class: object) -> dict[str, Mapping[str, Any]]:
    """Return the options of a format by name: arguments of `click.Option`, with `default` and
    `help`."""
    if not isinstance(format_class, type) or not is_dataclass(format_class):
        return {}
    return {
        one.name: {"default": one.default, **one.metadata}
        for one in fields(format_class)
        if "help" in one.metadata
    }


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
