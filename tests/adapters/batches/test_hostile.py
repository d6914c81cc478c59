"""What providers may say of batches that nobody expects: it is borne, and costs nothing twice."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from adapters import Fault
from adapters.batches.contract import Deferring, RemoteBatch, moment
from tests.adapters.batches.support import TOKEN, deferring, use, write
from tests.adapters.support import adapter_for, request
from tests.servers import WireServer


def test_an_error_in_no_form_is_a_fault_of_that_request() -> None:
    with WireServer() as server:
        adapter = adapter_for("openai", server)
        errors: list[object] = [{"code": {"a": 1}, "message": [1]}, [[{}]], 7, True]
        for error in errors:
            line = json.dumps({"custom_id": "v1", "response": None, "error": error}).encode()
            outcome = deferring(adapter).read(line, request(), {})
            assert isinstance(outcome, Fault), error
        asyncio.run(adapter.close())


def test_a_batch_is_found_by_a_machine_whose_clock_is_ahead(tmp_path: Path) -> None:
    with WireServer() as server:

        async def begun_and_found(one: Deferring) -> tuple[RemoteBatch, RemoteBatch | None]:
            await write(one, tmp_path / "x", [request()])
            begun = await one.create(TOKEN, tmp_path / "x", "", 1)
            return begun, await one.find(TOKEN, time.time() + 240, 1, [])

        begun, found = use(adapter_for("anthropic", server), begun_and_found)
    assert found is not None and found.id == begun.id


@pytest.mark.parametrize("expires_at", [1e300, -1.0, 4e11])
def test_a_time_that_no_calendar_has_is_none(expires_at: float) -> None:
    assert moment(expires_at) is None
    assert moment(1.8e9) == 1.8e9
