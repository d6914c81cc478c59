"""The units that a run selects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.benchmarks import Benchmark, Dataset, Filters, benchmark_of, holding, open_benchmark
from harness.errors import DataError
from harness.settings import Settings


@dataclass(frozen=True)
class Selected:
    """The units that a run selects, and the groups that they belong to.

    A group is what limits and shards never split (`Dataset.whole`), such as a task.
    """

    part: Dataset[Any]
    """The units of this run; with --shard, those of the shard."""
    whole: Dataset[Any]
    """The units of all shards together."""
    task_rows: Mapping[str, int]
    """Number of units in the data, selected or not, of each innermost parent of selected units."""
    tasks: Dataset[Any]
    """All units of these groups."""

    @property
    def cut_short(self) -> dict[str, int]:
        """`task_rows` of those that are selected only in part."""
        selected = Counter(map(self.whole.parent_of, self.whole.entries))
        return {parent: rows for parent, rows in self.task_rows.items() if selected[parent] < rows}


def open_data(settings: Settings, source: Benchmark | None = None) -> Selected:
    """The units of a run; `source` is its benchmark, if it is open. Raises `DataError`."""
    source = benchmark_of(settings) if source is None else source
    data = Path(settings.data) if settings.data else None
    try:
        opened = open_benchmark(source, splits=settings.split or None, data=data)
    except DataError as error:
        found = [one.name for one in holding(data)] if data else []
        reading = [name for name in found if name != settings.benchmark]
        if not reading or "benchmark" in settings.given:
            raise
        raise DataError(
            f"{error}; to read it as another benchmark, add --benchmark {' or '.join(reading)}"
        ) from error
    levels = {level.name for level in source.declared.levels}
    among: dict[str, tuple[str, ...]] = {}
    for key, _, value in (condition.partition("=") for condition in settings.only):
        # `task_id` is `task`; the id of a unit is not a level.
        key = key.replace("-", "_")
        key = key.removesuffix("_id") if key.removesuffix("_id") in levels else key
        among[key] = (*among.get(key, ()), value)
    names = ("id", "step_id", f"{source.declared.unit}_id")
    unit_ids = tuple(one for name in names for one in among.pop(name, ()))
    whole = opened.select(
        Filters(
            among,
            unit_ids=unit_ids,
            first=source.first,
            limit=settings.limit,
        )
    )
    rows = Counter(map(opened.parent_of, opened.entries))
    groups = {opened.group_of(entry) for entry in whole.entries}
    part = whole.select(Filters(shard=settings.shard)) if settings.shard else whole
    others = {e.unit_id for e in opened.entries if opened.group_of(e) not in groups}
    task_rows = {parent: rows[parent] for parent in set(map(whole.parent_of, whole.entries))}
    return Selected(part, whole, task_rows, opened.without(others))
