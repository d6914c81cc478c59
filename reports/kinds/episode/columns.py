"""The columns that frames have for episodes: reward, steps and end."""

from __future__ import annotations

from typing import Any

from harness.runs import Unit
from reports.frames.units import Getter, KindColumns, unit_column
from reports.kinds.episode.ends import ended


def _of_end(name: str) -> Getter:
    def get(record: Unit[Any]) -> object:
        end = ended(record)
        return None if end is None else getattr(end, name)

    return get


EPISODE_COLUMNS = KindColumns(
    outcome=(
        unit_column("reward", "float64", "as the environment gave it", _of_end("reward")),
        unit_column("steps", "Int64", "steps taken until the end", _of_end("steps")),
        unit_column("end", "category", "how it ended, in the page's words", _of_end("how")),
    ),
)
