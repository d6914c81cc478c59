"""Runs as tidy, typed frames at three levels.

| module | function | a row per | columns |
|---|---|---|---|
| `steps` | `steps_frame` | run, step and repeat | `steps.COLUMNS` |
| `tasks` | `tasks_frame` | run, task and repeat | `tasks.COLUMNS` |
| `runs` | `runs_frame` | run | `runs.COLUMNS`, and the settings in which the runs differ |

`arrow` reads steps from disk into pandas; `rows` converts a run's frame into the input of
`parsers.aggregate`.

Every column has a type and a meaning (`frames.schema.Column`); `*_SCHEMA` maps names to types.
Nothing is pooled over runs: the column `run` identifies them, `attrs["constants"]` holds the
settings they share and `attrs["differences"]` those in which they differ.
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
