"""Facts below the results of a run of episodes: their ends and their lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import mean
from typing import TYPE_CHECKING

from harness.runs import Run
from reports.settings import Setting

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

MOST = 6
"""Maximum number of ends that are listed one by one; pages may use any words for theirs."""


def episode_facts(rows: RunRows) -> Mapping[str, str]:
    """Count the ends of episodes, and return their mean number of steps."""
    known = rows.frame.dropna(subset=["end"])
    counts = Counter(known["end"].astype("str"))
    if not counts:
        return {}
    ends = [f"{name} {count:,}" for name, count in sorted(counts.items(), key=_often)]
    rest = sum(count for _, count in sorted(counts.items(), key=_often)[MOST:])
    ends = [*ends[:MOST], *([f"others {rest:,}"] if rest else [])]
    facts = {"ended": ", ".join(ends)}
    steps = known["steps"].dropna()
    if len(steps):
        facts["steps per episode"] = f"{mean(map(int, steps)):.2f}"
    return facts


def episode_keys(run: Run, values: Mapping[str, Setting]) -> dict[str, str]:
    """Return the step limits of episodes, for comparisons with published results."""
    limit = values.get("max_steps")
    return {"max_steps": "the task's" if limit is None else str(limit)}


def _often(one: tuple[str, int]) -> tuple[int, str]:
    return -one[1], one[0]
