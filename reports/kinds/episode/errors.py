"""Classes of errors of episodes: what ended those that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.runs import Run, Unit
from harness.runs.live_steps import steps_taken
from parsers import Declaration
from parsers.live import IDLE, LIMIT, STOPPED
from parsers.records import ENVIRONMENT_ERROR
from reports.errors.classes import FAILED, SUCCESS, UNSETTLED, ClassInfo, general_classes
from reports.errors.classifying import UnitError, UnitErrors, by_outcome, short
from reports.kinds.episode.ends import ended

NO_ACTION, EARLY, CIRCLES, LIMITED = "no_action", "stopped_early", "in_circles", "step_limit"
ALIKE = 3
"""Equal actions at the end of an episode that are a circle."""

_ENVIRONMENT = ClassInfo(
    ENVIRONMENT_ERROR,
    "environment failed",
    "not counted",
    "its page or its browser failed twice; the model did not fail",
)
_CLASSES = (
    ClassInfo(NO_ACTION, "no action", "no answer", "replies in a row named no action"),
    ClassInfo(
        EARLY, "stopped too early", "wrong", "the model said that it is done, and it was not"
    ),
    ClassInfo(
        CIRCLES,
        "the same action again",
        "wrong",
        f"no step was left, and the last {ALIKE} actions were the same one",
    ),
    ClassInfo(LIMITED, "no step left", "wrong", "the task was not done within its steps"),
)
_WRONG = ClassInfo(
    FAILED, "wrong action", "wrong", "the page ended the episode; the detail is what it said"
)


class EpisodeErrors(UnitErrors):
    """The general classes, with failures classified by the end of the episode."""

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        """Return all classes, in order of precedence."""
        invalid, *general = (one for one in general_classes(declared) if one.error_class != FAILED)
        return (_ENVIRONMENT, invalid, *general, *_CLASSES, _WRONG)

    def classify(
        self, run: Run, records: Sequence[Unit[Any]], *, pages: bool = True
    ) -> Sequence[UnitError]:
        """Return the class of each record, from its line and, where no step was left, its calls."""
        config = run.manifest.config
        return [_class(run, one, run.manifest.declaration, config) for one in records]


def _class(
    run: Run, record: Unit[Any], declared: Declaration, config: Mapping[str, Any]
) -> UnitError:
    found = by_outcome(record, declared, config)
    if record.invalid == ENVIRONMENT_ERROR:
        return replace(found, error_class=ENVIRONMENT_ERROR, detail=short(record.error or ""))
    end = ended(record)
    if end is None or found.error_class in (SUCCESS, UNSETTLED):
        return found
    reward = "" if end.reward is None else f"reward {end.reward:g}"
    said = record.prediction
    if end.how == IDLE or (end.how == LIMIT and said and said.action is None):
        return replace(found, error_class=NO_ACTION, detail=str(said.status) if said else "")
    if end.how == STOPPED:
        return replace(found, error_class=EARLY, detail=reward)
    if end.how == LIMIT:
        in_circles = _in_circles(run, record)
        return replace(found, error_class=CIRCLES if in_circles else LIMITED, detail=reward)
    if found.error_class != FAILED:
        return found
    return replace(found, detail=short(f"{end.how}{f', {reward}' if reward else ''}"))


def _in_circles(run: Run, record: Unit[Any]) -> bool:
    """Return True if the last actions were the same one."""
    done = [step.done for step in steps_taken(run.calls_of(record.unit_id, record.repeat))]
    last = [one.action for one in done if one is not None][-ALIKE:]
    return len(last) == ALIKE and all(one == last[0] for one in last)
