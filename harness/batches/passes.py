"""Sessions whose calls a provider answers in batches: passes over the units, and waits."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.batches import BatchSettings
from adapters.batches.contract import Deferrable
from adapters.contract import Fatal, Fault, PictureSource
from harness.batches.caller import BatchCaller
from harness.batches.log import PACKS, BatchLog, Pack
from harness.batches.looks import UNREAD_LOOKS
from harness.batches.remote import Remote
from harness.engine import Budget, Engine
from harness.engine.limits import UNPRICED
from harness.engine.stopping import CostLimitReached, Stopped
from harness.errors import UserError
from harness.pictures import PictureStore
from harness.planning.model import open_model
from harness.planning.plan import Plan
from harness.printing import printable
from harness.runs import RunDirectory, StepKey, call_id, open_run
from harness.runs.finding import settings_of
from harness.session.session import Session

FIRST_LOOK_S, FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0, 600.0
WAIT_GROWS, WAIT_VARIES = 1.5, 0.1
LONGEST_CANCEL_S = 1800.0


@dataclass
class BatchPasses:
    """The batches of a run, and the passes over its units in which they are sent and read."""

    plan: Plan
    directory: RunDirectory
    caller: BatchCaller
    remote: Remote
    say: Callable[[str], None]

    @classmethod
    def open(
        cls,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureSource,
        ready: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
    ) -> BatchPasses | None:
        """What a session needs that sends batches, or finds some of an earlier one.

        None for other sessions. Raises `UserError`, `Fatal` for a model that is not asked so.
        """
        settings, adapter, log = plan.settings, plan.model.adapter, BatchLog.open(directory.path)
        spools = "batch" in settings.tier
        if not spools and not log.live:
            return None
        if not isinstance(adapter, Deferrable):
            raise UserError(f"{plan.model.info.name} is not asked in batches: leave --tier out")
        deferring = adapter.deferring(directory.path / PACKS)

        # A settled unit may wait for a call all the same: another one beside it was given up.
        records = open_run(directory.path).records() if log.live and directory.settled else ()
        played = {id for record in records if record.settled for id in record.calls}
        shared = {(record.payer, record.name) for record in directory.shared.values()}

        def is_recorded(key: StepKey, place: str) -> bool:
            id = call_id(*key, place)
            return id in played or id in directory.recorded.ids(key) or (key, place) in shared

        caller = BatchCaller(
            deferring,
            log,
            pictures,
            replace(plan.model, tiers=("batch",)).pricing() or UNPRICED,
            spools,
            is_recorded,
            ready if deferring.preflights else _nothing,
        )
        queued = BatchSettings.of(settings).queue_tokens or deferring.limits.queued_tokens
        return cls(plan, directory, caller, Remote(deferring, log, caller, say, queued), say)

    async def run(self, engine: Engine, session: Session) -> None:
        """Take what has come back, ask on, and send what has gathered; with --wait, until the end.

        Raises as `Engine.run`, and `Stopped` where nothing more can be sent.
        """
        if self._all_settled and not self._live:
            await engine.run(session.jobs(), session.settle)
            return
        remote, wait_s = self.remote, FIRST_WAIT_S
        remote.looks.sleep = engine.sleep
        passed = False
        if not self.caller.spools or self._all_settled:
            remote.withdraw()
        while True:
            came = await remote.collect()
            live = self._live
            # Where everything is with the provider, a session only looks.
            idle = self.caller.spools and live and not any(pack.is_unsent for pack in live)
            if came or not (passed or idle):
                try:
                    await self._pass(engine, session)
                    while self.caller.equal.let_go():
                        await self._pass(engine, session)
                except CostLimitReached as reached:
                    if not remote.open:
                        raise
                    # The calls at once; what comes back may have cost less than was set aside.
                    self.say(str(reached))
                    return
                passed = True
                wait_s = FIRST_WAIT_S
            await remote.send()
            live, waits = self._live, BatchSettings.of(self.plan.settings).wait
            if not remote.open and self.caller.full is not None:
                raise self.caller.full
            for line in remote.to_do():
                self.say(line)
            if not live or not waits:
                if live and not remote.open:
                    raise Stopped(f"not sent yet: {remote.log.waiting}")
                return
            self.say(remote.told)
            await engine.sleep(wait_s * random.uniform(1 - WAIT_VARIES, 1 + WAIT_VARIES))
            wait_s = min(LONGEST_WAIT_S, wait_s * WAIT_GROWS)

    async def _pass(self, engine: Engine, session: Session) -> None:
        self.directory.refresh()
        caller = self.caller
        caller.full = None
        # Units of which something came back are first: the first rounds of others must not take
        # the money for their second.
        first = {unit for unit, _ in caller.fetched}
        jobs = session.jobs(first, caller.parked, lambda: caller.full is not None)
        try:
            await engine.run(jobs, session.settle, session.park)
            caller.seal()
        except BaseException:
            self.remote.note_again()
            raise
        finally:
            caller.drop()
        self.directory.sync()
        await self.remote.drain()
        self.directory.note_spent(engine.spent)
        if caller.fatal is not None:
            raise caller.fatal

    @property
    def _live(self) -> list[Pack]:
        return self.remote.log.live

    @property
    def _all_settled(self) -> bool:
        return len(self.directory.settled) == self.plan.dialogues

    @property
    def waiting(self) -> str:
        """How the batches stand that the run waits for; "" if there are none."""
        return self.remote.told if self.remote.open else ""


async def _nothing() -> None:
    return None


async def cancel(path: Path, say: Callable[[str], None]) -> None:
    """End the batches of the run at `path`, and fetch what they have answered by then.

    Raises `UserError`, `Fatal`, `RunError`.
    """
    run = open_run(path)
    model = open_model(settings_of(run)).loaded()
    with RunDirectory.start(path, run.manifest) as directory:
        if not isinstance(model.adapter, Deferrable):
            raise UserError(f"{model.info.name} is not asked in batches")
        deferring, log = model.adapter.deferring(path / PACKS), BatchLog.open(path)
        caller = BatchCaller(
            deferring,
            log,
            PictureStore(),
            UNPRICED,
            spools=False,
            is_recorded=lambda key, place: False,
            ready=_nothing,
        )
        caller.begin(Budget(None, directory.spent))
        remote = Remote(deferring, log, caller, say)
        try:
            wait_s, failures, ends = FIRST_LOOK_S, 0, time.monotonic() + LONGEST_CANCEL_S
            while True:
                # Each time, since a batch may only just have been found.
                await remote.cancel()
                await remote.collect()
                if not remote.open:
                    break
                failures = failures + 1 if remote.failed else 0
                if remote.failed and failures > UNREAD_LOOKS:
                    raise remote.failed
                if time.monotonic() > ends:
                    raise Fault("server", f"not cancelled yet: {remote.told}")
                say(remote.told)
                await asyncio.sleep(wait_s)
                wait_s = min(FIRST_WAIT_S, wait_s * WAIT_GROWS)
        except Fault as fault:
            raise Fatal(f"{printable(str(fault))}; give the same command again later") from fault
        finally:
            await model.adapter.close()
