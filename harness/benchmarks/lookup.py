"""Pages and pictures of the units of a run, looked up again in the data that it names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.benchmarks import Items, StepDataset, benchmark, open_benchmark
from harness.errors import DataError, UserError
from harness.runs import DataGone, StepData


def step_data(
    dataset: Mapping[str, Any], step_ids: Collection[str]
) -> Iterator[tuple[str, StepData | DataGone]]:
    """Page and encoded screenshot of steps, from the data that a manifest's `dataset` names.

    In the order of the data, which reads each row group once; then the steps that it no longer
    has. The caller compares digests. Raises `DataGone` if the data is not available any more.
    """
    data, splits = dataset.get("data"), dataset.get("splits_asked")
    given = sorted(dataset.get("options", {}).items())
    options = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in given)
    left = dict.fromkeys(step_ids)
    try:
        opened = _opened(str(dataset.get("benchmark")), data, tuple(splits or ()), options)
        if isinstance(opened, Items):
            yield from _pictures_of(opened, left)
            return
        gone = {entry.unit_id for entry in opened.entries if entry.unit_id not in left}
        for entry, row in opened.without(gone).decoded():
            del left[entry.unit_id]
            if isinstance(row, DataError):
                yield entry.unit_id, DataGone(str(row))
            else:
                yield entry.unit_id, StepData(row.detail.html, row.detail.screenshot)
    except UserError as error:
        raise DataGone(str(error)) from error
    for step_id in left:
        yield step_id, DataGone(f"the data no longer has step {step_id}")


def _pictures_of(
    items: Items, wanted: Mapping[str, Any]
) -> Iterator[tuple[str, StepData | DataGone]]:
    """Yield the first picture of finished units, which have no page."""
    from harness.pictures import PictureError

    units = {entry.unit_id: entry for entry in items.entries}
    for unit_id in wanted:
        try:
            shown = items.pictures(units[unit_id])
            yield unit_id, StepData("", next(iter(shown), None))
        except KeyError:
            yield unit_id, DataGone(f"the data no longer has {unit_id}")
        except (DataError, PictureError) as error:
            yield unit_id, DataGone(str(error))


@lru_cache(maxsize=2)
def _opened(
    name: str, data: str | None, splits: tuple[str, ...], options: tuple[tuple[str, Any], ...]
) -> StepDataset | Items:
    source = benchmark(name).with_options(options)
    opened = open_benchmark(source, splits=splits or None, data=Path(data) if data else None)
    if not isinstance(opened, StepDataset | Items):
        raise DataError(f"{name} holds no pictures that could be looked up")
    return opened
