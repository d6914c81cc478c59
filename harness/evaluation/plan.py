"""A run made ready: everything opened and checked, nothing asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from harness.benchmarks import Dataset, Filters, benchmark, open_benchmark
from harness.candidates import check_distractors
from harness.errors import UserError
from harness.evaluation.asked import (
    as_asked,
    check_model,
    check_pictures,
    open_protocol,
    picture_policy,
)
from harness.evaluation.config import Choosing, RunConfig
from harness.evaluation.history import EarlierActions
from harness.evaluation.model import Model, open_model
from harness.evaluation.questions import Preparer
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol
from harness.protocols.contract import told_candidates
from harness.rankers import PUBLISHED, Ranks, check_covered, open_ranks
from harness.runs import Setup, settled_before

CHOSEN = tuple(field.name for field in fields(Choosing))
ASKED = ("none", "history", "image_policy", "pixels", "lost_rows")
"""What a run on a snapshot takes over from how the snapshot was made."""


@dataclass(frozen=True)
class Selected:
    """The steps of a run (`part`), those of all its shards together (`whole`), and how many rows
    each of their tasks has in the data, selected or not."""

    part: Dataset
    whole: Dataset
    task_rows: Mapping[str, int]
    tasks: Dataset

    @property
    def cut_short(self) -> dict[str, int]:
        """`task_rows` of the tasks of which the selection leaves something out."""
        kept = Counter(entry.task_id for entry in self.whole.entries)
        return {task: rows for task, rows in self.task_rows.items() if kept[task] < rows}


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start: everything opened, nothing asked.

    `ranks` are the candidates' where a ranker decides which are asked about.
    """

    config: RunConfig
    selected: Selected
    protocol: AskingProtocol
    pictures: PicturePolicy
    model: Model
    directory: Path
    ranks: Ranks | None = None

    @property
    def dataset(self) -> Dataset:
        return self.selected.part

    @property
    def task_rows(self) -> Mapping[str, int]:
        return self.selected.task_rows

    @property
    def dialogues(self) -> int:
        """How many dialogues the selection has, rows that turn out invalid included."""
        return len(self.dataset) * self.config.asking.times

    @property
    def usual_count(self) -> int:
        """How many candidates a step has, as far as the settings say; 100 where they do not."""
        return usual_count(self.config.choosing)

    def preparer(self) -> Preparer:
        config = self.config
        return Preparer(
            config.choosing,
            config.asking,
            self.protocol,
            self.pictures,
            self.model.info.image_rule,
            ranks=self.ranks,
            # Baselines read choices even where models are not shown them.
            texts=self.protocol.needs.texts or self.model.policy is not None,
            earlier=EarlierActions(self.selected.tasks) if self.protocol.needs.earlier else None,
        )


def usual_count(choosing: Choosing) -> int:
    """How many candidates a step has by the settings; 100 where those of a page decide."""
    if choosing.candidates == "all":
        return 100
    return choosing.top_k or choosing.distractors + 1


def plan_run(config: RunConfig, *, asks: bool = True) -> Plan:
    """Open everything that a run needs. Raises `UserError` or `Fatal` with one line."""
    # Mistakes in the command come to light before gigabytes of data are fetched.
    protocol = open_protocol(config)
    given, config = config, as_asked(config, protocol)
    pictures = picture_policy(config)
    check_pictures(config, protocol, pictures)
    ranks = _ranks(config)
    model = open_model(config, protocol, asks=asks)
    if protocol.needs.point and model.policy is None:
        protocol = open_protocol(given, model.info)
        config = as_asked(given, protocol)
    check_model(protocol, model.info, pictures)
    selected = open_data(config)
    made = as_made(config, selected.part.settings)
    if made != config:
        config, protocol, pictures = made, open_protocol(made), picture_policy(made)
        if model.policy is not None:
            model = open_model(made, protocol)
    _check_letters(protocol, config.choosing)
    if ranks is not None:
        check_covered(ranks, [entry.step_id for entry in selected.part.entries])
    directory = Path(config.carrying.out or Path("runs") / config.directory_name())
    return _loaded(Plan(config, selected, protocol, pictures, model, directory, ranks))


def _loaded(plan: Plan) -> Plan:
    """With a model on this machine loaded, unless nobody is left to be asked about.

    The last thing to be done: a directory of another run comes to light before it.
    """
    if plan.model.load is None:
        return plan
    settled = settled_before(plan.directory, setup_of(plan))
    if settled >= plan.dialogues or plan.protocol.calls(plan.usual_count)[1] == 0:
        return plan
    return replace(plan, model=plan.model.loaded())


def _ranks(config: RunConfig) -> Ranks | None:
    if config.choosing.candidates != "ranker" or config.choosing.ranker is None:
        return None
    return open_ranks(config.choosing.ranker)


def _check_letters(protocol: AskingProtocol, choosing: Choosing) -> None:
    if choosing.candidates == "all":
        return
    given = f"--distractors {choosing.distractors}"
    if choosing.candidates == "ranker":
        given = f"--top-k {choosing.top_k}"
    try:
        protocol.letters(usual_count(choosing))
    except ValueError as error:
        raise UserError(f"{given} are too many: {error}") from error


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
    drawn = config.choosing.candidates in (None, "snapshot")
    if drawn and part.layout.negatives_column is not None and part.entries:
        check_distractors(part, config.choosing.distractors)
    tasks = opened.select(Filters(task_ids=tuple(task_rows)))
    return Selected(part, whole, task_rows, tasks)


def as_made(config: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """The settings of a run on a snapshot: what the file fixes is taken from the file."""
    chosen = {name: settings[name] for name in CHOSEN if name in settings}
    asked = {name: settings[name] for name in ASKED if name in settings}
    return replace(
        config,
        choosing=replace(config.choosing, **chosen),
        asking=replace(config.asking, **asked),
    )


def setup_of(plan: Plan) -> Setup:
    """What the run directory is bound to."""
    info = plan.model.info
    config = {**plan.config.decisive(), **told_choices(plan)}
    made, asked = plan.dataset.settings, plan.protocol.settings()
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
        prompts=str(made.get("protocol_prompts_sha256") or asked.get("prompts_sha256", "")),
        seed=plan.config.choosing.seed,
        pictures=plan.pictures.text,
    )


def told_choices(plan: Plan) -> dict[str, Any]:
    """What a run has on record of its candidates and its None option, beside the settings.

    A ranker goes by what it calls itself and by a digest: the same scores may lie in another file
    elsewhere. The words for comparison with published rows are left out where choices are stored.
    """
    choosing, ranks = plan.config.choosing, plan.ranks
    if "choices" in benchmark(plan.config.selecting.benchmark).fixes:
        return {}
    rule = plan.config.asking.none or getattr(plan.protocol, "none_rule", None)
    told = told_candidates(plan.protocol, choosing.candidates or "snapshot", choosing.top_k)
    if choosing.candidates != "snapshot":
        needs = plan.protocol.needs
        usual = (
            "none" if needs.pictures == "none" else PicturePolicy.parse(needs.picture_policy).text
        )
        if plan.pictures.text != usual:
            told += f", pictures {plan.pictures.text}"
        if choosing.missed == "ask":
            told += ", asked about where the ranker misses"
    if ranks is None:
        return {"candidates_told": told, "none_rule": rule}
    if ranks.name != PUBLISHED:
        told += f", by {ranks.name}"
    by = {"ranker": ranks.name, "ranker_sha256": ranks.digest}
    return {"candidates_told": told, "none_rule": rule, **by}
