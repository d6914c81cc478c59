"""The scripted solutions as a policy, asked turn by turn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError
from harness.kinds.episode.miniwob.oracles import clicks, forms, mails, pictures, posts, tic_tac_toe
from harness.kinds.episode.miniwob.oracles.turn import Script, Turn
from harness.records import Choice, Step
from harness.runs.records import Unit
from parsers.actions import Action
from parsers.records import Prediction, Status

SCRIPTS: Mapping[str, Script] = {
    **clicks.SCRIPTS,
    **forms.SCRIPTS,
    **mails.SCRIPTS,
    **pictures.SCRIPTS,
    **posts.SCRIPTS,
    "tic-tac-toe": tic_tac_toe.move,
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
