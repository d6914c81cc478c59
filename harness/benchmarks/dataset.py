"""An opened benchmark: which units there are, and which of them are selected.

What else an opened benchmark can do depends on the kind of its units: recorded steps are read from
their files one at a time (`harness.benchmarks.recorded`).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from harness.errors import DataError, suggestion
from parsers.declaration import Declaration


class Entry(Protocol):
    """A unit as an index knows it: what it is called, and what it belongs to."""

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        ...

    @property
    def split(self) -> str:
        """Its split."""
        ...

    @property
    def parents(self) -> Mapping[str, str]:
        """The id of what it belongs to, by level, from the inside out (`task`, `website`)."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """What else it is grouped by (`domain`)."""
        ...

    @property
    def place(self) -> int | None:
        """Its place in its innermost parent, from 0; None where units have no order."""
        ...


E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on units; all must hold, and an empty tuple sets no condition.

    Attributes:
        among: the values that are kept, by level or label (`{"website": ("united", "delta")}`).
        first: keep only the first so many units of each innermost parent, in order.
        limit: keep only the first so many groups that are kept together (`Dataset.whole`), in
            order.
        shard: (number from 1, count of shards); applied last, so that the shards of a limited
            selection are parts of that selection.
    """

    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unit_ids: tuple[str, ...] = ()
    first: int | None = None
    limit: int | None = None
    shard: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset(Generic[E]):
    """The units of a benchmark, or a selection of them. Immutable, so it can be read repeatedly.

    Attributes:
        benchmark: the name of the benchmark.
        kind: what its units are.
        whole: the level whose members are never split by a limit or a shard, because calls may be
            shared within them or a score needs all of them; "" if every unit stands for itself.
        entries: one entry per distinct unit, in the order of the data.
        origin: where the data comes from: `repo` and `revision`, or `local`.
        settings: the settings that the data was made with, if it has any on record.
        notices: messages for the user.
        declared: what is declared of the results; what the benchmark declares unless given.
    """

    benchmark: str
    kind: str
    entries: tuple[E, ...]
    whole: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    declared: Declaration | None = None

    @property
    def unit(self) -> str:
        """The word for one unit in messages."""
        return self.declared.unit if self.declared else self.kind

    def __len__(self) -> int:
        return len(self.entries)

    def group_of(self, entry: Entry) -> str:
        """What a unit is never split from: its parent of the level `whole`, or only itself."""
        return entry.parents[self.whole] if self.whole else entry.unit_id

    def parent_of(self, entry: Entry) -> str:
        """Its innermost parent, or only itself where units stand for themselves."""
        return next(iter(entry.parents.values())) if self.whole else entry.unit_id

    def select(self, filters: Filters) -> Self:
        """The units that match the filters. Raises `DataError` for a value that no unit has."""
        kept = _matching(self, filters)
        if filters.limit is not None:
            kept = _first(self, kept, filters.limit)
        if filters.shard is not None:
            kept = _shard(self, kept, *filters.shard)
        return replace(self, entries=tuple(kept))

    def without(self, unit_ids: Collection[str]) -> Self:
        """Leave out some units, such as those that already have a result."""
        left_out = frozenset(unit_ids)
        return replace(self, entries=tuple(e for e in self.entries if e.unit_id not in left_out))

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What tells this data from other data of the benchmark: its origin, and digests."""


def _matching(dataset: Dataset[E], filters: Filters) -> list[E]:
    """The entries that match all but limit and shard, in their given order.

    Raises:
        DataError: a value that no entry has, or no entry left.
    """
    kept = list(dataset.entries)
    for name, wanted in filters.among.items():
        if wanted:
            known = {_value(entry, name) for entry in dataset.entries} - {""}
            if not known:
                _check_known("level or label", (name,), _keys(dataset))
            _check_known(name, wanted, known)
            kept = [entry for entry in kept if _value(entry, name) in wanted]
    if filters.unit_ids:
        _check_known(dataset.unit, filters.unit_ids, {e.unit_id for e in dataset.entries})
        wanted_ids = frozenset(filters.unit_ids)
        kept = [entry for entry in kept if entry.unit_id in wanted_ids]
    if filters.first is not None:
        seen = Counter[tuple[str, str]]()
        first = []
        for entry in kept:
            parent = entry.split, next(iter(entry.parents.values()), entry.unit_id)
            seen[parent] += 1
            if seen[parent] <= filters.first:
                first.append(entry)
        kept = first
    if not kept:
        raise DataError(f"no {dataset.unit} matches all the filters")
    return kept


def _keys(dataset: Dataset[E]) -> set[str]:
    return {key for entry in dataset.entries for key in (*entry.parents, *entry.labels)}


def _value(entry: Entry, name: str) -> str:
    return entry.parents.get(name) or entry.labels.get(name, "")


def shard_of(group: str, count: int) -> int:
    """The number, from 1, of the shard that a group belongs to; it depends on nothing else."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") % count + 1


def _check_known(what: str, wanted: Sequence[str], known: set[str]) -> None:
    for value in wanted:
        if value not in known:
            hint = suggestion(value, known)
            if what in ("task", "step") and hint.startswith("known:"):
                # Listing ids would not help.
                hint = f"it has {len(known)} others; is this one in another split?"
            raise DataError(f"no {what} '{value}' in the selection; {hint}")


def _first(dataset: Dataset[E], entries: Sequence[E], limit: int) -> list[E]:
    if limit < 1:
        raise DataError(f"--limit must be at least 1, not {limit}")
    groups = dict.fromkeys(map(dataset.group_of, entries))
    first = frozenset(list(groups)[:limit])
    return [entry for entry in entries if dataset.group_of(entry) in first]


def _shard(dataset: Dataset[E], entries: Sequence[E], number: int, count: int) -> list[E]:
    """The entries of a shard, which may be empty: groups are assigned by hash."""
    most = max(count, 1)
    if not 1 <= number <= most or most != count:
        raise DataError(f"'{number}/{count}' is not a shard; write 1/{most} to {most}/{most}")
    return [entry for entry in entries if shard_of(dataset.group_of(entry), count) == number]
