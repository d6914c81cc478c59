"""`vlm-eval run`: evaluate a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from adapters.registry import load
from harness.commands.options import (
    CONFIG,
    MATRIX,
    SettingsCommand,
    config_option,
    given_settings,
    json_option,
    names_of,
    read_options,
    require,
    setting_options,
)
from harness.printing import say, terminal
from harness.settings import GROUPS, SETTINGS, SEVERAL

if TYPE_CHECKING:
    from rich.console import Console

    from harness.planning.plan import Plan
    from harness.session.display import Display
    from harness.session.observers import Finished


_SEVERAL = "vlm_eval.several"
"""Where a context keeps all values of the options that may be given several times."""


class _Run(SettingsCommand):
    """Reads the first value of each option that may be given several times, and keeps all."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        ctx.meta[_SEVERAL] = {name: list(ctx.params[name] or ()) for name in SEVERAL}
        for name, values in ctx.meta[_SEVERAL].items():
            ctx.params[name] = values[0] if values else SETTINGS[name].default
        return rest


@click.command(cls=_Run)
@config_option(several=True)
@setting_options(names_of(*GROUPS), **{name: {"multiple": True} for name in SEVERAL})
@click.option("--dry-run", is_flag=True, help="Count calls, tokens and cost; ask nothing.")
@click.option("--status", is_flag=True, help="Print how far it is; ask nothing.")
@json_option(", with --dry-run the estimate; full: the whole summary.json with the run's directory")
@click.option("--details", is_flag=True, help="Print every average, bound and count.")
def run(dry_run: bool, status: bool, as_json: str | None, details: bool, **_: Any) -> int:
    """Evaluate a model, or a policy. The same command goes on with an interrupted run. With -m or
    -b given several times, or lists in --config, every combination is a run in a folder of sweeps/.

    \b
      vlm-eval --model gpt-5.4 --limit 20 --max-cost 5
      vlm-eval --model lexical --benchmark sample --protocol coordinates

    Exit codes: 0 done, 1 ended early or with steps left, 2 bad input, 3 waiting for
    batches of a provider, 130 interrupted.
    """
    import asyncio

    from harness.planning.plan import plan_run
    from harness.planning.spending import check_cost_limit
    from harness.session.display import Display
    from harness.session.observers import open_observers
    from harness.session.run import carry_out

    if as_json and details:
        raise click.UsageError("--json=full has every figure of --details: leave out one of them")
    if status and (dry_run or as_json or details):
        raise click.UsageError("--status only prints how far the runs are: leave out the others")
    if status or describes_several(click.get_current_context()):
        if as_json or details:
            raise click.UsageError("--json and --details are for one run: report prints several")
        return _several(dry_run=dry_run, status=status)
    require("model", unless="redo_from")
    settings = read_options()
    console, display = terminal(), Display(settings)
    with open_observers(settings, display) as observer:
        with display.adapter_messages():
            plan = plan_run(settings, asks=not dry_run)
        if not dry_run:
            check_cost_limit(plan)
        for line in heading(plan):
            display.say(line)
        if dry_run:
            from harness.planning.estimate import estimate, lines

            found = estimate(plan)
            if as_json:
                from harness.session.report import estimate_json

                say(estimate_json(plan, found, full=as_json == "full"))
                return 0
            for line in lines(found, plan):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
            return 0
        if not confirmed(plan, display):
            display.say("not started")
            return 1
        done = asyncio.run(carry_out(plan, observer))
        return conclude(plan, done, display, as_json or console, details=details)


def describes_several(context: click.Context) -> bool:
    """Return whether a command line of `run` describes several runs."""
    given = context.meta[_SEVERAL].values()
    return MATRIX in context.meta or any(len(values) > 1 for values in given)


def _several(*, dry_run: bool, status: bool) -> int:
    """Carry out several runs, or print how far they are; one is several, too."""
    context, given = click.get_current_context(), given_settings()
    values = {name: [value] for name, value in given.items()}
    values |= {n: several for n, several in context.meta[_SEVERAL].items() if n in given}
    carry_out: Callable[..., int] = load("harness.sweep.command:several")
    return carry_out(
        values,
        context.meta.get(MATRIX),
        context.meta.get(CONFIG, ""),
        dry_run=dry_run,
        status=status,
    )


def conclude(
    plan: Plan, done: Finished, display: Display, console: Console | str, *, details: bool
) -> int:
    """Print the result of a session on a console, or as JSON ("scores", "full"), and what to do
    next.

    Returns the exit code.
    """
    from harness.runs import open_run
    from harness.session.brief import brief_grid, print_result, redo_hint

    if done.waiting and done.stopped is None:
        display.say(done.how_to_go_on("Run the same line again"))
        return done.exit_code
    run, source = open_run(done.directory), plan.source
    if done.without_answers and not any(one.asked and one.settled for one in done.records):
        display.say(done.how_to_go_on("Run the same line again"))
        return done.exit_code
    if isinstance(console, str):
        from harness.session.report import result_json

        say(result_json(run, full=console == "full"))
    elif details:
        from harness.session.report import result_grid

        grid = result_grid(
            done.records,
            plan.settings,
            source,
            done.found,
            plan.selected.task_rows,
            manifest=run.manifest,
            notes=plan.protocol.notes,
            directory=done.directory,
        )
        print_result(console, grid)
    else:
        total = done.found["", ""]
        print_result(console, brief_grid(done.records, plan.settings, source, total, run))
    if paid := run.manifest.paid_before:
        display.say(paid)
    if done.complete:
        units = source.declared.units
        if hint := redo_hint(done.directory, done.records, plan.settings, units):
            display.say(hint)
        display.say(f"complete: {done.directory}")
    else:
        display.say(done.how_to_go_on("Run the same line again"))
    return done.exit_code


def heading(plan: Plan) -> Iterator[str]:
    """Return the heading of a run, defaults included."""
    from harness.planning.spending import lines_before
    from harness.session import deployment
    from harness.tables import counted

    settings, dataset = plan.settings, plan.dataset
    units = counted(len(dataset), dataset.unit, dataset.units)
    if dataset.whole:
        level = plan.source.declared.level(dataset.whole)
        groups = set(map(dataset.group_of, dataset.entries))
        units += f", {counted(len(groups), level.one, level.many)}"
    splits = ", ".join(sorted({entry.split for entry in plan.selected.whole.entries}))
    offered = plan.source.offered(plan.shows)
    times = f", {settings.repeats} times" if settings.repeats > 1 else ""
    times += f", {settings.shuffles} shuffles" if settings.shuffles > 1 else ""
    roles = [f"{name}: {role.info.name}" for name, role in plan.roles.items()]
    history = dict(settings.protocol_option).get("history")
    told = "" if history is None else f", history: {history}"
    for name, text in (
        ("model", plan.model.info.name),
        ("data", f"{settings.benchmark} ({splits}): {units}"),
        *([("choices", offered)] if offered else []),
        ("asked", f"{settings.protocol}{times}, picture: {plan.pictures.text}{told}"),
        *([("roles", ", ".join(roles))] if roles else []),
        *([("redo", plan.redo)] if plan.redo else []),
        ("run", str(plan.directory)),
    ):
        yield f"{name + ':':<9} {text}"
    if plan.pictures.oracle:
        yield "warning:  these pictures show where the right answer is: an upper bound only"
    if not dataset.entries:
        yield f"this shard has none of the selected {dataset.units}"
    if limit := deployment.limit_heading(settings, plan.model.info):
        yield f"{'limit:':<9} {limit}"
    yield from lines_before(plan)
    yield from dataset.notices


def confirmed(plan: Plan, display: Display) -> bool:
    """Show what a long run costs and ask; `--yes` or `--max-cost` answer beforehand."""
    from harness.planning.spending import check_confirmed, is_confirmed

    if is_confirmed(plan):
        return True
    from harness.planning.estimate import estimate, lines

    for line in lines(estimate(plan), plan):
        display.say(line)
    if not sys.stdin.isatty():
        check_confirmed(plan)
    return click.confirm("Go on?", err=True)
