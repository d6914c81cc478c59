"""Check whether the lines of a complete run give the figures that its `summary.json` has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pandas as pd

from parsers.estimates import QUARTILES, SD, SD_BETWEEN, SD_WITHIN
from reports.frames.rows import RunRows

LARGEST = 2**63
"""No count is larger."""


def disagreement(rows: RunRows) -> str:
    """Say that the summary of a complete run has other figures than its lines give; "" if not.

    Figures are the counts, measures and intervals over all rows, the tokens and the cost. `rows`
    are all rows of the run under its own rules. A run without figures in its summary has nothing
    to compare.
    """
    summary = rows.run.summary if rows.run.complete else {}
    if "estimates" not in summary:
        return ""
    counts = msgspec.to_builtins(rows.total.counts)
    ours = {name: of for name, of in counts.items() if name not in ("n_parents", "behind")}
    for row in rows.total.rows:
        if row.average not in (QUARTILES, SD, SD_WITHIN, SD_BETWEEN):
            ends = ("low", "high", "method", "clusters", "few")
            ours[_name(row.measure, row.average, row.rule)] = {
                **{
                    name: getattr(row, name) for name in ("number", "n", "units", "won", "complete")
                },
                **{name: getattr(row.interval, name, None) for name in ends},
            }
    found = _other_figures(summary, ours, rows.frame)
    if not found:
        return ""
    name, recorded, given = found[0]
    more = f", and {len(found) - 1} others" if found[1:] else ""
    return (
        f"DISAGREES: {rows.label}: summary.json has {_figure(recorded)} as {name}, its lines "
        f"give {_figure(given)}{more}; one of the two was changed after the run"
    )


def _name(measure: object, average: object, rule: object) -> str:
    return f"{measure} ({average}, {rule})"


def _recorded(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts and the numbers over all units that a summary has, by name."""
    found: dict[str, Any] = {}
    for name in ("counts", "estimates"):
        rows = summary.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and not row.get("group"):
                named = name == "estimates"
                key = _name(row.get("measure"), row.get("average"), row.get("rule"))
                found |= {key: row} if named else row
    return found


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, int) else "nothing" if value is None else "no number"


Figure = tuple[str, object, object]


def _other_figures(
    summary: Mapping[str, Any], ours: Mapping[str, Any], frame: pd.DataFrame
) -> list[Figure]:
    """Return the figures that differ: name, recorded, given by the lines."""
    usage = summary.get("usage")
    recorded = _recorded(summary)
    found = [one for name, own in ours.items() for one in _differing(name, recorded.get(name), own)]
    for name in ("input", "output"):
        tokens = usage.get(name) if isinstance(usage, Mapping) else usage
        found += _differing(f"usage.{name}", tokens, int(frame[f"{name}_tokens"].sum()))
    cost = frame["cost"].dropna()
    return [*found, *_differing("cost", summary.get("cost"), cost.sum() if len(cost) else None)]


def _differing(name: str, recorded: Any, ours: Any) -> Iterator[Figure]:
    if isinstance(ours, Mapping):
        inner = recorded if isinstance(recorded, Mapping) else {}
        for key, value in ours.items():
            yield from _differing(f"{name}.{key}", inner.get(key), value)
    elif isinstance(recorded, int) and abs(recorded) > LARGEST:
        yield name, math.inf, ours
    elif isinstance(ours, float) and isinstance(recorded, int | float):
        if not math.isclose(ours, recorded, rel_tol=1e-9, abs_tol=1e-12):
            yield name, recorded, ours
    elif recorded != ours:
        yield name, recorded, ours
