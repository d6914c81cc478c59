"""The scripted solutions as a policy, asked turn by turn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.errors import UserError
from harness.kinds.episode.miniwob.oracles import clicks, forms, mails, pictures, posts
from harness.kinds.episode.miniwob.oracles.turn import Doing, Script, Turn, click
from harness.records import Choice, Step
from harness.runs.records import Unit
from parsers.actions import Action
from parsers.records import Prediction, Status

Board = tuple[str, ...]
"""The nine fields from the upper left: `x`, `o`, or `` for a free one."""

_LINES = (
    *((row, row + 1, row + 2) for row in (0, 3, 6)),
    *((column, column + 3, column + 6) for column in (0, 1, 2)),
    (0, 4, 8),
    (2, 4, 6),
)
_AT_RANDOM = 0.55
"""Share of the page's moves that are drawn from the free fields."""


def move(turn: Turn) -> Doing | None:
    """`tic-tac-toe`: the field from which most games are won; not every game can be."""
    fields = turn.all("span")
    board = tuple(
        next((mark for mark in "xo" if f"mark-{mark}" in one.words), "") for one in fields
    )
    return click(fields[max(_free(board), key=lambda field: _won(_with(board, field, "x")))])


@cache
def _won(board: Board) -> float:
    """The chance that X wins a game in which O has the next move."""
    if _has_line(board, "x"):
        return 1.0
    free = tuple(_free(board))
    if not free:
        return 0.0
    urgent = [*_closing(board, "o"), *_closing(board, "x")][:1] or free
    drawn, chosen = (
        sum(_answered(_with(board, field, "o")) for field in among) / len(among)
        for among in (free, urgent)
    )
    return _AT_RANDOM * drawn + (1 - _AT_RANDOM) * chosen


def _answered(board: Board) -> float:
    """The chance that X wins a game in which it has the next move."""
    if _has_line(board, "o"):
        return 0.0
    return max((_won(_with(board, field, "x")) for field in _free(board)), default=0.0)


def _closing(board: Board, mark: str) -> Iterator[int]:
    """The fields that complete a line of a mark."""
    return (one for one in _free(board) if _has_line(_with(board, one, mark), mark))


def _free(board: Board) -> Iterator[int]:
    return (number for number, mark in enumerate(board) if not mark)


def _with(board: Board, field: int, mark: str) -> Board:
    return (*board[:field], mark, *board[field + 1 :])


def _has_line(board: Board, mark: str) -> bool:
    return any(all(board[field] == mark for field in line) for line in _LINES)


SCRIPTS: Mapping[str, Script] = {
    **clicks.SCRIPTS,
    **forms.SCRIPTS,
    **mails.SCRIPTS,
    **pictures.SCRIPTS,
    **posts.SCRIPTS,
    "tic-tac-toe": move,
}
"""The solutions by task."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """The scripted solution of the task; it knows which task that is, and nothing else."""

    name: str = "oracle"
    needs_gold: bool = True
    kind: str = "episode"

    def check(self, units: Sequence[Unit[Any]]) -> None:
        """Raise `UserError` if a task has no solution here."""
        tasks = dict.fromkeys(unit.parents["task"] for unit in units)
        without = [task for task in tasks if task not in SCRIPTS]
        if without:
            some = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
            raise UserError(
                f"oracle: no scripted solution of {some} ({len(without)} of {len(tasks)} tasks); "
                "choose tasks that have one with --only task=NAME (docs/miniwob.md lists them)"
            )

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Any
    ) -> Prediction:
        """The next action; none where the page gives no way on. The secret names the task."""
        turn = Turn.of(step, choices)
        script = SCRIPTS.get(secret.gold["task"])
        try:
            doing = script(turn) if script else None
        except (LookupError, StopIteration, ValueError):  # The page lacks what it looks for.
            doing = None
        if doing is None:
            return Prediction(Status.NONE)
        if doing.element is None:
            return Prediction(Status.ANSWERED, Action(doing.action, arguments=doing.arguments))
        letter = next((one.letter for one in choices if one.id == doing.element.id), None)
        place = turn.point_of(doing.element)
        action = Action(doing.action, doing.element.id, place, doing.arguments)
        return Prediction(Status.ANSWERED, action, letter=letter)


ORACLE = Scripted()
