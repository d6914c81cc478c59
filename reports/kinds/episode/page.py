"""The page of an episode: a film strip of observations, with every action drawn on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.runs import CallRecord, Unit
from harness.runs.live_steps import LiveStep, steps_taken
from parsers.actions import Action
from parsers.records import ENVIRONMENT_ERROR
from reports.kinds.episode.ends import ended
from reports.view.parts import LONGEST, Cell, Drawn, Frame, Line, Part, UnitPage

TAG = 24
"""Longest text next to a mark, in characters."""


class EpisodePage(UnitPage):
    """Episodes step by step."""

    same = "ended in the same way"
    searched = "goal, end, id"

    def answer(self, record: Unit[Any]) -> str | None:
        """Return the number of steps of an episode, and its end."""
        end = ended(record)
        if end is None:
            return None
        steps = "" if end.steps is None else f"{end.steps} step{'s' * (end.steps != 1)}: "
        return f"{steps}{end.how}"[:LONGEST]

    def part(self, record: Unit[Any]) -> Part:
        """Return the result of an episode, and its task as recorded."""
        return Part(heads=("episode",), lines=list(_lines(record)), raw=record.detail)

    def strip(self, record: Unit[Any], calls: Sequence[CallRecord]) -> Sequence[Frame]:
        """Return a frame for every step, and one for the end."""
        steps = steps_taken(calls)
        last, goal = len(steps) - 1, record.goal
        frames = []
        for place, step in enumerate(steps):
            frame = _frame(str(place + 1) if place < last else "end", step)
            frames.append(frame._replace(goal=step.seen.goal if step.seen.goal != goal else ""))
            goal = step.seen.goal
        if record.invalid == ENVIRONMENT_ERROR and frames:
            # Its last action is on record nowhere, as nothing came back.
            where = max(0, last - 1)
            reason = f"the environment failed: {record.error or 'unknown'}"
            frames[where] = frames[where]._replace(after=reason, failed=True)
        return frames


def _lines(record: Unit[Any]) -> Iterator[Line]:
    end = ended(record)
    if end is None:
        return
    yield Line("end", (Cell(end.how),))
    yield Line("steps", (Cell("–" if end.steps is None else str(end.steps)),))
    yield Line("reward", (Cell("–" if end.reward is None else f"{end.reward:g}"),))


def _frame(head: str, step: LiveStep) -> Frame:
    if head == "end":
        return Frame(head, "", step.seen.screenshot, step.seen.size, after=step.seen.outcome)
    shown = Frame(head, "", step.seen.screenshot, step.seen.size, said=step.said)
    if step.done is None:
        return shown._replace(after="no action", failed=True)
    done, action, after = step.done, step.done.action, step.after
    # Characters that are shown as their codes would make a mark wider than its picture.
    tag = "".join(one if one.isprintable() else "�" for one in done.short[: TAG + 1])
    tag = tag if len(tag) <= TAG else tag[: TAG - 1] + "…"
    return shown._replace(
        boxes=[Drawn("chosen", done.box, tag)] if done.box and not action.point else [],
        point=action.point,
        mark=tag if action.point else "",
        to=_dragged_to(action),
        action=done.told,
        after="" if after is None or after.ended else after.outcome,
        failed=bool(after and after.error),
    )


def _dragged_to(action: Action) -> tuple[float, float] | None:
    x, y = action.arguments.get("to_x"), action.arguments.get("to_y")
    return (x, y) if isinstance(x, int | float) and isinstance(y, int | float) else None
