"""Looks at the batches of a provider: a few attempts each, and an end to what cannot be read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from adapters.batches.contract import Deferring, Gone, QueueFull, RemoteBatch, Torn
from adapters.contract import Fatal, Fault
from harness.batches.log import BatchLog, Pack
from harness.printing import printable
from harness.runs.files import sync_folder, write_error

T = TypeVar("T")
ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
UNREAD_LOOKS = 3
"""Looks at what cannot be read until it is given up, each with so many attempts."""
LIFE_S, OVERDUE_S = 2 * 86_400.0, 86_400.0
"""When a batch ends at the latest if the provider does not say it, and how much longer it is
waited for."""


@dataclass
class Looks:
    """Asks a provider about its batches.

    notice: called with a line that the user should see.
    sleep: waits; raises `Stopped` when the session is to end.
    """

    deferring: Deferring
    log: BatchLog
    notice: Callable[[str], None]
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Do what may be done twice, until it succeeds or has failed a few times."""
        for left in reversed(range(ATTEMPTS)):
            try:
                return await call()
            except (QueueFull, Gone):
                raise
            except Fault as fault:
                wait_s = FIRST_WAIT_S * 2 ** (ATTEMPTS - 1 - left)
                wait_s = max(fault.retry_after_s or 0.0, wait_s)
                if not left or wait_s > LONGEST_WAIT_S:
                    raise
                await self.sleep(wait_s)
        raise AssertionError

    def is_given_up(self, pack: Pack, fault: Fault) -> bool:
        """Note that the provider's word could not be read. Returns whether it was looked at often
        enough."""
        self.log.note(pack.n, "unread", why=printable(str(fault)), unread=pack.unread + 1)
        return pack.unread >= UNREAD_LOOKS

    async def poll(self, pack: Pack) -> RemoteBatch:
        """Ask how a batch is doing.

        After `UNREAD_LOOKS` looks at one whose state cannot be read, or that has not ended a day
        after it should have, it counts as ended: with the results that the provider names, else
        `Gone` is raised, and it is cancelled.
        """
        known: list[RemoteBatch] = []
        is_asked = self.deferring.told(self.log.file(pack.n, "requests")) is None
        ends = pack.expires_at or (pack.created_at or self.clock()) + LIFE_S

        async def look() -> RemoteBatch:
            batch = await self.deferring.poll(pack.id)
            known[:] = [batch]
            if batch.unread:
                raise Fault("malformed", f"{' and '.join(batch.unread)} cannot be read")
            if is_asked and not batch.ended and self.clock() > ends + OVERDUE_S:
                raise Fault("malformed", f"it is '{batch.status}' long after it should have ended")
            return batch

        try:
            return await self.patiently(look)
        except Fault as fault:
            if fault.kind != "malformed" or not self.is_given_up(pack, fault):
                raise
            if known and known[0].where:
                return replace(known[0], ended=True, unbilled=False)
            with contextlib.suppress(Fault, Fatal):
                await self.deferring.cancel(pack.id)
            raise Gone("malformed", str(fault)) from fault

    async def fetch(self, pack: Pack) -> None:
        """Fetch the results of a batch.

        Of results that break off, the whole lines are taken: at once if the provider has no more,
        and after `UNREAD_LOOKS` looks if the connection failed.
        """
        path = self.log.file(pack.n, "results")
        new = path.with_name(path.name + ".new")
        try:
            await self.patiently(lambda: self._download(new, ended(pack)))
        except Torn as torn:
            enough = self.is_given_up(pack, torn)
            if torn.kind != "malformed" and not enough:
                raise
            self.notice(
                f"batch {pack.n}: {printable(str(torn))}; its whole lines are read, and the rest "
                "counts at its highest cost and is asked again"
            )
        try:
            new.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise write_error(new, error) from error

    async def _download(self, new: Path, batch: RemoteBatch) -> None:
        try:
            with new.open("wb") as file:
                try:
                    async for line in self.deferring.fetch(batch):
                        file.write(line.rstrip(b"\r\n") + b"\n")
                finally:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise write_error(new, error) from error


def ended(pack: Pack) -> RemoteBatch:
    """Return the batch of a pack that has ended."""
    return RemoteBatch(pack.id, pack.status, True, where=pack.where)
