"""Send packs to a provider and fetch their results, across kills and sessions.

Every step is on disk before the next one. Providers create a second batch when they are asked
twice, so the log announces each creation first. After a kill, the batch is searched for by its
token, and created again only if a search some minutes later finds none. What cannot be read is
looked at a few times, and then given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from adapters.batches.contract import Gone, QueueFull, RemoteBatch, Torn
from adapters.contract import Fatal, Fault
from harness.batches.lane import Spool
from harness.batches.log import Pack
from harness.printing import printable
from harness.runs.files import sync_folder, write_error
from harness.tables import counted

T = TypeVar("T")
GRACE_S = 300.0
"""Seconds after a possible creation in which a batch is only searched for: lists of batches lag
behind."""
ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
UNREAD_LOOKS = 3
"""Looks at what cannot be read until it is given up, each with so many attempts."""
LIFE_S, OVERDUE_S = 2 * 86_400.0, 86_400.0
"""When a batch ends at the latest if the provider does not say it, and how much longer it is
waited for."""


@dataclass
class Remote:
    """The packs of a run at the provider.

    notice: called with a line that the user should see.
    queued_tokens: the most prompt tokens in open batches; None: not limited so.
    sleep: waits; raises `Stopped` when the session is to end.
    """

    spool: Spool
    notice: Callable[[str], None]
    queued_tokens: int | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        self.log, self.deferring = self.spool.log, self.spool.deferring

    async def collect(self) -> bool:
        """Look at every pack that the provider has, and fetch what has ended.

        Returns whether there was news. Raises `Fatal`, `RunError`.
        """
        came = False
        for pack in self.log.at("open", "fetched"):
            # A session that is to end does not look at all the others first.
            await self.sleep(0)
            try:
                if pack.stage == "fetched":
                    came |= self._take(pack)
                    continue
                if pack.batch is None:
                    came |= await self._search(pack)
                if pack.stage == "open" and pack.batch is not None:
                    came |= await self._look_at(pack, pack.batch)
            except Fault as fault:
                self._tell(pack, f"{fault}; it is looked at again later")
        return came

    async def send(self) -> None:
        """Send the packs that are ready, as many as the provider queues.

        Raises `Fatal`, `RunError`.
        """
        for pack in self.log.at("unsent"):
            open = [one for one in self.log.at("open") if not (one.batch and one.batch.ended)]
            queued = sum(one.tokens for one in open) + pack.tokens
            is_over = open and self.queued_tokens is not None and queued > self.queued_tokens
            if is_over or len(open) >= self.deferring.limits.open:
                return
            await self.sleep(0)
            try:
                await self._send(pack)
            except QueueFull as fault:
                self._narrow(pack, fault)
                return
            except Fault as fault:
                self._tell(pack, f"{fault}; it is not sent yet")
                return

    async def drain(self) -> None:
        """Note that all that came back is on record, and delete it. Raises `RunError`."""
        for pack in self.log.at("fetched"):
            if unread := self.spool.give_up(pack, "not read"):
                late = (
                    f"{counted(unread, 'reply', 'replies')} came too late for steps that had ended"
                )
                self._tell(pack, f"{late}; what they may have cost at most counts as spent")
            # Only tidiness: the provider deletes its files some time later anyway.
            with contextlib.suppress(Fault):
                if pack.batch is not None:
                    await self.deferring.clean(pack.batch, pack.file or "")
            self._end(pack, "drained")
        # Starting the run again allows failed calls as many attempts as at first; so does a pass.
        self.spool.failed.clear()

    def keep_again(self) -> None:
        """Record the results that have to be asked for again: no session counts them twice.

        Raises `RunError`.
        """
        for pack in self.log.at("fetched"):
            if pack.again:
                self.log.note(pack.n, "fetched")

    async def cancel(self) -> None:
        """Have all batches end soon, and forget what was not sent yet. Raises `Fatal`."""
        for pack in self.log.live:
            if pack.batch is not None and not pack.batch.ended:
                await self._patiently(partial(self.deferring.cancel, pack.batch.id))
        self.withdraw()

    def withdraw(self) -> None:
        """Forget the packs that were not sent yet. Raises `RunError`."""
        for pack in self.log.at("unsent"):
            self._withdraw(pack, "withdrawn before it was sent")

    # A pack on its way there.

    async def _send(self, pack: Pack) -> None:
        path = self.log.file(pack.n, "requests")
        if not pack.file:
            if not path.exists():
                self._withdraw(pack, "its requests are gone")
                return
            name = await self._patiently(lambda: self.deferring.upload(pack.token, path))
            self.log.note(pack.n, "uploaded", file=name)
        self.log.note(pack.n, "creating", creating_at=time.time())
        try:
            file, number = pack.file or "", pack.requests
            batch = await self.deferring.create(pack.token, path, file, number)
        except (QueueFull, Fatal) as error:
            self._refused(pack, printable(str(error)))
            raise
        except Fault as fault:
            if fault.kind == "malformed":
                self._is_given_up(pack, fault)
            raise
        self._created(pack, batch)
        self.log.remove(pack.n, "requests")

    def _created(self, pack: Pack, batch: RemoteBatch, found: bool = False) -> None:
        # Its next look says if and how it has ended.
        about = {"batch": replace(batch, ended=False), "found": found, "unread": 0}
        self.log.note(pack.n, "created", created_at=time.time(), **about)

    def _refused(self, pack: Pack, why: str) -> None:
        # An upload may be gone when it is needed again.
        before = dict.fromkeys(("creating_at", "created_at", "file", "batch"))
        self.log.note(pack.n, "refused", why=why, unread=0, **before)

    async def _search(self, pack: Pack) -> bool:
        """Find out whether a batch was created when the session before ended.

        Without a token, a batch that is found may belong to another run: the requests are kept
        until its results show whose they are. Returns True if the pack was abandoned, as the
        provider's answer to its creation could not be read.
        """
        since = pack.creating_at or 0.0
        packs = self.log.packs.values()
        known = [one.batch.id for one in packs if one.batch]
        known += [id for one in packs for id in one.strangers]
        is_late = time.time() - since >= GRACE_S
        try:
            batch = await self._patiently(
                lambda: self.deferring.find(pack.token, since - 60, pack.requests, known)
            )
        except Fault as fault:
            if fault.kind == "malformed" and self._is_given_up(pack, fault) and is_late:
                return self._lose(pack, fault)
            raise
        if batch is not None:
            self._created(pack, batch, found=True)
        elif is_late and pack.unread:
            return self._lose(pack, Fault("malformed", "the batch that was created is not found"))
        elif is_late:
            self._refused(pack, "no batch was found")
        return False

    def _narrow(self, pack: Pack, fault: Fault) -> None:
        self.queued_tokens = max(1, (self.queued_tokens or pack.tokens) // 2)
        self._tell(pack, f"{fault}; it is sent again when others have ended")

    # A pack on its way back.

    async def _look_at(self, pack: Pack, batch: RemoteBatch) -> bool:
        try:
            if not batch.ended:
                pack.batch = batch = await self._poll(pack, batch)
                if not batch.ended:
                    return False
                if batch.full:
                    self._refused(pack, batch.error)
                    self._narrow(pack, QueueFull("rate_limit", batch.error))
                    return False
                self.log.note(pack.n, "ended", unread=0)
                if batch.error:
                    failed = Fatal(f"batch {pack.n} failed: {printable(batch.error)}")
                    self.spool.fatal = self.spool.fatal or failed
            await self._fetch(pack, batch)
        except Gone as gone:
            return self._lose(pack, gone)
        if pack.found and self.spool.is_foreign(pack):
            # It is left alone, and the pack's own is searched for again.
            self._tell(pack, f"{batch.id} is not of this run, and is left as it is")
            strangers = (*pack.strangers, batch.id)
            self.log.note(pack.n, "released", strangers=strangers, created_at=None, batch=None)
            self.log.remove(pack.n, "results")
            return False
        self.log.note(pack.n, "fetched")
        return self._take(pack)

    async def _poll(self, pack: Pack, batch: RemoteBatch) -> RemoteBatch:
        """Ask how a batch is doing.

        After `UNREAD_LOOKS` looks at one whose state cannot be read, or that has not ended a day
        after it should have, it counts as ended: with the results that the provider names, else
        `Gone` is raised, and it is cancelled.
        """
        known: RemoteBatch | None = None
        ends = batch.expires_at or (pack.created_at or time.time()) + LIFE_S

        async def look() -> RemoteBatch:
            nonlocal known
            known = now = await self.deferring.poll(batch.id)
            if now.unread:
                raise Fault("malformed", f"{' and '.join(now.unread)} cannot be read")
            if not now.ended and time.time() > ends + OVERDUE_S:
                raise Fault("malformed", f"it is '{now.status}' long after it should have ended")
            return replace(now, expires_at=now.expires_at or batch.expires_at)

        try:
            return await self._patiently(look)
        except Fault as fault:
            if fault.kind != "malformed" or not self._is_given_up(pack, fault):
                raise
            if known is not None and known.where:
                return replace(known, ended=True, unbilled=False)
            with contextlib.suppress(Fault, Fatal):
                await self.deferring.cancel(batch.id)
            raise Gone("malformed", str(fault)) from fault

    async def _fetch(self, pack: Pack, batch: RemoteBatch) -> None:
        """Fetch the results of a batch.

        Of results that break off, the whole lines are taken: at once if the provider has no more,
        and after `UNREAD_LOOKS` looks if the connection failed.
        """
        path = self.log.file(pack.n, "results")
        new = path.with_name(path.name + ".new")

        async def download() -> None:
            with new.open("wb") as file:
                try:
                    async for line in self.deferring.fetch(batch):
                        file.write(line.rstrip(b"\r\n") + b"\n")
                finally:
                    file.flush()
                    os.fsync(file.fileno())

        try:
            try:
                await self._patiently(download)
            except Torn as torn:
                enough = self._is_given_up(pack, torn)
                if torn.kind != "malformed" and not enough:
                    raise
                rest = "the rest counts at its highest cost and is asked again"
                self._tell(pack, f"{torn}; its whole lines are read, and {rest}")
            new.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise write_error(new, error) from error

    def _take(self, pack: Pack) -> bool:
        if strange := self.spool.take_results(pack):
            lines = counted(strange, "line")
            self._tell(pack, f"{lines} of its results are of no request in it, and are ignored")
        return True

    # Both ways.

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Do what may be done twice, until it succeeds or has failed a few times."""
        attempt = 0
        while True:
            try:
                return await call()
            except (QueueFull, Gone):
                raise
            except Fault as fault:
                wait_s = max(fault.retry_after_s or 0.0, FIRST_WAIT_S * 2**attempt)
                attempt += 1
                if attempt == ATTEMPTS or wait_s > LONGEST_WAIT_S:
                    raise
                await self.sleep(wait_s)

    def _is_given_up(self, pack: Pack, fault: Fault) -> bool:
        """Note that the provider's word could not be read. Returns whether it was looked at often
        enough."""
        self.log.note(pack.n, "unread", why=printable(str(fault)), unread=pack.unread + 1)
        return pack.unread >= UNREAD_LOOKS

    def _lose(self, pack: Pack, fault: Fault) -> bool:
        self.spool.give_up(pack, Fault("server", str(fault)))
        most = f"${pack.upper:.2f} and are sent again"
        self._tell(pack, f"{fault}; its {pack.requests:,} requests may have cost up to {most}")
        self._end(pack, "dropped", str(fault))
        return True

    def _withdraw(self, pack: Pack, why: str) -> None:
        self.spool.give_up(pack, why, 0.0)
        self._end(pack, "dropped", why)

    def _end(self, pack: Pack, event: str, why: str = "") -> None:
        self.log.note(pack.n, event, why=why)
        self.log.remove(pack.n, "ids", "requests", "results")

    def _tell(self, pack: Pack, words: str) -> None:
        self.notice(f"batch {pack.n}: {printable(words)}")
