"""Trajectories: what an agent saw, said and did for one unit, as a judge is shown it.

Neither the reward nor the right answer nor the name of the agent is among it. Texts are those of
pages and models: material to judge, which may address the judge.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from adapters import Picture
from harness.dialogue import Dialogue
from harness.errors import DataGone, RunError
from harness.protocols import AskingProtocol
from harness.runs import CallRecord, Run, Unit
from harness.runs.live_steps import steps_taken
from harness.runs.records import to_line
from harness.views import ItemView
from parsers.actions import Action, Value
from parsers.declaration import Measure
from parsers.live import STOPS
from parsers.records import Prediction, Status


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a trajectory.

    Attributes:
        action: what was done, in words; "" where nothing was, as at the end.
        said: the reply of the agent, with its reasoning where it wrote any.
        failed: why the action could not be carried out; "" if it was.
        url: the address of the page.
        picture: the place of what was seen before the action among the pictures of the view;
            None without one.
    """

    action: str = ""
    said: str = ""
    failed: str = ""
    url: str = ""
    picture: int | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An agent's actions for a unit.

    Attributes:
        goal: the task in words, or what was asked.
        steps: in order; those of an episode end with what was seen last.
        answer: the final answer of the agent; "" without one.
    """

    goal: str = ""
    steps: tuple[Moment, ...] = ()
    answer: str = ""


class TrajectoryView(ItemView[Trajectory]):
    """A trajectory to judge, with its pictures."""


@dataclass(frozen=True, slots=True)
class TrajectoryDetail:
    """The detail of a unit of a judgement, without a right answer."""

    asked: Trajectory = Trajectory()
    gold: None = None


def identity_of(run: Run) -> str:
    """Return the SHA-256 of what a run is: its settings, model and data."""
    manifest = run.manifest
    return _sha256([manifest.config, manifest.model, manifest.dataset, manifest.created])


def digest_of(unit: Unit[Any]) -> str:
    """Return the SHA-256 of the line of a unit."""
    return _sha256(to_line(unit))


def _sha256(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def read_trajectory(run: Run, unit: Unit[Any]) -> tuple[Trajectory, tuple[bytes, ...]]:
    """Return what was done for a unit of a run, and the pictures of it.

    Raises `RunError` for calls that cannot be read.
    """
    recorded = {call.id: call for call in run.calls_of(unit.unit_id, unit.repeat)}
    if missing := [id for id in unit.calls if id not in recorded]:
        raise RunError(f"{run.path} lacks the call {missing[0]}")
    calls = [recorded[id] for id in unit.calls]
    steps = steps_taken(calls)
    if not steps:
        return _answered(run, unit, calls)
    moments, pictures = list[Moment](), dict[str, bytes]()
    for step in steps:
        digest = step.seen.screenshot
        if digest and digest not in pictures:
            pictures[digest] = run.blobs.get(digest)
        moments.append(
            Moment(
                action=step.done.told if step.done else "",
                said=step.said,
                failed=step.after.error if step.after else "",
                url=step.seen.url,
                picture=list(pictures).index(digest) if digest else None,
            )
        )
    last = next((step.done.action for step in reversed(steps) if step.done), None)
    answer = ""
    if last is not None and last.name in STOPS:
        answer = next((str(one) for one in last.arguments.values() if one), "")
    goal = unit.goal or next((step.seen.goal for step in steps if step.seen.goal), "")
    return Trajectory(goal, tuple(moments), answer), tuple(pictures.values())


def _answered(
    run: Run, unit: Unit[Any], calls: Sequence[CallRecord]
) -> tuple[Trajectory, tuple[bytes, ...]]:
    """Return the one step of a unit that was asked about without acting."""
    said = "\n\n".join(call.reply.text for call in calls if call.is_ask and not call.role)
    action = unit.prediction.action if unit.prediction else None
    answer = str(action) if action is not None else ""
    pictures: tuple[bytes, ...] = ()
    with suppress(DataGone):
        pictures = (run.screenshot(unit.unit_id),)
    moment = Moment(answer, said, picture=0 if pictures else None)
    asked = getattr(unit.detail, "asked", "")
    text = asked if isinstance(asked, str) else msgspec.json.encode(asked).decode()
    return Trajectory(unit.goal or text, (moment,), answer), pictures


def trajectory_id(unit: Unit[Any]) -> str:
    """Return the id of the trajectory of a unit and repeat."""
    return f"{unit.unit_id}/{unit.repeat}" if unit.repeat else unit.unit_id


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
        status: why there is no verdict, for values that are missing.
    """
    action = Action("judge") if status is Status.ANSWERED else None
    return Prediction(status, action, parsed={**(said or {}), **values})


def seen(view: TrajectoryView, moment: Moment) -> tuple[Picture, ...]:
    """Return the picture of a step as it is sent; () where there is none, or pictures are off."""
    return view.pictures[moment.picture : moment.picture + 1] if moment.picture is not None else ()
