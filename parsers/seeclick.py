"""SeeClick's own scores on Mind2Web (Cheng et al. 2024, agent_tasks/mind2web_test.py), as executed.

They differ from our scores in the steps that count (a step without a box or a picture, and one
whose value contains a double quote, is skipped), in the box (one per step, in fractions of the page
rounded to three decimals), in the operation (its class as a digit, the value lower-cased), and in
the averages (operation F1 is the mean of the three classes' means). Compare only these with the
published row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from parsers.records import OPERATIONS, Gold, Operation, Prediction, Status

Skip = Literal["no_box", "no_picture", "quote"]
SKIPS: tuple[Skip, ...] = ("no_box", "no_picture", "quote")
Shares = tuple[float, float, float, float]
"""Left, top, right and bottom of a box, in fractions of the page."""

_DIGITS: dict[Operation, str] = {"CLICK": "4", "TYPE": "3", "SELECT": "2"}
_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class SeeClickStep:
    """The scores of a step that counts.

    reachable: whether a click with two decimals can hit the box.
    """

    task: str
    operation: Operation
    element: bool
    f1: float
    success: bool
    reachable: bool


@dataclass(frozen=True, slots=True)
class SeeClickScores:
    """Mean scores; None without steps.

    skipped: number of skipped steps by reason.
    empty_tasks: number of tasks all of whose steps were skipped. The original counts each as a
        success, and its macro means become undefined; here they are left out and counted.
    operation_f1: mean over the classes that occur.
    by_operation: mean F1 of each class.
    macro_element, macro_success: means over tasks of the means over their steps.
    ceiling: the highest step success that clicks with two decimals allow (see `reachable`).
    """

    steps: int
    tasks: int
    skipped: dict[Skip, int]
    empty_tasks: int
    element: float | None
    operation_f1: float | None
    by_operation: dict[Operation, float]
    success: float | None
    macro_element: float | None
    macro_success: float | None
    ceiling: float | None


def seeclick_step(
    prediction: Prediction, gold: Gold, page: tuple[int, int] | None, task: str
) -> SeeClickStep | Skip:
    """One step's scores, or why it is skipped. `page` is the screenshot's size in pixels."""
    box = gold.box
    if box is None:
        return "no_box"
    if page is None:
        return "no_picture"
    if '"' in gold.value:
        # The original writes the value without escaping it, and cannot parse such an answer.
        return "quote"
    shares = in_shares(box, page)
    element = prediction.status is Status.ANSWERED and _hits(prediction.point, shares, page)
    f1 = _f1(prediction, gold)
    # A correct location counts even if the value is missing; the step then fails by its F1.
    return SeeClickStep(task, gold.operation, element, f1, element and f1 == 1.0, reachable(shares))


def in_shares(box: tuple[float, float, float, float], page: tuple[int, int]) -> Shares:
    """Convert a box (x, y, width, height) in page pixels to rounded fractions of the page."""
    x, y, width, height = box
    return (
        round(x / page[0], _DECIMALS),
        round(y / page[1], _DECIMALS),
        round((x + width) / page[0], _DECIMALS),
        round((y + height) / page[1], _DECIMALS),
    )


def reachable(box: Shares) -> bool:
    """Return True if some point with two decimals lies in the box, borders included.

    >>> reachable((0.1, 0.404, 0.2, 0.409)), reachable((0.1, 0.404, 0.2, 0.41))
    (False, True)
    """
    left, top, right, bottom = (round(1000 * side) for side in box)
    return all(-(-low // 10) * 10 <= high for low, high in ((left, right), (top, bottom)))


def _hits(point: tuple[float, float] | None, box: Shares, page: tuple[int, int]) -> bool:
    if point is None:
        return False
    # Nine digits remove the rounding errors of the conversion to page pixels and back.
    x, y = round(point[0] / page[0], 9), round(point[1] / page[1], 9)
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _f1(prediction: Prediction, gold: Gold) -> float:
    if prediction.operation is None:
        return 0.0
    if prediction.operation != "CLICK" and not prediction.value:
        return 0.0
    predicted = _words(prediction.operation, prediction.value)
    recorded = _words(gold.operation, gold.value)
    return 2 * len(predicted & recorded) / (len(predicted) + len(recorded))


def _words(operation: Operation, value: str) -> set[str]:
    return {_DIGITS[operation], *(value.lower().split() if operation != "CLICK" else ())}


def seeclick_scores(outcomes: Iterable[tuple[str, SeeClickStep | Skip]]) -> SeeClickScores:
    """Average the outcomes of steps, each given with its task."""
    pairs = list(outcomes)
    steps = [step for _, step in pairs if isinstance(step, SeeClickStep)]
    by_task: dict[str, list[SeeClickStep]] = {}
    for step in steps:
        by_task.setdefault(step.task, []).append(step)
    classes = {
        operation: [step.f1 for step in steps if step.operation == operation]
        for operation in OPERATIONS
    }
    by_operation = {operation: fmean(values) for operation, values in classes.items() if values}
    return SeeClickScores(
        steps=len(steps),
        tasks=len(by_task),
        skipped={skip: sum(outcome == skip for _, outcome in pairs) for skip in SKIPS},
        empty_tasks=len({task for task, _ in pairs} - by_task.keys()),
        element=_mean([step.element for step in steps]),
        operation_f1=_mean(list(by_operation.values())),
        by_operation=by_operation,
        success=_mean([step.success for step in steps]),
        macro_element=_mean([fmean(s.element for s in task) for task in by_task.values()]),
        macro_success=_mean([fmean(s.success for s in task) for task in by_task.values()]),
        ceiling=_mean([step.reachable for step in steps]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
