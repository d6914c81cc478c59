"""Replies of another run about the steps before a step (`history_from`).

Only replies and actions are taken from the run: nothing that says whether they were right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from adapters.conversation import Reply
from harness.errors import DataError, UserError
from harness.records import Earlier, Said
from harness.runs import Run, RunError, Unit, open_run
from harness.runs.files import CALLS
from harness.runs.live_steps import behind
from parsers.records import OPERATIONS


@dataclass
class PastReplies:
    """The replies of a complete run, by step.

    Raises `UserError` if the run does not exist, or it is of another benchmark or not complete.
    """

    path: Path
    benchmark: str
    _exchanges: dict[str, tuple[Said, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        option = f"--benchmark-option history_from={self.path}"
        try:
            if self._run.manifest.config.get("benchmark") != self.benchmark:
                raise UserError(f"{option}: a run on another benchmark")
            if not self._run.complete:
                raise UserError(f"{option}: the run is not complete")
        except RunError as error:
            raise UserError(f"{option}: {error}") from error

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the calls on record."""
        return hashlib.sha256((self.path / CALLS).read_bytes()).hexdigest()

    def check(self, unit_ids: Iterable[str]) -> None:
        """Raise `DataError` if the run has nothing about one of these steps."""
        lost = next((one for one in unit_ids if one not in self._units), None)
        if lost is not None:
            raise DataError(
                f"--benchmark-option history_from={self.path}: the run has nothing about step "
                f"{lost}, which comes before a selected one"
            )

    def instead(self, unit_id: str, recorded: Earlier) -> Earlier:
        """Return an earlier step with what the run answered in place of what was recorded."""
        unit, said = self._units[unit_id], self._said(unit_id)
        action = unit.prediction.action if unit.prediction is not None else None
        if action is None:
            return replace(
                recorded, operation=None, value="", point=None, words="(no action)", said=said
            )
        value = str(action.arguments.get("value", ""))
        place = recorded.page_size if action.point is not None else None
        return replace(
            recorded,
            operation=next((one for one in OPERATIONS if one == action.name), None),
            value=value,
            point=None
            if action.point is None or place is None
            else (action.point[0] / place[0], action.point[1] / place[1]),
            words=_words(unit, action.element, action.name, value),
            said=said,
            segment="",
        )

    def _said(self, unit_id: str) -> tuple[Said, ...]:
        """Return the exchanges about a step, which every later step of its task asks for."""
        if unit_id not in self._exchanges:
            calls = behind(self._units[unit_id].prediction, self._run.calls_of(unit_id))
            self._exchanges[unit_id] = tuple(
                Said(
                    call.place,
                    "\n".join(
                        part for one in call.messages for part in one.shown if isinstance(part, str)
                    ),
                    reply.text,
                    reply.reasoning,
                )
                for call in calls
                if not call.role and isinstance(reply := self._run.result_of(call), Reply)
            )
        return self._exchanges[unit_id]

    @cached_property
    def _run(self) -> Run:
        return open_run(self.path)

    @cached_property
    def _units(self) -> dict[str, Unit[Any]]:
        return {unit.unit_id: unit for unit in self._run.records() if unit.repeat == 0}


def _words(unit: Unit[Any], element: str | None, name: str, value: str) -> str:
    choices = getattr(unit.detail, "choices", ())
    text = next((choice.text for choice in choices if choice.id == element), "")
    done = f"{name}: {value}" if value else name
    return f"{text} -> {done}" if text else done
