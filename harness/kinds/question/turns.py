"""Rows of several turns: a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import suggestion
from harness.kinds.question.pictures import Bad

COLUMNS = ("question", "answers", "answer", "images", "image", "options", "metric")
"""Columns that a turn may have."""
OF_TURNS = ("question", "answers", "answer", "options")
"""Those that the row of a dialogue may not have."""
AT_FIRST = ("images", "image", "hint")
"""What a row says once, with the first turn that is shown."""


class Turn(dict[str, Any]):
    """A turn as a row; its id is for messages.

    dialogue: the id of its row.
    """

    dialogue: str


def turns_of(row: dict[str, Any] | Bad, history: str) -> Sequence[dict[str, Any] | Bad]:
    """Return the turns of a row as rows; the row itself if it has none."""
    if isinstance(row, Bad) or row.get("turns") is None:
        return [row]
    id, turns = row.get("id", ""), row["turns"]
    id = "" if isinstance(id, (list, dict)) else str(id)
    if not isinstance(turns, list) or not turns or not all(isinstance(one, dict) for one in turns):
        return [Bad("turns", f"turns of {id} is no list of objects with a question each")]
    if both := [name for name in OF_TURNS if row.get(name) is not None]:
        return [Bad("turns", f"{id} has turns, and {both[0]} belongs to each of them")]
    return [
        _turn(row, turn, f"turn {n} of {id}" if id else "", n, history)
        for n, turn in enumerate(turns, 1)
    ]


def _turn(
    row: Mapping[str, Any], turn: Mapping[str, Any], id: str, number: int, history: str
) -> Turn | Bad:
    if unknown := [name for name in turn if name not in COLUMNS]:
        return Bad("turn", f"{id} has the column '{unknown[0]}'; {suggestion(unknown[0], COLUMNS)}")
    begins = number == 1 or history == "none"
    shared = {
        name: value
        for name, value in row.items()
        if name != "turns" and (begins or name not in AT_FIRST)
    }
    own = {name: value for name, value in turn.items() if value is not None}
    made = Turn({**shared, **own, "id": id})
    made["images"] = [*(pictures_of(row) if begins else ()), *pictures_of(turn)]
    made.dialogue = str(row.get("id", ""))
    return made


def given(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these columns that a row has; None for none."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def pictures_of(row: Mapping[str, Any]) -> Sequence[Any]:
    """Return the pictures of a row as it names them."""
    shown = given(row, "images", "image")
    return shown if isinstance(shown, (list, tuple)) else () if shown is None else (shown,)
