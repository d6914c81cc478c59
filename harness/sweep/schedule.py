"""Runs the cells of a sweep, each in a separate process.

Running cells are kept in memory and are lost when the sweep is killed; progress is in their
directories, and the next start continues from them.

- Cells that wait for a provider are polled first, then the others start in the order of the file:
  `jobs` at a time, of each provider, device and server one.
- A cell that ended early (exit 1) is started again after 30 s, 60 s, ... up to an hour, at most ten
  times, and only as long as steps get settled. One that was killed is started again at once, also
  without a new step, but not twice in a row. Bad input (exit 2) is not tried again.
- A cell that has used up its part of the money is started again when others have left some.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.processes.child import meaning
from harness.engine import on_interrupt
from harness.errors import UserError
from harness.serve import ServerSettings
from harness.sweep.child import Child, Claim, Servers, limit_of
from harness.sweep.file import Cell, CellPlan, Expansion
from harness.sweep.planning import HERE
from harness.sweep.standing import Standing, standing_of

MOST_ATTEMPTS = 10
FIRST_WAIT_S = 30.0
LONGEST_WAIT_S = 3600.0
IN_USE_S = 2.0
"""Time between two looks at a run that another process works on."""
POLL_S, LONGEST_POLL_S = 60.0, 600.0
"""Time between two looks at what a provider has, with `--wait`."""
ENDING_S = 10.0
"""Time that processes have to end when the sweep does not wait for them."""
PICTURE_CACHE_GB = 8.0
WORTHWHILE = 1.02
"""A limit has to be this much higher before a cell is started again with it."""
BAD_INPUT, WAITING = 2, 3

Say = Callable[[str], None]


@dataclass
class Course:
    """Progress of a cell in this sweep.

    attempts: how often it ended early.
    killed: how often in a row it was killed before it settled a step.
    polls: how often in a row it was found waiting.
    earliest: when it may start, on the clock of `time.monotonic`.
    over: whether it is not started any more.
    limit: what it may cost in all, None without a limit.
    starved: whether it has used that up.
    """

    plan: CellPlan
    cell: Cell
    standing: Standing
    attempts: int = 0
    killed: int = 0
    polls: int = 0
    earliest: float = 0.0
    over: bool = False
    limit: float | None = None
    starved: bool = False
    elsewhere: bool = False
    child: Child | None = None
    task: asyncio.Task[int] | None = None

    @property
    def claim(self) -> Claim:
        """Its share of the money."""
        spent = self.standing.spent + self.standing.with_provider
        needs = allotted = 0.0
        if self.task is not None or self.elsewhere:
            limit = self.limit if self.task is not None else self.standing.limit
            allotted = max(spent, limit or 0.0)
        elif not self.over and self.plan.spends and self.plan.cost is not None:
            left = 1 - self.standing.settled / max(1, self.plan.dialogues)
            needs = self.plan.cost.expected * max(0.0, left)
        return Claim(spent, allotted, needs)


@dataclass
class Schedule:
    """The cells of a sweep that are to be run, with those that only count for the money.

    jobs: how many work at a time.
    waits: whether cells that wait for a provider are looked at until they are complete.
    """

    expansion: Expansion
    folder: Path
    cells: Mapping[str, Cell]
    selected: Sequence[str]
    jobs: int
    waits: bool
    say: Say
    stopping: bool = False
    _servers: Servers = field(init=False)
    _courses: dict[str, Course] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> bool:
        """Run the selected cells; returns whether it was interrupted."""
        self._servers = Servers(self.folder, self.say)
        for plan in self.expansion.cells:
            course = Course(plan, self.cells[plan.directory], standing_of(plan, self.folder))
            course.over = course.standing.state == "complete"
            course.over |= plan.directory not in self.selected
            self._courses[plan.directory] = course
        try:
            with on_interrupt(self._stop):
                while True:
                    if self._start():
                        continue
                    if not self._busy() and not self._later():
                        return self.stopping
                    await self._next()
                    left = (*self._busy(), *self._later())
                    await self._servers.keep({course.plan.server for course in left})
        finally:
            await self._end()
            await self._servers.stop()

    def _stop(self) -> None:
        self.stopping = True
        self._wake.set()
        self._servers.give_up()
        for course in self._busy():
            if course.child is not None:
                course.child.interrupt()

    async def _end(self) -> None:
        """End the processes that are left after an error or a second interrupt."""
        tasks = [course.task for course in self._busy() if course.task is not None]
        if tasks:
            self._stop()
            _, left = await asyncio.wait(tasks, timeout=ENDING_S)
            for course in self._busy():
                if course.task in left and course.child is not None:
                    course.child.kill()

    def _busy(self) -> list[Course]:
        return [course for course in self._courses.values() if course.task is not None]

    def _later(self) -> list[Course]:
        """Return the cells that may still start."""
        if self.stopping:
            return []
        return [c for c in self._courses.values() if not c.over and c.task is None]

    async def _next(self) -> None:
        """Wait until a process ends, a cell's time has come, or the sweep is to stop."""
        now = time.monotonic()
        times = [c.earliest - now for c in self._later() if c.earliest > now]
        stop = asyncio.ensure_future(self._wake.wait())
        waited: set[asyncio.Future[Any]] = {c.task for c in self._busy() if c.task is not None}
        if not self.stopping:
            waited.add(stop)
        try:
            await asyncio.wait(
                waited, timeout=min(times, default=None), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stop.cancel()
        for course in self._busy():
            if course.task is not None and course.task.done():
                status, course.task, course.child = course.task.result(), None, None
                self._ended(course, status)

    def _start(self) -> bool:
        """Start what may start now; returns whether anything did."""
        started = False
        now = time.monotonic()
        order = sorted(self._later(), key=self._rank)
        for course in order:
            if len(self._busy()) >= self.jobs:
                break
            if course.earliest > now or self._is_taken(course):
                continue
            if course.starved and (self._busy() or any(not c.starved for c in self._later())):
                continue
            started |= self._begin(course, now)
        return started

    def _rank(self, course: Course) -> tuple[bool, bool, bool]:
        """Order the cells: first those that wait for a provider, then the running server's."""
        served = self._servers.running
        other = served is not None and course.plan.slot == HERE and course.plan.server != served
        return course.starved, course.standing.state != "waiting", other

    def _is_taken(self, course: Course) -> bool:
        slot = course.plan.slot
        others = (c for c in self._courses.values() if c is not course)
        return bool(slot) and any(
            c.plan.slot == slot and (c.task is not None or c.elsewhere) for c in others
        )

    def _begin(self, course: Course, now: float) -> bool:
        """Start a cell, unless another process works on it or no money is left for it."""
        course.standing = standing_of(course.plan, self.folder)
        was, course.elsewhere = course.elsewhere, course.standing.state == "running"
        if course.elsewhere:
            if not was:
                self._tell(course, "another process is working on it; waiting for it")
            course.earliest = now + IN_USE_S
            return False
        if course.standing.state == "complete":
            self._finish(course, "complete")
            return True
        limit = self._limit(course)
        if limit is not None:
            least = course.standing.spent
            if course.starved:
                least += WORTHWHILE * max(0.0, (course.limit or 0.0) - least)
            if limit <= least:
                self._finish(course, "its part of the money is spent: raise max-cost-total")
                return True
        course.limit, course.starved = limit, False
        course.task = asyncio.ensure_future(self._process(course))
        again = f" (attempt {course.attempts + 1})" if course.attempts else ""
        money = f", at most ${limit:,.4f} in all" if limit is not None else ""
        self._tell(course, f"started{again}{money}")
        return True

    def _limit(self, course: Course) -> float | None:
        """Return the most that a cell may cost in all; None for one without a limit."""
        own = course.cell.settings.max_cost
        total = self.expansion.max_cost_total
        if total is None or not course.plan.spends:
            return own
        claims = {name: other.claim for name, other in self._courses.items()}
        share = limit_of(course.plan.directory, total, claims)
        return share if own is None else min(own, share)

    async def _process(self, course: Course) -> int:
        options = {"progress": "plain", **self._shared(course.plan), **course.cell.options}
        options |= {"out": str(self.folder / course.plan.directory)}
        if course.plan.spends:
            options["yes"] = True
        if course.limit is not None:
            options["max-cost"] = course.limit
        log = course.plan.log(self.folder)
        try:
            environment = await self._environment(course)
        except UserError as error:
            with log.open("a", encoding="utf-8") as file:
                print(error, file=file)
            return BAD_INPUT
        course.child = await Child.start(options, log, environment)
        if self.stopping:
            course.child.interrupt()
        status = await course.child.ended()
        if status < 0:
            with log.open("a") as file:
                file.write(f"{meaning(status)}\n")
        return status

    def _shared(self, plan: CellPlan) -> dict[str, Any]:
        """Return default options of a cell for those that the file lacks: prepared pictures are
        shared if several cells send them."""
        sending = [p for p in self.expansion.cells if p.sends]
        return {"picture-cache": PICTURE_CACHE_GB} if plan.sends and len(sending) > 1 else {}

    async def _environment(self, course: Course) -> dict[str, str]:
        """Return the variables that connect a cell to its server. Raises `UserError`."""
        if course.plan.slot != HERE:
            return {}
        timeout_s = ServerSettings.of(course.cell.settings).serve_timeout
        return await self._servers.lend(course.plan.server, timeout_s)

    def _ended(self, course: Course, status: int) -> None:
        """Decide how a cell goes on whose process has ended."""
        before, course.standing = course.standing, standing_of(course.plan, self.folder)
        now, standing = time.monotonic(), course.standing
        progressed = standing.settled > before.settled
        count = f"{standing.settled:,} of {course.plan.dialogues:,} answered"
        if standing.state == "complete":
            self._finish(course, f"complete, {count}")
        elif self.stopping:
            self._tell(course, f"stopped, {count}")
        elif status == WAITING:
            course.polls = 0 if progressed else course.polls + 1
            if not self.waits:
                self._finish(course, f"waiting for the provider, {count}")
                return
            wait = min(POLL_S * 2 ** max(0, course.polls - 1), LONGEST_POLL_S)
            course.earliest = now + wait
            self._tell(course, f"waiting for the provider, {count}; next look in {wait:,.0f} s")
        elif status == BAD_INPUT:
            self._finish(course, f"cannot be run: {standing.why}")
        elif status < 0:
            course.killed = 0 if progressed else course.killed + 1
            course.attempts += 1
            if course.killed > 1 or course.attempts >= MOST_ATTEMPTS:
                self._finish(course, f"{meaning(status)}, {count}; not started again")
            else:
                self._tell(course, f"{meaning(status)}, {count}; starting again")
        elif standing.reached_limit and course.limit is not None and self._may_get_more(course):
            course.starved = True
            if not progressed:
                self._finish(course, f"{standing.why}, {count}")
            else:
                self._tell(course, f"{standing.why}, {count}; goes on if others leave money")
        else:
            course.attempts += 1
            if not progressed or course.attempts >= MOST_ATTEMPTS:
                why = "" if progressed else ", none of them new"
                self._finish(course, f"ended early, {count}{why}: {standing.why}")
                return
            wait = min(FIRST_WAIT_S * 2 ** (course.attempts - 1), LONGEST_WAIT_S)
            course.earliest = now + wait
            message = f"ended early, {count}; again in {wait:,.0f} s: {standing.why}"
            self._tell(course, message)

    def _may_get_more(self, course: Course) -> bool:
        own = course.cell.settings.max_cost
        return self.expansion.max_cost_total is not None and (
            own is None or (course.limit or 0.0) < own
        )

    def _finish(self, course: Course, how: str) -> None:
        course.over, course.elsewhere = True, False
        self._tell(course, how)

    def _tell(self, course: Course, what: str) -> None:
        over = sum(c.over for c in self._courses.values() if c.plan.directory in self.selected)
        self.say(f"[{over}/{len(self.selected)}] {course.plan.label}: {what}")
