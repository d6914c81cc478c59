"""Questions are prepared a few ahead of need, in order, and no further than is asked for."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.planning.plan import plan_run
from harness.session.session import AHEAD, ahead
from harness.settings import Settings
from tests.harness.benchmarks._files import task, write


def test_rows_before_a_broken_one_are_asked_about_first(tmp_path: Path) -> None:
    rows = task("a", 12)
    rows[6]["cleaned_html"] = "<p>" * 5_000
    data = write(tmp_path / "test_task.parquet", rows)
    settings = Settings(
        model="random",
        benchmark="multimodal-mind2web",
        benchmark_option=(("distractors", 5),),
        data=str(data),
    )
    plan = plan_run(settings, asks=False)
    seen: list[str] = []

    async def until_it_breaks() -> None:
        async with aclosing(ahead(plan.ready_of(plan.dataset))) as questions:
            async for question in questions:
                seen.append(question.unit_id)

    with pytest.raises(DataError, match=r"row 7: .*; --benchmark-option skip_bad_rows=yes counts"):
        asyncio.run(until_it_breaks())
    assert seen == [entry.unit_id for entry in plan.dataset.entries[:6]]


def test_who_stops_early_leaves_no_thread_and_no_more_work() -> None:
    made: list[int] = []

    def numbers() -> Any:
        for number in range(1000):
            made.append(number)
            yield number

    async def three() -> list[Any]:
        found = []
        async with aclosing(ahead(numbers())) as questions:
            async for question in questions:
                found.append(question)
                if len(found) == 3:
                    break
        return found

    before = set(threading.enumerate())
    assert asyncio.run(three()) == [0, 1, 2]
    assert len(made) <= 3 + AHEAD
    left = set(threading.enumerate()) - before  # Those before are of other tests.
    assert not any(thread.name.startswith("questions") for thread in left)
