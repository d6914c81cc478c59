"""What Mind2Web measures: the declaration of recorded steps and of their actions."""

from __future__ import annotations

from collections.abc import Iterable

from parsers.actions import ActionKind, ActionSpace, Argument
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.records import ELEMENT_ONLY, F1_VARIANTS, SPLIT

_WHERE = (Argument("element", "element"), Argument("point", "point"))
# The readers of replies flag missing values (`missing_value`).
_VALUE = Argument("value", "text", required=False, compared="folded")
MIND2WEB_ACTIONS = ActionSpace(
    "mind2web",
    (
        ActionKind("CLICK", _WHERE),
        ActionKind("TYPE", (*_WHERE, _VALUE)),
        ActionKind("SELECT", (*_WHERE, _VALUE)),
    ),
)
"""Mind2Web's operations. Two are the same if their values are, as in `operation_exact`: F1 is 1 for
words in another order, too, which is a lenient score, but not the same action."""


def operation_f1_variants(names: Iterable[str]) -> tuple[Measure, ...]:
    """Return the measures of operation F1 in each variant; the run's own is `operation_f1`."""
    return tuple(
        Measure(f"operation_f1.{name}", meaning=f"operation F1, {name}", unmeasured=ELEMENT_ONLY)
        for name in names
    )


MIND2WEB = Declaration(
    measures=(
        Measure("element", "Ele. Acc", "element accuracy"),
        Measure("operation_f1", "Op. F1", "operation F1", unmeasured=ELEMENT_ONLY),
        *operation_f1_variants(F1_VARIANTS),
        Measure(
            "operation_exact",
            meaning="operation and value are exactly the recorded ones",
            unmeasured=ELEMENT_ONLY,
        ),
        Measure(
            "success",
            "Step SR",
            "step success",
            main=True,
            needs=("element", "operation_f1"),
            unmeasured=ELEMENT_ONLY,
        ),
        Measure("element_in_box", meaning="point in the box of an acceptable one", averages=()),
        Measure("element_under", meaning="smallest one under it is acceptable", averages=()),
        Measure(
            "task_success",
            "Task SR",
            "task success",
            all_of="success",
            unmeasured=ELEMENT_ONLY,
        ),
    ),
    levels=(
        Level("task", extent="tasks on these websites"),
        Level("website", shared=True),
    ),
    groups=(
        Group(SPLIT, "the split", whole="task"),
        Group("website", "the website", whole="website"),
        Group("domain", "its domain", whole="website"),
        Group("subdomain", "its subdomain", whole="website"),
        Group("operation", "the recorded operation"),
    ),
    clusters=("task", "website"),
    actions=MIND2WEB_ACTIONS,
    flags=((ELEMENT_ONLY, "only elements were asked for, so operations and success are unknown"),),
)
"""The measures of recorded steps, as Mind2Web (Deng et al. 2023) and SeeAct define them."""
