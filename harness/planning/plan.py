"""Plans a run: opens and checks everything that it needs, without calling the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters import Adapter
from adapters.secrets import identity_of
from harness.benchmarks import BENCHMARKS, Benchmark, Dataset, benchmark_of
from harness.benchmarks.contract import calls_about
from harness.benchmarks.opening import check_asks, open_with
from harness.benchmarks.shows import Ready, Shows
from harness.errors import from_leaf
from harness.pictures import PicturePolicy
from harness.planning.check import check_plan
from harness.planning.data import Selected, open_data
from harness.planning.model import SERVED, Model, default_limit, open_model, open_policy
from harness.policies import Policy, is_policy
from harness.protocols import PROTOCOLS, AskingProtocol, completed_options, open_protocol
from harness.runs import Setup, StepKey
from harness.runs.directory import settled_before
from harness.settings import OF_MODEL, RUNS, SETTINGS, Settings, directory_of, on_record

if TYPE_CHECKING:
    from harness.planning.roles import OpenRole

FLEX_TIMEOUT_S = 900.0
"""Seconds that a reply may take on flex; the providers advise to allow as much."""


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start."""

    settings: Settings
    """The completed settings."""
    source: Benchmark
    """The benchmark of this run."""
    shows: Shows
    """What is shown of its units."""
    selected: Selected
    model: Model
    directory: Path
    taken: frozenset[StepKey] = frozenset()
    """The dialogues that are taken over from another run."""
    redo: str = ""
    """What `--redo` asks again, for the user."""
    roles: Mapping[str, OpenRole] = field(default_factory=dict)
    """Models for other roles of the protocol, except those that the model itself answers."""

    @property
    def protocol(self) -> AskingProtocol:
        return self.shows.protocol

    @property
    def pictures(self) -> PicturePolicy:
        return self.shows.pictures

    @property
    def dataset(self) -> Dataset[Any]:
        return self.selected.part

    @property
    def dialogues(self) -> int:
        """Number of dialogues, those of units that turn out invalid included."""
        return len(self.dataset) * self.settings.times

    @property
    def usual_count(self) -> int:
        return self.source.usual_count

    @property
    def most_calls(self) -> int:
        """The largest number of calls that the run can take, with those of `--verify`."""
        _, most = calls_about(self.source, self.usual_count, self.shows)
        calls = (self.dialogues - len(self.taken)) * most
        return calls + self.verification[0] if calls else 0

    @property
    def verification(self) -> tuple[int, float | None]:
        """The most calls that `--verify` makes, and their cost in US dollars; None without a price.
        (0, 0.0) without it."""
        if self.settings.verify in (None, "off"):
            return 0, 0.0
        found: tuple[int, float | None] = from_leaf("harness.verify.kept:at_most")(self)
        return found

    @property
    def spends(self) -> bool:
        """True if calls may cost money: there is a price, or none is known for a billed model."""
        return self.model.spends or any(role.spends for role in self.roles.values())

    @property
    def preflights(self) -> bool:
        """True if a preflight call is sent: not to what stands in for a model, or without calls."""
        asks = self.protocol.calls(2)[1] > 0
        return self.settings.preflight and asks and not self.model.info.stand_in

    @property
    def preflighted_roles(self) -> list[str]:
        """The roles that are sent a preflight call, too."""
        if not self.roles or not self.settings.preflight or self.model.policy is not None:
            return []
        return [name for name, role in self.roles.items() if not role.info.stand_in]

    @property
    def left(self) -> Dataset[Any]:
        """The units without those that are taken over with all of their dialogues."""
        counts = Counter(unit_id for unit_id, _ in self.taken)
        return self.dataset.without({u for u, n in counts.items() if n >= self.settings.times})

    def only(self, unit_ids: Collection[str]) -> Plan:
        """The plan for some of its units."""
        part, known = self.dataset, {entry.unit_id for entry in self.dataset.entries}
        part = part.without(known.difference(unit_ids))
        return replace(self, selected=replace(self.selected, part=part))

    def by_group(self) -> Iterator[Plan]:
        """The plan for each group of its units that is left, in order."""
        groups: dict[str, list[str]] = {}
        for entry in self.left.entries:
            groups.setdefault(self.dataset.group_of(entry), []).append(entry.unit_id)
        for group, unit_ids in groups.items():
            tasks = self.selected.tasks
            others = {e.unit_id for e in tasks.entries if tasks.group_of(e) != group}
            selected = replace(self.only(unit_ids).selected, tasks=tasks.without(others))
            yield replace(self, selected=selected)

    def ready_of(self, dataset: Dataset[Any]) -> Iterator[Ready[Any]]:
        """The units of a part, ready to be asked about, in the order of the data, one at a time."""
        return self.source.ready(dataset, self.selected.tasks, self.shows)


def plan_run(
    settings: Settings,
    instance: Adapter | Policy | None = None,
    *,
    asks: bool = True,
    starts: bool = True,
    folder: Path = RUNS,
) -> Plan:
    """Open everything that a run needs, each part once.

    `instance` is an adapter or policy object, used instead of the one that the settings name.
    Mistakes in the settings come to light first, then a missing key, then whatever is wrong with
    the data; a model on this machine is loaded last, since that takes minutes. Without `asks`, no
    key is needed and nothing is loaded. Without `starts`, everything is checked, but no model is
    loaded and no run on disk is touched. `folder` is where the directory of the run lies unless
    the settings name it. Raises `UserError` or `Fatal` with one line.
    """
    redo = None
    if settings.redo or settings.redo_from:
        redo = from_leaf("harness.redo.redo:Redo")(settings)
        settings = redo.settings
    if settings.tier == "flex" and "timeout_s" not in settings.given:
        settings = replace(settings, timeout_s=FLEX_TIMEOUT_S)
    # Who answers, and how much it may say.
    adapter = instance if isinstance(instance, Adapter) else None
    policy = None if isinstance(instance, Adapter) else instance
    model = None
    if adapter is not None or (policy is None and not is_policy(settings.model)):
        model = open_model(settings, adapter, asks=asks)
    info = model.info if model else None
    usual = default_limit(settings, info)
    if settings.with_server:
        settings = replace(settings, base_url=SERVED)
    # What is asked about, and how.
    source = benchmark_of(settings)
    settings = replace(settings, max_tokens=settings.max_tokens or usual)
    if "protocol" not in settings.given and settings.protocol == SETTINGS["protocol"].default:
        settings = replace(settings, protocol=source.protocol)
    protocol = open_with(settings, source, info)
    check_asks(source, protocol)
    source = source.fitted(protocol, settings, is_policy=model is None)
    options = completed_options(settings.protocol, protocol, dict(settings.protocol_option))
    roles: Mapping[str, OpenRole] = {}
    if settings.role or protocol.roles:
        from harness.planning.roles import open_roles

        settings, roles = open_roles(settings, protocol, is_policy=model is None, asks=asks)
    done = replace(
        settings,
        benchmark_option=tuple(sorted(source.options.recorded.items())),
        protocol_option=tuple(sorted(options.items())),
    )
    if source.home is not None and not done.out:
        place = directory_of(replace(done, benchmark=done.protocol), source.home)
        done = replace(done, out=str(place))
    directory = directory_of(done, folder)
    if model is None:
        model = open_policy(done, policy, protocol, source)
    shows = Shows.opened(done, source.options, protocol, model.info, blind=not model.sees)
    check_plan(
        done,
        protocol,
        model.info,
        shows.pictures,
        is_policy=model.policy is not None,
        is_own=instance is not None,
    )
    if asks and not model.on_this_machine:
        model = model.loaded()
    selected = open_data(done, source)
    if selected.part.declared not in (None, source.declared):
        source = replace(source, declared=selected.part.declared)
    source = replace(source, declared=source.declared.read_by(protocol.rules))
    source.check(selected.part, shows)
    if asks:
        source.check_installed()
        if model.policy is not None:
            model.policy.check(selected.part.entries)
    plan = Plan(done, source, shows, selected, model, directory, roles=roles)
    if redo is not None:
        before = directory_of(replace(done, max_tokens=usual, out=None), folder)
        taken = redo.takes(done, setup_of(plan), before)
        plan = replace(plan, taken=taken, redo=redo.line)
    if not asks or not starts:
        return plan
    if redo is not None:
        redo.begin(directory, setup_of(plan))
    return _loaded(plan)


def _loaded(plan: Plan) -> Plan:
    """The plan with its local models loaded, unless no step is left to ask about."""
    if not any(model.info.runs_here for model in (plan.model, *plan.roles.values())):
        return plan
    settled = settled_before(plan.directory, setup_of(plan))
    if settled >= plan.dialogues or plan.most_calls == 0:
        return plan
    roles = {name: role.loaded() for name, role in plan.roles.items()}
    return replace(plan, model=plan.model.loaded(), roles=roles)


def setup_of(plan: Plan) -> Setup:
    """Return the identity of the run; a directory is continued only by the same one."""
    info, settings = plan.model.info, plan.settings
    protocol = plan.protocol
    of_protocol = protocol.settings()
    config: dict[str, Any] = {}
    if BENCHMARKS.was_put(settings.benchmark) or PROTOCOLS.was_put(settings.protocol):
        from harness.planning import objects

        config |= objects.on_record(settings)
    if protocol.of_model:
        model = None if plan.model.policy else info
        usual = open_protocol(settings.protocol, model=model, View=protocol.View).settings()
        as_usual = [name for name in protocol.of_model if of_protocol[name] == usual[name]]
        config[OF_MODEL] = as_usual
    names = {name: role.info.name for name, role in plan.roles.items()}
    roles = {name: role.told() for name, role in plan.roles.items()}
    # Of all shards together: shards of one run must agree in everything but their number.
    entries = plan.selected.whole.entries
    return Setup(
        config={
            **on_record(settings),
            **plan.source.identity(plan.shows, names),
            **({"role_models": roles} if roles else {}),
            **({"tools": tools} if (tools := of_protocol.get("tools")) else {}),
            **config,
        },
        model=identity_of(info),
        dataset={
            **plan.dataset.fingerprint,
            "data": settings.data,
            "splits_asked": list(settings.split),
            "splits": sorted({entry.split for entry in entries}),
            "rows": len(entries),
            "partial_tasks": plan.selected.cut_short,
        },
        declaration=plan.source.declared,
        prompts=str(of_protocol.get("prompts_sha256", "")),
        seed=settings.seed,
        pictures=plan.pictures.text,
    )
