"""What a file of published rows has to be like, beyond what its reader takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

from harness.benchmarks.step.options import StepOptions
from harness.settings import SETTINGS, declared_by
from parsers.declaration import Average
from reports.published.source import (
    ANY,
    AVERAGE,
    UNSTATED,
    Publication,
    Published,
    PublishedFile,
    SourceRow,
    agreeing,
    averages,
    key_names,
    read_file,
    read_rows,
    setting_keys,
    text_of,
)

KNOWN = {**SETTINGS, **declared_by(StepOptions)}
"""Settings and options of recorded steps by name."""


def checked_rows(path: Path) -> tuple[Published, ...]:
    """The rows of a file. Raises ValueError naming the row and what is wrong."""
    file = read_file(path)
    for source in file.source:
        _check_source(source, file)
        for row in source.rows:
            _check_row(f"{source.id} / {row.model}", row, source, file)
    rows = read_rows(path)
    for name, times in Counter((r.source, r.model, r.level, r.split) for r in rows).items():
        _require(times == 1, f"{' / '.join(filter(None, name))} occurs twice")
    return rows


def _require(valid: object, problem: str) -> None:
    if not valid:
        raise ValueError(problem)


def _check_source(source: Publication, file: PublishedFile) -> None:
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


def _check_row(where: str, row: SourceRow, source: Publication, file: PublishedFile) -> None:
    splits, most = len(source.splits), len(source.measures)
    _require(len(row.cells) == splits, f"{where} has {len(row.cells)} cells, not {splits}")
    _require(len(row.spreads) in (0, splits), f"{where} has {len(row.spreads)} spreads")
    printed = [] if row.printed is None else [row.printed]
    for cell in [*row.cells, *([printed] if printed else [])]:
        _require(0 < len(cell) <= most, f"{where} has {len(cell)} numbers for a split")
        inside = all(0 <= value <= source.scale for value in cell)
        _require(inside, f"{where} has a number outside 0 to {source.scale:g}")
    stated = file.keys | source.keys | row.keys
    keys = {name: text_of(value) for name, value in stated.items()}
    for name in file.needed:
        _require(name in keys, f"{where} lacks the key {name}; write '{UNSTATED}' if unknown")
    for name, value in keys.items():
        _require(name in key_names([file]), f"{where} has an unknown key: {name}")
        if value in (UNSTATED, ANY):
            continue
        known = name != AVERAGE or value in get_args(Average)
        _require(known, f"{where} has an unknown average: {value!r}")
        if name in setting_keys() and name in KNOWN:
            try:
                KNOWN[name].read(value)
            except ValueError as error:
                raise ValueError(f"{where} has a wrong value of {name}: {error}") from error
    parts = len(source.parts)
    fits = len(row.parts) in (0, parts) and len(source.sizes) in (0, parts)
    _require(fits, f"{where} has {len(row.parts)} parts of {parts}")
    _require(not row.parts or splits == 1, f"{where} has parts of several splits")
    if averages(source, row) and (given := agreeing(source, row)):
        average = keys.get(AVERAGE)
        states = f"{where} states {average}, but its parts give it by {given[0]}"
        _require(average in given, states)
