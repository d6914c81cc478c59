"""Measure false positives of the tests of `vlm-eval compare` on equal runs.

    python -m benchmarks.comparison_errors

Two runs are simulated on the same tasks with the same true rate, each with its own luck in every
task (beta-binomial, as in `simulated_steps.py`), 4,000 times per cell with a fixed seed. Printed
as Markdown is the share of p values of at most 0.05, which should be 5 % or less, next to that
of McNemar's test without a correction for tasks.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

import numpy as np

from benchmarks.interval_coverage import BATCH, SIMULATIONS
from benchmarks.simulated_steps import lengths, successes
from parsers.rates import Floats, mean_and_error
from reports.statistics.significance import generator

TASKS = (15, 30, 142, 694)
RATES = (0.1, 0.4)
CORRELATIONS = (0.03, 0.15)
PATTERNS = 999
TESTS = (
    "McNemar, uncorrected",
    "Obuchowski, micro",
    "Durkalski, macro",
    "permutation, micro",
    "permutation, macro",
    "t, micro",
    "t, macro",
)


def claims(tasks: int, rate: float, correlation: float, simulations: int) -> dict[str, float]:
    """The share of false claims of every test in one cell."""
    chance = generator(f"errors/{tasks}/{rate}/{correlation}", 0)
    found = dict.fromkeys(TESTS, 0)
    for start in range(0, simulations, BATCH):
        sizes = lengths(tasks, min(BATCH, simulations - start), chance)
        first = successes(sizes, rate, correlation, chance)
        second = successes(sizes, rate, correlation, chance)
        # Successful steps of a task are drawn separately for each run: this many succeed in both.
        won = first.astype(np.int64)
        both = chance.hypergeometric(won, sizes - won, second.astype(np.int64))
        discordant = (first + second - 2 * both).sum(-1)
        micro, counts = second - first, sizes.astype(np.float64)
        macro, ones = micro / counts, np.ones_like(counts)
        signs = np.where(chance.random((PATTERNS, tasks)) < 0.5, -1.0, 1.0)
        p = {
            "McNemar, uncorrected": _chi_square(micro.sum(-1), discordant),
            "Obuchowski, micro": _chi_square(
                micro.sum(-1), tasks / (tasks - 1) * (micro**2).sum(-1)
            ),
            "Durkalski, macro": _chi_square(macro.sum(-1), (macro**2).sum(-1)),
            "permutation, micro": _permutation(micro, signs),
            "permutation, macro": _permutation(macro, signs),
            "t, micro": _t(micro, counts),
            "t, macro": _t(macro, ones),
        }
        for name, values in p.items():
            found[name] += int((values <= 0.05).sum())
    return {name: count / simulations for name, count in found.items()}


def _chi_square(total: Floats, squares: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.nan_to_num(total**2 / squares)
    return np.asarray(_special().chdtrc(1, statistic))


def _permutation(gains: Floats, signs: Floats) -> Floats:
    observed = np.abs(gains.sum(-1))
    extreme = (np.abs(gains @ signs.T) >= observed[:, None] - 1e-9).sum(-1)
    return np.asarray((1 + extreme) / (1 + len(signs)))


def _t(gains: Floats, sizes: Floats) -> Floats:
    mean, error = mean_and_error(gains, sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(mean) / error)
    return np.asarray(2 * _special().stdtr(gains.shape[-1] - 1, -ratio))


def _special() -> Any:
    return importlib.import_module("scipy.special")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    simulations = parser.parse_args().simulations
    print(f"| tasks | true rate | correlation | {' | '.join(TESTS)} |")
    print(f"|--:|--:|--:|{'--:|' * len(TESTS)}")
    for tasks in TASKS:
        for rate in RATES:
            for correlation in CORRELATIONS:
                shares = claims(tasks, rate, correlation, simulations)
                told = " | ".join(f"{100 * shares[name]:.1f}" for name in TESTS)
                print(f"| {tasks} | {100 * rate:g} % | {correlation:g} | {told} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
