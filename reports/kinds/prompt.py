"""Reports on finished prompts that are answered with an action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.runs import CallRecord, Run, Unit
from parsers.actions import Action
from reports.errors import FAILED, FAILURE, ClassInfo, UnitError, UnitErrors, short
from reports.frames.units import KindColumns, predicted, unit_column
from reports.kind import KindReports
from reports.view.parts import ComparedCell, ComparedLine, UnitPage, UnitPart, action_lines

WRONG = (
    ClassInfo("wrong_function", "wrong function", "wrong", "another function than the right one"),
    ClassInfo(
        "unknown_element",
        "element not on the page",
        "wrong",
        "the right function, with an id that the prompt does not show",
    ),
    ClassInfo("wrong_element", "wrong element", "wrong", "the right function on another element"),
    ClassInfo(
        "wrong_argument",
        "wrong argument",
        "wrong",
        "function and element are right, and the rest is not",
    ),
    FAILURE,
)
_LONGEST = 200


class PromptErrors(UnitErrors):
    """The general classes, with failures classified by the error in the action."""

    wrong = WRONG

    def refined(self, run: Run, record: Unit[Any], found: UnitError) -> UnitError:
        """Return the class of an answer that failed, by the first thing that is wrong with it."""
        said = record.prediction.action if record.prediction else None
        gold: Action = record.detail.gold
        if said is None or found.error_class != FAILED:
            return found
        if said.name != gold.name:
            wrong = "wrong_function"
        elif said.element != gold.element:
            shown = said.element is not None and f"[{said.element}]" in record.detail.asked
            wrong = "wrong_element" if shown else "unknown_element"
        else:
            wrong = "wrong_argument"
        return replace(found, error_class=wrong, detail=short(f"{said} for {gold}"))


class PromptPage(UnitPage):
    """The right action and the one that was answered, side by side; the prompt is the question."""

    def part(self, record: Unit[Any], calls: Sequence[CallRecord]) -> UnitPart:
        said = record.prediction.action if record.prediction else None
        gold: Action = record.detail.gold
        cells = [_cells(action, record.detail.asked) for action in (gold, said)]
        names = list(dict.fromkeys(name for each in cells for name in each))
        lines = [
            ComparedLine(
                name,
                tuple(each.get(name, ComparedCell("–")) for each in cells),
                _same(name, *cells),
            )
            for name in names
        ]
        return UnitPart(heads=("right", "answered"), lines=lines)


def _cells(action: Action | None, prompt: str) -> dict[str, ComparedCell]:
    """Return the parts of an action by name; an element as the prompt shows it."""
    cells = {line.name: line.cells[0] for line in action_lines(action)}
    if action is not None and action.element is not None:
        cells["element"] = _shown(action.element, prompt)
    return cells


def _shown(element: str, prompt: str) -> ComparedCell:
    """Return an element with its children as the prompt shows it: `<a[SD]| <i| Help> >`."""
    found = re.search(rf"<\w*\[{re.escape(element)}\]\|", prompt)
    if found is None:
        return ComparedCell(f"{element}, not in the prompt")
    depth = 0
    for bracket in re.finditer("[<>]", prompt[found.start() : found.start() + _LONGEST]):
        depth += 1 if bracket[0] == "<" else -1
        if depth == 0:
            return ComparedCell(code=prompt[found.start() : found.start() + bracket.end()])
    return ComparedCell(code=prompt[found.start() : found.start() + _LONGEST] + "…")


def _same(name: str, right: dict[str, ComparedCell], said: dict[str, ComparedCell]) -> bool | None:
    """Return True if function or element are right; the scores say it of the rest."""
    return right.get(name) == said.get(name) if name in ("action", "element") else None


PROMPT_COLUMNS = KindColumns(
    identity=(
        unit_column(
            "segment",
            "category",
            "its segment, where the data tells any",
            lambda record: record.labels.get("segment"),
        ),
    ),
    detail=(
        unit_column("right", "str", "the right action", lambda record: str(record.detail.gold)),
    ),
    outcome=(
        unit_column(
            "answered",
            "str",
            "the action that was answered",
            predicted(lambda said: str(said.action) if said.action else None),
        ),
    ),
)

PROMPT_REPORTS = KindReports(errors=PromptErrors(), page=PromptPage(), columns=PROMPT_COLUMNS)
