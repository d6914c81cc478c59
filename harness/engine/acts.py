"""Carrying out actions in environments; imported by dialogues that act."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from adapters.checks import to_json
from adapters.contract import Fault, FaultKind
from adapters.conversation import Reply
from harness.dialogue import Act, Observation
from harness.engine.dialogues import Made, Pending
from harness.engine.stopping import ActFailed, FailuresInARow, Halt, ProtocolError
from harness.printing import printable
from harness.runs import ActRecord, digest_of


class Acting:
    """Makes the calls of acts, which are neither repeated nor cached: an environment has a state.

    timeout_s: limit for an action.
    failures_in_a_row: the session ends after so many failures without an action in between.
    """

    cached = False

    def __init__(self, timeout_s: float | None, failures_in_a_row: int, halt: Halt) -> None:
        self._timeout_s = timeout_s
        self._failures = FailuresInARow("environments", failures_in_a_row, halt)
        self._halt = halt

    def key(self, pending: Pending) -> str:
        """Return the digest of the action: the environment's state has no hash."""
        return pending.digest

    async def make(self, pending: Pending, key: str) -> Made:
        """Raises `ActFailed`, `Stopped`, `Fatal`, `ProtocolError`."""
        self._halt.check()
        act = _act(pending)
        loop = asyncio.get_running_loop()
        try:
            # The wait for a free environment has no limit of time.
            environment = await pending.dialogue.environment()
            self._halt.check()
            begun = loop.time()
            async with asyncio.timeout(self._timeout_s):
                seen = await environment.act(act.action)
        except TimeoutError:
            raise self._failed("timeout", f"no observation within {self._timeout_s:g} s") from None
        except Fault as fault:
            raise self._failed(fault.kind, printable(str(fault))) from fault
        self._failures.reset()
        content = _content(pending, seen)
        digests = {name: digest_of(data) for name, data in seen.blobs.items()}
        record = pending.record(
            key,
            reply=Reply("", latency_s=round(loop.time() - begun, 6)),
            cost=0.0,
            act=ActRecord(act.action, content, digests),
        )
        return Made(record, Observation(content, seen.blobs), tuple(seen.blobs.values()))

    def _failed(self, kind: FaultKind, message: str) -> ActFailed:
        failed = ActFailed(kind, 1, message)
        self._failures.add(failed)
        return failed

    def keep(self, pending: Pending, made: Made) -> None:
        """Keep nothing."""


def _content(pending: Pending, seen: object) -> Any:
    """Return what was observed as the record will give it, halves of characters replaced.

    A resumed dialogue then receives the same observation. Raises `ProtocolError` for
    a value that cannot be recorded as an observation.
    """
    what = f"{pending.dialogue}: what was observed at '{pending.call.place}'"
    if not isinstance(seen, Observation):
        raise ProtocolError(f"{what} is a {type(seen).__name__}, not an Observation")
    if not isinstance(seen.blobs, Mapping) or not all(
        isinstance(name, str) and isinstance(data, bytes) for name, data in seen.blobs.items()
    ):
        raise ProtocolError(f"{what} has other blobs than bytes by name")
    try:
        return msgspec.json.decode(to_json(seen.content))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"{what} has no form in JSON: {error}") from error


def _act(pending: Pending) -> Act:
    assert isinstance(pending.call, Act)
    return pending.call
