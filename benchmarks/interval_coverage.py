"""Coverage of the true rate by the intervals of `parsers`.

    python -m benchmarks.interval_coverage

Benchmarks with known rates are simulated, 4,000 per cell with a fixed seed, 1,000 for values
between 0 and 1, and the tables of `docs/statistics.md` are printed cell by cell. Exit status 1
where a cell misses what is promised there: task success at 95 % or more, printed intervals of other
rates at 94 % or more, less two simulation errors.

Task success is drawn separately from the steps (`benchmarks/simulated_steps.py`), as a binomial, to
control its rate.

The second table compares methods where successes are few: Student's t, bootstrap-t and BCa over
tasks, Clopper-Pearson by the effective number of steps (Korn and Graubard 1998), and what
is printed.

The last tables are of values between 0 and 1, by measure.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulated_ends import RESAMPLES, ends
from benchmarks.simulated_steps import (
    MEASURES,
    Tasks,
    binary,
    clustered,
    graded,
    lengths,
    sites_of_tasks,
    successes,
)
from parsers import clopper_pearson
from reports.statistics.significance import generator

TASKS = (15, 30, 142, 694)
TASK_RATES = (0.005, 0.01, 0.03, 0.1, 0.5)
STEP_TASKS = (15, 22, 30, 142, 694)
STEP_RATES = (0.01, 0.03, 0.05, 0.1, 0.4, 0.8, 0.9)
CORRELATIONS = (0.03, 0.15, 0.3)
AVERAGES = ("macro", "micro")
METHODS = ("t", "bootstrap-t", "BCa", "Korn-Graubard", "printed")
FEW_TASKS = (22, 142)
FEW_RATES = (0.016, 0.05, 0.1)
SITES = ((10, 14.2), (20, 7.0), (53, 13.0), (64, 2.8))
"""Websites and tasks of each, as in test_website (the first), test_domain and test_task."""
SITE_CORRELATIONS = ((0.02, 0.1), (0.1, 0.15), (0.1, 0.3))
"""Within websites, and within tasks in addition."""

GRADED_TASKS = (15, 30, 142, 694)
GRADED_SITES = SITES[1:3]

PROMISED = 0.94
SIMULATIONS = 4_000
BATCH = 250


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
    """A rate of one kind, with its clusters in words: coverage and mean width, by average and
    method."""

    clusters: str
    rate: float
    correlation: str
    simulations: int
    coverage: dict[tuple[str, str], float]
    width: dict[tuple[str, str], float]


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


def step_cell(
    tasks: int,
    rate: float,
    correlation: float,
    simulations: int = SIMULATIONS,
    methods: Sequence[str] = ("printed",),
    measure: str = "",
) -> StepCell:
    """A rate with tasks as clusters: of steps that succeed, or a measure of `MEASURES`."""
    chance = generator(f"coverage/step/{tasks}/{rate}/{correlation}{measure}", 0)

    def simulated(count: int) -> Tasks:
        sizes = lengths(tasks, count, chance)
        if measure:
            return graded(measure, sizes, rate, correlation, chance)
        return binary(sizes, successes(sizes, rate, correlation, chance))

    words = f"{tasks} {measure}".strip()
    return _cell(words, rate, f"{correlation:g}", simulations, methods, simulated)


def lone_cell(measure: str, tasks: int, rate: float, simulations: int = SIMULATIONS) -> StepCell:
    """A measure with one value per task."""
    chance = generator(f"coverage/lone/{measure}/{tasks}/{rate}", 0)

    def simulated(count: int) -> Tasks:
        return graded(measure, np.ones((count, tasks), np.int64), rate, 0.15, chance)

    return _cell(f"{tasks} {measure}", rate, "one value", simulations, ("printed",), simulated)


def site_cell(
    sites: tuple[int, float],
    rate: float,
    correlations: tuple[float, float],
    simulations: int = SIMULATIONS,
    measure: str = "",
) -> StepCell:
    """A rate with websites as clusters, as in `step_cell`."""
    of_task = sites_of_tasks(*sites)
    chance = generator(f"coverage/site/{sites}/{rate}/{correlations}{measure}", 0)

    def simulated(count: int) -> Tasks:
        sizes = lengths(len(of_task), count, chance)
        within, inside = correlations
        if measure:
            return graded(measure, sizes, rate, inside, chance, of_task, within)
        return binary(sizes, successes(sizes, rate, inside, chance, of_task, within))

    words = f"{sites[0]} ({len(of_task)} tasks) {measure}".strip()
    within = " + ".join(f"{one:g}" for one in correlations)
    return _cell(words, rate, within, simulations, ("printed",), simulated, of_task)


def _cell(
    clusters: str,
    rate: float,
    correlation: str,
    simulations: int,
    methods: Sequence[str],
    simulated: Callable[[int], Tasks],
    of_task: NDArray[np.int64] | None = None,
) -> StepCell:
    hits: Counter[tuple[str, str]] = Counter()
    widths: dict[tuple[str, str], float] = {}
    for start in range(0, simulations, BATCH):
        tasks = simulated(min(BATCH, simulations - start))
        for average in AVERAGES:
            data = clustered(tasks, average, of_task)
            for method in methods:
                low, high = (np.clip(end, 0, 1) for end in ends(method, data, start))
                hits[average, method] += int(((low <= rate) & (rate <= high)).sum())
                width = float(np.nansum(high - low)) / simulations
                widths[average, method] = widths.get((average, method), 0.0) + width
    coverage = {key: hits[key] / simulations for key in widths}
    return StepCell(clusters, rate, correlation, simulations, coverage, widths)


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
    """Coverage and mean width of all methods as a Markdown table."""
    columns = [(average, method) for average in AVERAGES for method in METHODS]
    heads = " | ".join(f"{average} {method}" for average, method in columns)
    lines = [
        f"| tasks | true rate | correlation | {heads} |",
        f"|--:|--:|--:|{'--:|' * len(columns)}",
    ]
    for cell in cells:
        pairs = ((cell.coverage[key], cell.width[key]) for key in columns)
        told = " | ".join(f"{100 * share:.1f} ({100 * width:.1f})" for share, width in pairs)
        lines.append(f"| {cell.clusters} | {100 * cell.rate:g} % | {cell.correlation} | {told} |")
    return "\n".join(lines)


def printed_table(cells: Sequence[StepCell]) -> str:
    """The coverages of what is printed, macro and micro, with the rates as columns."""
    rates = sorted({cell.rate for cell in cells})
    heads = " | ".join(f"{100 * rate:g} %" for rate in rates)
    lines = [f"| clusters | correlation | {heads} |", f"|--:|--:|{'--:|' * len(rates)}"]
    rows: dict[tuple[str, str], dict[float, str]] = {}
    for cell in cells:
        told = " / ".join(f"{100 * cell.coverage[one, 'printed']:.1f}" for one in AVERAGES)
        rows.setdefault((cell.clusters, cell.correlation), {})[cell.rate] = told
    for (clusters, correlation), told_of in rows.items():
        lines.append(
            f"| {clusters} | {correlation} | {' | '.join(told_of[rate] for rate in rates)} |"
        )
    return "\n".join(lines)


def missed(task_cells: Sequence[TaskCell], step_cells: Sequence[StepCell]) -> list[str]:
    """List the cells that fall short of the promise, a line each."""
    lines = [
        f"task success, {cell.tasks} tasks at {cell.rate:g}: {cell.clopper_pearson:.4f}"
        for cell in task_cells
        if cell.clopper_pearson < 0.95
    ]
    for cell in step_cells:
        least = PROMISED - 2 * math.sqrt(PROMISED * (1 - PROMISED) / cell.simulations)
        lines += [
            f"{average}, {cell.clusters} clusters at {cell.rate:g}, correlation "
            f"{cell.correlation}: {share:.4f}"
            for average in AVERAGES
            if (share := cell.coverage[average, "printed"]) < least
        ]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    count = parser.parse_args().simulations
    of_tasks = [task_cell(tasks, rate, count) for tasks in TASKS for rate in TASK_RATES]
    print(task_table(of_tasks), flush=True)
    compared = [
        step_cell(tasks, rate, correlation, count, METHODS)
        for tasks in FEW_TASKS
        for rate in FEW_RATES
        for correlation in CORRELATIONS
    ]
    print(f"\n{step_table(compared)}", flush=True)
    of_steps = [
        step_cell(tasks, rate, correlation, count)
        for tasks in STEP_TASKS
        for correlation in CORRELATIONS
        for rate in STEP_RATES
    ]
    print(f"\n{printed_table(of_steps)}", flush=True)
    of_sites = [
        site_cell(sites, rate, correlations, count)
        for sites in SITES
        for correlations in SITE_CORRELATIONS
        for rate in STEP_RATES
    ]
    print(f"\n{printed_table(of_sites)}")
    few = max(count // 4, 1)
    of_values = [
        [
            step_cell(tasks, rate, correlation, few, measure=measure)
            for measure in MEASURES
            for tasks in GRADED_TASKS
            for correlation in CORRELATIONS[::2]
            for rate in STEP_RATES
        ],
        [
            lone_cell(measure, tasks, rate, few)
            for measure in MEASURES
            for tasks in GRADED_TASKS
            for rate in STEP_RATES
        ],
        [
            site_cell(sites, rate, SITE_CORRELATIONS[-1], few, measure)
            for measure in MEASURES
            for sites in GRADED_SITES
            for rate in STEP_RATES
        ],
    ]
    for cells in of_values:
        print(f"\n{printed_table(cells)}", flush=True)
    misses = missed(of_tasks, [*of_steps, *of_sites, *(one for of in of_values for one in of)])
    print("\nmissed:", *(misses or ["nothing"]), sep="\n  ")
    return 1 if misses else 0


if __name__ == "__main__":
    raise SystemExit(main())
