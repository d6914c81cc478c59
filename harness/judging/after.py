"""The observer that `--judge` opens: it has each unit judged as soon as it has ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from harness.benchmarks import benchmark
from harness.engine import ProtocolError
from harness.errors import UserError
from harness.judging import JudgingSettings
from harness.judging.kind import FEEDS, NAME, Feed
from harness.judging.protocol import TRAJECTORY, JudgingProtocol
from harness.kinds.contract import kind_of
from harness.planning.plan import Plan, plan_run
from harness.planning.spending import check_cost_limit
from harness.protocols import open_protocol
from harness.runs import Unit, open_run
from harness.session.observers import Finished, SessionObserver
from harness.session.run import carry_out
from harness.settings import Settings, read_settings
from harness.tables import percent

SHARED = ("max_cost", "prices", "cache", "cache_dir", "timeout_s", "attempts", "preflight", "seed")
"""Settings of a run that hold for its judgements, too."""


class Judging(SessionObserver):
    """Has the finished units of a run judged, by each judge in a thread with a run of its own.

    A judgement that fails is reported at the end and leaves the judged run as it is.
    """

    def __init__(
        self, settings: Settings, given: Mapping[str, object], say: Callable[[str], None]
    ) -> None:
        """Read `settings.judge`. Raises `UserError` for a judge that names no method."""
        self._judges = list(judges_of(settings))
        self._say = say
        self._feed = Feed(())
        self._path = Path()
        self._open: list[OneJudge] = []

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        """Plan the judgements: mistakes come to light before anything is paid."""
        times = range(plan.settings.times)
        units = (replace(one, repeat=n) for one in plan.dataset.entries for n in times)
        self._feed, self._path = Feed(tuple(units)), plan.directory.absolute()
        FEEDS[self._path] = self._feed
        shared = {name: getattr(plan.settings, name) for name in SHARED}
        for method, model in self._judges:
            data = f"{NAME}:{method}:{plan.directory.as_posix()}"
            values = {name: value for name, value in shared.items() if value is not None}
            asked = {"model": model, "benchmark": data, "progress": "off", **values}
            judgment = plan_run(read_settings(asked))
            check_cost_limit(judgment)
            self._open.append(OneJudge(judgment, self._say))
        for record in records:
            self.recorded(record)
        for one in self._open:
            one.start()

    def recorded(self, record: Unit[Any]) -> None:
        if record.settled:
            self._feed.add(record)

    def finished(self, done: Finished) -> None:
        self._feed.close()
        if done.stopped is not None:
            self._stop()

    def close(self, error: BaseException | None = None) -> None:
        self._feed.close()
        if error is not None:
            self._stop()
        for one in self._open:
            one.join()
            self._say(one.said)
        self._open = []
        FEEDS.pop(self._path, None)

    def _stop(self) -> None:
        for one in self._open:
            one.stop()


class OneJudge(threading.Thread):
    """A judgement under way."""

    def __init__(self, plan: Plan, say: Callable[[str], None]) -> None:
        super().__init__(name=f"judge {plan.settings.model}", daemon=True)
        self.said = ""
        self._plan, self._notice = plan, say
        self._interrupt: Callable[[], object] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> None:
        plan, path = self._plan, self._plan.directory
        who = f"judged by {plan.settings.model} with {plan.protocol.name}"
        try:
            done = asyncio.run(carry_out(plan, Quiet(self._notice), self._can_be_stopped))
        except (UserError, Fatal, ProtocolError) as error:
            self.said = f"{who}: {error}"
            return
        main = open_run(path).manifest.declaration.main
        score = open_run(path).scores[main.result]
        shown = "" if score.value is None else f" {main.head} {percent(score.value)};"
        state = "" if done.complete else " not complete, run the same line again;"
        self.said = f"{who}:{shown}{state} {path}"

    def _can_be_stopped(self, stop: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._interrupt = partial(loop.call_soon_threadsafe, stop)
            if self._stopped:
                stop()

    def stop(self) -> None:
        """Let calls in flight end, and make no more."""
        with self._lock:
            self._stopped = True
            if self._interrupt is not None and self.is_alive():
                self._interrupt()


class Quiet(SessionObserver):
    """Passes notices on."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def notice(self, text: str) -> None:
        self._say(f"judge: {text}")


def judges_of(settings: Settings) -> list[tuple[str, str]]:
    """Return method and model of each judge. Raises `UserError`."""
    source, found = benchmark(settings.benchmark), list[tuple[str, str]]()
    after = source.after or kind_of(settings.benchmark).after
    if source.kind == TRAJECTORY:
        raise UserError("--judge: a judgement is not judged itself")
    for text in JudgingSettings.of(settings).judge:
        method, named, model = text.partition("=")
        if not named and not after:
            raise UserError(
                f"--judge {text}: {source.name} names no method; write --judge METHOD={text}"
            )
        for one in (method,) if named else after:
            if not isinstance(open_protocol(one), JudgingProtocol):
                raise UserError(f"--judge {text}: protocol '{one}' judges no trajectories")
            found.append((one, model if named else text))
    return found
