"""Check whether the lines of a complete run give the figures that its `summary.json` has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

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
    recorded = _recorded(summary)
    found = [one for name, own in _ours(rows) for one in _differing(name, recorded.get(name), own)]
    if not found:
        return ""
    name, theirs, given = found[0]
    more = f", and {len(found) - 1} others" if found[1:] else ""
    return (
        f"DISAGREES: {rows.label}: summary.json has {_figure(theirs)} as {name}, its lines "
        f"give {_figure(given)}{more}; one of the two was changed after the run"
    )


def _ours(rows: RunRows) -> Iterator[tuple[str, Any]]:
    """Yield the figures that the lines give, by name."""
    counts = msgspec.to_builtins(rows.total.counts)
    yield from ((name, of) for name, of in counts.items() if name not in ("n_parents", "behind"))
    for row in rows.total.rows:
        if row.average not in (QUARTILES, SD, SD_WITHIN, SD_BETWEEN):
            own = {name: getattr(row, name) for name in ("number", "n", "units", "won", "complete")}
            ends = ("low", "high", "method", "clusters", "few")
            of_interval = {name: getattr(row.interval, name, None) for name in ends}
            yield _name(row.measure, row.average, row.rule), own | of_interval
    tokens = {name: int(rows.frame[f"{name}_tokens"].sum()) for name in ("input", "output")}
    yield "usage", tokens
    cost = rows.frame["cost"].dropna()
    yield "cost", cost.sum() if len(cost) else None


def _recorded(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures over all units that a summary has, by the same names."""
    found: dict[str, Any] = {name: summary.get(name) for name in ("usage", "cost")}
    for key in ("counts", "estimates"):
        listed = summary.get(key)
        for row in listed if isinstance(listed, list) else ():
            if isinstance(row, Mapping) and not row.get("group"):
                name = _name(row.get("measure"), row.get("average"), row.get("rule"))
                found |= row if key == "counts" else {name: row}
    return found


def _name(measure: object, average: object, rule: object) -> str:
    return f"{measure} ({average}, {rule})"


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, int) else "nothing" if value is None else "no number"


def _differing(name: str, recorded: Any, ours: Any) -> Iterator[tuple[str, object, object]]:
    """Yield the figures that differ: name, recorded, given by the lines."""
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
