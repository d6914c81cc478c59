"""Statistics of runs: differences between two runs, and how many tasks show one.

| module | content |
|---|---|
| `paired` | difference of two runs, its interval, and tasks needed to detect one |
| `significance` | McNemar's tests, sign-flip permutation test, multiple-comparison corrections |

Pure functions of plain sequences: the scores of steps, and the task of each. Intervals of a single
run are in `parsers.rates` and `parsers.rates`. `docs/statistics.md` says which is used where,
with measured coverage.
"""
