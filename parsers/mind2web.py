"""What Mind2Web measures: the declaration of recorded steps and of their actions."""

from __future__ import annotations

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

MIND2WEB = Declaration(
    measures=(
        Measure(
            "element",
            "Ele. Acc",
            "element accuracy",
            column="element_correct",
            explained="the right element was chosen",
        ),
        Measure(
            "operation_f1",
            "Op. F1",
            "operation F1",
            binary=False,
            unmeasured=ELEMENT_ONLY,
            variants=F1_VARIANTS,
            setting="f1",
            explained="overlap with the right action and text",
        ),
        Measure(
            "operation_exact",
            meaning="operation and value are exactly the recorded ones",
            in_tables=False,
            unmeasured=ELEMENT_ONLY,
        ),
        Measure(
            "success",
            "Step SR",
            "step success",
            main=True,
            needs=("element", "operation_f1"),
            rule="step_rule",
            unmeasured=ELEMENT_ONLY,
            result="step_success",
            explained="element, action and text are right",
        ),
        Measure("element_in_box", meaning="point in the box of an acceptable one", averages=()),
        Measure("element_under", meaning="smallest one under it is acceptable", averages=()),
        Measure(
            "task_success",
            "Task SR",
            "task success",
            all_of="success",
            unmeasured=ELEMENT_ONLY,
            column="success",
            key="tasks",
            explained="tasks with every step right",
        ),
    ),
    levels=(
        Level("task", extent="tasks on these websites", column="task_id"),
        Level("website", shared=True),
    ),
    groups=(
        Group(SPLIT, "the split", whole="task"),
        Group("website", "the website", whole="website"),
        Group("domain", "its domain", whole="website"),
        Group("subdomain", "its subdomain", whole="website"),
        Group("operation", "the recorded operation", column="gold_operation"),
    ),
    clusters=("task", "website"),
    actions=MIND2WEB_ACTIONS,
    flags=((ELEMENT_ONLY, "only elements were asked for, so operations and success are unknown"),),
)
"""The measures of recorded steps, as Mind2Web (Deng et al. 2023) and SeeAct define them."""
