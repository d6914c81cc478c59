"""A run made ready: everything opened and checked, nothing asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from adapters import UnknownName
from harness.benchmarks import Dataset, Filters, open_benchmark
from harness.candidates import check_distractors
from harness.errors import UserError
from harness.evaluation.config import Choosing, RunConfig
from harness.evaluation.model import Model, open_model
from harness.evaluation.prepare import Preparer
from harness.pictures import PicturePolicy
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.protocols.prompts import load
from harness.runs import Setup

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
        config, protocol, pictures = made, open_protocol(made), picture_policy(made)
        if model.policy is not None:
            model = open_model(made, protocol)
    _check_letters(protocol, config.choosing.distractors)
    directory = Path(config.carrying.out or Path("runs") / config.directory_name())
    return Plan(config, selected, protocol, pictures, model, directory)


def _check_letters(protocol: AskingProtocol, distractors: int) -> None:
    try:
        protocol.letters(distractors + 1)
    except ValueError as error:
        raise UserError(f"--distractors {distractors} are too many: {error}") from error


def open_protocol(config: RunConfig) -> AskingProtocol:
    """The protocol with the settings of the run. Raises `UserError`."""
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
    chosen = {name: settings[name] for name in CHOSEN if name in settings}
    asked = {name: settings[name] for name in ASKED if name in settings}
    if asked.get("history") == "all":
        asked["history"] = None
    return replace(
        config,
        choosing=replace(config.choosing, **chosen),
        asking=replace(config.asking, **asked),
    )


def setup_of(plan: Plan) -> Setup:
    """What the run directory is bound to."""
    info = plan.model.info
    config = plan.config.decisive()
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
