"""Statistics of runs: how sure a rate is, and whether two runs differ.

| module | what it answers |
|---|---|
| `clusters` | sums and sizes by task, the mean over them and its error |
| `bootstrap` | an interval by drawing tasks again: studentised, or BCa |
| `paired` | the difference of two runs on the same steps, with its interval |
| `significance` | McNemar's tests, a sign-flip permutation test, corrections for many runs |
| `power` | how many tasks show a difference, which difference the tasks show |

Pure functions over plain sequences: scores of steps, and the task of each. Intervals of a single
run (Clopper-Pearson, t, cluster-robust t) are in `parsers.intervals`. `docs/statistics.md` says
which is used where, and how often each holds the truth.
"""

from __future__ import annotations

from reports.statistics.bootstrap import BootstrapInterval, bootstrap
from reports.statistics.clusters import Average
from reports.statistics.paired import (
    Difference,
    Effect,
    effect,
    paired_difference,
    success_difference,
)
from reports.statistics.power import (
    smallest_difference,
    smallest_success_difference,
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
    "BootstrapInterval",
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
