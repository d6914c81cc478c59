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
import operator
from collections.abc import Iterable
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
    inferred: list[str] = []
    note: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    needed: list[str]
    splits: list[str]
    measures: dict[str, tuple[str, str]]
    source: list[_Source]
    benchmark: str = ""
    decisive: list[str] = []
    keys: Stated = {}


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of the rows of a file.

    kind: the kind of units.
    needed: keys without which no two results compare.
    splits: the splits that occur.
    measures: name, head and meaning of each.
    benchmark: the only benchmark that they are about; "" for any with one of the measures.
    decisive: keys that make a row a landmark where its source leaves them unstated.
    """

    kind: str
    needed: tuple[str, ...]
    splits: tuple[str, ...]
    measures: tuple[tuple[str, str, str], ...]
    benchmark: str = ""
    decisive: tuple[str, ...] = ()

    def covers(self, declared: Declaration, benchmark: str = "") -> bool:
        """Return True if runs of a benchmark have one of the measures."""
        if self.kind != declared.kind or self.benchmark not in ("", benchmark):
            return False
        named = {name for name, _, _ in self.measures}
        return any(one.result in named for one in declared.measures)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that rows may have, those that no two can do without first."""
        return tuple(dict.fromkeys((*self.needed, *setting_keys())))


@dataclass(frozen=True, slots=True)
class Published:
    """A published result on one split.

    source: short name of the publication.
    paper, table: where it was published.
    model: the model, in the words of the source.
    split: the split, or the parent that it is about.
    level: the level of that parent; "" for a whole split.
    values: shares between 0 and 1, by measure.
    spread: standard deviation of the last measure over repetitions, if reported.
    keys: how it was measured, as far as the source tells; see `reports.published.keys`.
    inferred: keys that the source does not state, but its released code or its numbers.
    note: further remarks.
    scope: what the file is about that has it.
    flag: what is wrong with it: its parts do not give its average.
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
        """Why it is a landmark, shown but compared with nothing; "" if it is none."""
        open_ = [name for name in self.scope.decisive if self.keys.get(name) == UNSTATED]
        return self.flag or (f"{' and '.join(open_)} {UNSTATED}" if open_ else "")


@cache
def published_rows() -> tuple[Published, ...]:
    """Return the rows that come with the package, in the order of the files."""
    return tuple(row for path in sorted(FOLDER.glob("*.toml")) for row in read_rows(path))


def key_names(rows: Iterable[Published] | None = None) -> tuple[str, ...]:
    """Return the keys that rows may have, those that no two can do without first; by default, of
    all."""
    listed = published_rows() if rows is None else rows
    scopes = dict.fromkeys(row.scope for row in listed)
    needed = (name for scope in scopes for name in scope.needed)
    return tuple(dict.fromkeys((*needed, *setting_keys())))


def read_rows(path: Path) -> tuple[Published, ...]:
    """Read a file of published rows. Raises `PublishedError` naming the row and what is wrong."""
    try:
        content = convert_to(msgspec.toml.decode(utf8_bytes(path)), _File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path} cannot be read: {error}") from error
    measures = tuple((name, *words) for name, words in content.measures.items())
    scope = Scope(
        content.kind,
        tuple(content.needed),
        tuple(content.splits),
        measures,
        content.benchmark,
        tuple(content.decisive),
    )
    rows = tuple(row for source in content.source for row in _rows(source, scope, content.keys))
    names = [(row.source, row.model, row.level, row.split) for row in rows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PublishedError(f"{' / '.join(filter(None, twice))} occurs twice")
    return rows


def _rows(source: _Source, scope: Scope, shared: Stated) -> list[Published]:
    _check(source, scope)
    rows = []
    for row in source.rows:
        where = f"{source.id} / {row.model}"
        if len(row.cells) != len(source.splits):
            raise PublishedError(f"{where} has {len(row.cells)} cells, not {len(source.splits)}")
        if row.spreads and len(row.spreads) != len(source.splits):
            raise PublishedError(f"{where} has {len(row.spreads)} spreads for its splits")
        stated = shared | source.keys | row.keys
        keys = {name: text_of(value) for name, value in stated.items()}
        _check_keys(keys, where, scope)
        known = Published(
            source=source.id,
            paper=source.paper,
            table=source.table,
            model=row.model,
            split="",
            values={},
            spread=None,
            keys=keys,
            inferred=tuple(source.inferred),
            note=source.note,
            scope=scope,
        )
        if row.printed is not None:
            values = _values(source, source.of, [row.printed], where)
            flag = _flag(source, row.printed, [cell[0] for cell in row.cells], keys, where)
            rows.append(replace(known, split=source.of, values=values, flag=flag))
        elif row.parts:
            known = replace(known, flag=_flag_of_parts(source, row, keys, where))
        if source.level:  # The mean over one parent is the same by every average.
            known = replace(known, level=source.level, keys={**keys, AVERAGE: ANY})
        for place, (split, cell) in enumerate(zip(source.splits, row.cells, strict=True)):
            values = _values(source, split, cell, where)
            spread = round(row.spreads[place] / source.scale, 6) if row.spreads else None
            rows.append(replace(known, split=split, values=values, spread=spread))
    return rows


def _values(source: _Source, split: str, cell: list[float], where: str) -> dict[str, float]:
    """Return the numbers for a split as shares, by measure."""
    if not 0 < len(cell) <= len(source.measures):
        raise PublishedError(f"{where} has {len(cell)} numbers for {split}")
    if not all(0 <= value <= source.scale for value in cell):
        raise PublishedError(f"{where} has a number outside 0 to {source.scale:g}")
    shares = [round(value / source.scale, 6) for value in cell]
    return dict(zip(source.measures, shares, strict=False))


def _flag_of_parts(source: _Source, row: _Row, keys: Keys, where: str) -> str:
    """Return the error in the first number of a row, given its printed parts."""
    if len(row.parts) != len(source.parts) or len(source.sizes) not in (0, len(row.parts)):
        raise PublishedError(f"{where} has {len(row.parts)} parts of {len(source.parts)}")
    (printed, *_), *others = row.cells
    if others:
        raise PublishedError(f"{where} has parts of several splits")
    return _flag(source, printed, row.parts, keys, where)


def _flag(source: _Source, printed: float, parts: list[float], keys: Keys, where: str) -> str:
    """Return the error in an average, given its parts; "" if they agree."""
    found: dict[str, float] = {"macro" if source.level else "cells": math.fsum(parts) / len(parts)}
    if source.sizes:
        found["micro"] = math.fsum(map(operator.mul, parts, source.sizes)) / sum(source.sizes)
    near = ROUNDED * source.scale
    agreeing = [name for name, value in found.items() if abs(value - printed) <= near]
    average = keys.get(AVERAGE)
    if not agreeing:
        per_cent = 100 / source.scale
        means = " and ".join(f"{value * per_cent:.1f} by {name}" for name, value in found.items())
        return f"its parts give {means}, not {printed * per_cent:g}"
    if average not in agreeing:
        raise PublishedError(f"{where} states {average}, but its parts give it by {agreeing[0]}")
    return ""


def _check(source: _Source, scope: Scope) -> None:
    if bool(source.level) != bool(source.of):
        raise PublishedError(f"{source.id} has to name both a level and the split that it is of")
    if not source.level and any(row.printed is not None for row in source.rows):
        raise PublishedError(f"{source.id} prints averages over a level that it does not name")
    allowed = {
        "measures": (source.measures, [name for name, _, _ in scope.measures]),
        "splits": ((source.of,) if source.level else source.splits, scope.splits),
        "inferred": (source.inferred, scope.keys),
        "decisive": (scope.decisive, scope.needed),
        "scale": ([str(source.scale)], ("1.0", "100.0")),
    }
    for name, (values, known) in allowed.items():
        wrong = next((value for value in values if value not in known), None)
        if wrong is not None:
            raise PublishedError(f"{source.id} has an unknown value in {name}: {wrong!r}")
    if not source.rows or not source.measures or not source.splits:
        raise PublishedError(f"{source.id} has no rows, measures or splits")


def _check_keys(keys: Keys, where: str, scope: Scope) -> None:
    missing = next((name for name in scope.needed if name not in keys), None)
    if missing is not None:
        raise PublishedError(
            f"{where} lacks the key {missing}; write '{UNSTATED}' if it is unknown"
        )
    settings = setting_keys()
    for name, value in keys.items():
        if name not in scope.keys:
            raise PublishedError(f"{where} has an unknown key: {name}")
        if value in (UNSTATED, ANY):
            continue
        if name == AVERAGE and value not in get_args(Average):
            raise PublishedError(f"{where} has an unknown average: {value!r}")
        if name in settings:
            try:
                SETTINGS[name].read(value)
            except ValueError as error:
                raise PublishedError(f"{where} has a wrong value of {name}: {error}") from error
