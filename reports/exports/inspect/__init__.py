"""Logs of inspect_ai, which `inspect view` and its data frames read.

`log` makes one of a run, `samples` a sample of a unit, `talk` messages of its calls.
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
from harness.tables import clean
from reports.exports import ExportError, ExportFolder, file_name, option
from reports.load import guarding_notes

if TYPE_CHECKING:
    from harness.runs import Run


@dataclass(frozen=True, slots=True)
class InspectExport:
    """A log per run: a sample per unit and repeat, with messages, scores and metadata."""

    with_pictures: bool = option(
        False, "Put the pictures that the model was sent into the messages, made from the data."
    )

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write a log per run; one at a time is in memory."""
        for label, run in runs.items():
            if note := self._write(run, folder.path(f"{file_name(label)}.eval")):
                yield f"{clean(label)}: {note}"
        yield from filter(None, [guarding_notes(run.path for run in runs.values())])
        yield f"look at them with: inspect view --log-dir {shlex.quote(str(folder.out))}"

    def _write(self, run: Run, path: Path) -> str:
        try:
            from inspect_ai.log import write_eval_log
            from pydantic import ValidationError
        except ImportError as error:
            missing = f"--to inspect needs the package inspect-ai: {install('inspect')}"
            raise ExportError(missing) from error
        from reports.exports.inspect.log import log_of

        try:
            log, note = log_of(run, with_pictures=self.with_pictures)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = f"{'.'.join(map(str, first['loc']))} of {error.title}: {first['msg']}"
            refused = f"{run.path}: inspect_ai does not take {where}"
            raise ExportError(clean(refused)) from error
        write_eval_log(log, str(path))
        undate(path)
        return note


FIRST = struct.pack("<HH", 0, 1 << 5 | 1)
"""Midnight of 1 January 1980, the first date that a zip file can tell: time, then date."""


def undate(path: Path) -> None:
    """Set the dates of all members of a zip file to the first one that there is.

    Whatever they are compressed with: nothing but the dates is changed.
    """
    with zipfile.ZipFile(path) as archive:
        members, entry = archive.infolist(), archive.start_dir
    with path.open("r+b") as file:
        for member in members:
            # An entry of the directory: 46 bytes, of which three numbers at 28 are the lengths of
            # the name, the extra field and the comment that follow.
            file.seek(entry + 28)
            lengths = struct.unpack("<3H", file.read(6))
            for place in (member.header_offset + 10, entry + 12):
                file.seek(place)
                file.write(FIRST)
            entry += 46 + sum(lengths)
