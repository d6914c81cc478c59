"""Logs of inspect_ai, which `inspect view` and its data frames read.

`log` makes one of a run, `samples` a sample of a unit, `talk` messages of its calls.
"""

from __future__ import annotations

import shlex
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
        return note
