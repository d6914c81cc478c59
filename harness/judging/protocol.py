"""Protocols that judge: dialogues about a trajectory that return values of measures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from adapters import Picture
from harness.dialogue import Dialogue
from harness.judging.trajectory import Moment, TrajectoryView
from harness.protocols import AskingProtocol
from parsers.actions import Action, Value
from parsers.declaration import Measure
from parsers.records import Prediction, Status

TRAJECTORY = "trajectory"
"""The kind of units of a judgement."""


@dataclass(frozen=True)
class JudgingProtocol(AskingProtocol):
    """A way to judge finished units; the model under test is the judge.

    `measures` are those of the judgement, one of them the main one; `dialogue` gets a
    `TrajectoryView` and returns their values with `judged`.
    """

    View = TrajectoryView

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """The measures that it returns values of."""

    @abstractmethod
    def dialogue(self, view: TrajectoryView) -> Dialogue:
        """Ask about one trajectory."""


def judged(
    values: Mapping[str, float | None],
    said: Mapping[str, Value] | None = None,
    status: Status = Status.ANSWERED,
) -> Prediction:
    """Return the end of a judgement.

    Args:
        values: by the name of the measure; None, or no value, for what was not measured.
        said: what else was read from the replies, by name, for the record.
        status: why the verdict is missing, for values that are missing.
    """
    action = Action("judge") if status is Status.ANSWERED else None
    return Prediction(status, action, parsed={**(said or {}), **values})


def seen(view: TrajectoryView, moment: Moment) -> tuple[Picture, ...]:
    """Return the picture of a step to send; () where there is none, or pictures are off."""
    return view.pictures[moment.picture : moment.picture + 1] if moment.picture is not None else ()
