"""Send packs to a provider and fetch their results, across kills and sessions.

Every step is on disk before the next one. Providers create a second batch when they are asked
twice, so the log announces each creation first. After a kill, the batch is searched for by its
token, and created again only if a search some minutes later finds none.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from adapters.batches.contract import Deferring, Gone, QueueFull, RemoteBatch
from adapters.contract import Fatal, Fault
from harness.batches.lane import Spool
from harness.batches.log import NOT_CREATED, BatchLog, Pack
from harness.batches.looks import Looks, ended
from harness.printing import printable
from harness.tables import counted

GRACE_S = 300.0
"""Seconds after a possible creation in which a batch is only searched for: lists of batches lag
behind."""


@dataclass
class Remote:
    """The packs of a run at the provider.

    notice: called with a line that the user should see.
    queued_tokens: the most prompt tokens in open batches; None: not limited so.
    failed: why a batch could not be looked at in the last round, None if all could.
    """

    deferring: Deferring
    log: BatchLog
    spool: Spool
    notice: Callable[[str], None]
    queued_tokens: int | None = None
    clock: Callable[[], float] = time.time
    failed: Fault | None = None
    looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        self.looks = Looks(self.deferring, self.log, self.notice, self.clock)

    async def collect(self) -> bool:
        """Look at every pack that the provider has, and fetch what has ended.

        Returns whether there was news. Raises `Fatal`, `RunError`.
        """
        came, self.failed = False, None
        for pack in self.log.live:
            # A session that is to end does not look at all the others first.
            await self.looks.sleep(0)
            try:
                if pack.is_open and not pack.id:
                    came |= await self._search(pack)
                if pack.is_open and pack.id:
                    came |= await self._look_at(pack)
                elif pack.is_fetched:
                    came |= self._take(pack)
            except Fault as fault:
                self.failed = fault
                self.notice(f"batch {pack.n}: {printable(str(fault))}; it is looked at again later")
        return came

    async def send(self) -> None:
        """Send the packs that are ready, as many as the provider queues.

        Raises `Fatal`, `RunError`.
        """
        for pack in self.log.live:
            if not pack.is_unsent:
                continue
            if not self._has_room(pack):
                return
            await self.looks.sleep(0)
            try:
                await self._send(pack)
            except QueueFull as fault:
                self._narrow(pack, fault)
                return
            except Fault as fault:
                self.notice(f"batch {pack.n}: {printable(str(fault))}; it is not sent yet")
                return

    async def drain(self) -> None:
        """Note that all that came back is on record, and delete it. Raises `RunError`."""
        for pack in self.log.live:
            if pack.is_fetched:
                await self._close(pack)
        # Starting the run again allows failed calls as many attempts as at first; so does a pass.
        self.spool.failed.clear()

    def keep_again(self) -> None:
        """Record the results that have to be asked for again: no session counts them twice.

        Raises `RunError`.
        """
        for pack in self.log.live:
            if pack.is_fetched and pack.again:
                self.log.note(pack.n, "fetched")

    async def cancel(self) -> None:
        """Have all batches end soon, and forget what was not sent yet. Raises `Fatal`."""
        for pack in self.log.live:
            if pack.id and not pack.ended:
                await self.looks.patiently(partial(self.deferring.cancel, pack.id))
        self.withdraw()

    def withdraw(self) -> None:
        """Forget the packs that were not sent yet. Raises `RunError`."""
        for pack in self.log.live:
            if pack.is_unsent:
                self._withdraw(pack, "withdrawn before it was sent")

    def _withdraw(self, pack: Pack, why: str) -> None:
        self.spool.give_up(pack, why, free=True)
        self._end(pack, "dropped", why)

    @property
    def open(self) -> bool:
        """Return True while the provider has results that were not fetched."""
        return any(pack.is_open for pack in self.log.live)

    # A pack on its way there.

    def _has_room(self, pack: Pack) -> bool:
        open = [one for one in self.log.live if one.is_open and not one.ended]
        if len(open) >= self.deferring.limits.open:
            return False
        queued = sum(one.tokens for one in open)
        return not open or self.queued_tokens is None or queued + pack.tokens <= self.queued_tokens

    async def _send(self, pack: Pack) -> None:
        path = self.log.file(pack.n, "requests")
        if not pack.file:
            name = await self.looks.patiently(lambda: self.deferring.find_upload(pack.token))
            if name is None and not path.exists():
                self._withdraw(pack, "its requests are gone")
                return
            if name is None:
                name = await self.looks.patiently(lambda: self.deferring.upload(pack.token, path))
            self.log.note(pack.n, "uploaded", file=name)
        self.log.note(pack.n, "creating", creating_at=self.clock())
        try:
            file, number = pack.file or "", pack.requests
            batch = await self.deferring.create(pack.token, path, file, number)
        except (QueueFull, Fatal) as error:
            self._refused(pack, printable(str(error)))
            raise
        except Fault as fault:
            if fault.kind == "malformed":
                self.looks.is_given_up(pack, fault)
            raise
        self._created(pack, batch)
        if self.deferring.told(path) is None:
            self.log.remove(pack.n, "requests")

    def _created(self, pack: Pack, batch: RemoteBatch, found: bool = False) -> None:
        times = {"created_at": self.clock(), "expires_at": batch.expires_at}
        self.log.note(pack.n, "created", id=batch.id, found=found, unread=0, **times)

    def _refused(self, pack: Pack, why: str) -> None:
        # An upload may be gone when it is needed again.
        before = {**NOT_CREATED, "creating_at": None, "file": None, "unread": 0}
        self.log.note(pack.n, "refused", why=why, **before)

    async def _search(self, pack: Pack) -> bool:
        """Find out whether a batch was created when the session before ended.

        Without a token, a batch that is found may belong to another run: the requests are kept
        until its results show whose they are. Returns True if the pack was abandoned, as the
        provider's answer to its creation could not be read.
        """
        since = pack.creating_at or 0.0
        known = [id for one in self.log.packs.values() for id in (one.id, *one.strangers) if id]
        is_late = self.clock() - since >= GRACE_S
        try:
            batch = await self.looks.patiently(
                lambda: self.deferring.find(pack.token, since - 60, pack.requests, known)
            )
        except Fault as fault:
            if fault.kind == "malformed" and self.looks.is_given_up(pack, fault) and is_late:
                return self._lose(pack, fault)
            raise
        if batch is not None:
            self._created(pack, batch, found=True)
        elif is_late and pack.unread:
            return self._lose(pack, Fault("malformed", "the batch that was created is not found"))
        elif is_late:
            self._refused(pack, "no batch was found")
        return False

    def _narrow(self, pack: Pack, fault: QueueFull) -> None:
        self.queued_tokens = max(1, (self.queued_tokens or pack.tokens) // 2)
        self.notice(
            f"batch {pack.n}: {printable(str(fault))}; it is sent again when others have ended"
        )

    # A pack on its way back.

    async def _look_at(self, pack: Pack) -> bool:
        try:
            if not pack.ended and not await self._has_ended(pack):
                return False
            await self.looks.fetch(pack)
        except Gone as gone:
            return self._lose(pack, gone)
        if pack.found and self.spool.is_foreign(pack):
            # It is left alone, and the pack's own is searched for again.
            self.notice(f"batch {pack.n}: {pack.id} is not of this run, and is left as it is")
            strangers = (*pack.strangers, pack.id)
            self.log.note(pack.n, "released", strangers=strangers, **NOT_CREATED)
            self.log.remove(pack.n, "results")
            return False
        self.log.note(pack.n, "fetched")
        return self._take(pack)

    async def _has_ended(self, pack: Pack) -> bool:
        batch = await self.looks.poll(pack)
        pack.status, pack.answered, pack.failed = batch.status, batch.answered, batch.failed
        pack.expires_at = batch.expires_at or pack.expires_at
        if not batch.ended:
            return False
        if batch.full:
            self._refused(pack, batch.error)
            self._narrow(pack, QueueFull("rate_limit", batch.error))
            return False
        found = {"where": batch.where, "unbilled": batch.unbilled, "why": batch.error}
        self.log.note(pack.n, "ended", ended=True, unread=0, **found)
        if batch.error:
            failed = Fatal(f"batch {pack.n} failed: {printable(batch.error)}")
            self.spool.fatal = self.spool.fatal or failed
        return True

    def _take(self, pack: Pack) -> bool:
        if strange := self.spool.take_results(pack):
            self.notice(
                f"batch {pack.n}: {counted(strange, 'line')} of its results are of no request in "
                "it, and are ignored"
            )
        return True

    def _lose(self, pack: Pack, fault: Fault) -> bool:
        self.spool.give_up(pack, Fault("server", str(fault)))
        self.notice(
            f"batch {pack.n}: {printable(str(fault))}; its {pack.requests:,} requests may have "
            f"cost up to ${pack.upper:.2f} and are sent again"
        )
        self._end(pack, "dropped", str(fault))
        return True

    async def _close(self, pack: Pack) -> None:
        if unread := self.spool.give_up(pack, "not read"):
            self.notice(
                f"batch {pack.n}: {counted(unread, 'reply', 'replies')} came too late for steps "
                "that had ended; what they may have cost at most counts as spent"
            )
        # Only tidiness: the provider deletes its files some time later anyway.
        with contextlib.suppress(Fault):
            await self.deferring.clean(ended(pack), pack.file or "")
        self._end(pack, "drained")

    def _end(self, pack: Pack, event: Literal["drained", "dropped"], why: str = "") -> None:
        self.log.note(pack.n, event, why=why)
        self.log.remove(pack.n, "ids", "requests", "results")
