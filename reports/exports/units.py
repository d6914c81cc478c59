"""The calls of a unit in order, its right answer and its choices, for export formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adapters.conversation import Picture, placeholder
from harness.runs import CallRecord, Unit
from harness.runs.live_steps import Sight
from reports.view.parts import Cell, Part

NOTHING = "–"
"""Texts of empty lines of the page."""


def in_order(record: Unit[Any], calls: Iterable[CallRecord]) -> list[CallRecord]:
    """Return the calls as the dialogue asked for them; those of an unfinished one as they came
    back."""
    places = {id: place for place, id in enumerate(record.calls)}
    return sorted(calls, key=lambda call: places.get(call.id, len(places)))


def by_conversation(asks: Sequence[CallRecord]) -> Iterator[CallRecord]:
    """Yield the asks with every conversation followed by those that go on from it."""
    begun = {call.conversation for call in asks}
    after: dict[str | None, list[CallRecord]] = {}
    for call in asks:
        after.setdefault(call.earlier if call.earlier in begun else None, []).append(call)
    waiting = after.pop(None, [])[::-1]
    while waiting:
        call = waiting.pop()
        yield call
        waiting += after.pop(call.conversation, [])[::-1]


def text_of(parts: Iterable[str | Picture]) -> str:
    """Return the parts of a message, with a few words in the place of every picture."""
    return "\n".join(part if isinstance(part, str) else placeholder(part) for part in parts)


def goal_of(record: Unit[Any], calls: Iterable[CallRecord]) -> str:
    """Return the task in words; for an episode, the first goal that its page shows."""
    seen = (Sight.of(call.act.observation, {}).goal for call in calls if call.act)
    return record.goal or next(filter(None, seen), "")


def answered(part: Part) -> str:
    """Return the answer by the lines of the page."""
    return _side(part, -1)


def right_answer(part: Part) -> str:
    """Return the right answer by the lines of the page: `element: B <button>`; "" if unknown."""
    return _side(part, 0) if len(part.heads) > 1 else ""


def _side(part: Part, place: int) -> str:
    cells = ((line.name, _cell(line.cells[place])) for line in part.lines if line.cells)
    return "\n".join(f"{name}: {text}" for name, text in cells if text not in ("", NOTHING))


def _cell(cell: Cell) -> str:
    return f"{cell.text}{cell.code}".strip()


def offered(part: Part) -> list[str]:
    """Return the choices, each behind its letter; empty if none were listed under letters."""
    for listed in part.lists:
        if listed.items and all(item.letter for item in listed.items):
            return [f"{item.letter}. {item.text}" for item in listed.items]
    return []
