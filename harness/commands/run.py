"""`vlm-eval run`: evaluate a model."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import (
    SettingsCommand,
    config_option,
    names_of,
    read_options,
    setting_options,
)
from harness.commands.output import output
from harness.errors import UserError
from harness.printing import printable
from harness.settings import GROUPS, Settings

if TYPE_CHECKING:
    from rich.console import Console

    from harness.engine import Observer
    from harness.evaluation.plan import Plan
    from harness.evaluation.run import Finished
    from harness.runs import StepRecord

ASK_FROM = 100
"""More calls than this to a model that costs money are confirmed first."""


@click.command(cls=SettingsCommand)
@config_option()
@setting_options(names_of(*GROUPS), model={"required": True})
@click.option(
    "--dry-run", is_flag=True, help="Count calls, tokens and cost without asking the model."
)
def run(dry_run: bool, **_: Any) -> int:
    """Evaluate a model or a policy on recorded steps.

    An interrupted run goes on where it stopped if the same command is given again.

    \b
    Examples:
      vlm-eval --model gpt-5.4 --limit 20 --max-cost 5
      vlm-eval --model qwen2.5-vl --distractors 20
      vlm-eval --model lexical --benchmark sample --protocol coordinates

    Exit codes: 0 done, 1 ended early or with unsettled steps, 2 bad input, 130 interrupted.
    """
    import asyncio

    from rich.console import Console

    from harness.evaluation.plan import plan_run
    from harness.evaluation.run import carry_out

    settings = read_options()
    console, errors = output(), Console(stderr=True)
    with telling(errors):
        plan = plan_run(settings, asks=not dry_run)
    if not dry_run:
        check_limit(plan)
    heading(plan, errors)
    if dry_run:
        from harness.evaluation.estimate import estimate, lines

        for line in lines(estimate(plan), plan):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return 0
    if not confirmed(plan, errors):
        errors.print("not started")
        return 1
    running = Running(settings)
    result = asyncio.run(
        carry_out(
            plan,
            lambda total, done: watching(settings, running, errors, total, done),
            running.add,
            lambda line: errors.print(line, markup=False, highlight=False, soft_wrap=True),
        )
    )
    return conclude(plan, result, console, errors)


@contextlib.contextmanager
def telling(errors: Console) -> Iterator[None]:
    """Print what adapters log: that a model is being loaded, which may take minutes."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = printable(record.getMessage())
            errors.print(line, markup=False, highlight=False, soft_wrap=True)

    logger, handler = logging.getLogger("adapters"), Lines(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def heading(plan: Plan, errors: Console) -> None:
    """What is about to be done, defaults included."""
    from harness.benchmarks import benchmark
    from harness.evaluation.table import counted

    settings, dataset = plan.settings, plan.dataset
    tasks = counted(len({entry.task_id for entry in dataset.entries}), "task")
    steps = counted(len(dataset), "step")
    splits = ", ".join(sorted({entry.split for entry in plan.selected.whole.entries}))
    fixed = benchmark(settings.benchmark).fixes
    shown = f"picture: {plan.pictures.text}"
    if settings.history is not None:
        shown += f", history: {settings.history}"
    if {"images", "prompts"} & fixed:
        shown = "pictures and prompts as stored"
    times = f", {settings.repeats} times" if settings.repeats > 1 else ""
    times += f", {settings.shuffles} shuffles" if settings.shuffles > 1 else ""
    none = f", none: {settings.none}" if settings.none is not None else ""
    pairs = [
        ("model", plan.model.info.name),
        ("data", f"{settings.benchmark} ({splits}): {steps}, {tasks}"),
        ("choices", _offered(plan) + none),
        ("asked", f"{settings.protocol}{times}, {shown}"),
        ("run", str(plan.directory)),
    ]
    for name, text in pairs:
        errors.print(
            f"{name + ':':<9} {printable(text)}", markup=False, highlight=False, soft_wrap=True
        )
    if plan.pictures.oracle:
        errors.print("warning:  these pictures show where the right answer is: an upper bound only")
    if not dataset.entries:
        errors.print("this shard has none of the selected tasks")
    for notice in dataset.notices:
        errors.print(notice, markup=False, highlight=False, soft_wrap=True)


def _offered(plan: Plan) -> str:
    """Where the candidates come from."""
    from harness.benchmarks import benchmark

    settings = plan.settings
    if {"distractors", "seed"} & benchmark(plan.settings.benchmark).fixes:
        return "as stored"
    if plan.ranks is not None:
        missed = "asked about" if settings.missed == "ask" else "zero"
        return (
            f"the first {settings.top_k} of ranker {plan.ranks.name}, "
            f"steps without a positive among them: {missed}"
        )
    if settings.candidates == "all":
        return "every candidate of the page"
    return f"{settings.distractors} distractors, seed {settings.seed}"


def check_limit(plan: Plan) -> None:
    """Raise `UserError` for a cost limit that could not be kept."""
    if plan.settings.max_cost is not None and plan.model.pricing() is None:
        raise UserError(
            f"--max-cost needs a price for {plan.model.info.name}; give one with --prices FILE"
            if plan.model.policy is None
            else "--max-cost has no effect on a policy; leave it out"
        )


def confirmed(plan: Plan, errors: Console) -> bool:
    """Show what a long run costs and ask; `--yes` or `--max-cost` answer beforehand."""
    settings = plan.settings
    calls = plan.dialogues * plan.protocol.calls(plan.usual_count)[1]
    if not plan.model.spends or calls <= ASK_FROM or settings.yes or settings.max_cost is not None:
        return True
    from harness.evaluation.estimate import estimate, lines

    estimated = estimate(plan)
    for line in lines(estimated, plan):
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    if not sys.stdin.isatty():
        limit = "--max-cost DOLLARS" if plan.model.priced else "--prices FILE with --max-cost"
        raise UserError(
            f"{estimated.calls} calls to {plan.model.info.name} may cost money; "
            f"without a terminal to ask on, say --yes or {limit}"
        )
    return click.confirm("Go on?", err=True)


class Running:
    """The running scores, for the progress line: pooled over the steps that are settled."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._records: list[StepRecord] = []
        self._told = ""
        self._told_at = 0

    def add(self, record: StepRecord) -> None:
        if record.settled and record.scores is not None:
            self._records.append(record)

    def text(self) -> str:
        """Step success and element accuracy so far; worked out again for every 2 % more steps."""
        count = len(self._records)
        if count >= max(1, self._told_at * 1.02, self._told_at + 1):
            from harness.evaluation.summary import aggregation_rules, part
            from harness.evaluation.table import with_interval

            steps = part(self._records, aggregation_rules(self._settings)).metrics.steps
            self._told = (
                f"so far: element {with_interval(steps.element.macro)}, "
                f"step {with_interval(steps.success.macro)}"
            )
            self._told_at = count
        return self._told


@contextlib.contextmanager
def watching(
    settings: Settings, running: Running, errors: Console, total: int, done: int
) -> Iterator[Observer]:
    """The progress display that the user asked for."""
    from rich.console import Console

    from harness.engine import Observer, Progress

    class Notices(Observer):
        """No progress, but what the user must know."""

        def notice(self, text: str) -> None:
            errors.print(text, markup=False, highlight=False, soft_wrap=True)

    kind = settings.progress
    if kind == "off":
        yield Notices()
        return
    console = errors
    if kind != "auto":
        console = Console(stderr=True, force_terminal=kind == "bar")
    with Progress(total, done=done, metrics=running.text, console=console) as progress:
        yield progress


def conclude(plan: Plan, result: Finished, console: Console, errors: Console) -> int:
    """The result table, or how to go on; the exit code."""
    from harness.evaluation.report import print_result

    settings, pictures = plan.settings, plan.pictures.text
    top_k = plan.settings.top_k
    print_result(console, result.records, settings, plan.task_rows, pictures, top_k)
    if result.starvation is not None and result.starvation.batches:
        errors.print(result.starvation.text, markup=False, highlight=False, soft_wrap=True)
    if result.complete:
        errors.print(f"complete: {result.directory}", markup=False, highlight=False, soft_wrap=True)
        return 0
    why, again = result.stopped, "to go on from there"
    if why is None:
        why, again = "some steps are unsettled", "to ask for them, or with --settle-failures"
    elif result.too_dear:
        again = "with a higher --max-cost to go on from there"
    errors.print(
        f"{why}; what was answered is kept in {result.directory}. Run the same line again {again}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 130 if result.stopped == "interrupted" else 1
