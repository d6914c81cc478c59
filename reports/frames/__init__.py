"""Runs as tidy, typed frames at two levels.

| module | function | a row per |
|---|---|---|
| `units` | `steps_frame` | run, unit and repeat |
| `runs` | `runs_frame` | run; with the settings that differ |

The columns of each are the `columns` of its module for what a benchmark declares; `units` has those
of all units, `reports.kinds` those of a kind. Frames of several benchmarks have the columns of all
of them, with nothing in those that a run does not have. `rows` converts a run's frame into the
input of `parsers.averages`.

Every column has a type and a meaning (`frames.units.Column`). Nothing is pooled over runs: the
column `run` identifies them, `attrs["constants"]` holds the settings they share and
`attrs["differences"]` those that differ.
"""
