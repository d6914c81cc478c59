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
give the row's first number by the average that it states; if they give it by the other one, the
file is wrong, and a row whose parts give it by neither is flagged, and a landmark.

A source that has results by parents (tasks) names their `level`; its `splits` are then parents of a
split, `of`, and `printed` of a row is the mean over all of them that the source prints. That mean
is a separate row, and the others are its parts.

Keys are population, average, those of the kind, and the settings of a run that forbid a ranking, by
their names. A key that is "unstated" never equals a run's; one that is "any" does not matter. Of
settings that are not named the source says nothing: a run must have the usual value. `inferred`
names keys that the source does not state and that follow from its released code or its numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec

from adapters.decoding import convert_to
from adapters.input_files import utf8_bytes
from harness.settings import SETTINGS
from parsers import Declaration
from parsers.declaration import Average
from reports.names import name_of
from reports.published.keys import ANY, AVERAGE, UNSTATED, Keys, setting_keys, text_of

FOLDER = Path(__file__).parent
ROUNDED = 0.001
"""Largest difference between parts and average with one decimal per cent, as a share."""

Stated = dict[str, str | bool | int]


class PublishedError(ValueError):
    """The file of published rows is not valid."""


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    cells: list[list[float]]
    spreads: list[float] = []
    parts: list[float] = []
    printed: float | None = None
    keys: Stated = {}


class _Source(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    paper: str
    table: str
    measures: list[str]
    splits: list[str]
    scale: float
    rows: list[_Row]
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


class _File(Scope, frozen=True, eq=False, kw_only=True, forbid_unknown_fields=True):
    source: list[_Source]
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
    """Read a file of published rows. Raises `PublishedError` naming the row and what is wrong."""
    try:
        file = convert_to(msgspec.toml.decode(utf8_bytes(path)), _File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path} cannot be read: {error}") from error
    rows = tuple(row for source in file.source for row in _rows(source, file))
    for name, times in Counter((r.source, r.model, r.level, r.split) for r in rows).items():
        _require(times == 1, f"{' / '.join(filter(None, name))} occurs twice")
    return rows


def _require(valid: object, problem: str) -> None:
    if not valid:
        raise PublishedError(problem)


def _rows(source: _Source, file: _File) -> Iterator[Published]:
    _check(source, file)
    splits = len(source.splits)
    for row in source.rows:
        where = f"{source.id} / {row.model}"
        _require(len(row.cells) == splits, f"{where} has {len(row.cells)} cells, not {splits}")
        _require(
            len(row.spreads) in (0, splits),
            f"{where} has {len(row.spreads)} spreads for its splits",
        )
        stated = file.keys | source.keys | row.keys
        keys = {name: text_of(value) for name, value in stated.items()}
        _check_keys(keys, where, file)
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
            flag=_flag(source, row, keys, where),
        )
        if row.printed is not None:
            yield replace(known, values=_values(source, source.of, [row.printed], where))
        if source.level:  # The mean over one parent is the same by every average.
            known = replace(known, level=source.level, keys={**keys, AVERAGE: ANY}, flag="")
        for place, (split, cell) in enumerate(zip(source.splits, row.cells, strict=True)):
            values = _values(source, split, cell, where)
            spread = round(row.spreads[place] / source.scale, 6) if row.spreads else None
            yield replace(known, split=split, values=values, spread=spread)


def _values(source: _Source, split: str, cell: list[float], where: str) -> dict[str, float]:
    """Return the numbers for a split as shares, by measure."""
    fits = 0 < len(cell) <= len(source.measures)
    _require(fits, f"{where} has {len(cell)} numbers for {split}")
    inside = all(0 <= value <= source.scale for value in cell)
    _require(inside, f"{where} has a number outside 0 to {source.scale:g}")
    shares = [round(value / source.scale, 6) for value in cell]
    return dict(zip(source.measures, shares, strict=False))


def _flag(source: _Source, row: _Row, keys: Keys, where: str) -> str:
    """Return the error in a printed average, given its parts; "" if they agree or none is printed.

    The parts are named, or are the row's own cells, one per parent.
    """
    if row.printed is not None:
        printed, parts = row.printed, [cell[0] for cell in row.cells]
    elif row.parts:
        printed, parts = row.cells[0][0], row.parts
        fits = len(parts) == len(source.parts) and len(source.sizes) in (0, len(parts))
        _require(fits, f"{where} has {len(parts)} parts of {len(source.parts)}")
        _require(len(row.cells) == 1, f"{where} has parts of several splits")
    else:
        return ""
    found = {"macro" if source.level else "cells": math.fsum(parts) / len(parts)}
    if source.sizes:
        weighted = (part * size for part, size in zip(parts, source.sizes, strict=True))
        found["micro"] = math.fsum(weighted) / sum(source.sizes)
    near = ROUNDED * source.scale
    agreeing = [name for name, value in found.items() if abs(value - printed) <= near]
    if not agreeing:
        per_cent = 100 / source.scale
        means = " and ".join(f"{value * per_cent:.1f} by {name}" for name, value in found.items())
        return f"its parts give {means}, not {printed * per_cent:g}"
    average = keys.get(AVERAGE)
    states = f"{where} states {average}, but its parts give it by {agreeing[0]}"
    _require(average in agreeing, states)
    return ""


def _check(source: _Source, file: _File) -> None:
    name = source.id
    both = bool(source.level) == bool(source.of)
    _require(both, f"{name} has to name both a level and the split that it is of")
    level = source.level or all(row.printed is None for row in source.rows)
    _require(level, f"{name} prints averages over a level that it does not name")
    some = source.rows and source.measures and source.splits
    _require(some, f"{name} has no rows, measures or splits")
    for what, values, allowed in (
        ("measures", source.measures, file.measures),
        ("splits", [source.of] if source.level else source.splits, file.splits),
        ("inferred", source.inferred, key_names([file])),
        ("decisive", file.decisive, file.needed),
        ("scale", [str(source.scale)], ("1.0", "100.0")),
    ):
        for value in values:
            _require(value in allowed, f"{name} has an unknown value in {what}: {value!r}")


def _check_keys(keys: Keys, where: str, file: _File) -> None:
    for name in file.needed:
        lacks = f"{where} lacks the key {name}; write '{UNSTATED}' if it is unknown"
        _require(name in keys, lacks)
    for name, value in keys.items():
        _require(name in key_names([file]), f"{where} has an unknown key: {name}")
        if value in (UNSTATED, ANY):
            continue
        known = name != AVERAGE or value in get_args(Average)
        _require(known, f"{where} has an unknown average: {value!r}")
        if name in setting_keys():
            try:
                SETTINGS[name].read(value)
            except ValueError as error:
                raise PublishedError(f"{where} has a wrong value of {name}: {error}") from error
