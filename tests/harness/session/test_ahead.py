"""Questions are prepared a few ahead of need, in order, and no further than is asked for."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.planning.plan import plan_run
from harness.session.session import ahead
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
