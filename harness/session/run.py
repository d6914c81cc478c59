"""Carry out a run: ask what is not recorded yet, record everything and summarise."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adapters.contract import Adapter, Measuring
from adapters.prices import source
from harness.benchmarks import benchmark
from harness.engine import (
    Caller,
    CostLimitReached,
    Engine,
    EnginePolicy,
    Lane,
    ReplyCache,
    Stopped,
    default_cache_path,
    on_interrupt,
)
from harness.engine.cache import FILE
from harness.kinds.contract import unit_kind
from harness.pictures import PictureStore, built_in_picture
from harness.planning.model import limits_of
from harness.planning.plan import Plan, setup_of
from harness.runs import RunDirectory, RunError, open_run
from harness.runs.callers import CALLERS, at_once, caller_named, callers_at
from harness.session.observers import Finished, SessionObserver
from harness.session.reply_limit import preflight_warning
from harness.session.session import Session
from harness.session.summary import summarise
from harness.settings import Settings, of_session
from harness.tables import counted
from parsers.records import Status

if TYPE_CHECKING:
    from harness.engine.acts_and_embeds import VectorCache
    from harness.pictures.disk import DiskPictures

ON_FLEX: Mapping[str, Any] = {"attempts": 40, "patience_s": 3600.0}
"""Retries of a call on flex."""
STOPPED, REACHED_COST_LIMIT = "stopped", "reached_cost_limit"
"""Keys of the record of a session that ended early."""


async def carry_out(
    plan: Plan,
    observer: SessionObserver,
    stoppable: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> Finished:
    """Ask what is not recorded yet, and summarise.

    Args:
        plan: the run.
        observer: receives the course of the session and its result.
        stoppable: called with a function that stops the session once calls in flight have ended;
            that function must be called in the running event loop.

    Raises `Fatal`, `RunError`, `UserError`.
    """
    settings, model, say = plan.settings, plan.model, observer.notice
    of_this_session = {
        **of_session(settings),
        "prices_from": source(),
        "data_published": benchmark(settings.benchmark).published,
        "model_released": model.sheet.released_on(model.info),
    }
    with RunDirectory.start(plan.directory, setup_of(plan), of_this_session) as directory:
        pictures = PictureStore(settings.workers, disk=_disk_pictures(plan, say))
        cache, vectors = _caches(plan, say)
        stopped: Stopped | None = None
        total = plan.dialogues
        if directory.lost:
            lost = counted(
                len(directory.lost),
                f"answered {plan.dataset.unit}",
                f"answered {plan.dataset.units}",
            )
            say(
                f"warning: not every call of {lost} is on record any more; --repair asks for them "
                "again"
            )
        # The running scores are those of the run, not of this session.
        before = open_run(plan.directory).records() if directory.settled else ()
        passes: Passes | None = None
        # Calls that are not handed over: the first one, and those of other roles.
        tiers = at_once(settings.tier)
        try:
            observer.begun(plan, len(directory.settled), before)
            unanswered = (None, Status.NO_REPLY, Status.PROVIDER_REFUSED)
            answered = any(
                one.calls and (one.prediction and one.prediction.status) not in unanswered
                for one in before
            )

            async def preflight() -> None:
                picture = built_in_picture() if plan.pictures.name != "none" else None
                reply = await engine.preflight(picture)
                if warning := preflight_warning(reply, limits_of(settings)):
                    say(warning)

            passes = _open_passes(plan, directory, pictures, preflight, say)
            session = Session(plan, directory, pictures, observer)
            engine = Engine(
                replace(model, tiers=tiers).lane(settings, passes.caller if passes else None),
                pictures,
                directory,
                policy=engine_policy(settings),
                cache=cache,
                observer=observer,
                spent=directory.spent,
                prepare_picture=session.prepare_picture,
                roles=_lanes(plan),
                vectors=vectors,
                shared=directory.shared,
                answered=answered,
            )

            def interrupt() -> None:
                engine.stop("interrupted")

            stoppable(interrupt)
            with (
                on_interrupt(interrupt),
                _recording_usage(engine, model.adapter, directory),
            ):
                try:
                    if passes is not None:
                        await passes.run(engine, session)
                    elif len(directory.settled) == total:
                        await engine.run(session.jobs(), session.settle)
                    else:
                        await engine.open(directory.path, say)
                        if plan.preflights:
                            await preflight()
                        await engine.preflight_roles(plan.preflighted_roles)
                        await engine.run(session.jobs(), session.settle)
                except Stopped as reason:
                    stopped = reason
        finally:
            observer.ended()
            await plan.kind.close()
            pictures.close()
            for store in (cache, vectors):
                if store is not None:
                    await store.close()
            if not model.is_borrowed:
                await model.adapter.close()
            for role in plan.roles.values():
                await role.close()
        if stopped is not None:
            reached = isinstance(stopped, CostLimitReached)
            directory.note_measured({STOPPED: str(stopped), REACHED_COST_LIMIT: reached})
        directory.sync()
        run = open_run(plan.directory)
        records = run.records()
        settled = sum(record.settled for record in records)
        waiting = passes.waiting if passes else ""
        complete = stopped is None and settled == total and not waiting
        bounds = unit_kind(run.manifest.declaration.kind).extras.bounds(records, settings)
        summary = summarise(records, settings, plan.selected.task_rows, run.manifest, bounds)
        if complete:
            directory.finish(summary, complete=True)
    why = None if stopped is None else str(stopped)
    reached_cost_limit = isinstance(stopped, CostLimitReached)
    done = Finished(
        plan.directory,
        records,
        summary,
        bounds,
        complete,
        why,
        pictures.stats,
        reached_cost_limit,
        engine.closing_line,
        waiting,
    )
    observer.finished(done)
    return done


class Passes(Protocol):
    """Passes over the units of a run: each takes replies that came, and hands calls over."""

    @property
    def caller(self) -> Caller:
        """What the engine hands calls over to."""
        ...

    async def run(self, engine: Engine, session: Session) -> None:
        """Make passes as long as something comes of them.

        Raises as `Engine.run`, and `Stopped` where nothing more can be handed over.
        """
        ...

    @property
    def waiting(self) -> str:
        """What the run waits for, for the user; "" if for nothing."""
        ...


def _open_passes(
    plan: Plan,
    directory: RunDirectory,
    pictures: PictureStore,
    ready: Callable[[], Awaitable[None]],
    say: Callable[[str], None],
) -> Passes | None:
    """The passes of a run whose tier has a caller, or that has calls handed over to one.

    `ready` is called once before the first call is handed over. Returns None for other runs.
    """
    begun = callers_at(directory.path)
    for name in CALLERS.names():
        if name in plan.settings.tier or name in begun:
            passes: Passes | None = caller_named(name).open(plan, directory, pictures, ready, say)
            if passes is not None:
                return passes
    return None


def engine_policy(settings: Settings) -> EnginePolicy:
    """Return limits and retries; flex, which may lack capacity for a while, is tried longer."""
    given = {"attempts": settings.attempts, "patience_s": settings.patience_s}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    policy = EnginePolicy(
        # The adapter has the user's limit; this one is for adapters that hang.
        call_timeout_s=2 * settings.timeout_s + 30,
        max_cost=settings.max_cost,
        score_failures=settings.score_failures,
        tiers=at_once(settings.tier),
    )
    usual = ON_FLEX if "flex" in settings.tier else {}
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


def _lanes(plan: Plan) -> dict[str, Lane | None]:
    opened = {name: role.lane() for name, role in plan.roles.items()}
    return {role.name: opened.get(role.name) for role in plan.protocol.roles}


def _cache_folder(settings: Settings) -> Path:
    return Path(settings.cache_dir) if settings.cache_dir else default_cache_path().parent


def _disk_pictures(plan: Plan, say: Callable[[str], None]) -> DiskPictures | None:
    """The prepared pictures that runs share; None unless the user wants that."""
    settings = plan.settings
    if not settings.picture_cache or not plan.model.sees:
        return None
    from harness.pictures.disk import FOLDER, DiskPictures

    folder = _cache_folder(settings) / FOLDER
    return DiskPictures(folder, round(settings.picture_cache * 1e9), say)


def _named(directory: Path) -> str:
    """Return a directory as other runs name it: without the folders of this machine."""
    return directory.name if directory.is_absolute() else directory.as_posix()


def _caches(plan: Plan, say: Callable[[str], None]) -> tuple[ReplyCache | None, VectorCache | None]:
    """Open the caches of replies and vectors that runs share."""
    settings = plan.settings
    if not settings.cache:
        return None, None
    folder, replies, vectors = _cache_folder(settings), None, None
    # A policy is quicker than a database, and a script is edited between runs.
    if plan.model.info.provider not in ("policy", "scripted"):
        replies = ReplyCache(folder / FILE, say, run=_named(plan.directory))
    if not plan.roles:
        return replies, None
    from harness.planning.roles import LEXICAL, EmbeddingRole

    embedders = [role for role in plan.roles.values() if isinstance(role, EmbeddingRole)]
    if any(role.info.provider != LEXICAL for role in embedders):
        from harness.engine.acts_and_embeds import VECTORS_FILE, VectorCache

        vectors = VectorCache(folder / VECTORS_FILE, say)
    return replies, vectors
