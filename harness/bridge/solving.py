"""Build a task of inspect_ai from a run's plan: samples, and a solver that runs the dialogues."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sniffio
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from adapters import Fatal, UnknownName
from adapters.inspect.model import InspectModel, Known
from harness.benchmarks import benchmark
from harness.bridge.arguments import Arguments
from harness.bridge.scoring import RECORD, measures_of, scores, scoring_settings, stored
from harness.errors import UserError
from harness.kinds.episode.record import EPISODE
from harness.planning.model import Unasked, generation
from harness.planning.plan import Plan, plan_run
from harness.planning.reply_limit import default_limit
from harness.session.one_by_one import Asked, OneByOne
from harness.settings import Settings

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
            "candidates": plan.kind.offered(),
            "shown": plan.kind.shown(),
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
        limits = (config.max_tokens,) if config.max_tokens else default_limit(settings, known.info)
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
    for entry, (goal, right) in zip(dataset.entries, plan.kind.outlined(dataset), strict=True):
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
                    "rows": plan.task_rows.get(dataset.parent_of(entry), 0),
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
