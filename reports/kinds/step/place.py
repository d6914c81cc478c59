"""Where on its page the target of a recorded step is."""

from __future__ import annotations

from harness.runs import StepUnit
from reports.keys import band
from reports.kinds.step.groups import TARGET_TOPS, target_top


def target_place(record: StepUnit) -> tuple[float, str]:
    """Return the band of the upper edge of its target, as a number to sort by and in words."""
    start, name = band(target_top(record), TARGET_TOPS)
    return start, f"target at {name} px"
