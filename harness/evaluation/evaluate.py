"""Evaluations from Python: what `vlm-eval run` does, as a function and as a coroutine.

run = harness.evaluate(model="lexical", benchmark="sample", limit=2)
run.summary["total"]        # the numbers of summary.json, also of an incomplete run
run.table()                 # the table of results, which a notebook shows as HTML
run.steps()                 # a data frame with a row per step
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import cast

from adapters import Adapter
from harness.errors import UserError
from harness.evaluation.display import Display
from harness.evaluation.estimate import batches_line, cost_line, resuming_lines
from harness.evaluation.plan import Plan, plan_run
from harness.evaluation.run import Finished, carry_out
from harness.evaluation.tiers import tier_lines
from harness.evaluation.tracking import Tracking
from harness.policies.contract import Policy
from harness.runs import Run, open_run
from harness.settings import Settings, read_settings
from harness.trackers import TRACKERS, Tracker, open_trackers

CONFIRM_FROM = 100
"""More calls than this to a model that costs money have to be confirmed."""


def evaluate(model: str | Adapter | Policy, **settings: object) -> Run:
    """Evaluate a model, or go on with the same evaluation where it was interrupted.

    Args:
        model: a name as for `--model`, or an adapter or a policy of your own. An adapter is
            identified by its `info`, a policy by its name and class; neither is pickled.
        settings: the options of `vlm-eval run` by their names (`limit=2`, `max_cost=5`,
            `split="test_task"`), with the same defaults. `track` takes a name, a tracker of your
            own, or a list of both.

    Returns:
        The run, complete or not (`run.complete`). Steps whose calls failed are left unsettled, and
        `max_cost` may have ended it early. The same call continues it.

    Raises:
        UserError: a mistake in the settings, data that cannot be read, ...; the message is the one
            line that the command line prints.
        Fatal: no call can succeed: a missing or wrong key, an unknown model, no credit left.
        KeyboardInterrupt: after calls in flight have ended; everything answered is kept. A second
            interrupt does not wait for them.

    It runs in a thread of its own, so that it can be called where an event loop is running, such as
    in a notebook.
    """
    stop = _Stop()
    result: Future[Run] = Future()

    def work() -> None:
        try:
            result.set_result(asyncio.run(_evaluate(model, settings, stop)))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=work, name="evaluate", daemon=True).start()
    try:
        return result.result()
    except KeyboardInterrupt:
        stop.gracefully()
        try:
            result.exception()
        except KeyboardInterrupt:
            stop.at_once()
        raise


async def aevaluate(model: str | Adapter | Policy, **settings: object) -> Run:
    """As `evaluate`, in the running event loop. Cancel the task to stop it."""
    return await _evaluate(model, settings, _Stop())


class _Stop:
    """The way to end an evaluation from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._stop: Callable[[], None] | None = None

    def begins(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()

    def can_be_stopped(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def gracefully(self) -> None:
        """Let calls in flight end; before there are any, stop at once."""
        if self._stop is None:
            self.at_once()
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def at_once(self) -> None:
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)


async def _evaluate(model: str | Adapter | Policy, values: dict[str, object], stop: _Stop) -> Run:
    stop.begins()
    track, own = _trackers(values.get("track", ()))
    try:
        settings = read_settings({**values, "model": _name_of(model), "track": track})
    except ValueError as error:
        raise UserError(str(error)) from error
    trackers = {**open_trackers(name for name in settings.track if name not in own), **own}
    display = Display(settings)
    with display.adapter_messages():
        plan = await asyncio.to_thread(
            plan_run, settings, None if isinstance(model, str) else model
        )
    display.completed(plan.settings)
    check_cost_limit(plan)
    for told in await asyncio.to_thread(resuming_lines, plan):
        display.say(told)
    check_confirmed(plan)
    for notice in plan.dataset.notices:
        display.say(notice)
    for told in tier_lines(plan.settings, plan.model.info, plan.model.sheet):
        display.say(told)
    if batches := await asyncio.to_thread(batches_line, plan):
        display.say(batches)
    if line := await asyncio.to_thread(cost_line, plan):
        display.say(f"cost: {line}")
    with Tracking(plan, display, trackers) as tracking:
        finished = await carry_out(
            plan, tracking.watching, tracking.add, display.say, stop.can_be_stopped
        )
        tracking.finish(finished)
        await asyncio.to_thread(tracking.wait)
    if not finished.complete:
        display.say(how_to_go_on(finished, "Make the same call again"))
    return open_run(finished.directory)


def _trackers(given: object) -> tuple[object, dict[str, Tracker]]:
    """What stands for `track` among the settings, and the trackers of the caller's own in it."""
    each = given if isinstance(given, (list, tuple)) else (given,)
    own = {
        type(one).__name__: cast(Tracker, one)
        for one in each
        if not isinstance(one, str) and TRACKERS.is_instance(one)
    }
    if not own:
        return given, {}
    names = [one if isinstance(one, str) else type(one).__name__ for one in each]
    for name in own:
        if names.count(name) > 1:
            raise UserError(f"track: {name} is given twice")
    return names, own


def _name_of(model: str | Adapter | Policy) -> str:
    if isinstance(model, str):
        return model
    return model.info.name if isinstance(model, Adapter) else model.name


def check_cost_limit(plan: Plan) -> None:
    """Raise `UserError` for a cost limit that could not be kept."""
    if plan.settings.max_cost is not None and plan.model.pricing() is None:
        raise UserError(
            f"--max-cost needs a price for {plan.model.info.name}; give one with --prices FILE"
            if plan.model.policy is None
            else "--max-cost has no effect on a policy; leave it out"
        )
    for role in plan.roles.values():
        if plan.settings.max_cost is not None and role.pricing() is None:
            raise UserError(
                f"--max-cost needs a price for {role.info.name} (role {role.name}); give one with "
                "--prices FILE"
            )


def is_agreed(settings: Settings) -> bool:
    """Whether the user has said beforehand that a run may cost money."""
    return settings.yes or settings.max_cost is not None


def is_confirmed(plan: Plan) -> bool:
    """Whether a run may start without asking: it is free or short, or was confirmed beforehand."""
    return is_agreed(plan.settings) or not plan.spends or plan.most_calls <= CONFIRM_FROM


def check_confirmed(plan: Plan) -> None:
    """Raise `UserError` for a run that costs money and nobody can be asked about."""
    if is_confirmed(plan):
        return
    models = (plan.model, *plan.roles.values())
    priced = all(model.pricing() is not None for model in models)
    limit = "--max-cost DOLLARS" if priced else "--prices FILE with --max-cost"
    names = ", ".join(dict.fromkeys(model.info.name for model in models if model.spends))
    raise UserError(
        f"{plan.most_calls} calls to {names} may cost money; "
        f"without a terminal to ask on, say --yes or {limit}"
    )


def how_to_go_on(finished: Finished, again: str) -> str:
    """A line on a run that ended early or left steps unsettled; `again` is what to do."""
    if finished.waiting and finished.stopped is None:
        return f"waiting: {finished.waiting}. {again} to fetch what has been answered."
    if finished.stopped is None:
        return (
            f"some steps are unsettled; what was answered is kept in {finished.directory}. "
            f"{again} to ask for them, or with --settle-failures."
        )
    dear = "with a higher --max-cost " if finished.reached_cost_limit else ""
    return (
        f"{finished.stopped}; what was answered is kept in {finished.directory}. "
        f"{again} {dear}to go on from there."
    )
