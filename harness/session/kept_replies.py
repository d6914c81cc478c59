"""Kept replies of other runs that a new run is about to ask for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from harness.engine import Engine, Job
from harness.planning.plan import Plan
from harness.printing import first_and_others
from harness.session.session import Session


async def say_what_is_kept(
    plan: Plan, engine: Engine, session: Session, say: Callable[[str], None]
) -> None:
    """Say how many calls of a new run would be answered with `--cache` and are not without."""
    least = most = 0

    async def jobs() -> AsyncGenerator[Job]:
        nonlocal least, most
        async for job, question in session.rehearsed():
            fewest, highest = plan.source.calls(question.view.count, plan.shows)
            least, most = least + fewest, most + highest
            yield job

    found = await engine.left_aside(jobs())
    if not found:
        return
    places = list(dict.fromkeys(_place(run, plan) for run, _ in found.most_common()))
    total = f"{most:,}" if least == most else f"up to {most:,}"
    calls = f"{found.total():,} of {total} calls"
    say(f"{calls} are answered in {first_and_others(places)}: --cache takes them")


def _place(run: str, plan: Plan) -> str:
    """Name a run, or the model that it asked if the run is gone, which its replies outlive."""
    folders = [folder / run for folder in (Path(), plan.directory.parent)] if run else []
    if any(one.is_dir() and one.resolve() != plan.directory.resolve() for one in folders):
        return run
    info = plan.model.info
    address = f" at {info.endpoint}" if "/" in (info.endpoint or "") else ""
    return f"replies kept of {info.name}{address}"
