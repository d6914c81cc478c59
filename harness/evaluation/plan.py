"""Plans a run: opens and checks everything that it needs, without calling the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters import Adapter, AdapterInfo
from harness.benchmarks import Filters, StepDataset, open_steps, step_benchmark
from harness.candidates import check_distractors
from harness.errors import UserError
from harness.evaluation.history import EarlierActions
from harness.evaluation.model import Model, model_of, open_model, open_policy
from harness.evaluation.questions import Preparer, Question
from harness.evaluation.redo import Redo, redo_of, settings_to_redo
from harness.evaluation.reply_limit import default_limit, place_of
from harness.evaluation.rereading import Rereading, rereading
from harness.evaluation.resolve import (
    as_stored,
    check_model,
    complete,
    open_with,
    picture_policy,
)
from harness.evaluation.roles import OpenRole, identity_of, open_roles, with_roles
from harness.pictures import PicturePolicy
from harness.policies import POLICIES
from harness.policies.contract import Policy
from harness.protocols import StepProtocol, of_steps
from harness.rankers import PUBLISHED, Ranks, check_covered, open_ranks
from harness.runs import Repaired, Setup, StepKey, repair, settled_before
from harness.settings import SETTINGS, Settings, directory_of, on_record


@dataclass(frozen=True)
class Selected:
    """The steps that a run selects, and the tasks that they belong to."""

    part: StepDataset
    """The steps of this run; with --shard, those of the shard."""
    whole: StepDataset
    """The steps of all shards together."""
    task_rows: Mapping[str, int]
    """Number of rows of each of these tasks in the data, selected or not."""
    tasks: StepDataset
    """All rows of these tasks."""

    @property
    def cut_short(self) -> dict[str, int]:
        """`task_rows` of the tasks that are selected only in part."""
        selected = Counter(entry.task_id for entry in self.whole.entries)
        return {task: rows for task, rows in self.task_rows.items() if selected[task] < rows}


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start."""

    settings: Settings
    """The completed settings; see `resolve.complete`."""
    selected: Selected
    protocol: StepProtocol
    pictures: PicturePolicy
    model: Model
    directory: Path
    ranks: Ranks | None = None
    """The ranks of the candidates; None unless a ranker is used."""
    rereading: Rereading | None = None
    """What an older run in the directory needs before it goes on."""
    repaired: Repaired | None = None
    """What a repair of the directory found; None if none was asked for."""
    redo: Redo | None = None
    """What a run takes over from another; None unless it asks some steps of it again."""
    roles: Mapping[str, OpenRole] = field(default_factory=dict)
    """Whom the protocol asks beside the model, by role; not those that the model itself answers."""

    @property
    def dataset(self) -> StepDataset:
        return self.selected.part

    @property
    def task_rows(self) -> Mapping[str, int]:
        return self.selected.task_rows

    @property
    def dialogues(self) -> int:
        """Number of dialogues, those of rows that turn out invalid included."""
        return len(self.dataset) * self.settings.times

    @property
    def usual_count(self) -> int:
        """See `usual_count`."""
        return usual_count(self.settings)

    @property
    def most_calls(self) -> int:
        """The largest number of calls that the run can take."""
        left = self.dialogues - len(self.taken)
        of_roles = self.protocol.role_calls(self.usual_count).values()
        calls = self.protocol.calls(self.usual_count)[1] + sum(most for _, most in of_roles)
        return left * calls

    @property
    def spends(self) -> bool:
        """Whether calls may cost money: a price, or none known for a model that is billed."""
        return self.model.spends or any(role.spends for role in self.roles.values())

    @property
    def taken(self) -> frozenset[StepKey]:
        """The dialogues that are taken over from another run."""
        return self.redo.taken if self.redo else frozenset()

    @property
    def left(self) -> StepDataset:
        """The steps without those that are taken over with all of their dialogues."""
        counts = Counter(step_id for step_id, _ in self.taken)
        return self.dataset.without({s for s, n in counts.items() if n >= self.settings.times})

    def only(self, step_ids: Collection[str]) -> Plan:
        """The plan for some of its steps."""
        others = {entry.step_id for entry in self.dataset.entries}.difference(step_ids)
        return replace(self, selected=replace(self.selected, part=self.dataset.without(others)))

    def of_task(self, task_id: str) -> Plan:
        """The plan for the steps of one task."""
        chosen = Filters({"task": (task_id,)})
        part, tasks = self.dataset.select(chosen), self.selected.tasks.select(chosen)
        return replace(self, selected=replace(self.selected, part=part, tasks=tasks))

    def questions(self, step_ids: Collection[str]) -> Iterator[Question]:
        """The questions of some steps, in file order, one at a time."""
        return self.preparer().questions(self.only(step_ids).dataset)

    def preparer(self) -> Preparer:
        return Preparer(
            self.settings,
            self.protocol,
            self.pictures,
            self.model.info.image_rule,
            ranks=self.ranks,
            # Baselines read choices even where models are not shown them.
            texts=self.protocol.needs.texts or self.model.policy is not None,
            earlier=EarlierActions(self.selected.tasks) if self.protocol.needs.earlier else None,
        )


def usual_count(settings: Settings) -> int:
    """Candidates per step according to the settings; 100 if it depends on the page."""
    if settings.candidates == "all":
        return 100
    return settings.top_k or settings.distractors + 1


def plan_run(
    settings: Settings, instance: Adapter | Policy | None = None, *, asks: bool = True
) -> Plan:
    """Open everything that a run needs, each part once.

    `instance` is an adapter or policy object, used instead of the one that the settings name.
    Mistakes in the settings come to light first, then a missing key, then whatever is wrong with
    the data; a model on this machine is loaded last, since that takes minutes. Without `asks`, no
    key is needed and nothing is loaded. Raises `UserError` or `Fatal` with one line.
    """
    asked = settings = as_stored(settings_to_redo(settings))
    model, policy = None, None
    if isinstance(instance, Adapter):
        model = model_of(instance, settings)
    elif instance is not None:
        policy = instance
    elif settings.model not in POLICIES.names():
        model = open_model(settings, asks=asks)
    info = model.info if model else None
    settings, protocol, directory = _completed(settings, info, is_own=instance is not None)
    pictures = picture_policy(settings, protocol)
    ranks = None
    if settings.ranker is not None:
        ranks = open_ranks(settings.ranker)
    if model is None:
        model = open_policy(settings, protocol, policy)
    check_model(protocol, model.info, pictures)
    if asks and not model.on_this_machine:
        model = model.loaded()
    roles = open_roles(settings, protocol, asks=asks)
    selected = open_data(settings)
    _check_letters(protocol, settings)
    if ranks is not None:
        check_covered(ranks, [entry.step_id for entry in selected.part.entries])
    plan = Plan(settings, selected, protocol, pictures, model, directory, ranks, roles=roles)
    if settings.redo:
        begun = replace(asked, out=None, max_tokens=None)
        *_, usual = _completed(begun, info, is_own=instance is not None)
        plan = replace(plan, redo=redo_of(settings, usual, setup_of(plan)))
    if not asks:
        return plan
    if plan.redo is not None:
        plan.redo.begin(directory, setup_of(plan))
    if settings.repair:
        plan = replace(plan, repaired=repair(directory, setup_of(plan)))
    again = rereading(directory, lambda: setup_of(plan), settings, protocol, plan.questions)
    plan = replace(plan, rereading=again)
    return _loaded(plan)


def _completed(
    settings: Settings, info: AdapterInfo | None, *, is_own: bool
) -> tuple[Settings, StepProtocol, Path]:
    """The settings with all that was left open, the protocol that has them, and the directory."""

    def opened(limits: tuple[int, ...]) -> tuple[Settings, StepProtocol]:
        limited = replace(settings, max_tokens=limits)
        protocol = of_steps(open_with(limited, info))
        whole = complete(limited, protocol, is_policy=info is None, is_own=is_own)
        return with_roles(whole, protocol, is_policy=info is None), protocol

    if settings.max_tokens is not None:
        whole, protocol = opened(settings.max_tokens)
        return whole, protocol, directory_of(whole)
    whole, protocol = opened(default_limit(settings, info))
    directory, begun = place_of(whole)
    if begun is not None:
        whole, protocol = opened(begun)
    return whole, protocol, directory


def _loaded(plan: Plan) -> Plan:
    """The plan with its local models loaded, unless no step is left to ask about."""
    if not any(model.info.runs_here for model in (plan.model, *plan.roles.values())):
        return plan
    settled = settled_before(plan.directory, setup_of(plan))
    if plan.rereading is not None:
        settled -= plan.rereading.revision.unsettled
    if settled >= plan.dialogues or plan.most_calls == 0:
        return plan
    roles = {name: role.loaded() for name, role in plan.roles.items()}
    return replace(plan, model=plan.model.loaded(), roles=roles)


def _check_letters(protocol: StepProtocol, settings: Settings) -> None:
    if settings.candidates == "all":
        return
    option = f"--distractors {settings.distractors}"
    if settings.candidates == "ranker":
        option = f"--top-k {settings.top_k}"
    try:
        protocol.letters(usual_count(settings))
    except ValueError as error:
        raise UserError(f"{option} are too many: {error}") from error


def open_data(settings: Settings) -> Selected:
    """The steps of a run. Raises `DataError`."""
    opened = open_steps(
        settings.benchmark,
        splits=settings.splits or None,
        data=Path(settings.data) if settings.data else None,
    )
    whole = opened.select(
        Filters(
            {s.selects: getattr(settings, name) for name, s in SETTINGS.items() if s.selects},
            unit_ids=settings.step_ids,
            limit=settings.limit,
        )
    )
    rows = Counter(entry.task_id for entry in opened.entries)
    task_rows = {entry.task_id: rows[entry.task_id] for entry in whole.entries}
    part = whole.select(Filters(shard=settings.shard)) if settings.shard else whole
    drawn = settings.candidates in (None, "snapshot")
    if drawn and part.layout.negatives_column is not None and part.entries:
        check_distractors(part, settings.distractors)
    tasks = opened.select(Filters({"task": tuple(task_rows)}))
    return Selected(part, whole, task_rows, tasks)


def setup_of(plan: Plan) -> Setup:
    """The identity of the run, with which its directory can be continued."""
    info, settings = plan.model.info, plan.settings
    stored, protocol_settings = plan.dataset.settings, plan.protocol.settings()
    # Of all shards together: shards of one run must agree in everything but their number.
    entries = plan.selected.whole.entries
    return Setup(
        config={**on_record(settings), **_described_choices(plan), **_role_models(plan)},
        model=identity_of(info),
        dataset={
            **plan.dataset.fingerprint,
            "data": settings.data,
            "splits_asked": list(settings.splits),
            "splits": sorted({entry.split for entry in entries}),
            "rows": len(entries),
            "partial_tasks": plan.selected.cut_short,
        },
        prompts=str(
            stored.get("protocol_prompts_sha256") or protocol_settings.get("prompts_sha256", "")
        ),
        seed=settings.seed,
        pictures=plan.pictures.text,
    )


def _role_models(plan: Plan) -> dict[str, Any]:
    if not plan.roles:
        return {}
    return {"role_models": {name: role.told() for name, role in plan.roles.items()}}


def _described_choices(plan: Plan) -> dict[str, Any]:
    """What a run records about its candidates and its None option, in addition to the settings.

    A ranker is identified by its own name and a digest, since the same scores may be stored in
    different files. The description used to match published rows is left out where the benchmark
    stores the choices.
    """
    settings, ranks = plan.settings, plan.ranks
    if "choices" in step_benchmark(settings.benchmark).fixes:
        return {}
    rule = settings.none or plan.protocol.none_rule
    source = settings.candidates or "snapshot"
    description = plan.protocol.candidate_description(source, settings.top_k)
    description += "".join(f", {name} {role.info.name}" for name, role in plan.roles.items())
    if settings.candidates != "snapshot":
        needs = plan.protocol.needs
        usual = (
            "none" if needs.pictures == "none" else PicturePolicy.parse(needs.picture_policy).text
        )
        if plan.pictures.text != usual:
            description += f", pictures {plan.pictures.text}"
        if settings.missed == "ask":
            description += ", asked about where the ranker misses"
    if ranks is None:
        return {"candidates_told": description, "none_rule": rule}
    if ranks.name != PUBLISHED:
        description += f", by {ranks.name}"
    by = {"ranker": ranks.name, "ranker_sha256": ranks.digest}
    return {"candidates_told": description, "none_rule": rule, **by}
