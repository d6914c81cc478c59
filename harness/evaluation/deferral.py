"""The part of a session that providers answer in batches: passes over the units, and waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.contract import Fatal, Fault, PictureSource
from adapters.deferred.contract import Deferrable
from harness.engine import Budget, Deferred, Engine, Remote
from harness.engine.limits import UNPRICED
from harness.engine.stopping import CostLimitReached, Stopped
from harness.errors import UserError
from harness.evaluation.model import open_model
from harness.evaluation.plan import Plan
from harness.evaluation.rescoring import settings_of
from harness.evaluation.session import Session
from harness.pictures import PictureStore
from harness.printing import printable
from harness.runs import RunDirectory, StepKey, call_id, open_run
from harness.runs.batches import PACKS

FIRST_LOOK_S, FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0, 600.0
WAIT_GROWS, WAIT_VARIES = 1.5, 0.1


@dataclass
class Deferral:
    """The batches of a run, and the passes over its units in which they are sent and read."""

    plan: Plan
    directory: RunDirectory
    deferred: Deferred
    remote: Remote

    @classmethod
    def open(
        cls,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureSource,
        ready: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
    ) -> Deferral | None:
        """What a session needs that sends batches, or finds some of an earlier one.

        None for other sessions. Raises `UserError`, `Fatal` for a model that is not asked so.
        """
        settings, adapter, log = plan.settings, plan.model.adapter, directory.batches
        spools = "batch" in settings.tier
        if not spools and not log.live:
            return None
        if not isinstance(adapter, Deferrable):
            raise UserError(f"{plan.model.info.name} is not asked in batches: leave --tier out")
        deferring = adapter.deferring(directory.path / PACKS)

        # A settled unit may wait for a call all the same: another one beside it was given up.
        records = open_run(directory.path).records() if log.live and directory.settled else ()
        played = {id for record in records if record.settled for id in record.calls}
        shared = {(record.payer, record.place) for record in directory.shared.values()}

        def is_recorded(key: StepKey, place: str) -> bool:
            id = call_id(*key, place)
            return id in played or id in directory.recorded.ids(key) or (key, place) in shared

        deferred = Deferred(
            deferring,
            log,
            pictures,
            Budget(settings.max_cost, directory.spent),
            replace(plan.model, tiers=("batch",)).pricing() or UNPRICED,
            spools,
            is_recorded,
            ready if deferring.preflights else _nothing,
        )
        queued = settings.queue_tokens or deferring.limits.queued_tokens
        return cls(plan, directory, deferred, Remote(deferring, log, deferred, say, queued))

    async def passes(self, engine: Engine, session: Session, say: Callable[[str], None]) -> None:
        """Take what has come back, ask on, and send what has gathered; with --wait, until the end.

        Raises as `Engine.run`, and `Stopped` where nothing more can be sent.
        """
        remote, wait_s = self.remote, FIRST_WAIT_S
        remote.sleep = engine.sleep
        passed = False
        if not self.deferred.spools or self._all_settled:
            remote.withdraw()
        while True:
            came = await remote.collect()
            live = self.directory.batches.live
            # Where everything is with the provider, a session only looks.
            idle = self.deferred.spools and live and not any(pack.is_unsent for pack in live)
            if came or not (passed or idle):
                try:
                    await self._pass(engine, session)
                except CostLimitReached as reached:
                    if not remote.open:
                        raise
                    # The calls at once; what comes back may have cost less than was set aside.
                    say(str(reached))
                    return
                passed = True
                wait_s = FIRST_WAIT_S
            await remote.send()
            live, waits = self.directory.batches.live, self.plan.settings.wait
            if not remote.open and self.deferred.full is not None:
                raise self.deferred.full
            for line in remote.to_do():
                say(line)
            if not live or not waits:
                if live and not remote.open:
                    raise Stopped(f"not sent yet: {self.directory.batches.waiting}")
                return
            say(remote.told)
            await engine.sleep(wait_s * random.uniform(1 - WAIT_VARIES, 1 + WAIT_VARIES))
            wait_s = min(LONGEST_WAIT_S, wait_s * WAIT_GROWS)

    async def _pass(self, engine: Engine, session: Session) -> None:
        self.directory.refresh()
        self.deferred.full = None
        try:
            await engine.run(session.jobs(), session.settle, session.park)
            self.deferred.seal()
        finally:
            self.deferred.drop()
        self.directory.sync()
        await self.remote.drain()
        self.directory.note_spent(engine.spent)
        if self.deferred.fatal is not None:
            raise self.deferred.fatal

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
        deferring, log = model.adapter.deferring(path / PACKS), directory.batches
        budget = Budget(None, directory.spent)
        deferred = Deferred(
            deferring,
            log,
            PictureStore(),
            budget,
            UNPRICED,
            spools=False,
            is_recorded=lambda key, place: False,
            ready=_nothing,
        )
        remote = Remote(deferring, log, deferred, say)
        try:
            wait_s = FIRST_LOOK_S
            while True:
                # Each time, since a batch may only just have been found.
                await remote.cancel()
                await remote.collect()
                if not remote.open:
                    break
                say(remote.told)
                await asyncio.sleep(wait_s)
                wait_s = min(FIRST_WAIT_S, wait_s * WAIT_GROWS)
        except Fault as fault:
            raise Fatal(f"{printable(str(fault))}; give the same command again later") from fault
        finally:
            await model.adapter.close()
