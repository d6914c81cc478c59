"""Runs written in the formats of other projects.

    from reports.exports import export
    export(["runs/a", "runs/b"], "csv", "exported", with_steps=True)

| module | content |
|---|---|
| `results` | a run's measures, one by one, as `vlm-eval report` computes them, and facts about it |
| `tables` (`csv`, `parquet`), `eee`, `hub`, `inspect` | formats |
| `command` | `vlm-eval export` |

A format is a frozen dataclass: its fields are options of `vlm-eval export`, and `write` writes some
runs into a folder. It is added to `EXPORTS`, or by a package as an entry point of
`vlm_eval.exports` (docs/extending.md). Its module is imported for the help of the command,
so it imports other packages where they are used. Equal runs and options give equal content.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import click

from adapters.registry import Registry, allow
from harness.runs import Run, open_run
from harness.runs.files import built_aside
from harness.tables import clean

__all__ = [
    "EXPORTS",
    "ExportError",
    "ExportFolder",
    "ExportFormat",
    "export",
    "file_name",
    "option",
]

LONGEST = 200
"""Bytes of a name without its ending: file systems take 255."""
_RESERVED = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(10))}


class ExportError(click.ClickException):
    """An export that is not possible, and why, in one line."""

    exit_code = 2


def file_name(text: str) -> str:
    """Return a name for a file or folder from any text; other texts have other names.

    >>> file_name("gpt-5.4"), file_name("../a b")
    ('gpt-5.4', 'a-b-2c2c791a')
    """
    plain = "".join(c if c.isalnum() or c in "-._" else "-" for c in text).strip("-.")
    fits = len(plain.encode()) <= LONGEST and plain.partition(".")[0].casefold() not in _RESERVED
    if plain and plain == text and fits:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    cut = plain.encode()[: LONGEST - len(digest) - 1].decode(errors="ignore")
    return f"{cut}-{digest}".lstrip("-")


class ExportFolder:
    """The files of an export in the folder `out`: all appear together or none (`written_to`)."""

    def __init__(self, out: Path, aside: Path, *, overwrite: bool) -> None:
        self.out, self._aside, self._overwrite = out, aside, overwrite
        self._names: dict[str, Path] = {}

    @property
    def files(self) -> list[Path]:
        """Return the paths of the files, in the order of their requests."""
        return [self.out / name for name in self._names.values()]

    def path(self, *parts: str) -> Path:
        """Return where to write the file of this name, given as folders and name (`file_name`).

        Its folder exists, and nothing is at the path yet.

        Raises:
            ExportError: the file exists and is not to be replaced, or has been asked for already.
            ValueError: a part is not the name of a file.
        """
        for part in parts:
            if not part or part in (".", "..") or any(c in part for c in "/\\\0:"):
                raise ValueError(f"{part!r} is not the name of a file")
        name = Path(*parts)
        key = unicodedata.normalize("NFC", str(name)).casefold()
        if key in self._names:
            raise ExportError(f"two files would be named {name}: export these runs one by one")
        self._names[key] = name
        self.check(name)
        aside = self._aside / name
        aside.parent.mkdir(parents=True, exist_ok=True)
        return aside

    def check(self, *names: Path) -> None:
        """Raise `ExportError` unless files, by default all, may be put where they are to be."""
        other = "remove it, or choose another --out"
        for name in names or self._names.values():
            target = self.out / name
            for folder in name.parents[:-1]:
                there = self.out / folder
                if there.is_symlink() or (there.exists() and not there.is_dir()):
                    raise ExportError(f"{there} is not a folder: {other}")
            if target.is_dir() and not target.is_symlink():
                raise ExportError(f"{target} is a folder: {other}")
            if not self._overwrite and (target.exists() or target.is_symlink()):
                raise ExportError(f"{target} exists already: --overwrite replaces it")


@contextmanager
def written_to(out: Path, *, overwrite: bool = False) -> Iterator[ExportFolder]:
    """Yield a folder whose files are put into `out` when the block has ended well.

    Raises `ExportError` for what is in the way, also where it came meanwhile.
    """
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out} is a file: give a folder with --out")
    try:
        with built_aside(out, replaces=True) as aside:
            folder = ExportFolder(out, aside, overwrite=overwrite)
            yield folder
            folder.check()
    except OSError as error:
        where = error.filename or os.fspath(out)
        raise ExportError(f"cannot write {where}: {error.strerror or error}") from error


class ExportFormat(Protocol):
    """A format of another project. Fields made by `option` are options of the command."""

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write runs, by label, to paths that `folder` gives; labels are unique, and hostile texts.

        Returns:
            Lines for the user, such as the command that uploads the files; with the note on
            test data (`reports.load.guarding_notes`) where the files hold texts of it.

        Raises:
            ExportError: something is missing that the format needs, in one line.
            RunError: a run cannot be read.
        """


EXPORTS: Registry[ExportFormat] = Registry("export format", "vlm_eval.exports", has=("write",))
EXPORTS.add("csv", "reports.exports.tables:CsvExport", "tables for spreadsheets and pandas")
EXPORTS.add("parquet", "reports.exports.tables:ParquetExport", "the same tables with types")
EXPORTS.add("hub", "reports.exports.hub:HubExport", "results for model repositories on the hub")
EXPORTS.add("eee", "reports.exports.eee:EeeExport", "JSON of Every Eval Ever")
EXPORTS.add("inspect", "reports.exports.inspect:InspectExport", "logs of inspect_ai, one per run")


def option(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of a format that is an option of `vlm-eval export` (`--with-steps`).

    A switch if the default is a bool; `facts` are further arguments of `click.Option`.
    """
    return field(default=default, metadata={"help": help, **facts})


def options_of(format_class: object) -> dict[str, Mapping[str, Any]]:
    """Return the options of a format by name: arguments of `click.Option`."""
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
        options: options of the format.

    Raises:
        ExportError: the export is not possible; then the folder is unchanged.
        RunError: a run cannot be read, or holds lines that cannot be.
        UnknownName: an unknown format, or one that does not take these options.
    """
    from reports.load import open_runs

    allow(to)
    chosen = EXPORTS.make(to, **options)
    # Not tolerant: what is handed on is whole, or it is not handed on.
    opened = open_runs(run if isinstance(run, Run) else open_run(run) for run in runs)
    for label, run in opened.items():
        if not run.complete and not unfinished:
            raise ExportError(
                f"{clean(label)} is not finished: go on with it, or give --unfinished to export "
                "what there is, marked as such"
            )
    with written_to(Path(out), overwrite=overwrite) as folder:
        notes = tuple(chosen.write(opened, folder))
    return Exported(folder.files, notes)
