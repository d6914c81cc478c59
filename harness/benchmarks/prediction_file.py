"""Files of predictions: JSON lines, each about one unit, as a family of benchmarks has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from harness.benchmarks import Dataset, actions_of
from harness.benchmarks.folders import decoded_text
from harness.errors import UserError, suggestion
from harness.runs import Unit
from harness.settings import Settings
from parsers.actions import Action, Value
from parsers.records import Prediction, Status
from parsers.settling import settled


class _Action(msgspec.Struct, forbid_unknown_fields=True):
    """An action of the benchmark's space."""

    name: str
    element: str | None = None
    point: tuple[float, float] | None = None
    arguments: dict[str, Value] = {}


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """`unit` is the id; without an action the answer was not read."""

    unit: str
    action: _Action | None = None


class Predictions:
    """Reader of predictions, by default actions of the space that a benchmark declares; an instance
    belongs to one file.

    line: what a line holds, the id of its unit under the key `unit`.
    missing: what units without a prediction are, unless the user says so: left out, or failed.
    """

    line: ClassVar[type[msgspec.Struct]] = _Line
    unit: ClassVar[str] = "unit"
    missing: ClassVar[Literal["exclude", "fail"]] = "exclude"

    def __init__(self, settings: Settings) -> None:
        given = "unattempted" in settings.given
        self.settings = settings if given else replace(settings, unattempted=self.missing)
        self._space = actions_of(settings.benchmark)

    def read(self, line: Any, where: str) -> Any:
        """Read a line. Raises `UserError`, naming the line by `where`."""
        said = line.action
        if said is None:
            return Prediction(Status.PARSE_ERROR)
        if self._space is not None and said.name not in self._space:
            hint = suggestion(said.name, [one.name for one in self._space.actions])
            raise UserError(f"{where}: unknown action '{said.name}'; {hint}")
        action = Action(said.name, said.element, said.point, said.arguments)
        return settled(Prediction(Status.ANSWERED, action), self._space)

    def predicted(self, line: Any, detail: Any) -> Prediction:
        """Return the prediction of a line that was read, about a unit of that detail."""
        prediction: Prediction = line
        return prediction

    def records(self, said: Mapping[str, Any], units: Dataset[Any]) -> Iterator[Unit[Any]]:
        """The units, each with its prediction if there is one, in order; not scored.

        Units without a line stay open unless `unattempted` is `fail`.
        """
        missing = Prediction(Status.NO_REPLY) if self.settings.unattempted == "fail" else None
        for record in units.entries:
            line = said.get(record.unit_id)
            predicted = missing if line is None else self.predicted(line, record.detail)
            yield with_prediction(record, predicted)

    def counts(self) -> dict[str, int]:
        """Counts of what looks like a mistake in the file, for JSON."""
        return {}

    def notes(self, said: Mapping[str, Any]) -> Iterator[str]:
        """Lines about what looks like a mistake in the file."""
        return iter(())


def read_predictions(path: Path, kind: Predictions) -> dict[str, Any]:
    """Read what a file says of units, by their ids.

    Raises `UserError` naming the line that is wrong.
    """
    said: dict[str, Any] = {}
    for number, line in decoded_text(path, kind.line):
        where = f"{path}, line {number}"
        unit_id = str(getattr(line, kind.unit))
        if unit_id in said:
            raise UserError(f"{where}: a second prediction for {kind.unit} {unit_id}")
        said[unit_id] = kind.read(line, where)
    if not said:
        raise UserError(f"{path} holds no predictions")
    return said


def with_prediction(record: Unit[Any], prediction: Prediction | None) -> Unit[Any]:
    """The line of a unit, asked and settled if there is a prediction."""
    if record.invalid is not None:
        return replace(record, settled=True)
    answered = prediction is not None
    return replace(record, asked=answered, settled=answered, prediction=prediction)
