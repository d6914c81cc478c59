"""Runs as tidy, typed frames, at three levels with the same functions and names.

| module | function | a row per | columns |
|---|---|---|---|
| `steps` | `steps_frame` | run, step and repeat | `steps.COLUMNS` |
| `tasks` | `tasks_frame` | run, task and repeat | `tasks.COLUMNS` |
| `runs` | `runs_frame` | run | `runs.COLUMNS`, and the settings in which the runs differ |

`arrow` brings steps from disk to pandas, `rows` makes of a run's frame what `parsers.aggregate`
takes.

Every column has a type and a meaning (`frames.schema.Column`), `*_SCHEMA` maps names to types.
Nothing is pooled over runs: `run` tells their rows apart, `attrs["constants"]` holds the settings
they share and `attrs["differences"]` those they do not.
"""

from __future__ import annotations

from reports.frames.runs import RUNS_SCHEMA, runs_frame
from reports.frames.steps import STEPS_SCHEMA, steps_frame
from reports.frames.tasks import TASKS_SCHEMA, tasks_frame

__all__ = [
    "RUNS_SCHEMA",
    "STEPS_SCHEMA",
    "TASKS_SCHEMA",
    "runs_frame",
    "steps_frame",
    "tasks_frame",
]
