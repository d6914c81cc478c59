"""The opened units of a benchmark, and selections of them.

Of a benchmark without rows to decode, `Benchmark.open` returns finished units in one expression:

    detail = SignDetail("a red octagon", gold=Action("stop"))
    return Items.of([self.unit("a1", detail, parents={"town": "Ulm"})], splits=splits)
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import msgspec

from harness.errors import DataError, suggestion
from harness.runs.records import Unit, to_line
from parsers.declaration import SPLIT, Declaration

D = TypeVar("D")
Pictures = Callable[[Unit[Any]], Sequence[bytes]]
"""Function that reads the encoded pictures of a unit, when its call is prepared."""


def no_pictures(unit: Unit[Any]) -> Sequence[bytes]:
    """Return the pictures of units that have none."""
    return ()


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on units; all must hold, and an empty tuple sets no condition.

    Attributes:
        among: the values to keep, by level or label (`{"website": ("united", "delta")}`).
        first: keep only the first so many units of each innermost parent, in order.
        limit: keep only the first so many groups that are kept together (`Dataset.whole`), in
            order.
        shard: (number from 1, count of shards); applied last: the shards of a limited selection are
            parts of it.
    """

    among: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unit_ids: tuple[str, ...] = ()
    first: int | None = None
    limit: int | None = None
    shard: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset(Generic[D]):
    """The units of a benchmark, or a selection of them. Immutable, so it can be read repeatedly.

    Attributes:
        benchmark: the name of the benchmark.
        kind: the kind of its units.
        whole: the level whose members are never split by a limit or a shard, because calls may be
            shared within them or a score needs all of them; "" if units are independent.
        entries: one entry per distinct unit, in the order of the data.
        origin: where the data comes from: `repo` and `revision`, or `local`.
        notices: messages for the user.
        declared: the declaration of the results; default: the benchmark's.
        pictures: reads the encoded pictures of a unit that comes ready.
    """

    benchmark: str
    kind: str
    entries: tuple[Unit[D], ...]
    whole: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    declared: Declaration | None = None
    pictures: Pictures = no_pictures

    @property
    def unit(self) -> str:
        """The word for one unit in messages."""
        return self.declared.unit if self.declared else self.kind

    @property
    def units(self) -> str:
        """The word for several."""
        return self.declared.units if self.declared else f"{self.kind}s"

    def __len__(self) -> int:
        return len(self.entries)

    def group_of(self, entry: Unit[Any]) -> str:
        """Return the group that stays whole with a unit: its parent of level `whole`, or itself."""
        return entry.parents[self.whole] if self.whole else entry.unit_id

    def parent_of(self, entry: Unit[Any]) -> str:
        """Return its innermost parent, or itself if units are independent."""
        return next(iter(entry.parents.values())) if self.whole else entry.unit_id

    def select(self, filters: Filters) -> Self:
        """Select the units that match the filters. Raises `DataError` for an unknown value."""
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

    def listed(self) -> Iterator[Unit[Any]]:
        """The units as a list shows them, in order. Raises `DataError` for a damaged file."""
        return iter(self.entries)

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Return the identity of this data: its origin, and digests."""


def _matching(dataset: Dataset[D], filters: Filters) -> list[Unit[D]]:
    """Return the entries that match all but limit and shard, in their given order.

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


def _keys(dataset: Dataset[D]) -> set[str]:
    return {key for entry in dataset.entries for key in (*entry.parents, *entry.labels)}


def _value(entry: Unit[Any], name: str) -> str:
    return entry.parents.get(name) or entry.labels.get(name, "")


def shard_of(group: str, count: int) -> int:
    """Return the number of a group's shard, from 1; it depends on the group and `count` only."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") % count + 1


def _check_known(what: str, wanted: Sequence[str], known: set[str]) -> None:
    for value in wanted:
        if value not in known:
            hint = suggestion(value, known)
            if what in ("task", "step") and hint.startswith("known:"):
                # Listing ids would not help.
                hint = f"it has {len(known)} others; is this one in another split?"
            raise DataError(f"no {what} '{value}' in the selection; {hint}")


def _first(dataset: Dataset[D], entries: Sequence[Unit[D]], limit: int) -> list[Unit[D]]:
    if limit < 1:
        raise DataError(f"--limit must be at least 1, not {limit}")
    groups = dict.fromkeys(map(dataset.group_of, entries))
    first = frozenset(list(groups)[:limit])
    return [entry for entry in entries if dataset.group_of(entry) in first]


def _shard(
    dataset: Dataset[D], entries: Sequence[Unit[D]], number: int, count: int
) -> list[Unit[D]]:
    """Return the entries of a shard, which may be empty: groups are assigned by hash."""
    most = max(count, 1)
    if not 1 <= number <= most or most != count:
        raise DataError(f"'{number}/{count}' is not a shard; write 1/{most} to {most}/{most}")
    return [entry for entry in entries if shard_of(dataset.group_of(entry), count) == number]


@dataclass(frozen=True, kw_only=True)
class Items(Dataset[Any]):
    """Units in memory, each a record without an outcome.

    Their `detail` is a dataclass with at least two fields: `asked`, which the protocol gets, and
    `gold`, which it does not. Its type is the benchmark's `Detail`, for reading runs again.

    Attributes:
        digest: SHA-256 of all units, also of those outside of a selection.
        remarks: oddities of the units, for users who look at the data.
    """

    digest: str
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        units: Iterable[Unit[Any]],
        *,
        splits: Sequence[str] | None = None,
        whole: str = "",
        origin: Mapping[str, Any] | None = None,
        notices: Sequence[str] = (),
        remarks: Sequence[str] = (),
        pictures: Pictures = no_pictures,
    ) -> Self:
        """Open the units of a benchmark (`Benchmark.unit`) in the splits; None keeps all.

        `whole` is as in `Dataset`; `origin` is the data's source. Raises `DataError` for
        no units, an unknown split, two units of one id, and one without a parent of that level.
        """
        entries = tuple(units)
        known = dict.fromkeys(unit.split for unit in entries)
        for split in splits or ():
            if split not in known:
                raise DataError(f"the data has no split '{split}'; {suggestion(split, known)}")
        entries = tuple(unit for unit in entries if not splits or unit.split in splits)
        if not entries:
            raise DataError("the benchmark has nothing to ask about")
        benchmark = entries[0].benchmark
        digest, seen = hashlib.sha256(), dict[str, str]()
        for entry in entries:
            if (other := seen.get(entry.unit_id, entry.split)) != entry.split:
                both = f"'{other}' and '{entry.split}'"
                raise DataError(
                    f"{benchmark} has {entry.unit_id} in {both}: ask about one split at a time"
                )
            if entry.unit_id in seen:
                raise DataError(f"{benchmark} has two rows with the id '{entry.unit_id}'")
            if whole and whole not in entry.parents:
                raise DataError(f"{entry.unit_id} of {benchmark} has no {whole} among its parents")
            seen[entry.unit_id] = entry.split
            digest.update(msgspec.json.encode(to_line(entry)) + b"\n")
        return cls(
            benchmark=benchmark,
            kind=entries[0].kind,
            entries=entries,
            whole=whole,
            origin={"origin": "local"} if origin is None else origin,
            notices=tuple(notices),
            remarks=tuple(remarks),
            digest=digest.hexdigest(),
            pictures=pictures,
        )

    def lines(self, declared: Declaration) -> Iterator[str]:
        """Describe the units in the benchmark's words: counts, remarks and digests."""

        def many(count: int, one: str, several: str) -> str:
            return f"{count:,} {one if count == 1 else several}"

        splits: dict[str, Counter[str]] = {}
        for entry in self.entries:
            splits.setdefault(entry.split, Counter())[entry.invalid or "valid"] += 1
        for split, counts in splits.items():
            parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            units = many(counts.total(), declared.unit, declared.units)
            yield f"{self.benchmark}, {split}: {units}; {parts}"
        for level in declared.levels:
            parents = Counter(entry.parents.get(level.name) for entry in self.entries)
            yield f"  {many(len(parents), level.one, level.many)}"
        for group in declared.groups:
            labels = Counter(entry.labels.get(group.name) for entry in self.entries)
            if group.name != SPLIT and None not in labels:
                parts = ", ".join(f"{name} {count:,}" for name, count in sorted(labels.items()))
                yield f"  {group.name}: {parts}"
        if len(cells := declared.main.cells) > 1:
            found = Counter(tuple(map(entry.labels.get, cells)) for entry in self.entries)
            parts = ", ".join(f"{' '.join(map(str, c))} {n:,}" for c, n in sorted(found.items()))
            yield f"  {' x '.join(cells)}: {parts}"
        yield from (f"  {remark}" for remark in self.remarks)
        for file in self.origin.get("files", ()):
            yield f"  {file['name']}: {file['size']:,} bytes, sha256 {file['sha256']}"
        yield f"  all {declared.units}: sha256 {self.digest}"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the benchmark, the source of its units, and their digest."""
        return {"benchmark": self.benchmark, **self.origin, "units_sha256": self.digest}
