"""Who starts when: tries, waits, slots and order, without a process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.runs.finding import State
from harness.settings import Settings
from harness.sweep.file import Cell, CellPlan, Cost, Expansion
from harness.sweep.schedule import Schedule
from harness.sweep.standing import Standing

UNITS = 100
Ending = tuple[int, int]
"""How a process ends: its exit status, and how many dialogues are settled by then."""


class Runs:
    """Runs in memory. Each start of a run has the next of its endings."""

    def __init__(self, endings: Mapping[str, Sequence[Ending]], costs: Mapping[str, float]) -> None:
        self._costs = costs
        self.endings = {name: list(listed) for name, listed in endings.items()}
        self.settled = dict.fromkeys(endings, 0)
        self.waiting: set[str] = set()
        self.started: list[str] = []
        self.limits: dict[str, list[float | None]] = {name: [] for name in endings}
        self.together: set[frozenset[str]] = set()
        self._running: set[str] = set()

    def standing(self, plan: CellPlan, folder: Path) -> Standing:
        name = plan.directory
        settled = self.settled[name]
        state: State = "waiting" if name in self.waiting else "incomplete"
        limit = next(reversed(self.limits[name]), None)
        cost = self._costs.get(name, 0.0) * settled / UNITS
        if settled == UNITS:
            return Standing("complete", settled, cost)
        return Standing(state, settled, cost, limit, limit is not None)

    async def start(self, options: Mapping[str, Any], log: Path, environment: object) -> Any:
        name = Path(options["out"]).name
        self.started.append(name)
        self.limits[name].append(options.get("max-cost"))
        self._running.add(name)
        self.together.add(frozenset(self._running))
        runs = self

        class Process:
            async def ended(self) -> int:
                await asyncio.sleep(0.01)
                status, settled = runs.endings[name].pop(0)
                runs.settled[name] = settled
                runs.waiting = runs.waiting - {name} if status != 3 else runs.waiting | {name}
                runs._running.discard(name)
                return status

        return Process()


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    endings: Mapping[str, Sequence[Ending]],
    *,
    slots: Mapping[str, str] | None = None,
    costs: Mapping[str, float] | None = None,
    estimates: Mapping[str, float] | None = None,
    waiting: Sequence[str] = (),
    **more: Any,
) -> tuple[Runs, list[str]]:
    runs, said = Runs(endings, costs or {}), list[str]()
    runs.waiting = set(waiting)
    monkeypatch.setattr("harness.sweep.schedule.standing_of", runs.standing)
    monkeypatch.setattr("harness.sweep.schedule.Child.start", runs.start)
    plans = [
        CellPlan(
            label=name,
            directory=name,
            options={},
            dialogues=UNITS,
            slot=(slots or {}).get(name, ""),
            spends=bool(estimates),
            cost=Cost(estimates[name], 2 * estimates[name]) if estimates else None,
        )
        for name in endings
    ]
    cells = {name: Cell(name, "[[run]] 1", {}, Settings(model="m")) for name in endings}
    total = more.pop("total", None)
    expansion = Expansion(file="s.toml", cells=plans, max_cost_total=total)
    given = {"jobs": 8, "waits": False, **more}
    schedule = Schedule(expansion, Path(), cells, list(endings), say=said.append, **given)
    assert not asyncio.run(schedule.run())
    return runs, said


def skipping_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every wait be over at once."""
    now = [0.0]
    real = Schedule._next

    async def skipped(self: Schedule) -> None:
        if not self._busy():
            now[0] = max([now[0], *(course.earliest for course in self._later())])
            return
        await real(self)

    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("harness.sweep.schedule.time", clock)
    monkeypatch.setattr(Schedule, "_next", skipped)


def test_ten_tries_with_longer_and_longer_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.sweep.schedule.FIRST_WAIT_S", 30.0)
    monkeypatch.setattr("harness.sweep.schedule.LONGEST_WAIT_S", 1800.0)
    skipping_time(monkeypatch)
    runs, said = carried_out(monkeypatch, {"a": [(1, n) for n in range(1, 20)]})
    assert runs.started == ["a"] * 10
    assert said[-1].startswith("[1/1] a: ended early, 10 of 100 answered")
    waits = [line.partition("again in ")[2].partition(" s")[0] for line in said]
    assert [wait for wait in waits if wait] == ["30", "60", "120", "240", "480", "960"] + 3 * [
        "1,800"
    ]


@pytest.mark.parametrize(
    ("endings", "starts"),
    [
        ([(1, 0)], 1),
        ([(1, 5), (1, 5)], 2),
        ([(1, 5), (0, UNITS)], 2),
        ([(2, 5)], 1),
        ([(-9, 0), (0, UNITS)], 2),
        ([(-9, 0), (-9, 0)], 2),
        ([(-9, 0), (-9, 3), (-9, 3), (0, UNITS)], 4),
        ([(3, 50)], 1),
    ],
)
def test_what_is_started_again(
    monkeypatch: pytest.MonkeyPatch, endings: list[Ending], starts: int
) -> None:
    runs, _ = carried_out(monkeypatch, {"a": endings})
    assert len(runs.started) == starts and not runs.endings["a"]


def test_with_wait_a_run_is_looked_at_until_it_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    endings = [(3, 0), (3, 0), (3, 50), (0, UNITS)]
    runs, _ = carried_out(monkeypatch, {"a": endings}, waits=True)
    assert runs.started == ["a"] * 4


def test_one_of_each_slot_and_no_more_than_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [(0, UNITS)]
    slots = {"a": "x", "b": "x", "c": "y", "d": "y"}
    runs, _ = carried_out(monkeypatch, {n: list(done) for n in "abcdef"}, slots=slots)
    assert all(not {"a", "b"} <= group and not {"c", "d"} <= group for group in runs.together)
    assert frozenset("acef") in runs.together
    few, _ = carried_out(monkeypatch, {n: list(done) for n in "abcdef"}, jobs=2)
    assert max(map(len, few.together)) == 2 and few.started == list("abcdef")


def test_what_waits_for_a_provider_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [(0, UNITS)]
    endings = {name: list(done) for name in "abc"}
    runs, _ = carried_out(monkeypatch, endings, waiting=["c"], jobs=1)
    assert runs.started == ["c", "a", "b"]


def test_a_run_without_money_goes_on_with_what_others_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are estimated to cost 5 dollars; the first costs 8, the other 1."""
    endings = {"a": [(1, 62), (0, UNITS)], "b": [(0, UNITS)]}
    runs, said = carried_out(
        monkeypatch,
        endings,
        estimates={"a": 5.0, "b": 5.0},
        costs={"a": 8.0, "b": 1.0},
        slots={"a": "x", "b": "x"},
        total=10.0,
    )
    assert runs.started == ["a", "b", "a"]
    spent = 0.62 * 8.0
    left = 5.0 * 0.38
    of_b = (10.0 - spent) * 5.0 / (5.0 + left)
    assert runs.limits["a"] == pytest.approx([5.0, 10.0 - 1.0], abs=1e-3)
    assert runs.limits["b"] == pytest.approx([of_b], abs=1e-3)
    assert any("goes on if others leave money" in line for line in said)


def test_a_run_without_money_is_not_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    endings = {"a": [(1, 62)], "b": [(0, UNITS)]}
    runs, said = carried_out(
        monkeypatch,
        endings,
        estimates={"a": 5.0, "b": 5.0},
        costs={"a": 8.0, "b": 5.0},
        slots={"a": "x", "b": "x"},
        total=10.0,
    )
    assert runs.started == ["a", "b"]
    assert said[-1] == "[2/2] a: its part of the money is spent: raise max-cost-total"
