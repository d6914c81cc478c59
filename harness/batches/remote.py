"""Send packs to a provider and fetch their results, across kills and sessions.

An event is written to disk before the run acts on it. Providers create a second batch when they are
asked twice, so the log announces each creation first. After a kill, the run searches for the batch
by its token, and creates it again only if a search some minutes later finds none.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from adapters.batches.contract import Deferring, Gone, QueueFull, RemoteBatch
from adapters.contract import Fatal, Fault
from harness.batches.caller import BatchCaller
from harness.batches.log import BatchLog, Pack
from harness.batches.looks import Looks
from harness.printing import printable
from harness.session.progress import span

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
    caller: BatchCaller
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
            if pack.fetched:
                came |= self._take(pack)
                continue
            # A session that is to end does not look at all the others first.
            await self.looks.sleep(0)
            try:
                if pack.is_open and not pack.id:
                    came |= await self._search(pack)
                if pack.id:
                    came |= await self._look_at(pack)
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
            if pack.fetched:
                await self._close(pack)
        self.caller.end_pass()

    def note_again(self) -> None:
        """Record the results that have to be asked for again: no session counts them twice.

        Raises `RunError`.
        """
        for pack in self.log.live:
            if pack.fetched and (again := self.caller.again_in(pack)):
                self.log.note(pack.n, "fetched", again=again)

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
                self._drop(pack, "withdrawn before it was sent")

    @property
    def open(self) -> bool:
        """Return True while the provider has results that were not fetched."""
        return any(pack.is_open for pack in self.log.live)

    @property
    def told(self) -> str:
        """Describe the open packs in a line; "" if there are none."""
        live = self.log.live
        if not live:
            return ""
        total = sum(pack.requests for pack in live)
        batches = "1 batch" if len(live) == 1 else f"{len(live)} batches"
        answered = sum(pack.answered for pack in live)
        parts = [f"{batches}, {answered:,} of {total:,} answered"]
        if failed := sum(pack.failed for pack in live):
            parts.append(f"{failed:,} to ask again")
        if unsent := sum(pack.is_unsent for pack in live):
            parts.append(f"{unsent} not sent yet")
        now = self.clock()
        created = [pack.created_at for pack in live if pack.created_at]
        expires = [pack.expires_at for pack in live if pack.expires_at]
        if created:
            parts.append(f"oldest {span(now - min(created))}")
        if expires:
            parts.append(f"expires in {span(min(expires) - now)}")
        budget = self.caller.budget
        parts += [f"${budget.spent:.2f} spent", f"${budget.held:.2f} reserved"]
        return ", ".join(parts)

    def to_do(self) -> list[str]:
        """List what the user has to do before the packs can be answered."""
        live = [pack for pack in self.log.live if pack.is_open]
        told = (self.deferring.told(self.log.file(pack.n, "requests")) for pack in live)
        return [line for line in told if line]

    # A pack on its way there.

    def _has_room(self, pack: Pack) -> bool:
        open = [one for one in self.log.live if one.is_open and not one.ended]
        if len(open) >= self.deferring.limits.open:
            return False
        queued = sum(one.tokens for one in open)
        return not open or self.queued_tokens is None or queued + pack.tokens <= self.queued_tokens

    async def _send(self, pack: Pack) -> None:
        path = self.log.file(pack.n, "requests")
        if not pack.uploaded:
            name = await self.looks.patiently(lambda: self.deferring.find_upload(pack.token))
            if name is None and not path.exists():
                self._drop(pack, "its requests are gone")
                return
            if name is None:
                name = await self.looks.patiently(lambda: self.deferring.upload(pack.token, path))
            self.log.note(pack.n, "uploaded", file=name)
        self.log.note(pack.n, "creating")
        await self._create(pack)

    async def _create(self, pack: Pack) -> None:
        path = self.log.file(pack.n, "requests")
        try:
            batch = await self.deferring.create(
                pack.token, path, pack.uploaded or "", pack.requests
            )
        except QueueFull:
            self.log.note(pack.n, "refused", why="the queue is full")
            raise
        except Fatal as fatal:
            self.log.note(pack.n, "refused", why=printable(str(fatal)))
            raise
        except Fault as fault:
            if fault.kind == "malformed":
                self.looks.note_unread(pack, fault)
            raise
        self._created(pack, batch)
        if self.deferring.told(path) is None:
            self.log.remove(pack.n, "requests")

    def _created(self, pack: Pack, batch: RemoteBatch, found: bool = False) -> None:
        self.log.note(pack.n, "created", id=batch.id, expires_at=batch.expires_at, found=found)
        pack.status = batch.status

    async def _search(self, pack: Pack) -> bool:
        """Find out whether a batch was created when the session before ended.

        Without a token, a batch that is found may belong to another run: the requests are kept
        until its results show whose they are. Returns True if the pack was abandoned, because the
        provider's answer to its creation could not be read.
        """
        since = pack.creating_at or 0.0
        known = [one.id for one in self.log.packs.values() if one.id]
        known += [id for one in self.log.packs.values() for id in one.strangers]
        is_late = self.clock() - since >= GRACE_S
        try:
            batch = await self.looks.patiently(
                lambda: self.deferring.find(pack.token, since - 60, pack.requests, known)
            )
        except Fault as fault:
            if fault.kind == "malformed" and self.looks.note_unread(pack, fault) and is_late:
                return self._lose(pack, fault)
            raise
        if batch is not None:
            self._created(pack, batch, found=True)
        elif is_late and pack.unread:
            return self._lose(pack, Fault("malformed", "the batch that was created is not found"))
        elif is_late:
            self.log.note(pack.n, "refused", why="no batch was found")
        return False

    def _narrow(self, pack: Pack, fault: QueueFull) -> None:
        before = self.queued_tokens or pack.tokens
        self.queued_tokens = max(1, before // 2)
        self.notice(
            f"batch {pack.n}: {printable(str(fault))}; it is sent again when others have ended"
        )

    # A pack on its way back.

    async def _look_at(self, pack: Pack) -> bool:
        if not pack.ended:
            try:
                batch = await self.looks.poll(pack)
            except Gone as gone:
                return self._lose(pack, gone)
            pack.status, pack.answered, pack.failed = batch.status, batch.answered, batch.failed
            pack.expires_at = batch.expires_at or pack.expires_at
            if not batch.ended:
                return False
            if batch.full:
                self.log.note(pack.n, "refused", why=batch.error)
                self._narrow(pack, QueueFull("rate_limit", batch.error))
                return False
            self.log.note(
                pack.n,
                "ended",
                status=batch.status,
                where=batch.where,
                unbilled=batch.unbilled,
                why=batch.error,
            )
            if batch.error:
                failed = Fatal(f"batch {pack.n} failed: {printable(batch.error)}")
                self.caller.fatal = self.caller.fatal or failed
        batch = RemoteBatch(pack.id, pack.status, True, where=pack.where)
        try:
            lines = await self.looks.fetch(pack, batch)
        except Gone as gone:
            return self._lose(pack, gone)
        if lines and pack.found and self.caller.is_foreign(pack):
            self._release(pack)
            return False
        self.log.note(pack.n, "fetched", lines=lines)
        return self._take(pack)

    def _take(self, pack: Pack) -> bool:
        if strange := self.caller.take_results(pack):
            lines = "1 line" if strange == 1 else f"{strange} lines"
            self.notice(
                f"batch {pack.n}: {lines} of its results are of no request in it, and are ignored"
            )
        return True

    def _release(self, pack: Pack) -> None:
        """Leave the batch of another run alone, and search for the pack's own again."""
        self.notice(f"batch {pack.n}: {pack.id} is not of this run, and is left as it is")
        self.log.note(pack.n, "released", id=pack.id)
        self.log.remove(pack.n, "results")

    def _lose(self, pack: Pack, fault: Fault) -> bool:
        self.caller.lose(pack, str(fault))
        self.notice(
            f"batch {pack.n}: {printable(str(fault))}; its {pack.requests:,} requests may have "
            f"cost up to ${pack.upper:.2f} and are sent again"
        )
        self._dropped(pack, str(fault))
        return True

    def _drop(self, pack: Pack, why: str) -> None:
        self.caller.withdraw(pack, why)
        self._dropped(pack, why)

    def _dropped(self, pack: Pack, why: str) -> None:
        self.log.note(pack.n, "dropped", why=why, again=self.caller.again_in(pack))
        self._forget(pack)

    async def _close(self, pack: Pack) -> None:
        if unread := self.caller.leave_unread(pack):
            replies = "1 reply" if unread == 1 else f"{unread:,} replies"
            self.notice(
                f"batch {pack.n}: {replies} came too late for steps that had ended; what they may "
                "have cost at most counts as spent"
            )
        batch = RemoteBatch(pack.id, pack.status, True, where=pack.where)
        # Only tidiness: the provider deletes its files some time later anyway.
        with contextlib.suppress(Fault):
            await self.deferring.clean(batch, pack.uploaded or "")
        self.log.note(pack.n, "drained", again=self.caller.again_in(pack))
        self._forget(pack)

    def _forget(self, pack: Pack) -> None:
        self.caller.forget(pack)
        self.log.remove(pack.n, "ids", "requests", "results")
