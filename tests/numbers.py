"""Numbers by name, of a `summary.json` and of `Results`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsers import Estimate, Results, every_result
from parsers.counting import Rule

Json = dict[str, Any]


def row(
    summary: Mapping[str, Any],
    measure: str,
    average: str = "macro",
    rule: str = "valid",
    group: str = "",
    value: str = "",
) -> Json:
    """The only row with these names; of measures of parents, the average is `parents`."""
    wanted = {"measure": measure, "average": average, "rule": rule, "group": group, "value": value}
    (found,) = [one for one in summary["estimates"] if wanted.items() <= one.items()]
    return dict(found)


def number(
    summary: Mapping[str, Any],
    measure: str,
    average: str = "macro",
    rule: str = "valid",
    group: str = "",
    value: str = "",
) -> Any:
    """The number in it: a share, or None."""
    return row(summary, measure, average, rule, group, value)["number"]


def counts(summary: Mapping[str, Any], group: str = "", value: str = "") -> Json:
    """The counts of the whole run, or of a group."""
    wanted = {"group": group, "value": value}
    (found,) = [one for one in summary["counts"] if wanted.items() <= one.items()]
    return dict(found)


def estimate(found: Results, measure: str, average: str = "", rule: Rule | None = None) -> Estimate:
    """A row that is there; of the headline's average and rule unless others are named."""
    row = found.row(measure, average, rule)
    assert row is not None, (measure, average, rule)
    return row


def results(summary: Mapping[str, Any]) -> Json:
    """Everything that it says about scores, as two runs that agree have it."""
    return {name: summary[name] for name in ("rules", "repeats", "counts", "estimates")}


def results_by(key: str, *given: Any, **more: Any) -> dict[str, Results]:
    """The numbers of each value of a group, of what `every_result` is given."""
    found = every_result(*given, **more)
    return {value: part for (group, value), part in found.items() if group == key}
