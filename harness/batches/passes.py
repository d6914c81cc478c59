"""Sessions whose calls a provider answers in batches: passes over the units, and waits.

`check`, `heading`, `open_batches` and the command `batches` are called by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import click

from adapters.batches.contract import Deferrable, Deferring, deferring_of
from adapters.catalog import MODELS
from adapters.contract import Fatal, Fault, PictureSource
from harness.batches.lane import InBatches, Spool
from harness.batches.log import BatchLog
from harness.batches.remote import Remote
from harness.engine import Budget, CostLimitReached, Engine, Job, Lane, Stopped
from harness.engine.limits import UNPRICED
from harness.errors import UserError
from harness.pictures import PictureStore
from harness.planning.estimated_calls import EstimatedCall, preflight_calls
from harness.planning.model import open_model, options_of
from harness.planning.plan import Plan
from harness.printing import printable, say
from harness.runs import RunDirectory, open_run
from harness.runs.files import CALLS, read_records
from harness.runs.on_record import CallHead
from harness.runs.run import settings_of
from harness.session.display import span
from harness.session.session import Session
from harness.settings import Settings
from harness.tables import Grid, Heading, counted, render, rows_of

FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 600.0
WAIT_GROWS, WAIT_VARIES = 1.5, 0.1


async def _nothing() -> None:
    return None


def open_batches(
    plan: Plan,
    directory: RunDirectory,
    pictures: PictureSource,
    ready: Callable[[], Awaitable[None]],
    say: Callable[[str], None],
) -> Passes | None:
    """Return the passes of a session that sends batches, or finds some of an earlier one.

    `ready` is called once before the first request is put into a batch. Returns None for other
    sessions. Raises `Fatal` for a model that is not asked so.
    """
    log, spools = BatchLog.open(directory.path), plan.settings.tier == "batch"
    if not spools and not log.live:
        return None
    deferring = deferring_of(plan.model.adapter, plan.model.info.name)
    heads = read_records(directory.path / CALLS, CallHead) if log.live else ()
    recorded = {head.id for head in heads}
    first = max((case.cost or 0.0 for case in preflight_calls(plan)), default=0.0)
    spool = Spool(deferring, log, pictures, spools, recorded, ready, first)
    queued = plan.settings.queue_tokens or deferring.limits.queued_tokens
    return Passes(plan, directory, spool, Remote(spool, say, queued), say)


@dataclass
class Passes:
    """The batches of a run, and passes over its units that read results and send requests."""

    plan: Plan
    directory: RunDirectory
    spool: Spool
    remote: Remote
    say: Callable[[str], None]

    def lane(self, lane: Lane) -> Lane:
        """Return the way to the model under test through its batches."""
        return InBatches(*(getattr(lane, one.name) for one in fields(Lane)), spool=self.spool)

    async def run(self, engine: Engine, session: Session) -> None:
        """Take what has come back, ask on, and send what has gathered; with `wait`, until the end.

        Raises as `Engine.run`, and `Stopped` where nothing more can be sent.
        """
        remote, spool, log = self.remote, self.spool, self.spool.log
        remote.sleep = engine.sleep
        all_settled = len(self.directory.settled) == self.plan.dialogues
        if not spool.spools or all_settled:
            remote.withdraw()
        if all_settled and not log.live:
            return
        wait_s, passed = FIRST_WAIT_S, False
        while True:
            came = await remote.collect()
            # Where everything is with the provider, a session only looks.
            idle = spool.spools and log.live and not log.at("unsent")
            if came or not (passed or idle):
                try:
                    await self._pass(engine, session)
                    # The replies have cost less than was set aside.
                    while spool.full and spool.budget.fits(spool.wanted):
                        await self._pass(engine, session)
                except CostLimitReached as reached:
                    if not log.at("open"):
                        raise
                    # Calls at once ended here; replies to come may cost less than is set aside.
                    self.say(str(reached))
                    return
                passed, wait_s = True, FIRST_WAIT_S
            await remote.send()
            if not log.at("open") and spool.full is not None:
                raise spool.full
            if not log.live or not self.plan.settings.wait:
                if log.live and not log.at("open"):
                    raise Stopped(f"not sent yet: {open_run(self.directory.path).waiting}")
                return
            self.say(_standing(spool))
            await engine.sleep(wait_s * random.uniform(1 - WAIT_VARIES, 1 + WAIT_VARIES))
            wait_s = min(LONGEST_WAIT_S, wait_s * WAIT_GROWS)

    async def _pass(self, engine: Engine, session: Session) -> None:
        self.directory.refresh()
        spool = self.spool
        spool.full = None
        try:
            if self.plan.settings.cache:
                # Whose kept replies answer, the first call says.
                await spool.prepare()
            await engine.run(self._jobs(session), session.settle, session.park)
            spool.seal()
        except BaseException:
            self.remote.keep_again()
            raise
        finally:
            spool.drop()
        self.directory.sync()
        await self.remote.drain()
        self.directory.note_spent(engine.spent)
        if spool.fatal is not None:
            raise spool.fatal

    async def _jobs(self, session: Session) -> AsyncGenerator[Job]:
        """Yield the dialogues that have something to read, and others as long as there is money."""
        fetched = self.spool.fetched
        async with contextlib.aclosing(session.jobs(self.spool.waiting)) as jobs:
            async for job in jobs:
                yield job
                fetched.discard((job.unit_id, job.repeat))
                if self.spool.full and not fetched:
                    return

    @property
    def waiting(self) -> str:
        """The batches that the run waits for, in words; "" if there are none."""
        return _standing(self.spool) if self.spool.log.at("open") else ""


def _standing(spool: Spool) -> str:
    """Describe the packs of a run that are not over."""
    live, now, budget = spool.log.live, time.time(), spool.budget
    batches = [pack.batch for pack in live if pack.batch]
    total, answered = sum(pack.requests for pack in live), sum(one.answered for one in batches)
    parts = [f"{counted(len(live), 'batch', 'batches')}, {answered:,} of {total:,} answered"]
    if failed := sum(one.failed for one in batches):
        parts.append(f"{failed:,} to ask again")
    if unsent := len(spool.log.at("unsent")):
        parts.append(f"{unsent} not sent yet")
    if created := [pack.created_at for pack in live if pack.created_at]:
        parts.append(f"oldest {span(now - min(created))}")
    if expires := [one.expires_at for one in batches if one.expires_at]:
        parts.append(f"expires in {span(min(expires) - now)}")
    return ", ".join([*parts, f"${budget.spent:.2f} spent", f"${budget.held:.2f} reserved"])


async def cancel(path: Path, say: Callable[[str], None]) -> None:
    """Have the provider end the batches of the run at `path`, and fetch what has ended.

    Raises `UserError`, `Fatal`, `RunError`.
    """
    run = open_run(path)
    model = open_model(settings_of(run)).loaded()
    with RunDirectory.start(path, run.manifest) as directory:
        log = BatchLog.open(path)
        deferring = deferring_of(model.adapter, model.info.name)
        spool = Spool(deferring, log, PictureStore(), False, (), _nothing)
        spool.begin(Budget(None, directory.spent), UNPRICED)
        remote = Remote(spool, say)
        try:
            # The first look may find a batch whose creation was not confirmed.
            for _ in range(2):
                await remote.cancel()
                await remote.collect()
            if any(pack.batch is None for pack in log.at("open")):
                raise Fault("server", "a batch that may have been begun is not found yet")
        except Fault as fault:
            raise Fatal(f"{printable(str(fault))}; give the same command again later") from fault
        finally:
            await model.adapter.close()


WAVE_HOURS = 24
MANY_WAVES = 3
"""More waves than this are worth a warning."""


def check(settings: Settings) -> None:
    """Raise `UserError` for a run without its first call."""
    if not settings.preflight:
        raise UserError(
            "--adapter-option preflight=no: without the first call, a mistake comes back after a "
            "day on every request of a batch; leave it out"
        )


def planned(plan: Plan) -> Deferring:
    """Return how the model of a plan is asked in batches. Raises `Fatal`."""
    adapter = plan.model.adapter
    if not isinstance(adapter, Deferrable):
        # The stand-in for a model that is not loaded has its declaration only.
        adapter = MODELS.keyless(plan.settings.model, **options_of(plan.settings))
    return deferring_of(adapter, plan.model.info.name)


def heading(plan: Plan, calls: Sequence[EstimatedCall]) -> str:
    """Say how long batches take, by the calls of a dialogue. Raises as `planned`."""
    planned(plan)
    waves = 1 + max((call.turn for call in calls), default=0)
    waits = f"{counted(waves, 'wave')}, up to {WAVE_HOURS} h each"
    line = f"{'batches:':<9} {waits}, as far as the first step shows"
    if waves > MANY_WAVES:
        line += f"; warning: more than {MANY_WAVES}, each of which waits for the one before"
    return line


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--cancel", is_flag=True, help="Have the provider end them.")
def batches(run: Path, cancel: bool) -> int:
    """Show which batches of RUN a provider has, as far as is known here.

    Starting the run again looks at them and takes what has been answered. Exit code 3 while there
    are any.
    """
    opened = open_run(run)
    if cancel:
        from harness.batches import passes

        asyncio.run(passes.cancel(run, lambda line: say(line, err=True)))
    log = BatchLog.read(run)
    if not log.packs:
        say(f"{run}: no batches")
        return 0
    heads = ("requests", "MB", "at most", "created (UTC)", "expires (UTC)")
    columns = (
        Heading("batch"),
        Heading("state", "left"),
        *map(Heading, heads),
        Heading("id", "left"),
    )
    rows = [
        (
            str(pack.n),
            pack.state,
            f"{pack.requests:,}",
            f"{pack.bytes / 1e6:,.1f}",
            f"${pack.upper:,.4f}",
            _time(pack.created_at),
            _time(pack.batch.expires_at if pack.batch else None),
            pack.batch.id if pack.batch else "–",
        )
        for pack in log.packs.values()
    ]
    say(render(Grid("", columns, rows_of(rows)), note="").rstrip("\n"))
    if opened.waiting is None:
        return 0
    unsent = bool(log.at("unsent"))
    to_do = "send what is not sent, and to take" if unsent else "take"
    say(f"waiting: {opened.waiting}. Start the run again to {to_do} what has been answered.")
    return 3


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
