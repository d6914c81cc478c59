"""Carry out a run: ask what is not recorded yet, record everything and summarise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from adapters.contract import Adapter, Measuring
from adapters.digests import cache_folder
from adapters.prices import source
from harness.engine import (
    CostLimitReached,
    Engine,
    EnginePolicy,
    NoAnswers,
    Stopped,
    on_interrupt,
)
from harness.errors import from_leaf
from harness.pictures import PictureStats, PictureStore, built_in_picture
from harness.planning.plan import Plan, setup_of
from harness.runs import RunDirectory, RunError, open_run
from harness.runs.manifest import NO_ANSWERS
from harness.runs.on_record import has_batches
from harness.session.deployment import Deployment
from harness.session.observers import INTERRUPTED, Finished, SessionObserver
from harness.session.session import Session
from harness.session.summary import results_of, summarise
from harness.settings import VERIFIED, Settings, of_session

if TYPE_CHECKING:
    from harness.engine.cache import ReplyCache

ON_FLEX: Mapping[str, Any] = {"attempts": 40, "patience_s": 3600.0}
"""Retries of a call on flex."""
STOPPED, REACHED_COST_LIMIT = "stopped", "reached_cost_limit"
"""Keys of the record of a session that ended early."""


async def carry_out(plan: Plan, observer: SessionObserver) -> Finished:
    """Ask what is not recorded yet, and summarise.

    `observer` receives the course of the session and its result. `interrupt` and the first Ctrl-C
    stop the session once calls in flight have ended. Raises `Fatal`, `RunError`, `UserError`.
    """
    of_this_session = {
        **of_session(plan.settings),
        "prices_from": source(),
        "data_published": plan.source.published,
        "model_released": plan.model.sheet.released_on(plan.model.info),
    }
    with RunDirectory.start(plan.directory, setup_of(plan), of_this_session) as directory:
        directory.detail = plan.source.Detail
        stopped, waiting, pictures = await _ask(plan, directory, observer)
        if stopped is not None:
            reached = isinstance(stopped, CostLimitReached)
            directory.note_measured({STOPPED: str(stopped), REACHED_COST_LIMIT: reached})
            if isinstance(stopped, NoAnswers):
                directory.note_measured({NO_ANSWERS: True})
        directory.sync()
        done = _finished(plan, stopped, waiting, pictures)
        if done.complete:
            directory.finish(done.summary, complete=True)
    observer.finished(done)
    return done


async def _ask(
    plan: Plan, directory: RunDirectory, observer: SessionObserver
) -> tuple[Stopped | None, str, PictureStats]:
    """Hold the dialogues that are not on record yet, and close everything that they needed.

    Returns why it ended before the last dialogue, why the run waits ("" if it does not), and counts
    of pictures.
    """
    settings, model, say = plan.settings, plan.model, observer.notice
    policy = engine_policy(settings)
    directory.warn = say
    # The running scores are those of the run, not of this session.
    before = open_run(plan.directory).records() if directory.settled else ()
    stopped: Stopped | None = None
    async with contextlib.AsyncExitStack() as closing:
        # Closed in reverse order.
        for role in plan.roles.values():
            closing.push_async_callback(role.close)
        closing.push_async_callback(model.close)
        cache = _reply_cache(plan, say)
        if cache is not None:
            closing.push_async_callback(cache.close)
        pictures = PictureStore()
        closing.callback(pictures.close)
        closing.push_async_callback(plan.source.close)
        closing.callback(observer.ended)
        observer.begun(plan, len(directory.settled), before)

        verified, is_known = None, settings.verify or VERIFIED.is_dir()
        if is_known and settings.verify != "off" and len(directory.settled) < plan.dialogues:
            verified = await from_leaf("harness.verify.kept:known")(plan, directory, say)

        async def preflight() -> None:
            picture = built_in_picture() if plan.pictures.name != "none" else None
            shown = verified.picture(picture, pictures) if verified else picture
            reply = await engine.preflight(shown)
            if verified:
                verified.note(directory, reply if picture else None, say)
            deployment.take_first(reply)

        batches = None
        if settings.tier == "batch" or has_batches(directory.path):
            batches = from_leaf("harness.batches.passes:open_batches")(
                plan, directory, pictures, preflight, say
            )
        deployment = Deployment(plan, before, lambda reason: engine.stop(reason), say)
        session = Session(plan, directory, pictures, observer, deployment)
        lane = model.lane()
        lanes = {name: role.lane() for name, role in plan.roles.items()}
        engine = Engine(
            lane if batches is None else batches.lane(lane),
            pictures,
            directory,
            policy=policy,
            cache=cache,
            reuse=bool(settings.cache),
            observer=observer,
            spent=directory.spent,
            prepare_picture=session.prepare_picture,
            roles={role.name: lanes.get(role.name) for role in plan.protocol.roles},
            shared=session.shared,
        )

        stop = partial(engine.stop, INTERRUPTED)
        with on_interrupt(stop), _recording_usage(engine, model.adapter, directory):
            try:
                if batches is not None:
                    await batches.run(engine, session)
                else:
                    if len(directory.settled) < plan.dialogues:
                        await engine.open(directory.path, say)
                        if plan.preflights:
                            await preflight()
                        elif verified:
                            verified.note(directory, None, say)
                        await engine.preflight_roles(plan.preflighted_roles)
                        await engine.introduce()
                    await engine.run(session.jobs(), session.settle)
                if batches is None or not batches.waiting:
                    deployment.finish()
            except Stopped as reason:
                stopped = reason
        session.end()
    return stopped, batches.waiting if batches else "", pictures.stats


def _finished(
    plan: Plan, stopped: Stopped | None, waiting: str, pictures: PictureStats
) -> Finished:
    """The result of a session, with the summary of what is on record of the run."""
    run, settings, source = open_run(plan.directory), plan.settings, plan.source
    run.benchmark = source
    records = run.records()
    found = results_of(records, settings, source, plan.selected.task_rows)
    settled = sum(record.settled for record in records)
    return Finished(
        plan.directory,
        records,
        summarise(records, settings, source, run.manifest, found),
        found,
        complete=stopped is None and settled == plan.dialogues and not waiting,
        stopped=None if stopped is None else str(stopped),
        pictures=pictures,
        reached_cost_limit=isinstance(stopped, CostLimitReached),
        without_answers=isinstance(stopped, NoAnswers),
        waiting=waiting,
    )


def engine_policy(settings: Settings) -> EnginePolicy:
    """Return limits and retries; flex, which may lack capacity for a while, is tried longer."""
    given = {"attempts": settings.attempts, "patience_s": settings.patience_s}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    policy = EnginePolicy(
        # The adapter has the user's limit; this one is for adapters that hang.
        call_timeout_s=2 * settings.timeout_s + 30,
        max_cost=settings.max_cost,
        score_failures=settings.score_failures,
        tier="" if settings.tier == "batch" else settings.tier or "",
    )
    usual = ON_FLEX if settings.tier == "flex" else {}
    return replace(
        policy,
        retry=replace(policy.retry, **{**usual, **chosen}),
        first_call=replace(policy.first_call, **chosen),
    )


@contextlib.contextmanager
def _recording_usage(engine: Engine, adapter: Adapter, directory: RunDirectory) -> Iterator[None]:
    """Record cost and the model's own measurements when the block ends or fails."""
    try:
        yield
    finally:
        with contextlib.suppress(RunError):
            directory.note_spent(engine.spent)
            if isinstance(adapter, Measuring):
                directory.note_measured({"model": dict(adapter.measured())})


def _reply_cache(plan: Plan, say: Callable[[str], None]) -> ReplyCache | None:
    """Open the replies that runs share; None for a run that does without."""
    # A policy is quicker than a database, and a script is edited between runs.
    if plan.settings.cache is False or plan.model.info.stand_in:
        return None
    from harness.engine.cache import FILE, ReplyCache

    # Other runs name it without the folders of this machine.
    run = plan.directory.name if plan.directory.is_absolute() else plan.directory.as_posix()
    return ReplyCache(cache_folder() / FILE, say, run=run)
