"""Groups of episodes, in addition to those that their benchmark declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.keys import UNKNOWN, Group, Key, banded

if TYPE_CHECKING:
    from reports.frames.rows import RunRows

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 11, 21)


def _ends(rows: RunRows) -> list[Group]:
    ends = rows.frame["end"].astype("object")
    return [(0.0, str(end)) if end == end and end else (1.0, UNKNOWN) for end in ends]


EPISODE_GROUPS = {
    "steps": Key("steps that an episode took", banded("steps", LENGTHS)),
    "end": Key("how an episode ended", _ends),
}
