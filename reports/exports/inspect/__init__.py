"""Logs of inspect_ai, which `inspect view` and its data frames read.

| module | content |
|---|---|
| `header` | what a log says of a run as a whole |
| `samples` | a unit as a sample |
| `talk` | its calls as messages |
| `pictures` | pictures in messages |
"""

from __future__ import annotations

import shlex
import struct
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.registry import install
from harness.runs import Run
from harness.tables import clean
from reports.exports import ExportError, Folder, file_name, option
from reports.load import guarding_notes

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from pydantic import ValidationError

MISSING = f"--to inspect needs the package inspect-ai: {install('inspect')}"


@dataclass(frozen=True, slots=True)
class InspectExport:
    """A log per run: a sample per unit and repeat, with messages, scores and metadata.

    with_pictures: whether the pictures that models were sent are in the messages.
    """

    with_pictures: bool = option(
        False, "Put the pictures that the model was sent into the messages, made from the data."
    )

    def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
        for label, run in runs.items():
            if note := self._write(run, folder.path(f"{file_name(label)}.eval")):
                yield f"{clean(label)}: {note}"
        yield from filter(None, [guarding_notes(run.path for run in runs.values())])
        yield f"look at them with: inspect view --log-dir {shlex.quote(str(folder.out))}"

    def _write(self, run: Run, path: Path) -> str:
        """Write a log; one at a time is in memory."""
        try:
            from inspect_ai.log import write_eval_log
            from pydantic import ValidationError
        except ImportError as error:
            raise ExportError(MISSING) from error
        try:
            log, note = self.log(run)
        except ValidationError as error:
            raise ExportError(f"{clean(run.path)}: {_refused(error)}") from error
        write_eval_log(log, str(path))
        undate(path)
        return note

    def log(self, run: Run) -> tuple[EvalLog, str]:
        """Return the log of a run, and a line about pictures that are missing.

        Raises:
            ExportError: its pictures are too large.
            RunError: the run cannot be read.
        """
        from inspect_ai.log import EvalLog

        from adapters.conversation import placeholder
        from reports.errors import classify_run
        from reports.exports.inspect import header
        from reports.exports.inspect.pictures import Pictures
        from reports.exports.inspect.samples import Sampler
        from reports.exports.results import counted, results_of
        from reports.frames.rows import run_rows
        from reports.frames.runs import facts
        from reports.view.points import page_of

        records = run.records()
        pictures = Pictures(run, records) if self.with_pictures else None
        spec = header.spec(run, records)
        (rows,) = run_rows(run)
        sampler = Sampler(
            run_id=spec.run_id,
            model=spec.model,
            roles=header.role_models(run.manifest),
            declared=run.manifest.declaration,
            variant=rows.rules.variant,
            counted=counted(rows),
            page=page_of(run),
            show=pictures.show if pictures else placeholder,
        )
        samples = [
            sampler.sample(record, run.calls_of(record.unit_id, record.repeat), error)
            for record, error in zip(records, classify_run(run, pages=False), strict=True)
        ]
        log = EvalLog(
            status="success" if run.complete else "cancelled",
            eval=spec,
            plan=header.plan(spec),
            results=header.results(list(results_of(run)), samples, facts(rows)),
            stats=header.stats(run, samples),
            samples=samples,
        )
        return log, pictures.missing if pictures else ""


def _refused(error: ValidationError) -> str:
    """What inspect_ai does not take, in a line."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return clean(f"inspect_ai does not take {where} of {error.title}: {first['msg']}")


FIRST = struct.pack("<HH", 0, 1 << 5 | 1)
"""Midnight of 1 January 1980, the first date that a zip file can tell: time, then date."""
_IN_MEMBER, _IN_DIRECTORY = 10, 12
"""Where the date is in the header of a member, and in an entry of the directory."""
_ENTRY = struct.Struct("<28x3H12x")
"""An entry of the directory: the lengths of what follows it (name, extra field, comment)."""


def undate(path: Path) -> None:
    """Set the dates of all members of a zip file to the first one that there is.

    Whatever they are compressed with: nothing but the dates is changed.
    """
    with zipfile.ZipFile(path) as archive:
        members, directory = archive.infolist(), archive.start_dir
    with path.open("r+b") as file:
        for member in members:
            file.seek(member.header_offset + _IN_MEMBER)
            file.write(FIRST)
        for _ in members:
            file.seek(directory)
            lengths = _ENTRY.unpack(file.read(_ENTRY.size))
            file.seek(directory + _IN_DIRECTORY)
            file.write(FIRST)
            directory += _ENTRY.size + sum(lengths)
