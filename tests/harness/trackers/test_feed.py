"""A tracker on its thread: what it raises, how long it may take, how much waits for it."""

from __future__ import annotations

import threading

import pytest

from harness import is_held
from harness.trackers import MOST_POINTS, Ending, TrackerThread, Values
from tests.harness.trackers.notes import PATIENCE_S, Hangs, Notes, Raises

RUN: tuple[str, dict[str, int]] = ("a-run", {"seed": 42})
KEY = "wb-Recognisable0123456789abcdefghijklmnop"


def at(settled: int) -> tuple[int, Values]:
    return settled, lambda: {"macro/element": settled / 1000}


def fed(tracker: Notes, points: int, end_s: float = PATIENCE_S) -> tuple[TrackerThread, list[str]]:
    """A feed that was started, given some points and its end; and what it had to say."""
    said: list[str] = []
    feed = TrackerThread("mine", tracker, said.append, end_s)
    feed.begin(*RUN)
    for number in range(1, points + 1):
        feed.log(*at(number))
    return feed, said


def test_everything_reaches_the_tracker_in_order_on_one_thread() -> None:
    tracker = Notes()
    feed, said = fed(tracker, 50)
    feed.finish(Ending(50, {"macro/element": 0.5}, complete=True))
    feed.wait()
    assert (tracker.name, tracker.config) == RUN
    assert [settled for settled, _ in tracker.points] == [*range(1, 51)]
    assert tracker.ending == Ending(50, {"macro/element": 0.5}, complete=True)
    assert tracker.threads == {"tracker of a run: mine"}
    assert said == [] and not is_held()


@pytest.mark.parametrize(
    "error", [ValueError("no\x1b[2J room"), SystemExit(3), KeyboardInterrupt()]
)
@pytest.mark.parametrize("where", ["start", "log", "finish"])
def test_what_a_tracker_raises_is_told_once_and_ends_the_tracking(
    where: str, error: BaseException
) -> None:
    tracker = Raises(where, error)
    feed, said = fed(tracker, 5)
    feed.log(*at(6))
    feed.finish(Ending(6))
    feed.wait()
    [line] = said
    assert line.startswith(f"tracker mine: {type(error).__name__}")
    assert line.endswith("; the run goes on without it")
    assert "\x1b" not in line
    assert tracker.ending is None and not is_held()


def test_a_message_has_no_keys_and_stays_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    feed, said = fed(Raises("start", OSError(f"POST ?key={KEY}\nrefused " + "x" * 9000)), 1)
    feed.finish(Ending(1))
    feed.wait()
    [line] = said
    assert "\n" not in line and len(line) < 600
    assert KEY not in line and KEY[:20] not in line and "[key]" in line


def test_where_to_look_is_told_without_what_a_terminal_would_obey() -> None:
    class Chatty(Notes):
        def start(self, name: str, config: object) -> str:
            return "see\x1b]0;x\x07\nhttps://example.org/run"

    feed, said = fed(Chatty(), 0)
    feed.finish(Ending(0))
    feed.wait()
    [line] = said
    assert line.startswith("tracker mine: see") and line.endswith(" https://example.org/run")
    assert "\x1b" not in line and "\n" not in line


@pytest.mark.parametrize("where", ["start", "log", "finish"])
def test_a_tracker_that_hangs_is_left_behind_when_its_time_is_up(where: str) -> None:
    tracker = Hangs(where)
    feed, said = fed(tracker, 3, end_s=0.2)
    feed.finish(Ending(3))
    assert tracker.entered.wait(PATIENCE_S)
    feed.wait()
    assert is_held()
    assert [line for line in said if "not finished" in line] == said[-1:]
    told = len(said)
    feed.wait()
    tracker.go.set()
    assert len(said) == told


def test_points_beyond_a_number_are_left_out_and_the_end_is_not() -> None:
    tracker = Hangs("log")
    feed, said = fed(tracker, 1)
    assert tracker.entered.wait(PATIENCE_S)
    for number in range(2, MOST_POINTS + 52):
        feed.log(*at(number))
    feed.finish(Ending(MOST_POINTS + 51, complete=True))
    tracker.go.set()
    feed.wait()
    assert [number for number, _ in tracker.points] == [*range(1, MOST_POINTS + 2)]
    assert tracker.ending == Ending(MOST_POINTS + 51, complete=True)
    assert said == []


def test_a_slow_tracker_gets_the_result_once_half_of_its_time_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("harness.trackers.time.monotonic", lambda: now)

    class Slow(Notes):
        def log(self, settled: int, values: object) -> None:
            nonlocal now
            super().log(settled, {})
            now += 4.0

    tracker = Slow()
    feed = TrackerThread("mine", tracker, lambda line: None, 30.0)
    for number in range(1, 21):
        feed.log(*at(number))
    feed.finish(Ending(20, complete=True))
    feed.run()
    assert [settled for settled, _ in tracker.points] == [1, 2, 3, 4]
    assert tracker.ending == Ending(20, complete=True)


def test_numbers_are_computed_on_the_thread_of_the_tracker() -> None:
    worked: list[str] = []

    def work() -> dict[str, float]:
        worked.append(threading.current_thread().name)
        return {"macro/element": 0.5}

    feed, _ = fed(tracker := Notes(), 0)
    feed.log(1, work)
    feed.finish(Ending(1))
    feed.wait()
    assert tracker.points == [(1, {"macro/element": 0.5})]
    assert worked == ["tracker of a run: mine"]
