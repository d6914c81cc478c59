"""Facts below the results of a grounding run: the ends of answers, and distances of misses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from harness.tables import finer_clusters, interval_text, percent
from parsers.records import Status

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

ENDED: Mapping[str, tuple[Status, ...]] = {
    "unread": (Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS, Status.EMPTY),
    "cut off": (Status.TRUNCATED,),
    "out of range": (Status.OUT_OF_RANGE,),
    "declined": (Status.NONE,),
}


def grounding_facts(rows: RunRows) -> dict[str, str]:
    """Shares of answers, the distance to the target, and intervals with finer clusters."""
    statuses = [unit.status for _, unit in rows.trials if unit.status is not None]
    facts = {}
    if statuses:
        shares = (
            f"{name} {percent(sum(one in those for one in statuses) / len(statuses))} %"
            for name, those in ENDED.items()
        )
        facts["answers"] = ", ".join(shares)
    if distance := _distance(rows):
        facts["distance to the target"] = distance
    return facts | _finer(rows)


def _distance(rows: RunRows) -> str:
    """Return the median way of points to their targets, and that of those which miss."""
    frame = rows.frame[["distance", "distance_diagonals"]].dropna(subset=["distance"])
    if frame.empty:
        return ""
    missed = frame[frame["distance"] > 0]
    text = f"median {_length(frame['distance'].tolist())}"
    if missed.empty:
        return text
    diagonals = missed["distance_diagonals"].dropna().tolist()
    of_target = f", {median(diagonals):.1f} diagonals of the target" if diagonals else ""
    return f"{text}, of misses {_length(missed['distance'].tolist())}{of_target}"


def _length(pixels: list[float]) -> str:
    return f"{median(pixels):,.0f} px"


def _finer(rows: RunRows) -> dict[str, str]:
    """Return the headline with smaller clusters than those that its interval takes as
    independent."""
    main, found = rows.declared.main, {}
    for level in finer_clusters(rows.declared, rows.rules.cluster):
        finer = replace(rows, rules=replace(rows.rules, cluster=level.name))
        average = main.averages[0]
        estimate = finer.metrics().metrics.headline.rates[main.name][average]
        if estimate.value is not None:
            text = f"{percent(estimate.value)} {interval_text(estimate.interval)}".rstrip()
            found[f"with {level.many} as clusters"] = f"{main.head} {average} {text}"
    return found
