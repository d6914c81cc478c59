"""The page and picture of a step of a run: what the run itself does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.benchmarks.contract import open_benchmark
from harness.benchmarks.dataset import Dataset
from harness.errors import DataError
from harness.runs import DataGone, StepData


def step_data(dataset: Mapping[str, Any], step_id: str) -> StepData:
    """Page and encoded screenshot of a step, from the data that a manifest's `dataset` names.

    The caller compares digests. Raises `DataGone` when the data is not there any more.
    """
    data, asked = dataset.get("data"), dataset.get("splits_asked")
    try:
        opened = _opened(str(dataset.get("benchmark")), data, tuple(asked or ()))
        row = opened.row(step_id)
    except DataError as error:
        raise DataGone(str(error)) from error
    except KeyError:
        raise DataGone(f"the data has no step {step_id} any more") from None
    return StepData(row.html, row.screenshot)


@lru_cache(maxsize=2)
def _opened(name: str, data: str | None, splits: tuple[str, ...]) -> Dataset:
    return open_benchmark(name, splits=splits or None, data=Path(data) if data else None)
