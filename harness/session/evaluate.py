"""Evaluations from Python: what `vlm-eval run` does, as a function and as a coroutine.

run = harness.evaluate(model="lexical", benchmark="sample", limit=2)
run.summary["total"]        # the numbers of summary.json, also of an incomplete run
run.scores.success.value    # a headline score, with .interval and .n
run.table()                 # the table of results, which a notebook shows as HTML
run.steps()                 # a data frame with a row per step
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Unpack

from adapters import Adapter
from harness.engine import interrupt
from harness.errors import UserError
from harness.planning import objects
from harness.planning.plan import plan_run
from harness.planning.spending import check_confirmed, check_cost_limit, lines_before
from harness.policies import Policy
from harness.runs import Run, open_run
from harness.session.display import Display
from harness.session.observers import open_observers
from harness.session.run import carry_out
from harness.session.run_options import RunOptions
from harness.settings import allow_code, read_settings


def evaluate(model: str | Adapter | Policy, **settings: Unpack[RunOptions]) -> Run:
    """Evaluate a model, or go on with the same evaluation where it was interrupted.

    Args:
        model: a name as for `--model`, or your own adapter or policy. An adapter is
            identified by its `info`, a policy by its name and class; neither is pickled.
        settings: the options of `vlm-eval run` by their names (`limit=2`, `max_cost=5`,
            `split="test_task"`), with the same defaults; `RunOptions` lists and types them.
            `benchmark` and `protocol` also take objects: a benchmark is identified by its name,
            class, fields and data, a protocol by its name, class and fields. `track` takes a
            name, your own tracker, or a list of both.

    Returns:
        The run, complete or not (`run.complete`). Steps whose calls failed are left unsettled, and
        `max_cost` may have ended it early. The same call continues it.

    Raises:
        UserError: a mistake in the settings, data that cannot be read, ...; the message is the one
            line that the command line prints.
        Fatal: no call can succeed: a missing or wrong key, an unknown model, no credit left.
        KeyboardInterrupt: after calls in flight have ended; everything answered is kept. A second
            interrupt does not wait for them.

    It runs in its own thread, so it can be called where an event loop is running, such as
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


async def aevaluate(model: str | Adapter | Policy, **settings: Unpack[RunOptions]) -> Run:
    """As `evaluate`, in the running event loop. Cancel the task to stop it."""
    return await _evaluate(model, settings, _Stop())


class _Stop:
    """The way to end an evaluation from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None

    def begins(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()

    def gracefully(self) -> None:
        """Let calls in flight end; before there are any, stop at once."""
        if self._loop is not None and self._task is not None:
            end = self._task.cancel
            self._loop.call_soon_threadsafe(lambda: interrupt() or end())

    def at_once(self) -> None:
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)


async def _evaluate(
    model: str | Adapter | Policy, values: Mapping[str, object], stop: _Stop
) -> Run:
    stop.begins()
    named, observers = _named(values)
    with objects.named(named) as plain:
        return await _carried_out(model, plain, observers)


async def _carried_out(
    model: str | Adapter | Policy,
    named: Mapping[str, object],
    observers: Mapping[str, object],
) -> Run:
    try:
        given = {**named, "model": _name_of(model)}
        settings = read_settings(given)
        allow_code(given)
    except ValueError as error:
        raise UserError(str(error)) from error
    display = Display(settings)
    with open_observers(settings, display, observers) as observer:
        with display.adapter_messages():
            plan = await asyncio.to_thread(
                plan_run, settings, None if isinstance(model, str) else model
            )
        check_cost_limit(plan)
        if plan.redo:
            display.say(f"redo: {plan.redo}")
        check_confirmed(plan)
        for notice in plan.dataset.notices:
            display.say(notice)
        for line in await asyncio.to_thread(lambda: list(lines_before(plan))):
            display.say(line)
        finished = await carry_out(plan, observer)
        await asyncio.to_thread(observer.close)
    if not finished.complete:
        display.say(finished.how_to_go_on("Make the same call again"))
    return open_run(finished.directory)


def _named(values: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Replace trackers of the caller among values of settings by the names of their classes.

    Returns the values, and the trackers by name. Raises `UserError` for a name that is used twice.
    """
    given = values.get("track")
    each = given if isinstance(given, (list, tuple)) else [given]
    own = {type(one).__name__: one for one in each if not isinstance(one, str | None)}
    if not own:
        return dict(values), {}
    names = [one if isinstance(one, str) else type(one).__name__ for one in each]
    for name in own:
        if names.count(name) > 1:
            raise UserError(f"track: {name} is given twice")
    return {**values, "track": names}, own


def _name_of(model: str | Adapter | Policy) -> str:
    if isinstance(model, str):
        return model
    return model.info.name if isinstance(model, Adapter) else model.name
