"""Groups of grounding items, in addition to those that their benchmark declares."""

from __future__ import annotations

from statistics import quantiles
from typing import TYPE_CHECKING

from reports.keys import Group, Key

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

ABSENT: Group = (5.0, "absent")
FEWEST = 4
"""Quartiles of fewer targets would say nothing."""


def target_sizes(rows: RunRows) -> list[Group]:
    """Return the quartile of each item by the area of its target, among all items of the run.

    Equal areas are in the same quartile, the smaller one.
    """
    known = rows.frame.drop_duplicates(rows.declared.id_column)["target_area"].dropna().tolist()
    if len(known) < FEWEST:
        return [(1.0, "too few to tell") for _ in rows.trials]
    bounds = quantiles(known, n=4, method="inclusive")
    names = [f"up to {bound:,.0f} px²" for bound in bounds] + [f"above {bounds[-1]:,.0f} px²"]

    def group(area: float | None) -> Group:
        if area is None:
            return ABSENT
        place = sum(area > bound for bound in bounds)
        return float(place), names[place]

    areas = rows.frame["target_area"].astype("object")
    return [group(area) for area in areas.where(areas.notna(), None)]


GROUNDING_GROUPS = {
    "target_size": Key(
        "quartile of the target's area in pixels of the original, among the items of the run",
        target_sizes,
    ),
}
