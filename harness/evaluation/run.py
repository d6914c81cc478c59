"""Carries out a run: asks what is not recorded yet, records everything and summarises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.contract import Adapter, Measuring
from adapters.conversation import Tier
from adapters.prices import source
from harness.engine import (
    CostLimitReached,
    Engine,
    EnginePolicy,
    Lane,
    Observer,
    ReplyCache,
    Starvation,
    Stopped,
    VectorCache,
    default_cache_path,
    on_interrupt,
)
from harness.engine.cache import FILE, VECTORS_FILE
from harness.evaluation.beside import Bounds
from harness.evaluation.deferral import Deferral
from harness.evaluation.model import generation, limits_of, tokens_of
from harness.evaluation.plan import Plan, setup_of
from harness.evaluation.reply_limit import preflight_warning
from harness.evaluation.roles import LEXICAL, EmbeddingRole
from harness.evaluation.served import ServedAdapter
from harness.evaluation.session import Session
from harness.evaluation.summary import summarise
from harness.evaluation.tiers import retries
from harness.evaluation.units import unit_kind
from harness.pictures import DiskPictures, PictureStats, PictureStore, built_in_picture
from harness.pictures.disk import FOLDER as PICTURES_FOLDER
from harness.runs import RunDirectory, RunError, UnitRecord, open_run
from harness.settings import Settings, of_session
from harness.tables import counted

STOPPED, REACHED_COST_LIMIT = "stopped", "reached_cost_limit"
"""What a session that ended early has on record of its end."""


@dataclass(frozen=True)
class Finished:
    """How a session ended."""

    directory: Path
    # asyncio writes the result of its main task in words, to no purpose, when it looks at signals.
    records: Sequence[UnitRecord[Any]] = field(repr=False)
    summary: dict[str, Any] = field(repr=False)
    bounds: Bounds | None
    complete: bool
    stopped: str | None
    """Why it ended before the last step; None if it did not."""
    pictures: PictureStats
    """Counts of the pictures prepared in this session."""
    reached_cost_limit: bool = False
    """Whether the cost limit ended it."""
    starvation: Starvation | None = None
    """How long the model waited for batches; None for one that takes single calls."""
    waiting: str = ""
    """How the batches stand that a provider has of the run; "" if it has none."""


async def carry_out(
    plan: Plan,
    observer: Callable[[int, int], contextlib.AbstractContextManager[Observer]],
    scored: Callable[[UnitRecord[Any]], None],
    say: Callable[[str], None],
    stoppable: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> Finished:
    """Ask what is not recorded yet, and summarise.

    Args:
        plan: the run.
        observer: opens an observer of the session, given the numbers of dialogues and settled ones.
        scored: called with the record of every step, first those on record, then as they are
            written.
        say: prints a line for the user.
        stoppable: called with a function that stops the session once calls in flight have ended;
            that function must be called in the running event loop.

    Raises `Fatal`, `RunError`, `UserError`.
    """
    settings, model = plan.settings, plan.model
    served = model.adapter if isinstance(model.adapter, ServedAdapter) else None
    of_this_session = {**of_session(settings), "prices_from": source()}
    again = plan.rereading
    revision = None if again is None else again.revision
    with RunDirectory.start(
        plan.directory, setup_of(plan), of_this_session, revision=revision
    ) as directory:
        if again is not None:
            directory.note_measured({"reread": again.counts})
        pictures = PictureStore(settings.workers, disk=_disk_pictures(plan, say))
        cache, vectors = _caches(plan, say)
        stopped: Stopped | None = None
        total = plan.dialogues
        if directory.lost:
            lost = counted(len(directory.lost), f"settled {plan.dataset.unit}")
            say(
                f"warning: not every call of {lost} is on record any more; --repair asks for them "
                "again"
            )
        if directory.settled:
            # The running scores are those of the run, not of this session.
            for record in open_run(plan.directory).records():
                scored(record)
        deferral: Deferral | None = None
        # Calls that do not go into batches: the first one, and those of other roles.
        at_once: tuple[Tier, ...] = () if "batch" in settings.tier else settings.tier
        try:
            with observer(total, len(directory.settled)) as watching:

                async def preflight() -> None:
                    picture = built_in_picture() if plan.pictures.name != "none" else None
                    reply = await engine.preflight(picture)
                    if warning := preflight_warning(reply, limits_of(settings)):
                        watching.notice(warning)

                deferral = Deferral.open(plan, directory, pictures, preflight, watching.notice)
                deferred = deferral.deferred if deferral else None
                session = Session(plan, directory, pictures, scored, watching, deferred)
                engine = Engine(
                    model.adapter,
                    pictures,
                    generation(settings),
                    directory,
                    policy=_policy(settings, at_once),
                    cache=cache,
                    pricing=replace(model, tiers=at_once).pricing(),
                    prompt_tokens=lambda conversation: tokens_of(conversation, model.info),
                    observer=watching,
                    spent=directory.spent,
                    prepare_picture=session.prepare_picture,
                    roles=_lanes(plan),
                    vectors=vectors,
                    shared=directory.shared,
                    deferred=deferred,
                )

                def interrupt() -> None:
                    engine.stop("interrupted")
                    if served is not None:
                        served.give_up()

                stoppable(interrupt)
                with (
                    on_interrupt(interrupt),
                    _recording_usage(engine, model.adapter, directory),
                ):
                    try:
                        if len(directory.settled) == total and not directory.batches.live:
                            await engine.run(session.jobs(), session.settle)
                        elif deferral is not None:
                            await deferral.passes(engine, session, watching.notice)
                        else:
                            if served is not None:
                                await served.serve(directory, say, engine.stop)
                            if wants_preflight(plan):
                                await preflight()
                            await engine.preflight_roles(roles_to_preflight(plan))
                            await engine.run(session.jobs(), session.settle)
                    except Stopped as reason:
                        stopped = reason
        finally:
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
        waiting = deferral.waiting if deferral else ""
        complete = stopped is None and settled == total and not waiting
        bounds = unit_kind(run.manifest.declaration.kind).beside.bounds(records, settings)
        summary = summarise(records, settings, plan.task_rows, run.manifest, bounds)
        if complete:
            directory.finish(summary, complete=True)
    why = None if stopped is None else str(stopped)
    reached_cost_limit = isinstance(stopped, CostLimitReached)
    return Finished(
        plan.directory,
        records,
        summary,
        bounds,
        complete,
        why,
        pictures.stats,
        reached_cost_limit,
        engine.starvation,
        waiting,
    )


def _policy(settings: Settings, tiers: tuple[Tier, ...]) -> EnginePolicy:
    # Calls wait while a server of the run's own is started again.
    wait_s = settings.serve_timeout if settings.with_server else 0.0
    policy = EnginePolicy(
        concurrency=settings.concurrency,
        # The adapter has the user's limit; this one is for adapters that hang.
        call_timeout_s=2 * settings.timeout_s + 30 + wait_s,
        max_cost=settings.max_cost,
        settle_failures=settings.settle_failures,
        tiers=tiers,
    )
    return replace(policy, retry=retries(settings, policy.retry))


@contextlib.contextmanager
def _recording_usage(engine: Engine, adapter: Adapter, directory: RunDirectory) -> Iterator[None]:
    """Record cost, starvation and the model's own measurements when the block ends or fails."""
    try:
        yield
    finally:
        with contextlib.suppress(RunError):
            directory.note_spent(engine.spent)
            if engine.starvation is not None:
                directory.note_measured({"starvation": engine.starvation.plain()})
            if isinstance(adapter, Measuring):
                directory.note_measured({"model": dict(adapter.measured())})


def wants_preflight(plan: Plan) -> bool:
    """Whether to send a preflight call; not for policies, scripts and protocols without calls."""
    scripted = plan.model.info.provider == "scripted"
    asks = plan.protocol.calls(2)[1] > 0
    return plan.settings.preflight and asks and plan.model.policy is None and not scripted


def _lanes(plan: Plan) -> dict[str, Lane | None]:
    opened = {name: role.lane() for name, role in plan.roles.items()}
    return {role.name: opened.get(role.name) for role in plan.protocol.roles}


def roles_to_preflight(plan: Plan) -> list[str]:
    """The roles that are sent a preflight call, too."""
    if not plan.settings.preflight or plan.model.policy is not None:
        return []
    here = ("scripted", LEXICAL)
    return [name for name, role in plan.roles.items() if role.info.provider not in here]


def _cache_folder(settings: Settings) -> Path:
    return Path(settings.cache_dir) if settings.cache_dir else default_cache_path().parent


def _disk_pictures(plan: Plan, say: Callable[[str], None]) -> DiskPictures | None:
    """The prepared pictures that runs share; None unless the user wants that."""
    settings = plan.settings
    if not settings.picture_cache or plan.model.policy is not None:
        return None
    folder = _cache_folder(settings) / PICTURES_FOLDER
    return DiskPictures(folder, round(settings.picture_cache * 1e9), say)


def _caches(plan: Plan, say: Callable[[str], None]) -> tuple[ReplyCache | None, VectorCache | None]:
    """What earlier runs have left to reuse of replies and of vectors."""
    settings = plan.settings
    if not settings.cache:
        return None, None
    folder, replies, vectors = _cache_folder(settings), None, None
    # A policy is quicker than a database, and a script is edited between runs.
    if plan.model.info.provider not in ("policy", "scripted"):
        replies = ReplyCache(folder / FILE, say)
    embedders = [role for role in plan.roles.values() if isinstance(role, EmbeddingRole)]
    if any(role.info.provider != LEXICAL for role in embedders):
        vectors = VectorCache(folder / VECTORS_FILE, say)
    return replies, vectors
