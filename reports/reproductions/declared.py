"""Read and check the declared reproductions.

A file is named after its reproduction, and has

    title        in words
    source       the published source, the model and the split of its row (`reports.published`);
    model        the figures are there
    split
    measure      the measure of the row that decides the verdict
    command      the arguments of `vlm-eval`, without paths
    measured_on  the split of the run, if the source does not name one
    stands_in    the model that replaces one that is not served any more
    apart        keys in which a finished run differs from the row, or `split`
    differences  known differences, a sentence each
    needs        data, key, hardware, cost and time (`Needs`)
    measured     our figures (`Measured`), if any
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from reports.published import Published, published_rows

FOLDER = Path(__file__).parent


class ReproductionError(ValueError):
    """A declaration is not valid."""


class Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The needs of a reproduction.

    data: the data and its source.
    hours: expected duration.
    basis: source of the estimates of hours and dollars.
    key: the environment variable with the key of its provider, "" if none is needed.
    dollars: expected cost, 0 if nothing is paid.
    gpu_gb: memory of the GPU in gigabytes, 0 if none is needed.
    prepare: commands to run once beforehand.
    """

    data: str
    hours: float
    basis: str
    key: str = ""
    dollars: float = 0.0
    gpu_gb: int = 0
    prepare: tuple[str, ...] = ()


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure measured by a version: a share between 0 and 1, with its 95 % interval if any."""

    of: str
    value: float
    n: str
    date: str
    version: str
    machine: str
    low: float | None = None
    high: float | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    source: str
    model: str
    split: str
    measure: str
    command: tuple[str, ...]
    differences: tuple[str, ...]
    needs: Needs
    measured: tuple[Measured, ...] = ()
    measured_on: str = ""
    stands_in: str = ""
    apart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A declared reproduction; the module describes its fields.

    name: the name of its file.
    row: the published row.
    """

    name: str
    title: str
    row: Published
    measure: str
    command: tuple[str, ...]
    measured_on: str
    stands_in: str
    apart: tuple[str, ...]
    differences: tuple[str, ...]
    needs: Needs
    measured: tuple[Measured, ...]

    def on(self, split: str) -> Reproduction:
        """Return the reproduction on another split, itself if the source has no such row."""
        rows = [row for row in _rows(self.row.source, self.row.model) if row.split == split]
        return replace(self, row=rows[0], measured_on=split) if rows else self

    @property
    def published(self) -> float:
        """Return the published figure, a share."""
        return self.row.values[self.measure]

    @property
    def heads(self) -> Mapping[str, str]:
        """Map the measures of the row to their heads in tables, the decisive one first."""
        heads = {name: head for name, head, _ in self.row.scope.measures if name in self.row.values}
        return {self.measure: heads[self.measure], **heads}


@cache
def reproductions() -> Mapping[str, Reproduction]:
    """Return the shipped reproductions by name. Raises `ReproductionError`."""
    return {path.stem: read_reproduction(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_reproduction(path: Path) -> Reproduction:
    """Read a declaration. Raises `ReproductionError` with the file and the problem."""
    try:
        file = msgspec.toml.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ReproductionError(f"{path} cannot be read: {error}") from error
    row = next((r for r in _rows(file.source, file.model) if r.split == file.split), None)
    if row is None:
        wanted = f"{file.source} / {file.model} / {file.split}"
        raise ReproductionError(f"{path}: no published row {wanted}")
    if file.measure not in row.values:
        raise ReproductionError(f"{path}: the row has no {file.measure}")
    if file.command[:1] != ("run",):
        raise ReproductionError(f"{path}: its command is not one of `vlm-eval run`")
    for one in file.measured:
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        if (one.low is None) != (one.high is None) or not 0 <= low <= one.value <= high <= 1:
            raise ReproductionError(f"{path}: a measured figure is not a share with an interval")
    return Reproduction(
        name=path.stem,
        title=file.title,
        row=row,
        measure=file.measure,
        command=file.command,
        measured_on=file.measured_on or file.split,
        stands_in=file.stands_in,
        apart=file.apart,
        differences=file.differences,
        needs=file.needs,
        measured=file.measured,
    )


def _rows(source: str, model: str) -> list[Published]:
    """Return the published rows of a model about whole splits, one each."""
    return [
        row for row in published_rows() if (row.source, row.model, row.level) == (source, model, "")
    ]
