"""Units for tests: recorded steps from the flat names that their facts have in tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from harness.records import Row, RowDetail
from harness.runs import StepUnit, Unit
from harness.runs.steps import STEP, StepDetail

NAMES = {"step_id": "unit_id", "index": "position", "total_steps": "total", "task": "goal"}
PARENTS = {"task_id": "task", "website": "website"}
LABELS = {"domain": "domain", "subdomain": "subdomain"}
DIGESTS = {"html_digest": "html", "screenshot_digest": "screenshot"}
D = TypeVar("D")


def changed(record: Unit[D], **flat: Any) -> Unit[D]:
    """The record with other facts, by their flat names."""
    of: Any = record.detail
    detail = {one.name: flat.pop(one.name) for one in fields(of) if one.name in flat}
    for whole, names in (("parents", PARENTS), ("labels", LABELS), ("digests", DIGESTS)):
        new = {names[name]: flat.pop(name) for name in names.keys() & flat.keys()}
        merged = {**getattr(record, whole), **new}
        flat[whole] = {name: merged[name] for name in merged if merged[name] is not None}
    if "gold" in detail:
        flat["labels"] = {**flat["labels"], "operation": detail["gold"].operation}
    values = {NAMES.get(name, name): value for name, value in flat.items()}
    return replace(record, **values, detail=replace(of, **detail))


def step_of(**flat: Any) -> StepUnit:
    """A recorded step with these facts."""
    detail = StepDetail(
        action_uid="", history=(), page_size=None, positives=1, negatives=0, gold=flat["gold"]
    )
    names = ("benchmark", "split")
    rest = {name: value for name, value in flat.items() if name not in names}
    blank = Unit(kind=STEP, unit_id="", detail=detail, **{name: flat[name] for name in names})
    ordered = dict.fromkeys((*PARENTS.values(),), "")
    labels = dict.fromkeys((*LABELS.values(), "operation"), "")
    return changed(replace(blank, parents=ordered, labels=labels), **rest)


def flat(line: dict[str, Any]) -> dict[str, Any]:
    """A line with everything side by side, by the names of the table of steps."""
    detail, said = line["detail"], line["prediction"]
    action = (said or {}).get("action", {})
    renamed = {
        "step_id": line["unit_id"],
        "index": line["position"],
        "total_steps": line["total"],
        "task": line["goal"],
        "task_id": line["parents"]["task"],
        "website": line["parents"]["website"],
        **line["labels"],
        "html_digest": line["digests"]["html"],
        "screenshot_digest": line["digests"].get("screenshot"),
    }
    prediction = said and {
        "status": said["status"],
        "flags": said.get("flags", []),
        "letter": said.get("letter"),
        "under": said.get("under"),
        "element": action.get("element"),
        "point": action.get("point"),
        "operation": action.get("name") or None,
        "value": action.get("arguments", {}).get("value", ""),
    }
    return {**line, **detail, **renamed, "prediction": prediction}


def step_scores(
    element: bool,
    f1: Mapping[str, float],
    exact: bool,
    success: bool,
    in_box: bool | None = None,
    under: bool | None = None,
) -> dict[str, float | None]:
    """The scores of one of Mind2Web's steps."""
    return {
        "element": float(element),
        "operation_f1": f1["mind2web"],
        **{f"operation_f1.{variant}": value for variant, value in f1.items()},
        "operation_exact": float(exact),
        "success": float(success),
        "element_in_box": None if in_box is None else float(in_box),
        "element_under": None if under is None else float(under),
    }


def recorded(*, task_id: str, action_uid: str, **flat: Any) -> Row:
    """A recorded step with these facts, as its files hold it."""
    blank: Row = Unit(
        kind=STEP,
        unit_id=f"{task_id}_{action_uid}",
        benchmark=flat["benchmark"],
        split=flat["split"],
        detail=RowDetail(action_uid),
    )
    return changed(blank, task_id=task_id, **flat)
