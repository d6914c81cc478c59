"""The observer that `--judge` opens: it has each unit judged as soon as it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from harness.benchmarks import benchmark
from harness.engine import ProtocolError
from harness.errors import UserError
from harness.judging.benchmark import FEEDS, NAME, FinishedUnits
from harness.judging.protocol import TRAJECTORY, JudgingProtocol
from harness.planning.plan import Plan, plan_run
from harness.planning.roles import values_of_model
from harness.planning.spending import check_cost_limit
from harness.protocols import open_protocol
from harness.runs import Unit, open_run
from harness.session.observers import Followed, SessionObserver
from harness.session.run import carry_out
from harness.settings import Settings, read_settings
from harness.tables import percent

SHARED = ("max_cost", "prices", "cache", "timeout_s", "attempts", "preflight", "seed")
"""Settings of a run that hold for its judgements, too."""


class Judging(SessionObserver):
    """Has the finished units of a run judged, by each judge in a session with its own run.

    The sessions are side by side with the judged one in its event loop, and are stopped along with
    it. A judgement that fails is reported at the end and leaves the judged run unchanged.
    """

    def __init__(
        self, settings: Settings, given: Mapping[str, object], say: Callable[[str], None]
    ) -> None:
        """Read `settings.judge`. Raises `UserError` for a judge that names no method."""
        self._judges = judges_of(settings)
        self._say = say
        self._feed = FinishedUnits(())
        self._path = Path()
        self._tasks: list[asyncio.Task[Followed]] = []

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        """Plan the judgements: mistakes come to light before anything is paid."""
        times = range(plan.settings.times)
        units = (replace(one, repeat=n) for one in plan.dataset.entries for n in times)
        self._feed, self._path = FinishedUnits(tuple(units)), plan.directory.absolute()
        FEEDS[self._path] = self._feed
        shared = {name: getattr(plan.settings, name) for name in SHARED}
        given = {name: value for name, value in shared.items() if value is not None}
        judgments = []
        for judge in self._judges:
            data = f"{NAME}:{judge.method}:{plan.directory.as_posix()}"
            asked = {**given, "benchmark": data, "progress": "off", **judge.values}
            judgments.append(plan_run(read_settings(asked)))
            check_cost_limit(judgments[-1])
        for record in records:
            self.recorded(record)
        self._tasks = [asyncio.create_task(_judge(one, self._say)) for one in judgments]

    def recorded(self, record: Unit[Any]) -> None:
        if record.settled:
            self._feed.add(record)

    async def follow(self, error: BaseException | None = None) -> Sequence[Followed]:
        """Have judged what has ended; a session that was cancelled takes its judges with it."""
        self._feed.close()
        if isinstance(error, asyncio.CancelledError):
            for task in self._tasks:
                task.cancel()
        try:
            ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            FEEDS.pop(self._path, None)
        for one in ended:
            if isinstance(one, BaseException) and error is None:
                raise one
        return [one for one in ended if isinstance(one, Followed)]


async def _judge(plan: Plan, say: Callable[[str], None]) -> Followed:
    """Carry out a judgement, and say how it ended."""
    path = plan.directory
    who = f"judged by {plan.settings.model} with {plan.protocol.name}"
    try:
        done = await carry_out(plan, Quiet(say))
    except (UserError, Fatal, ProtocolError) as error:
        return Followed(f"{who}: {error}; run the same line again")
    main = open_run(path).manifest.declaration.main
    score = open_run(path).scores[main.name]
    shown = "" if score.value is None else f" {main.head} {percent(score.value)};"
    why = f" {done.stopped}:" if done.stopped else ""
    state = "" if done.complete else f"{why} not complete, run the same line again;"
    return Followed(f"{who}:{shown}{state} {path}", done.complete, done.stopped)


class Quiet(SessionObserver):
    """Passes notices on."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def notice(self, text: str) -> None:
        self._say(f"judge: {text}")


@dataclass(frozen=True)
class Judge:
    """A judge as it was named: its method, and the settings that are its own."""

    method: str
    values: Mapping[str, object]


def judges_of(settings: Settings) -> list[Judge]:
    """Return the judges that were named. Raises `UserError`."""
    source, found = benchmark(settings.benchmark), list[tuple[str, str]]()
    after = source.after
    if source.declared.kind == TRAJECTORY:
        raise UserError("--judge: a judgement is not judged itself")
    own: dict[str, dict[str, str]] = {}
    for text in settings.judge:
        method, named, model = text.partition("=")
        method, is_setting, name = method.partition(".") if named else (method, "", "")
        if is_setting:
            own.setdefault(method, {})[name] = model
            continue
        if not named and not after:
            raise UserError(
                f"--judge {text}: {source.name} names no method; write --judge METHOD={text}"
            )
        for one in (method,) if named else after:
            if not isinstance(open_protocol(one), JudgingProtocol):
                raise UserError(f"--judge {text}: protocol '{one}' judges no trajectories")
            found.append((one, model if named else text))
    for method, values in own.items():
        if method not in dict(found):
            raise UserError(
                f"--judge {method}.{next(iter(values))}: no judge of the method '{method}' is "
                f"named; add --judge {method}=MODEL"
            )
    return [Judge(method, _values(method, model, own.get(method, {}))) for method, model in found]


def _values(method: str, model: str, own: Mapping[str, str]) -> Mapping[str, object]:
    try:
        values = values_of_model(model, own)
        read_settings(values)
    except ValueError as error:
        raise UserError(f"--judge {method}={model}: {error}") from error
    return values
