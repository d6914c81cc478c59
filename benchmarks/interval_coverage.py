"""Coverage of the true rate by the intervals of `parsers`.

    python -m benchmarks.interval_coverage

Benchmarks with known rates are simulated, 4,000 per cell with a fixed seed, and the tables of
`docs/statistics.md` are printed as Markdown. Exit status 1 where a cell misses what is promised
there: task success at 95 % or more; from 142 tasks on, step rates of 40 and 70 % between 93.5 and
96.5 %, and no step rate below 93 %; printed intervals of rates up to 5 % never below 93.5 %.

The last table is how `parsers.FEW` was set: the coverage of intervals that are t, but bootstrap-t
where fewer tasks than that have a success, or a failure.

Task lengths are drawn like those of Mind2Web's test splits: 2 to 28 steps with a median of 6 (a
lognormal, rounded and cut). The successes within a task are beta-binomial: the task's own rate is
drawn from a beta distribution whose mean is the cell's rate and whose intra-task correlation is the
cell's. Task success is drawn separately, as a binomial, to control its rate.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsers import FEW, clopper_pearson
from parsers.bootstrap import accelerated, draws, generator, resampled, studentised
from parsers.clusters import Floats, mean_and_error, t_quantile

TASKS = (15, 30, 142, 694)
TASK_RATES = (0.005, 0.01, 0.03, 0.1, 0.5)
STEP_RATES = (0.1, 0.4, 0.7)
CORRELATIONS = (0.03, 0.15)
AVERAGES = ("macro", "micro")
METHODS = ("t", "bootstrap-t", "BCa", "percentile", "printed")
LOW_TASKS = (22, 142, 694)
LOW_RATES = (0.01, 0.016, 0.03, 0.05)
LOW_CORRELATIONS = (0.03, 0.15, 0.3)
THRESHOLDS = (0, 10, 20, FEW)

SIMULATIONS = 4_000
RESAMPLES = 999
BATCH = 250

Ends = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class TaskCell:
    """Task success of one kind: simulated coverages, and what Clopper-Pearson covers by sums."""

    tasks: int
    rate: float
    exact: float
    clopper_pearson: float
    percentile: float


@dataclass(frozen=True, slots=True)
class StepCell:
    """A step rate of one kind: coverage by average and method."""

    tasks: int
    rate: float
    correlation: float
    coverage: dict[tuple[str, str], float]


def task_cell(tasks: int, rate: float, simulations: int = SIMULATIONS) -> TaskCell:
    """Task success: Clopper-Pearson against the percentile bootstrap."""
    chance = generator(f"coverage/task/{tasks}/{rate}", 0)
    successes = chance.binomial(tasks, rate, size=simulations)
    holds = np.array([_holds_exactly(k, tasks, rate) for k in range(tasks + 1)])
    # A resample of k successes in m tasks has a binomial number of them: no need to draw tasks.
    again = chance.binomial(tasks, successes[:, None] / tasks, size=(simulations, RESAMPLES))
    low, high = np.quantile(again / tasks, [0.025, 0.975], axis=-1)
    likely = np.array([_binomial(k, tasks, rate) for k in range(tasks + 1)])
    return TaskCell(
        tasks=tasks,
        rate=rate,
        exact=float(likely[holds].sum()),
        clopper_pearson=float(holds[successes].mean()),
        percentile=float(((low <= rate) & (rate <= high)).mean()),
    )


def _holds_exactly(successes: int, tasks: int, rate: float) -> bool:
    interval = clopper_pearson(successes, tasks)
    return interval is not None and interval.low <= rate <= interval.high


def _binomial(successes: int, tasks: int, rate: float) -> float:
    ways = math.lgamma(tasks + 1) - math.lgamma(successes + 1) - math.lgamma(tasks - successes + 1)
    return math.exp(ways + successes * math.log(rate) + (tasks - successes) * math.log1p(-rate))


def lengths(tasks: int, simulations: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Steps per task of every simulated benchmark."""
    drawn = chance.lognormal(math.log(6), 0.55, size=(simulations, tasks))
    return np.clip(np.rint(drawn), 2, 28).astype(np.int64)


def successes(
    sizes: NDArray[np.int64], rate: float, correlation: float, chance: np.random.Generator
) -> Floats:
    """Beta-binomial successes per task: alpha + beta = 1/correlation - 1."""
    strength = 1 / correlation - 1
    own = chance.beta(rate * strength, (1 - rate) * strength, size=sizes.shape)
    return chance.binomial(sizes, own).astype(np.float64)


def step_cell(
    tasks: int, rate: float, correlation: float, simulations: int = SIMULATIONS
) -> StepCell:
    """A step rate: every method for both averages."""
    hits: Counter[tuple[str, str]] = Counter()
    for average, data, drawn, moved in _simulated("step", tasks, rate, correlation, simulations):
        for method, (low, high) in _ends(*data, drawn, moved):
            hits[average, method] += int(((low <= rate) & (rate <= high)).sum())
    return StepCell(tasks, rate, correlation, {key: n / simulations for key, n in hits.items()})


def low_cell(
    tasks: int, rate: float, correlation: float, simulations: int = SIMULATIONS
) -> StepCell:
    """A low step rate: coverage by average and threshold."""
    hits: Counter[tuple[str, str]] = Counter()
    for average, data, drawn, moved in _simulated("low", tasks, rate, correlation, simulations):
        ends = t_ends(*data), studentised(*data, drawn)
        for threshold in THRESHOLDS:
            low, high = printed_ends(*ends, moved, tasks, threshold)
            hits[average, str(threshold)] += int(((low <= rate) & (rate <= high)).sum())
    return StepCell(tasks, rate, correlation, {key: n / simulations for key, n in hits.items()})


def _simulated(
    kind: str, tasks: int, rate: float, correlation: float, simulations: int
) -> Iterator[tuple[str, tuple[Floats, Floats], Floats, NDArray[np.int64]]]:
    """Yield batches of benchmarks by average: values and weights, draws, and `_moved`."""
    chance = generator(f"coverage/{kind}/{tasks}/{rate}/{correlation}", 0)
    for start in range(0, simulations, BATCH):
        sizes = lengths(tasks, min(BATCH, simulations - start), chance)
        totals = successes(sizes, rate, correlation, chance)
        drawn = draws(tasks, RESAMPLES, start)
        for average in AVERAGES:
            yield average, _averaged(totals, sizes, average), drawn, _moved(totals, sizes)


def _averaged(totals: Floats, sizes: NDArray[np.int64], average: str) -> tuple[Floats, Floats]:
    if average == "macro":
        return totals / sizes, np.ones_like(totals)
    return totals, sizes.astype(np.float64)


def _moved(totals: Floats, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the tasks that have a success, and a failure, by data set."""
    return np.stack([(totals > 0).sum(-1), (totals < sizes).sum(-1)])


def printed_ends(
    t: Ends, resampled: Ends, moved: NDArray[np.int64], tasks: int, threshold: int = FEW
) -> Ends:
    """The ends of `parsers.rates.mean_interval`, of many data sets at once."""
    most = np.array([_highest(number, tasks) for number in range(tasks + 1)])
    low = np.maximum(resampled[0], 1 - most[moved[1]])
    high = np.minimum(resampled[1], most[moved[0]])
    none, every = moved == 0
    low, high = np.where(none, 0, low), np.where(none, most[0], high)
    low, high = np.where(every, 1 - most[0], low), np.where(every, 1, high)
    few = (moved.min(0) < threshold) | none | every
    return np.where(few, low, t[0]), np.where(few, high, t[1])


def _highest(successes: int, tasks: int) -> float:
    interval = clopper_pearson(successes, tasks)
    assert interval is not None
    return interval.high


def _ends(
    totals: Floats, sizes: Floats, drawn: Floats, moved: NDArray[np.int64]
) -> Iterator[tuple[str, Ends]]:
    t, resampling = t_ends(totals, sizes), studentised(totals, sizes, drawn)
    yield "t", t
    yield "bootstrap-t", resampling
    yield "printed", printed_ends(t, resampling, moved, totals.shape[-1])
    yield "BCa", accelerated(totals, sizes, drawn)
    mean, _ = mean_and_error(totals, sizes)
    deviation, _ = resampled(totals, sizes, drawn)
    low, high = np.quantile(deviation, [0.025, 0.975], axis=-1)
    yield "percentile", (mean + low, mean + high)


def t_ends(totals: Floats, sizes: Floats) -> Ends:
    """The ends of `parsers.t_interval` and `parsers.cluster_t`, of many data sets at once."""
    mean, error = mean_and_error(totals, sizes)
    reach = t_quantile(0.95, totals.shape[-1]) * error
    # Without spread these intervals do not exist, and nothing is covered.
    reach[error == 0] = np.nan
    return mean - reach, mean + reach


def task_table(cells: Sequence[TaskCell]) -> str:
    """The coverages of task success as a Markdown table."""
    lines = [
        "| tasks | true rate | Clopper-Pearson | the same, exactly | percentile bootstrap |",
        "|--:|--:|--:|--:|--:|",
    ]
    for cell in cells:
        shares = (cell.clopper_pearson, cell.exact, cell.percentile)
        told = " | ".join(f"{100 * share:.1f}" for share in shares)
        lines.append(f"| {cell.tasks} | {100 * cell.rate:g} % | {told} |")
    return "\n".join(lines)


def step_table(cells: Sequence[StepCell]) -> str:
    """The coverages of step rates as a Markdown table."""
    columns = [(average, method) for average in AVERAGES for method in METHODS]
    heads = " | ".join(f"{average} {method}" for average, method in columns)
    lines = [
        f"| tasks | true rate | correlation | {heads} |",
        f"|--:|--:|--:|{'--:|' * len(columns)}",
    ]
    for cell in cells:
        told = " | ".join(f"{100 * cell.coverage[key]:.1f}" for key in columns)
        lines.append(f"| {cell.tasks} | {100 * cell.rate:g} % | {cell.correlation:g} | {told} |")
    return "\n".join(lines)


def low_table(cells: Sequence[StepCell]) -> str:
    """The coverages of low step rates by threshold as a Markdown table."""
    columns = [(average, str(number)) for average in AVERAGES for number in THRESHOLDS]
    heads = " | ".join(f"{average} {number}" for average, number in columns)
    lines = [
        f"| tasks | true rate | correlation | {heads} |",
        f"|--:|--:|--:|{'--:|' * len(columns)}",
    ]
    for cell in cells:
        told = " | ".join(f"{100 * cell.coverage[key]:.1f}" for key in columns)
        lines.append(f"| {cell.tasks} | {100 * cell.rate:g} % | {cell.correlation:g} | {told} |")
    return "\n".join(lines)


def missed(
    task_cells: Sequence[TaskCell],
    step_cells: Sequence[StepCell],
    low_cells: Sequence[StepCell] = (),
) -> list[str]:
    """List the cells that fall short of the promise, a line each."""
    lines = [
        f"task success, {cell.tasks} tasks at {cell.rate:g}: {cell.clopper_pearson:.4f}"
        for cell in task_cells
        if cell.clopper_pearson < 0.95
    ]
    for cell in step_cells:
        for average in AVERAGES:
            share = cell.coverage[average, "t"]
            low, high = (0.93, 1.0) if cell.rate < 0.4 else (0.935, 0.965)
            if cell.tasks >= 142 and not low <= share <= high:
                lines.append(
                    f"{average}, {cell.tasks} tasks at {cell.rate:g}, "
                    f"correlation {cell.correlation:g}: {share:.4f}"
                )
    for cell in low_cells:
        for average in AVERAGES:
            share = cell.coverage[average, str(FEW)]
            if share < 0.935:
                lines.append(
                    f"{average} as printed, {cell.tasks} tasks at {cell.rate:g}, "
                    f"correlation {cell.correlation:g}: {share:.4f}"
                )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    count = parser.parse_args().simulations
    of_tasks = [task_cell(tasks, rate, count) for tasks in TASKS for rate in TASK_RATES]
    print(task_table(of_tasks), flush=True)
    of_steps = [
        step_cell(tasks, rate, correlation, count)
        for tasks in TASKS
        for rate in STEP_RATES
        for correlation in CORRELATIONS
    ]
    print(f"\n{step_table(of_steps)}")
    of_low = [
        low_cell(tasks, rate, correlation, count)
        for tasks in LOW_TASKS
        for rate in LOW_RATES
        for correlation in LOW_CORRELATIONS
    ]
    print(f"\n{low_table(of_low)}")
    misses = missed(of_tasks, of_steps, of_low)
    print("\nmissed:", *(misses or ["nothing"]), sep="\n  ")
    return 1 if misses else 0


if __name__ == "__main__":
    raise SystemExit(main())
