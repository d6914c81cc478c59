"""Build a task of inspect_ai from a run's plan: samples, and a solver that runs the dialogues.

The arguments of a task (`-T`): settings of a run, except those with an option of inspect.

Every setting of `vlm-eval run` is either read as `run` reads it, or refused with its replacement;
none is ignored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sniffio
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from adapters import Fatal, UnknownName
from adapters.inspect import InspectModel, Known
from harness.benchmarks import benchmark
from harness.benchmarks.episode.task import EPISODE
from harness.bridge.scoring import RECORD, measures_of, scores, scoring_settings, stored
from harness.errors import UserError
from harness.planning.model import Unasked, default_limit, generation
from harness.planning.plan import Plan, plan_run
from harness.session.one_by_one import Asked, OneByOne
from harness.settings import SETTINGS, Settings, field_of, read_settings

INSPECT = {
    "model": "--model PROVIDER/NAME",
    "base_url": "--model-base-url",
    "adapter_options": "-M NAME=VALUE",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "model_seed": "--seed",
    "effort": "--reasoning-effort",
    "thinking_budget": "--reasoning-tokens",
    "roles": "--model-role NAME=PROVIDER/MODEL",
    "repeats": "--epochs",
    "out": "--log-dir",
    "concurrency": "--max-connections",
    "timeout_s": "--attempt-timeout",
    "attempts": "--max-retries",
    "patience_s": "--timeout",
    "tier": "-M service_tier=TIER",
    "max_cost": "--cost-limit",
    "score_failures": "--no-fail-on-error",
    "unattempted": "--no-fail-on-error",
    "cache": "--cache",
    "progress": "--display",
    "redo": "`inspect eval-retry`",
    "redo_from": "`inspect eval-retry`",
}
"""Inspect's options by the settings that they replace."""
USED = frozenset({"skip_bad_rows", "workers"})
"""Settings of sessions that also apply here."""
LIMIT = "limit_tasks"
"""Our `--limit`, a name with another meaning in inspect."""
DESCRIBED_AS, MAX_PIXELS = "described_as", "max_pixels"
"""Arguments that describe the model: its name here, and the size of its pictures."""


@dataclass(frozen=True)
class Arguments:
    """The parsed arguments of a task.

    settings: settings by name, for `read_settings`.
    described_as: our name of the model; "" to use inspect's.
    options: options of the adapter that describes the model.
    """

    settings: Mapping[str, object]
    described_as: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Arguments:
        """Parse arguments. Raises `UserError` for settings that inspect has or that it ignores."""
        settings = dict(arguments)
        described_as = str(settings.pop(DESCRIBED_AS, "") or "")
        options = {name: settings.pop(name) for name in (MAX_PIXELS,) if name in settings}
        for option in settings:
            _check(option, field_of(option) or "")
        if LIMIT in settings:
            settings["limit"] = settings.pop(LIMIT)
        return cls(settings, described_as, options)

    def resolved(self, model: str, config: GenerateConfig) -> Settings:
        """Build the settings of a run with the model and the parameters given to inspect.

        Raises `UserError`.
        """
        values = dict(self.settings)
        of_inspect = {
            "temperature": config.temperature,
            "top_p": config.top_p,
            "model_seed": config.seed,
            "effort": config.reasoning_effort,
            "thinking_budget": config.reasoning_tokens,
            "max_tokens": config.max_tokens,
        }
        if config.max_tokens is not None and "max_tokens" in values:
            raise UserError("give -T max_tokens or --max-tokens, not both")
        values |= {name: value for name, value in of_inspect.items() if value is not None}
        try:
            return read_settings({**values, "model": model})
        except ValueError as error:
            message = re.sub("^limit:", f"{LIMIT}:", str(error))
            raise UserError(f"-T {message}") from error


def _check(option: str, name: str) -> None:
    """Raise `UserError` for a setting that tasks do not take."""
    if option == "limit":
        raise UserError(
            f"-T limit: give -T {LIMIT}=N for the first N tasks (--limit counts their steps)"
        )
    if name in INSPECT:
        raise UserError(f"-T {option} is an option of inspect: give {INSPECT[name]} instead")
    setting = SETTINGS.get(name)
    if setting is None or name in USED:
        return
    if setting.group == "Models on this machine":
        raise UserError(f"-T {option}: inspect's providers load models: give -M {option}=VALUE")
    if setting.about == "session":
        raise UserError(f"-T {option} has no effect in inspect; leave it out")


NOBODY = "none/none"
"""Placeholder of the model in a task that is built before one is chosen."""


def bridged(arguments: Mapping[str, Any]) -> Task:
    """Build the task with these arguments.

    Raises inspect's `PrerequisiteError`, one line, for errors in them or in the data, before any
    call.
    """
    try:
        bridge = Bridge(Arguments.read(arguments))
        plan = bridge.plan_for(_active())
        declared = plan.dataset.declared or benchmark(plan.settings.benchmark).declared
        samples = _samples(plan)
    except (UserError, Fatal, UnknownName) as error:
        raise PrerequisiteError(str(error)) from error
    settings = plan.settings
    return Task(
        dataset=MemoryDataset(samples, name=settings.benchmark),
        solver=_solver(bridge),
        scorer=scores(benchmark=settings.benchmark, **scoring_settings(settings)),
        metrics=measures_of(declared),
        metadata={
            "protocol": settings.protocol,
            "candidates": plan.source.offered(plan.shows),
            "shown": plan.pictures.text,
            "max_tokens": list(settings.max_tokens or ()),
            "prompts_sha256": plan.protocol.settings().get("prompts_sha256"),
            "dataset": plan.dataset.fingerprint,
        },
    )


class Bridge:
    """The shared state of a task's samples: a plan for each model, opened once."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._known: dict[tuple[str, bool, bool], Known] = {}
        self._plans: dict[tuple[str, str], Plan] = {}
        self._units: dict[tuple[str, str], tuple[asyncio.AbstractEventLoop, OneByOne]] = {}

    def known(self, model: Model | None, *, is_main: bool = True) -> Known:
        """Return the description of a model; the user describes only the one under test.

        Raises `Fatal`, `UnknownName`.
        """
        name = str(model) if model else NOBODY
        own = model is not None and bool(model.api.base_url)
        key = name, own, is_main
        if key not in self._known:
            self._known[key] = Known(
                name,
                described_as=self._arguments.described_as or None if is_main else None,
                own_address=own,
                options=self._arguments.options if is_main else {},
            )
        return self._known[key]

    def plan_for(self, model: Model | None) -> Plan:
        """Return the plan of a run with the model. Raises `UserError`, `Fatal`."""
        config = model.config if model else GenerateConfig()
        key = _key(model)
        if key not in self._plans:
            known = self.known(model)
            settings = self._arguments.resolved(known.info.name, config)
            if benchmark(settings.benchmark).kind == EPISODE:
                raise UserError(
                    f"{settings.benchmark} is played on live pages, which only vlm-eval run does"
                )
            plan = plan_run(settings, Unasked(known.info), asks=False)
            benchmark(settings.benchmark).check_installed()
            self._plans[key] = plan
        return self._plans[key]

    def units_for(self, model: Model) -> OneByOne:
        """Return the runner of dialogues with the model in the running event loop."""
        loop, key = asyncio.get_running_loop(), _key(model)
        if key not in self._units or self._units[key][0] is not loop:
            self._units[key] = loop, OneByOne(self.plan_for(model))
        return self._units[key][1]

    def asked(self, role: str, model: Model, settings: Settings) -> tuple[InspectModel, Asked]:
        """Return the model that answers in a role. Raises `Fatal`, `UnknownName`."""
        if not role or role not in model_roles():
            adapter = InspectModel(model, self.known(model))
            return adapter, Asked(adapter, generation(settings))
        other = get_model(role=role)
        config, known = other.config, self.known(other, is_main=False)
        usual = default_limit(settings, known.info)
        limits = (config.max_tokens,) if config.max_tokens else usual
        of_role = replace(
            settings,
            max_tokens=limits,
            temperature=config.temperature,
            top_p=config.top_p,
            model_seed=config.seed,
        )
        adapter = InspectModel(other, known)
        return adapter, Asked(adapter, generation(of_role))


def _solver(bridge: Bridge) -> Solver:
    @solver(name="protocol_dialogue")
    def protocol_dialogue() -> Solver:
        """Run the protocol's dialogue, and put its record into the store."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            if sniffio.current_async_library() != "asyncio":
                raise PrerequisiteError("these tasks need asyncio: unset INSPECT_ASYNC_BACKEND")
            model = get_model()
            units, settings = bridge.units_for(model), bridge.plan_for(model).settings
            adapters: dict[str, InspectModel] = {}

            def asked(role: str) -> Asked:
                adapters[role], answers = bridge.asked(role, model, settings)
                return answers

            record = await units.hold(str(state.sample_id), state.epoch - 1, asked)
            main = adapters.get("")
            if main is not None and main.said is not None:
                messages, state.output = main.said
                state.messages = [*messages, state.output.message]
            state.store.set(RECORD, stored(record))
            return state

        return solve

    return protocol_dialogue()


def _samples(plan: Plan) -> list[Sample]:
    dataset = plan.dataset
    samples = []
    listed = plan.source.listed(dataset)
    outlined = ((unit.goal, plan.source.words(unit)) for unit in listed)
    for entry, (goal, right) in zip(dataset.entries, outlined, strict=True):
        samples.append(
            Sample(
                id=entry.unit_id,
                input=goal or f"{dataset.unit} {entry.unit_id}",
                target=right,
                metadata={
                    "benchmark": plan.settings.benchmark,
                    "split": entry.split,
                    **entry.parents,
                    "labels": dict(entry.labels),
                    "rows": plan.selected.task_rows.get(dataset.parent_of(entry), 0),
                },
            )
        )
    return samples


def _active() -> Model | None:
    """Return the model of the evaluation; None if a task is built before one is chosen."""
    try:
        return get_model()
    except ValueError:
        return None


def _key(model: Model | None) -> tuple[str, str]:
    """Return the key of a plan: the model and its parameters."""
    if model is None:
        return NOBODY, ""
    return f"{model} {model.api.base_url or ''}", model.config.model_dump_json(exclude_none=True)
