"""Read and check the file of published rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from harness.settings import SETTINGS
from reports.published.keys import ANY, NEEDED, UNSTATED, Keys, key_names, setting_keys, text_of

PATH = Path(__file__).with_name("rows.toml")
MEASURES = ("element", "operation_f1", "step_success", "task_success", "recall", "unclear")
AVERAGE_OF_SPLITS = "average"
"""The mean of a source's other splits, as it prints it; no run is measured on it."""
SPLITS = ("test_task", "test_website", "test_domain", AVERAGE_OF_SPLITS, UNSTATED)

Stated = dict[str, str | bool | int]


class PublishedError(ValueError):
    """The file of published rows is not valid."""


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    cells: list[list[float]]
    spreads: list[float] = []
    keys: Stated = {}


class _Source(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    paper: str
    table: str
    measures: list[str]
    splits: list[str]
    scale: float
    keys: Stated
    rows: list[_Row]
    inferred: list[str] = []
    note: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    source: list[_Source]


@dataclass(frozen=True, slots=True)
class Published:
    """A published result on one split.

    source: short name of the publication.
    paper, table: where it was published.
    model: the model, in the words of the source.
    split: the split.
    values: shares between 0 and 1, of some of `MEASURES`; `unclear` is one that the source names
        in two ways.
    spread: standard deviation of the last measure over repetitions, if reported.
    keys: how it was measured, as far as the source tells; see `reports.published.keys`.
    inferred: keys that the source does not state, but its released code or its numbers.
    note: further remarks.
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


@cache
def published_rows() -> tuple[Published, ...]:
    """The rows that come with the package, in the order of the file."""
    return read_rows(PATH)


def read_rows(path: Path) -> tuple[Published, ...]:
    """Read a file of published rows. Raises `PublishedError` naming the row and what is wrong."""
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path} cannot be read: {error}") from error
    rows = tuple(row for source in content.source for row in _rows(source))
    names = [(row.source, row.model, row.split) for row in rows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PublishedError(f"{' / '.join(twice)} occurs twice")
    return rows


def _rows(source: _Source) -> list[Published]:
    _check(source)
    rows = []
    for row in source.rows:
        where = f"{source.id} / {row.model}"
        if len(row.cells) != len(source.splits):
            raise PublishedError(f"{where} has {len(row.cells)} cells, not {len(source.splits)}")
        if row.spreads and len(row.spreads) != len(source.splits):
            raise PublishedError(f"{where} has {len(row.spreads)} spreads for its splits")
        keys = {name: text_of(value) for name, value in (source.keys | row.keys).items()}
        _check_keys(keys, where)
        for place, (split, cell) in enumerate(zip(source.splits, row.cells, strict=True)):
            if not 0 < len(cell) <= len(source.measures):
                raise PublishedError(f"{where} has {len(cell)} numbers for {split}")
            if not all(0 <= value <= source.scale for value in cell):
                raise PublishedError(f"{where} has a number outside 0 to {source.scale:g}")
            values = [round(value / source.scale, 6) for value in cell]
            spread = round(row.spreads[place] / source.scale, 6) if row.spreads else None
            rows.append(
                Published(
                    source=source.id,
                    paper=source.paper,
                    table=source.table,
                    model=row.model,
                    split=split,
                    values=dict(zip(source.measures, values, strict=False)),
                    spread=spread,
                    keys=keys,
                    inferred=tuple(source.inferred),
                    note=source.note,
                )
            )
    return rows


def _check(source: _Source) -> None:
    allowed = {
        "measures": (source.measures, MEASURES),
        "splits": (source.splits, SPLITS),
        "inferred": (source.inferred, key_names()),
        "scale": ([str(source.scale)], ("1.0", "100.0")),
    }
    for name, (values, known) in allowed.items():
        wrong = next((value for value in values if value not in known), None)
        if wrong is not None:
            raise PublishedError(f"{source.id} has an unknown value in {name}: {wrong!r}")
    if not source.rows or not source.measures or not source.splits:
        raise PublishedError(f"{source.id} has no rows, measures or splits")


def _check_keys(keys: Keys, where: str) -> None:
    missing = next((name for name in NEEDED if name not in keys), None)
    if missing is not None:
        raise PublishedError(f"{where} lacks the key {missing}; write '{UNSTATED}' if nobody knows")
    settings = setting_keys()
    for name, value in keys.items():
        if name not in key_names():
            raise PublishedError(f"{where} has an unknown key: {name}")
        if value in (UNSTATED, ANY):
            continue
        if name == "average" and value not in ("macro", "micro"):
            raise PublishedError(f"{where} has an unknown average: {value!r}")
        if name in settings:
            try:
                SETTINGS[name].read(value)
            except ValueError as error:
                raise PublishedError(f"{where} has a wrong value of {name}: {error}") from error
