"""A whole run: open, ask, score, sum up."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from adapters.prices import source
from harness.benchmarks import Dataset, Filters, open_benchmark
from harness.candidates import check_distractors
from harness.engine import (
    BuiltInPicture,
    CostLimitReached,
    Engine,
    EnginePolicy,
    Observer,
    ReplyCache,
    Stopped,
    default_cache_path,
    on_interrupt,
    preflight,
)
from harness.errors import UserError
from harness.evaluation.config import RunConfig
from harness.evaluation.model import Model, open_model, tokens_of
from harness.evaluation.prepare import Preparer
from harness.evaluation.session import Session
from harness.evaluation.stored import StoredPictures
from harness.evaluation.summary import summarise
from harness.pictures import PicturePolicy, PictureStats, PictureStore
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.runs import RunDirectory, Setup, StepRecord, open_run

FIXED = ("none", "positives", "seed", "distractors")
"""What a run on a snapshot must know of how the snapshot was made."""


@dataclass(frozen=True)
class Selected:
    """The steps of a run (`part`), those of all its shards together (`whole`), and how many rows
    each of their tasks has in the data, selected or not."""

    part: Dataset
    whole: Dataset
    task_rows: Mapping[str, int]

    @property
    def cut_short(self) -> dict[str, int]:
        """`task_rows` of the tasks of which the selection leaves something out."""
        kept = Counter(entry.task_id for entry in self.whole.entries)
        return {task: rows for task, rows in self.task_rows.items() if kept[task] < rows}


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start: everything opened, nothing asked."""

    config: RunConfig
    selected: Selected
    protocol: AskingProtocol
    pictures: PicturePolicy
    model: Model
    directory: Path

    @property
    def dataset(self) -> Dataset:
        return self.selected.part

    @property
    def task_rows(self) -> Mapping[str, int]:
        return self.selected.task_rows

    @property
    def dialogues(self) -> int:
        """How many dialogues the selection has, rows that turn out invalid included."""
        return len(self.dataset) * self.config.asking.repeats

    def preparer(self) -> Preparer:
        config = self.config
        rule = self.model.info.image_rule
        return Preparer(config.choosing, config.asking, self.protocol, self.pictures, rule)


@dataclass(frozen=True)
class Finished:
    """How a session ended. `stopped` is the reason when it ended before the last step,
    `too_dear` says whether that was the cost limit, `pictures` counts what was prepared in it."""

    directory: Path
    records: Sequence[StepRecord]
    summary: dict[str, Any]
    complete: bool
    stopped: str | None
    pictures: PictureStats
    too_dear: bool = False


def plan_run(config: RunConfig, *, asks: bool = True) -> Plan:
    """Open everything that a run needs. Raises `UserError` or `Fatal` with one line."""
    # Mistakes in the command come to light before gigabytes of data are fetched.
    pictures = picture_policy(config)
    protocol = open_protocol(config)
    model = open_model(config, protocol, asks=asks)
    if pictures.name != "none" and not model.info.takes_pictures:
        raise UserError(
            f"{model.info.name} takes no pictures; ask it text only with --image-policy none"
        )
    selected = open_data(config)
    made = as_made(config, selected.part.settings)
    if made != config:
        config, protocol = made, open_protocol(made)
        if model.policy is not None:
            model = open_model(made, protocol)
    directory = Path(config.carrying.out or Path("runs") / config.directory_name())
    return Plan(config, selected, protocol, pictures, model, directory)


def open_protocol(config: RunConfig) -> AskingProtocol:
    """The protocol with the settings of the run. Raises `UserError`."""
    from adapters import UnknownName
    from harness.protocols.prompts import load

    asking = config.asking
    try:
        factory = PROTOCOLS.get(asking.protocol)
    except UnknownName as error:
        raise UserError(str(error)) from error
    return factory(
        load(Path(asking.prompts)) if asking.prompts else None,
        none=asking.none,
        history=asking.history,
        max_tokens=asking.max_tokens,
        first_of_many=asking.first_of_many,
        value_style=asking.value_style,
    )


def picture_policy(config: RunConfig) -> PicturePolicy:
    """The screenshot policy of the run. Raises `UserError`."""
    text = config.asking.image_policy
    if config.asking.pixels is not None:
        if not text.startswith("full"):
            raise UserError("--pixels is the budget of --image-policy full; leave it out")
        text += ("," if ":" in text else ":") + f"pixels={config.asking.pixels}"
    policy = PicturePolicy.parse(text)
    if config.asking.lost_rows and policy.name != "none":
        raise UserError("--lost-rows is for text-only runs; add --image-policy none")
    return policy


def open_data(config: RunConfig) -> Selected:
    """The steps of a run. Raises `DataError`."""
    chosen = config.selecting
    opened = open_benchmark(
        chosen.benchmark,
        splits=chosen.splits or None,
        data=Path(chosen.data) if chosen.data else None,
    )
    whole = opened.select(
        Filters(
            websites=chosen.websites,
            domains=chosen.domains,
            task_ids=chosen.task_ids,
            step_ids=chosen.step_ids,
            limit=chosen.limit,
        )
    )
    rows = Counter(entry.task_id for entry in opened.entries)
    task_rows = {entry.task_id: rows[entry.task_id] for entry in whole.entries}
    part = whole.select(Filters(shard=chosen.shard)) if chosen.shard else whole
    if part.layout.negatives_column is not None and part.entries:
        check_distractors(part, config.choosing.distractors)
    return Selected(part, whole, task_rows)


def as_made(config: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """The settings of a run on a snapshot: what the file fixes is taken from the file."""
    known = {name: settings[name] for name in FIXED if name in settings}
    none = known.pop("none", config.asking.none)
    choosing = replace(config.choosing, **known)
    return replace(config, choosing=choosing, asking=replace(config.asking, none=none))


def setup_of(plan: Plan) -> Setup:
    """What the run directory is bound to."""
    info = plan.model.info
    config = plan.config.decisive()
    # Of all shards together: shards of one run must agree in everything but their number.
    entries = plan.selected.whole.entries
    return Setup(
        config=config,
        model={
            "name": info.name,
            "model": info.model,
            "provider": info.provider,
            "revision": info.revision,
            "endpoint": info.endpoint,
            "settings": dict(info.settings),
        },
        dataset={
            **plan.dataset.fingerprint,
            "data": plan.config.selecting.data,
            "splits_asked": list(plan.config.selecting.splits),
            "splits": sorted({entry.split for entry in entries}),
            "rows": len(entries),
            "partial_tasks": plan.selected.cut_short,
        },
        prompts=str(plan.protocol.settings().get("prompts_sha256", "")),
        seed=plan.config.choosing.seed,
        pictures=plan.pictures.text,
    )


async def carry_out(
    plan: Plan,
    observer: Callable[[int, int], contextlib.AbstractContextManager[Observer]],
    scored: Callable[[StepRecord], None],
    say: Callable[[str], None],
) -> Finished:
    """Ask what is not on record yet, and sum up.

    `observer(total, done)` watches the session, `scored` gets every line as it is written, `say` a
    line for the user now and then. Raises `Fatal`, `RunError`, `UserError`.
    """
    config, model = plan.config, plan.model
    settings = {**asdict(config.carrying), "prices_from": source()}
    with RunDirectory.start(plan.directory, setup_of(plan), settings) as directory:
        pictures = PictureStore(config.carrying.workers)
        stored = StoredPictures(pictures)
        shown = BuiltInPicture(stored)
        cache = _cache(config, model, say)
        stopped: Stopped | None = None
        total = plan.dialogues
        try:
            with observer(total, len(directory.settled)) as watching:
                session = Session(
                    config,
                    plan.dataset,
                    plan.protocol,
                    model,
                    plan.preparer(),
                    directory,
                    pictures,
                    stored,
                    scored,
                    watching,
                )
                engine = Engine(
                    model.adapter,
                    shown,
                    config.asking.generation(0),
                    directory,
                    policy=EnginePolicy(
                        concurrency=config.carrying.concurrency,
                        call_timeout_s=config.carrying.timeout_s,
                        max_cost=config.carrying.max_cost,
                        settle_failures=config.carrying.settle_failures,
                    ),
                    cache=cache,
                    pricing=model.pricing(),
                    prompt_tokens=lambda request: tokens_of(request.conversation, model.info),
                    observer=watching,
                    spent=directory.spent,
                    ahead=session.prepare_ahead,
                )
                with on_interrupt(lambda: engine.stop("interrupted")):
                    try:
                        if len(directory.settled) < total and wants_preflight(plan):
                            sends = plan.pictures.name != "none"
                            await preflight(engine, shown.picture if sends else None)
                        await engine.run(session.jobs(), session.settle)
                    except Stopped as reason:
                        stopped = reason
        finally:
            pictures.close()
            if cache is not None:
                await cache.close()
            await model.adapter.close()
        directory.sync()
        run = open_run(plan.directory)
        records = run.steps()
        settled = sum(record.settled for record in records)
        complete = stopped is None and settled == total
        summary = summarise(records, config.scoring, plan.task_rows, run.manifest)
        if complete:
            directory.finish(summary, complete=True)
    why = None if stopped is None else str(stopped)
    too_dear = isinstance(stopped, CostLimitReached)
    return Finished(plan.directory, records, summary, complete, why, pictures.stats, too_dear)


def wants_preflight(plan: Plan) -> bool:
    """Whether one call goes ahead of the run: not for policies and scripts."""
    scripted = plan.model.info.provider == "scripted"
    return plan.config.carrying.preflight and plan.model.policy is None and not scripted


def _cache(config: RunConfig, model: Model, say: Callable[[str], None]) -> ReplyCache | None:
    # A policy is quicker than a database, and a script is edited between runs.
    if not config.carrying.cache or model.info.provider in ("policy", "scripted"):
        return None
    folder = config.carrying.cache_dir
    path = Path(folder) / default_cache_path().name if folder else default_cache_path()
    return ReplyCache(path, say)
