"""Trajectories: what an agent saw, said and did for one unit, as a judge is shown it.

Neither the reward nor the right answer nor the name of the agent is among it. Texts are those of
pages and models: material to judge, which may address the judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from adapters.registry import load
from harness.errors import DataGone, RunError
from harness.runs import CallRecord, Unit
from harness.runs.files import CALLS, Blobs, Line, decode, read_lines
from harness.runs.lines import line_decoder, to_line
from harness.runs.live_steps import steps_taken
from harness.runs.manifest import Manifest, read_manifest
from harness.runs.on_record import CallHead
from harness.runs.run import RESOLVER
from harness.views import ItemView
from parsers.live import STOPS


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
    """The detail of a unit of a judgement. There is no right answer."""

    asked: Trajectory = Trajectory()
    gold: None = None


class Recorded:
    """A run as the source of trajectories; it may be written to meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: Manifest = read_manifest(path)
        self._places: dict[str, Line] = {}
        self._after = (0, 0)

    @cached_property
    def identity(self) -> str:
        """SHA-256 of what the run is: its settings, model and data."""
        manifest = self.manifest
        same = [manifest.config, manifest.model, manifest.dataset, manifest.created]
        return hashlib.sha256(msgspec.json.encode(same, order="deterministic")).hexdigest()

    @staticmethod
    def digest(unit: Unit[Any]) -> str:
        """Return the SHA-256 of the line of a unit."""
        line: Any = to_line(unit)
        return hashlib.sha256(msgspec.json.encode(line, order="deterministic")).hexdigest()

    def trajectory(self, unit: Unit[Any]) -> tuple[Trajectory, tuple[bytes, ...]]:
        """Return what was done for a unit, and the pictures of it.

        Raises `RunError` for calls that cannot be read.
        """
        calls = [call for call in self._calls(unit) if call.asked_by or call.trial == unit.trial]
        steps = steps_taken(calls)
        if not steps:
            return self._answered(unit, calls)
        moments, pictures = list[Moment](), dict[str, bytes]()
        for step in steps:
            digest = step.seen.screenshot
            if digest and digest not in pictures:
                pictures[digest] = Blobs(self.path).get(digest)
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
        shown = Trajectory(goal, tuple(moments), answer)
        return shown, tuple(pictures.values())

    def _answered(
        self, unit: Unit[Any], calls: Sequence[CallRecord]
    ) -> tuple[Trajectory, tuple[bytes, ...]]:
        """Return the one step of a unit that was asked about without acting."""
        said = "\n\n".join(call.reply.text for call in calls if call.is_ask and not call.role)
        action = unit.prediction.action if unit.prediction else None
        answer = str(action) if action is not None else ""
        picture = self._picture(unit)
        moment = Moment(answer, said, picture=None if picture is None else 0)
        asked = getattr(unit.detail, "asked", "")
        text = asked if isinstance(asked, str) else msgspec.json.encode(asked).decode()
        shown = Trajectory(unit.goal or text, (moment,), answer)
        return shown, () if picture is None else (picture,)

    def _picture(self, unit: Unit[Any]) -> bytes | None:
        if unit.screenshot is None:
            return None
        try:
            resolve: Callable[..., Any] = load(RESOLVER)
            found = dict(resolve(self.manifest.dataset, [unit.unit_id])).get(unit.unit_id)
        except DataGone:
            return None
        data = getattr(found, "screenshot", None)
        return data if isinstance(data, bytes) else None

    def _calls(self, unit: Unit[Any]) -> list[CallRecord]:
        if any(id not in self._places for id in unit.calls):
            self._read_on()
        path, decoder = self.path / CALLS, line_decoder(CallRecord)
        calls = []
        try:
            with path.open("rb") as file:
                for place in map(self._places.__getitem__, unit.calls):
                    file.seek(place.offset)
                    line = place._replace(data=file.readline())
                    calls.append(decode(decoder, line, path))
        except KeyError as error:
            raise RunError(f"{path} lacks the call {error.args[0]}") from error
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error}") from error
        return calls

    def _read_on(self) -> None:
        """Note the places of the calls that were written since."""
        path, decoder = self.path / CALLS, line_decoder(CallHead)
        for line in read_lines(path, after=self._after):
            self._places[decode(decoder, line, path).id] = line._replace(data=b"")
            self._after = line.number, line.offset + len(line.data)


def trajectory_id(unit: Unit[Any]) -> str:
    """Return the id of the trajectory of a unit and repeat."""
    return f"{unit.unit_id}/{unit.repeat}" if unit.repeat else unit.unit_id
