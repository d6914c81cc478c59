"""Read and check the declared reproductions.

A file is named after its reproduction, and has

    title        in words
    source       the published source, the model and the split of its row (`reports.published`);
    model        the figures are there
    split
    measure      the measure that is held against the row, one that the row has
    command      the arguments of `vlm-eval`, without those that say where things lie
    measured_on  the split of the run, where the source does not name its own
    stands_in    which model is asked in place of one that is not served any more
    apart        what a finished run does not share with the row: its keys, or `split`
    differences  what is known to differ, a sentence each
    needs        what it takes (`Needs`)
    measured     what was measured here (`Measured`), if anything was

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
    """What a reproduction takes.

    data: the data, and where it comes from.
    hours: about how long it runs.
    basis: what hours and dollars were taken from.
    key: the environment variable with the key of its provider, "" if none is needed.
    dollars: what it may be expected to cost, 0 where nothing is paid.
    gpu_gb: memory of the GPU in gigabytes, 0 if none is needed.
    prepare: commands to be run once beforehand.
    """

    data: str
    hours: float
    basis: str
    key: str = ""
    dollars: float = 0.0
    gpu_gb: int = 0
    prepare: tuple[str, ...] = ()


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a version measured: of what, a share between 0 and 1, and its 95 % interval if any."""

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
    """A declared reproduction; see the module for what its fields are.

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
        """The same on another split, itself if the source has no such row."""
        rows = [row for row in _rows(self.row.source, self.row.model) if row.split == split]
        return replace(self, row=rows[0], measured_on=split) if rows else self

    @property
    def published(self) -> float:
        """The published figure, a share."""
        return self.row.values[self.measure]

    @property
    def heads(self) -> Mapping[str, str]:
        """The measures of the row with their heads in tables, the one that counts first."""
        heads = {name: head for name, head, _ in self.row.scope.measures if name in self.row.values}
        return {self.measure: heads[self.measure], **heads}


@cache
def reproductions() -> Mapping[str, Reproduction]:
    """The reproductions that come with the package, by name. Raises `ReproductionError`."""
    return {path.stem: read_reproduction(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_reproduction(path: Path) -> Reproduction:
    """Read a declaration. Raises `ReproductionError` naming the file and what is wrong."""
    try:
        told = msgspec.toml.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ReproductionError(f"{path} cannot be read: {error}") from error
    row = next((r for r in _rows(told.source, told.model) if r.split == told.split), None)
    if row is None:
        wanted = f"{told.source} / {told.model} / {told.split}"
        raise ReproductionError(f"{path}: no published row {wanted}")
    if told.measure not in row.values:
        raise ReproductionError(f"{path}: the row has no {told.measure}")
    if told.command[:1] != ("run",):
        raise ReproductionError(f"{path}: its command is not one of `vlm-eval run`")
    for one in told.measured:
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        if (one.low is None) != (one.high is None) or not 0 <= low <= one.value <= high <= 1:
            raise ReproductionError(f"{path}: what was measured is no share with an interval")
    return Reproduction(
        name=path.stem,
        title=told.title,
        row=row,
        measure=told.measure,
        command=told.command,
        measured_on=told.measured_on or told.split,
        stands_in=told.stands_in,
        apart=told.apart,
        differences=told.differences,
        needs=told.needs,
        measured=told.measured,
    )


def _rows(source: str, model: str) -> list[Published]:
    """The published rows of a model about whole splits, one each."""
    return [
        row for row in published_rows() if (row.source, row.model, row.level) == (source, model, "")
    ]
