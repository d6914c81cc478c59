"""Statistics of runs: differences between two runs, and how many tasks show one.

| module | content |
|---|---|
| `paired` | difference of two runs on the same steps, with its interval |
| `significance` | McNemar's tests, sign-flip permutation test, multiple-comparison corrections |
| `power` | tasks needed to detect a difference, smallest difference detected |

Pure functions of plain sequences: the scores of steps, and the task of each. Intervals of a single
run are in `parsers.intervals` (Clopper-Pearson, t, cluster-robust t) and `parsers.bootstrap`, sums
by task in `parsers.bootstrap`. `docs/statistics.md` says which is used where, with measured
coverage.
"""

from __future__ import annotations

from parsers import Average
from parsers.bootstrap import bootstrap
from reports.statistics.paired import (
    Difference,
    Effect,
    effect,
    paired_difference,
    smallest_difference,
    smallest_success_difference,
    success_difference,
    tasks_needed,
    tasks_needed_for_success,
)
from reports.statistics.significance import (
    CORRECTIONS,
    Correction,
    McNemar,
    Permutation,
    adjust,
    clustered_mcnemar,
    exact_mcnemar,
    permutation_test,
)

__all__ = [
    "CORRECTIONS",
    "Average",
    "Correction",
    "Difference",
    "Effect",
    "McNemar",
    "Permutation",
    "adjust",
    "bootstrap",
    "clustered_mcnemar",
    "effect",
    "exact_mcnemar",
    "paired_difference",
    "permutation_test",
    "smallest_difference",
    "smallest_success_difference",
    "success_difference",
    "tasks_needed",
    "tasks_needed_for_success",
]
