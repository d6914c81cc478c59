"""Whether the lines of a complete run give the figures that its `summary.json` has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pandas as pd

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
    if "total" not in summary:
        return ""
    metrics, declared = rows.metrics().metrics, rows.declared
    ours = msgspec.to_builtins(
        {
            "counts": replace(metrics.counts, n_parents=0),
            **{
                line: {one.key: of_line.rates[one.name] for one in declared.of_units}
                for line, of_line in (("valid", metrics.valid), ("strict", metrics.strict))
            },
            **{one.key: metrics.parents.get(one.name) for one in declared.of_parents},
        }
    )
    ours["counts"].pop("n_parents")
    found = _other_figures(summary, ours, rows.frame)
    if not found:
        return ""
    name, recorded, given = found[0]
    more = f", and {len(found) - 1} others" if found[1:] else ""
    return (
        f"DISAGREES: {rows.label}: summary.json has {_figure(recorded)} as {name}, its lines "
        f"give {_figure(given)}{more}; one of the two was changed after the run"
    )


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, int) else "nothing" if value is None else "no number"


Figure = tuple[str, object, object]


def _other_figures(
    summary: Mapping[str, Any], ours: Mapping[str, Any], frame: pd.DataFrame
) -> list[Figure]:
    """Return the figures that differ: name, recorded, given by the lines."""
    total, usage = summary["total"], summary.get("usage")
    recorded = total.get("metrics") if isinstance(total, Mapping) else total
    found = [*_differing("total", recorded, ours)]
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
