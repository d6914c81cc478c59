"""Read and check the files of published rows.

A file has the results on one kind of units, as printed, with what decides whether they can be
compared; further files in this folder are read as well. It begins with

    kind        the kind of units
    needed      keys without which no two of its results compare
    splits      names of splits
    measures    by name, head and meaning of a column; what runs have as well bears its
                `Measure.result`
    benchmark   the one benchmark of its rows; without it, they are compared with runs on any
                benchmark with one of the measures
    decisive    keys that a row must all state to be more than a landmark
    keys        keys of all its rows, unless a source or a row replaces them

A source has measures, splits and the keys of its rows; a row may replace keys. `cells`
has a list per split, with a number per measure; a shorter list leaves the last measures out.
`spreads` are standard deviations of the last measure, per split. `scale` is the number for a share
of one.

Where a source prints the parts of an average (cells of a table, or settings), it names them in
`parts` with the number of units of each in `sizes`, and its rows have the figures. They have to
give the row's first number by the average that it states; a row whose parts give it by none is
flagged, and a landmark.

A source that has results by parents (tasks) names their `level`; its `splits` are then parents of a
split, `of`, and `printed` of a row is the mean over all of them that the source prints. That mean
is a separate row, and the others are its parts.

Keys are population, average, those of the kind, and the settings of a run that forbid a ranking, by
their names. A key that is "unstated" never equals a run's; one that is "any" does not matter. Of
settings that are not named the source says nothing: a run must have the usual value. `inferred`
names keys that the source does not state and that follow from its released code or its numbers.

Tests find mistakes in a file (`tests/reports/published/checks.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from adapters.decoding import convert_to
from adapters.input_files import utf8_bytes
from harness.settings import SETTINGS
from parsers import Declaration
from reports.comparability import TABLE, row_of
from reports.names import name_of

Keys = Mapping[str, str]

UNSTATED = "unstated"
"""A key that the source does not state; equals nothing, not even itself."""
ANY = "any"
"""A key that does not matter for a result; equals everything."""
AVERAGE = "average"


@cache
def setting_keys() -> tuple[str, ...]:
    """Return the settings that are keys by their own names."""
    return tuple(
        name
        for name in dict.fromkeys((*SETTINGS, *TABLE))
        if (name in TABLE or SETTINGS[name].identity)
        and not ((row := row_of(name)).ranked or row.key)
    )


def text_of(value: object) -> str:
    """Return a value as a key holds it.

    >>> text_of(True), text_of(5), text_of("all")
    ('yes', '5', 'all')
    """
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


FOLDER = Path(__file__).parent
ROUNDED = 0.001
"""Largest difference between parts and average with one decimal per cent, as a share."""

Stated = dict[str, str | bool | int]


class PublishedError(ValueError):
    """The file of published rows is not valid."""


class SourceRow(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    cells: list[list[float]]
    spreads: list[float] = []
    parts: list[float] = []
    printed: float | None = None
    keys: Stated = {}


class Publication(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    paper: str
    table: str
    measures: list[str]
    splits: list[str]
    scale: float
    rows: list[SourceRow]
    keys: Stated = {}
    parts: list[str] = []
    sizes: list[int] = []
    level: str = ""
    of: str = ""
    inferred: tuple[str, ...] = ()
    note: str = ""


class Scope(msgspec.Struct, frozen=True, eq=False, kw_only=True, forbid_unknown_fields=True):
    """The scope of the rows of a file; the module describes its fields."""

    kind: str
    needed: tuple[str, ...]
    splits: tuple[str, ...]
    measures: dict[str, tuple[str, str]]
    benchmark: str = ""
    decisive: tuple[str, ...] = ()

    def covers(self, declared: Declaration, benchmark: str = "") -> bool:
        """Return True if runs of a benchmark have one of the measures."""
        if self.kind != declared.kind or self.benchmark not in ("", benchmark):
            return False
        return any(name_of(one, declared) in self.measures for one in declared.measures)


class PublishedFile(Scope, frozen=True, eq=False, kw_only=True, forbid_unknown_fields=True):
    source: list[Publication]
    keys: Stated = {}


@dataclass(frozen=True, slots=True)
class Published:
    """A published result on one split.

    source: short name of the publication.
    paper, table: where it was published.
    model: the model, in the words of the source.
    split: the split, or the parent of this `level`.
    values: shares between 0 and 1, by measure.
    spread: standard deviation of the last measure over repetitions, if reported.
    keys: how it was measured, as far as the source tells; see `reports.published.keys`.
    inferred, note: as in its file, whose `scope` it has.
    flag: its error: its parts do not give its average.
    """

    source: str
    paper: str
    table: str
    model: str
    split: str
    values: dict[str, float]
    spread: float | None
    keys: Keys
    inferred: tuple[str, ...]
    note: str
    scope: Scope
    flag: str = ""
    level: str = ""

    @property
    def landmark(self) -> str:
        """Why it is a landmark, shown but compared with nothing; "" if it is not one."""
        open_ = [name for name in self.scope.decisive if self.keys.get(name) == UNSTATED]
        return self.flag or (f"{' and '.join(open_)} {UNSTATED}" if open_ else "")


@cache
def published_rows() -> tuple[Published, ...]:
    """Return the rows that come with the package, in the order of the files."""
    return tuple(row for path in sorted(FOLDER.glob("*.toml")) for row in read_rows(path))


def key_names(scopes: Iterable[Scope]) -> tuple[str, ...]:
    """Return the keys that rows of files may have, those that no two can do without first."""
    needed = (name for scope in scopes for name in scope.needed)
    return tuple(dict.fromkeys((*needed, *setting_keys())))


def read_rows(path: Path) -> tuple[Published, ...]:
    """Read a file of published rows. Raises `PublishedError` for one that cannot be read."""
    file = read_file(path)
    return tuple(row for source in file.source for row in _rows(source, file))


def read_file(path: Path) -> PublishedFile:
    """Decode a file of published rows. Raises `PublishedError`."""
    try:
        return convert_to(msgspec.toml.decode(utf8_bytes(path)), PublishedFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path} cannot be read: {error}") from error


def _rows(source: Publication, file: PublishedFile) -> Iterator[Published]:
    for row in source.rows:
        stated = file.keys | source.keys | row.keys
        keys = {name: text_of(value) for name, value in stated.items()}
        known = Published(
            source=source.id,
            paper=source.paper,
            table=source.table,
            model=row.model,
            split=source.of,
            values={},
            spread=None,
            keys=keys,
            inferred=source.inferred,
            note=source.note,
            scope=file,
            flag=_flag(source, row),
        )
        if row.printed is not None:
            yield replace(known, values=_values(source, [row.printed]))
        if source.level:  # The mean over one parent is the same by every average.
            known = replace(known, level=source.level, keys={**keys, AVERAGE: ANY}, flag="")
        for place, (split, cell) in enumerate(zip(source.splits, row.cells, strict=True)):
            spread = round(row.spreads[place] / source.scale, 6) if row.spreads else None
            yield replace(known, split=split, values=_values(source, cell), spread=spread)


def _values(source: Publication, cell: list[float]) -> dict[str, float]:
    """Return the numbers for a split as shares, by measure."""
    shares = [round(value / source.scale, 6) for value in cell]
    return dict(zip(source.measures, shares, strict=False))


def averages(source: Publication, row: SourceRow) -> dict[str, float]:
    """Return the averages of a row's parts, by name; they are named, or are its own cells, one per
    parent."""
    parts = row.parts if row.printed is None else [cell[0] for cell in row.cells]
    if not parts:
        return {}
    found = {"macro" if source.level else "cells": math.fsum(parts) / len(parts)}
    if source.sizes:
        weighted = (part * size for part, size in zip(parts, source.sizes, strict=True))
        found["micro"] = math.fsum(weighted) / sum(source.sizes)
    return found


def agreeing(source: Publication, row: SourceRow) -> list[str]:
    """Return the averages that are as printed."""
    printed, near = printed_of(row), ROUNDED * source.scale
    return [name for name, value in averages(source, row).items() if abs(value - printed) <= near]


def printed_of(row: SourceRow) -> float:
    """Return the printed average."""
    return row.cells[0][0] if row.printed is None else row.printed


def _flag(source: Publication, row: SourceRow) -> str:
    """Return the error in a printed average, given its parts; "" if they agree or none is
    printed."""
    found, per_cent = averages(source, row), 100 / source.scale
    if not found or agreeing(source, row):
        return ""
    means = " and ".join(f"{value * per_cent:.1f} by {name}" for name, value in found.items())
    return f"its parts give {means}, not {printed_of(row) * per_cent:g}"
