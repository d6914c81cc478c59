"""The key of published results that only units with choices have: which candidates were listed."""

from __future__ import annotations

from collections.abc import Mapping

from harness.runs import Run
from reports.published.keys import UNSTATED
from reports.settings import Setting as Value

CANDIDATES = "candidates"
USUAL = "snapshot, one list"
"""Description of the candidates of a run with two rounds and seeded choices."""


def candidate_keys(run: Run, values: Mapping[str, Value]) -> dict[str, str]:
    """Describe the candidates of a run in the words of the published rows."""
    return {CANDIDATES: _described(run, values)}


def _described(run: Run, values: Mapping[str, Value]) -> str:
    if stored := getattr(run.benchmark, "candidates", ""):
        return str(stored)
    description = str(run.manifest.config.get("candidates_told") or UNSTATED)
    if values.get("candidates", "snapshot") != "snapshot":
        return description
    drawn = f"snapshot 1+{values.get('distractors')}, seed {values.get('seed')}"
    return (
        drawn
        if description in (USUAL, UNSTATED)
        else f"{drawn}, {description.removeprefix('snapshot, ')}"
    )
