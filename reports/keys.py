"""Keys that group the rows of a table.

A benchmark declares groups, a kind of units can bring more (`reports.kind`), and every unit has a
place in its parent. Every key assigns each row of a run to exactly one group. Continuous quantities
are binned into fixed bands: tables of different runs have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsers import Declaration
from reports.kind import reports_on

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

UNKNOWN = "unknown"
INDEXES = (*range(1, 10), 10, 15, 20)

Group = tuple[float, str]
"""A sort key and the name of the group."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that groups rows.

    meaning: what it says, in words.
    groups: the group of every row of `rows.frame`, in the same order.
    whole: the outermost level of parents that the groups hold whole; "" if they split them all.
    """

    meaning: str
    groups: Callable[[RunRows], list[Group]]
    whole: str = ""


def keys(declared: Declaration) -> dict[str, Key]:
    """Return the keys that group the units of a benchmark, by name."""
    index = f"place of the {declared.unit} in its {declared.innermost.one}, from 0"
    groups = {
        group.name: Key(group.meaning, _declared(group.name), group.whole)
        for group in declared.groups
    }
    more: dict[str, Key] = {**reports_on(declared.kind).groups}
    more.setdefault(f"{declared.unit}_index", Key(index, banded("index", INDEXES)))
    known = groups | {name: key for name, key in more.items() if name not in groups}
    if len(declared.main.cells) > 1:
        known.setdefault("cell", crossed(known, declared.main.cells))
    return known


def crossed(known: Mapping[str, Key], names: Sequence[str]) -> Key:
    """Return the combinations of several keys as one. Raises `KeyError` for one that is not
    known."""
    parts = [known[name] for name in names]

    def groups(rows: RunRows) -> list[Group]:
        found = list(zip(*(part.groups(rows) for part in parts), strict=True))
        order = {row: float(place) for place, row in enumerate(sorted(set(found)))}
        return [(order[row], ", ".join(name for _, name in row)) for row in found]

    return Key(" x ".join(names), groups)


def key_named(declared: Declaration, name: str) -> Key:
    """Return a key by its name, or several as one: `platform,data_type`. Raises `KeyError`."""
    known = keys(declared)
    return known[name] if name in known else crossed(known, name.split(","))


def _declared(name: str) -> Callable[[RunRows], list[Group]]:
    return lambda rows: [(0.0, unit.group(name)) for _, unit in rows.trials]


def band(value: float | None, starts: Sequence[int]) -> Group:
    """Return the band of a number; `starts` are the lower bounds of all bands but the first.

    >>> band(1999, (1000, 2000)), band(2000, (1000, 2000)), band(3, (1, 2, 3))
    ((1000, '1000-1999'), (2000, '2000+'), (3, '3+'))
    >>> band(1, (1, 2, 5)), band(None, (1,))
    ((1, '1'), (inf, 'unknown'))
    """
    if value is None:
        return float("inf"), UNKNOWN
    edges = [0, *starts]
    place = max((p for p, edge in enumerate(edges) if edge <= value), default=0)
    low = edges[place]
    if place == len(edges) - 1:
        return low, f"{low}+"
    last = edges[place + 1] - 1
    return low, str(low) if last == low else f"{low}-{last}"


def banded(column: str, starts: Sequence[int]) -> Callable[[RunRows], list[Group]]:
    """Groups that are bands of a column of the frame."""

    def of(rows: RunRows) -> list[Group]:
        values = rows.frame[column].astype("object").tolist()
        return [band(v if isinstance(v, int) else None, starts) for v in values]

    return of
