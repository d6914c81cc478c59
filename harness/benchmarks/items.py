"""Finished units of a benchmark: no rows to decode, nothing to prepare.

`Benchmark.open` returns them in one expression:

    detail = SignDetail("a red octagon", gold=Action("stop"))
    return Items.of([self.unit("a1", detail, parents={"town": "Ulm"})], splits=splits)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from harness.benchmarks.dataset import Dataset, Pictures, no_pictures
from harness.errors import DataError, suggestion
from harness.runs.records import Unit, to_line
from parsers.declaration import SPLIT, Declaration


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
