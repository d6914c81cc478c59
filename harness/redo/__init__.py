"""Ask some steps of a run again (`--redo`), and set damaged lines of a run aside (`--repair`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adapters.options import LeafSettings, PathText
from adapters.options import session_setting as _running

Redoable = Literal["truncated", "empty", "parse_error", "no_element"]
"""Statuses of steps that a higher token limit may help."""


@dataclass(frozen=True, kw_only=True)
class RedoSettings(LeafSettings):
    """Steps of an earlier run to ask again."""

    redo: tuple[Redoable, ...] = _running(
        (),
        "Make a new run that takes over the lines of another, and asks its steps with this status "
        "again with a higher token limit; may be repeated.",
        needs=("questions",),
    )
    redo_from: PathText | None = _running(
        None,
        "Run that is taken over. Default: the one that the other settings name.",
        option="--from",
        metavar="RUN",
        needs=("redo",),
    )
    repair: bool = _running(
        False,
        "Set aside the lines of a run that are damaged, and ask their steps again.",
    )
