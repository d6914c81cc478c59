"""Predictions about recorded steps, from a file.

Operations and values are read as in replies of models, so a file with a model's own words and
a run of that model get the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from harness.benchmarks import Dataset, recorded_steps
from harness.benchmarks.prediction_file import Predictions, with_prediction
from harness.benchmarks.recorded import unlisted
from harness.candidates import everything, page_of
from harness.errors import UserError
from harness.page import Page, PageError
from harness.protocols.coordinates import smallest_under
from harness.records import Choice, Row
from harness.runs import StepUnit
from harness.settings import Settings
from harness.tables import counted
from parsers import clean_value
from parsers.records import OPERATIONS, Prediction, Status
from parsers.values import read_operation, taken_value

UNKNOWN_ELEMENTS = 0.01
"""Largest share of elements on no page that is not worth a line: a model may invent some."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    step: str
    element: str | int | None = None
    point: tuple[float, float] | None = None
    operation: str | None = None
    value: str | int | None = None


class StepPredictions(Predictions):
    """An element or a point, an operation and a value."""

    line = _Line
    unit = "step"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._unknown: list[str] = []

    def read(self, line: _Line, where: str) -> Prediction:
        if line.element is not None and line.point is not None:
            raise UserError(f"{where}: give element or point, not both")
        written = line.operation or ""
        operation = read_operation(written)
        style: Any = dict(self.settings.protocol_option).get("value_style") or "plain"
        value = "" if line.value is None else clean_value(str(line.value), style)
        value, missing = taken_value(operation.operation, value)
        answered = line.element is not None or line.point is not None
        return Prediction.of(
            Status.ANSWERED if answered else Status.NONE,
            element=None if line.element is None else str(line.element),
            point=line.point,
            operation=operation.operation,
            value=value,
            flags=tuple(sorted(missing | operation.flags(named=bool(written.strip())))),
        )

    def records(self, said: Mapping[str, Prediction], units: Dataset[Any]) -> Iterator[StepUnit]:
        """Rows are decoded one at a time."""
        for row in recorded_steps(units).rows():
            prediction = said.get(row.unit_id)
            if prediction is not None and not _is_on_page(row, prediction.element):
                self._unknown.append(row.unit_id)
            if prediction is not None and prediction.point is not None:
                prediction = replace(prediction, under=under(row, page_of(row), prediction.point))
            yield with_prediction(unlisted(row), prediction)

    def counts(self) -> dict[str, int]:
        """Elements on no page."""
        return {"elements_on_no_page": len(self._unknown)}

    def notes(self, said: Mapping[str, Prediction]) -> Iterator[str]:
        unknown = self._unknown
        elements = sum(prediction.element is not None for prediction in said.values())
        if elements and len(unknown) / elements > UNKNOWN_ELEMENTS:
            yield (
                f"{len(unknown)} of {counted(elements, 'element')} ({len(unknown) / elements:.1%}) "
                f"are not on the page of their step (the first: {said[unknown[0]].element} in "
                f"{unknown[0]}); an element is the id of a node in the page's HTML"
            )
        unreadable = {"unknown_action", "several_actions"}
        odd = sum(not unreadable.isdisjoint(each.flags) for each in said.values())
        if odd:
            yield f"{counted(odd, 'operation')} could not be read; expected {', '.join(OPERATIONS)}"


def _is_on_page(row: Row, element: str | None) -> bool:
    """Return whether an element is a node of the row's page; True without an element."""
    if element is None or row.invalid is not None:
        return True
    if any(element == candidate.id for candidate in (*row.detail.positives, *row.detail.negatives)):
        return True
    try:
        return element in Page.parse(row.detail.html)
    except PageError:
        return False


def under(row: Row, page: Page, point: tuple[float, float]) -> str | None:
    """Return the smallest candidate of a row's page under a point."""
    known = row.detail.candidates
    ids = everything(row, page).ids
    return smallest_under(
        point,
        [Choice("", i, known[i].tag, "", known[i].box, place=n) for n, i in enumerate(ids)],
    )
