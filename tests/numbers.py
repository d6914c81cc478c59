"""The numbers of a `summary.json` by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def results(summary: Mapping[str, Any]) -> Json:
    """Everything that it says about scores, as two runs that agree have it."""
    return {name: summary[name] for name in ("rules", "repeats", "counts", "estimates")}
