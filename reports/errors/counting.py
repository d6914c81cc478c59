"""Count the error classes, as shares with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from harness.runs import Run
from harness.tables import interval_record
from parsers import Declaration, mean_interval
from reports.errors.classes import NO_ANSWER, ClassInfo
from reports.errors.classifying import errors_of

ALL = "all"


def counts(label: str, run: Run, by: str | None, rows: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Yield a record for every class that occurs, by group: of all rows, and of those with equal
    `by`.

    rows: of the run, as in `reports.errors.frame`.
    """
    declared = run.manifest.declaration
    classes = errors_of(run).classes(declared)
    groups = [(ALL, ALL, rows)]
    if by is not None:
        groups += [
            (by, str(name), part) for name, part in rows.groupby(rows[by].astype("str"), sort=True)
        ]
    for key, name, part in groups:
        for row in _count(part, classes, _clusters(part, declared)):
            yield {"run": label, "by": key, "group": name, **row}


def _clusters(rows: pd.DataFrame, declared: Declaration) -> list[Hashable]:
    """Return the clusters of the rows' intervals: their parents of the usual level."""
    level = declared.level(declared.clusters[0])
    names = [level.column] if level.shared else ["split", level.column]
    return list(zip(*(rows[name].astype("str") for name in names), strict=True))


def _count(
    rows: pd.DataFrame, infos: Sequence[ClassInfo], clusters: Sequence[Hashable]
) -> Iterator[dict[str, Any]]:
    names: Sequence[str] = rows["error_class"].astype("str").tolist()
    details = rows["error_detail"].astype("object").tolist()
    found = [
        (name, str(detail) if name == NO_ANSWER else None)
        for name, detail in zip(names, details, strict=True)
    ]
    counted = {str(info.error_class) for info in infos if info.counted}
    errors = {str(info.error_class) for info in infos if info.is_error}
    settled = [place for place, name in enumerate(names) if name in counted]
    failed = [place for place, name in enumerate(names) if name in errors]
    counts = Counter(found)

    def share(column: str, key: tuple[str, str | None], among: Sequence[int]) -> dict[str, Any]:
        values = [float(found[place] == key) for place in among]
        interval = mean_interval(values, [clusters[place] for place in among], "micro")
        return {column: counts[key] / len(among), **interval_record(column, interval)}

    for info in infos:
        of_class = sorted((one for one in counts.items() if one[0][0] == info.error_class), key=str)
        for key, count in of_class:
            name, status = key
            yield {
                "error_class": name,
                "status": status,
                "title": info.title if status is None else f"{info.title}: {status}",
                "count": count,
                **(share("share", key, settled) if info.counted else {}),
                **(share("share_of_errors", key, failed) if info.is_error else {}),
            }
