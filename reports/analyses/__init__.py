"""Analyses beyond the table of scores.

| module | function | question |
|---|---|---|
| `distractors` | `distractor_curve` | how do scores depend on the number of distractors? |
| `positions` | `option_positions` | does the model have a position bias? |
| `picture` | `picture_effect` | how much does the screenshot help? |
| `independence` | `task_independence` | is task success that of independent steps? |
| `ceiling` | `ceilings` | what could any model reach, given what it was shown? |
| `intervals` | `second_intervals` | do bootstrap intervals agree with those of the table? |

Each is a pure function from runs to a frame that `reports.render` writes. `plots` draws all but the
last, and `vlm-eval analyse` has a command for each.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.analyses.ceiling import ceilings
    from reports.analyses.distractors import distractor_curve
    from reports.analyses.independence import task_independence
    from reports.analyses.intervals import second_intervals
    from reports.analyses.picture import picture_effect
    from reports.analyses.positions import option_positions

_HOMES = {
    "ceilings": "reports.analyses.ceiling",
    "distractor_curve": "reports.analyses.distractors",
    "option_positions": "reports.analyses.positions",
    "picture_effect": "reports.analyses.picture",
    "second_intervals": "reports.analyses.intervals",
    "task_independence": "reports.analyses.independence",
}

__all__ = [
    "ceilings",
    "distractor_curve",
    "option_positions",
    "picture_effect",
    "second_intervals",
    "task_independence",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reports.analyses' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
