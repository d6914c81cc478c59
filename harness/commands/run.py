"""`vlm-eval run`: evaluate a model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import (
    SettingsCommand,
    config_option,
    names_of,
    read_options,
    require,
    setting_options,
)
from harness.printing import terminal
from harness.settings import GROUPS

if TYPE_CHECKING:
    from rich.console import Console

    from harness.evaluation.display import Display
    from harness.evaluation.plan import Plan
    from harness.evaluation.run import Finished


@click.command(cls=SettingsCommand)
@config_option()
@setting_options(names_of(*GROUPS))
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

    Exit codes: 0 done, 1 ended early or with unsettled steps, 2 bad input, 3 waiting for batches
    of a provider, 130 interrupted.
    """
    import asyncio

    from harness.evaluation.display import Display
    from harness.evaluation.estimate import estimate, lines, resuming_lines
    from harness.evaluation.evaluate import check_cost_limit
    from harness.evaluation.plan import plan_run
    from harness.evaluation.run import carry_out
    from harness.evaluation.tracking import Tracking
    from harness.trackers import open_trackers

    require("model", unless="redo_from")
    settings = read_options()
    trackers = open_trackers(settings.track)
    console, display = terminal(), Display(settings)
    with display.adapter_messages():
        plan = plan_run(settings, asks=not dry_run)
    display.completed(plan.settings)
    if not dry_run:
        check_cost_limit(plan)
    for line in heading(plan):
        display.say(line)
    if dry_run:
        for line in lines(estimate(plan), plan):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return 0
    for line in resuming_lines(plan):
        display.say(line)
    if not confirmed(plan, display):
        display.say("not started")
        return 1
    with Tracking(plan, display, trackers) as tracking:
        done = asyncio.run(carry_out(plan, tracking.watching, tracking.add, display.say))
        tracking.finish(done)
        return conclude(plan, done, display, console)


def conclude(plan: Plan, done: Finished, display: Display, console: Console) -> int:
    """Print the result of a session, and what to do next; return the exit code."""
    from harness.evaluation.evaluate import how_to_go_on
    from harness.evaluation.redo import paid_before, redo_hint
    from harness.evaluation.report import print_result
    from harness.runs import open_run

    rest = (plan.task_rows, plan.pictures.text, plan.settings.top_k, plan.protocol.notes)
    declared = open_run(done.directory).manifest.declaration
    if done.waiting and done.stopped is None:
        display.say(how_to_go_on(done, "Run the same line again"))
        return 3
    print_result(console, done.records, plan.settings, declared, *rest, done.bounds)
    if paid := paid_before(open_run(done.directory)):
        display.say(paid)
    if done.starvation is not None and done.starvation.batches:
        display.say(done.starvation.text)
    if done.complete:
        if hint := redo_hint(done.directory, done.records, plan.settings, declared.units):
            display.say(hint)
        display.say(f"complete: {done.directory}")
        return 0
    display.say(how_to_go_on(done, "Run the same line again"))
    return 130 if done.stopped == "interrupted" else 1


def heading(plan: Plan) -> Iterator[str]:
    """What is about to be done, defaults included."""
    from harness.evaluation import reply_limit
    from harness.evaluation.estimate import batches_line, cost_line
    from harness.evaluation.tiers import tier_lines
    from harness.tables import counted

    settings, dataset = plan.settings, plan.dataset
    held = counted(len(dataset), dataset.unit)
    if dataset.whole:
        held += f", {counted(len(set(map(dataset.group_of, dataset.entries))), dataset.whole)}"
    splits = ", ".join(sorted({entry.split for entry in plan.selected.whole.entries}))
    offered = plan.kind.offered()
    times = f", {settings.repeats} times" if settings.repeats > 1 else ""
    times += f", {settings.shuffles} shuffles" if settings.shuffles > 1 else ""
    roles = [f"{name}: {role.info.name}" for name, role in plan.roles.items()]
    for name, text in (
        ("model", plan.model.info.name),
        ("data", f"{settings.benchmark} ({splits}): {held}"),
        *([("choices", offered)] if offered else []),
        ("asked", f"{settings.protocol}{times}, {plan.kind.shown()}"),
        *([("roles", ", ".join(roles))] if roles else []),
        *([("redo", plan.redo.heading)] if plan.redo else []),
        ("run", str(plan.directory)),
    ):
        yield f"{name + ':':<9} {text}"
    if plan.pictures.oracle:
        yield "warning:  these pictures show where the right answer is: an upper bound only"
    if not dataset.entries:
        yield f"this shard has none of the selected {dataset.whole or dataset.unit}s"
    if limit := reply_limit.heading(settings, plan.model.info):
        yield f"{'limit:':<9} {limit}"
    yield from tier_lines(settings, plan.model.info, plan.model.sheet)
    if batches := batches_line(plan):
        yield batches
    if cost := cost_line(plan):
        yield f"{'cost:':<9} {cost}"
    yield from dataset.notices


def confirmed(plan: Plan, display: Display) -> bool:
    """Show what a long run costs and ask; `--yes` or `--max-cost` answer beforehand."""
    from harness.evaluation.estimate import estimate, lines
    from harness.evaluation.evaluate import check_confirmed, is_confirmed

    if is_confirmed(plan):
        return True
    for line in lines(estimate(plan), plan):
        display.say(line)
    if not sys.stdin.isatty():
        check_confirmed(plan)
    return click.confirm("Go on?", err=True)
