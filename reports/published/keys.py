"""The keys that two results must share to be comparable.

A result is described by a mapping from keys to texts: which units (`population`), the `average`,
what results on units of its kind have to share beyond that, and every declared setting that forbids
a ranking and that none of these tells (`reports.comparability`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pandas as pd

from harness.runs import Run
from harness.settings import SETTINGS
from parsers.declaration import SPLIT
from reports.comparability import BY_OWN_NAME, CANDIDATES, OF_PROTOCOL, POPULATION, TABLE, row_of
from reports.frames.steps import steps_frame
from reports.kind import reports_of
from reports.names import id_column, level_column
from reports.settings import Setting as Value
from reports.settings import settings_of

USUAL = "snapshot, one list"
"""Description of the candidates of a run with two rounds and seeded choices."""


def candidate_keys(run: Run, values: Mapping[str, Value]) -> dict[str, str]:
    """Describe the candidates of a run in the words of the published rows."""
    if stored := getattr(run.benchmark, "candidates", ""):
        return {CANDIDATES: str(stored)}
    description = str(run.manifest.config.get("candidates_told") or UNSTATED)
    if values.get("candidates", "snapshot") == "snapshot":
        drawn = f"snapshot 1+{values.get('distractors')}, seed {values.get('seed')}"
        usual = description in (USUAL, UNSTATED)
        description = drawn if usual else f"{drawn}, {description.removeprefix('snapshot, ')}"
    return {CANDIDATES: description}


Keys = Mapping[str, str]

UNSTATED = "unstated"
"""A key that the source does not state; equals nothing, not even itself."""
ANY = "any"
"""A key that does not matter for a result; equals everything."""
AVERAGE = "average"


@cache
def setting_keys() -> tuple[str, ...]:
    """Return the settings that are keys by their own names."""
    return tuple(
        name
        for name in dict.fromkeys((*SETTINGS, *TABLE))
        if (name in TABLE or SETTINGS[name].identity)
        and not ((row := row_of(name)).ranked or row.key)
    )


def keys_of(
    run: Run,
    average: str,
    rules: Mapping[str, str | None] | None = None,
    *,
    within: tuple[str, str] | None = None,
    steps: pd.DataFrame | None = None,
) -> dict[str, str]:
    """Return the keys of a run under an average; `rules` replace its own.

    With `within`, a column and a value, the population is that of this split or parent alone.
    `steps` is the run's frame of units, for callers that have it. Raises `RunError` if the run
    cannot be read.
    """
    values: dict[str, Value] = settings_of(run.manifest)
    values |= {name: rule for name, rule in (rules or {}).items() if rule is not None}
    of_kind = reports_of(run).part("published_keys")
    keys = {
        POPULATION: population_of(run, steps_frame(run) if steps is None else steps, within),
        **(of_kind(run, values) if of_kind else {}),
        AVERAGE: average,
    }
    for name in setting_keys():
        value: object = values.get(name)
        if value is None and name not in OF_PROTOCOL:
            value = row_of(name).usual
        if value not in (None, ()):
            keys[name] = text_of(value)
    return keys


def population_of(run: Run, steps: pd.DataFrame, within: tuple[str, str] | None = None) -> str:
    """Name the units of a run: a whole benchmark by its name, or a part of one.

    The benchmark declares the size of the whole (`Benchmark.sizes`); the run must have as many
    parents and rows of the split, or of each of its splits, and an outcome for every valid row. For
    a benchmark that declares nothing, a run without filters counts as the whole; options of a
    benchmark that no row tells of may be filters.

    `within` is the column and the value of one split or parent to look at; parents are assumed to
    be equally large.
    """
    config = run.manifest.config
    name = str(config.get("benchmark"))
    part, finished = f"a part of {name}", f"the finished part of {name}"
    chosen = steps if within is None else steps[steps[within[0]].astype("str") == within[1]]
    one_parent = within is not None and within[0] != SPLIT
    declared = getattr(run.benchmark, "sizes", ())
    if not declared:
        unknown = run.manifest.options_of("benchmark").keys() - BY_OWN_NAME["benchmark_option"]
        filters = (name for name in TABLE if row_of(name).key == POPULATION)
        parts = ("benchmark", "split", "benchmark_option")
        filtered = unknown or any(run.manifest.chosen.get(n) for n in filters if n not in parts)
        return part if filtered else name if run.complete else finished
    declaration = run.manifest.declaration
    parent, unit = level_column(declaration.innermost), id_column(declaration)
    whole = {size.split: size for size in declared}
    for split, rows in chosen.groupby(SPLIT, observed=True):
        size = whole.get(str(split))
        counts = rows[parent].nunique(), rows[unit].nunique()
        if size is None or counts != _whole(size, counts, one_parent):
            return part if run.complete else finished
    if chosen.empty:
        return part
    settled = (chosen["settled"].fillna(False) | chosen["invalid"].notna()).sum()
    times = max(int(config.get("repeats") or 1), int(config.get("shuffles") or 1))
    return name if settled == chosen[unit].nunique() * times else finished


def _whole(size: Any, counts: tuple[int, int], one_parent: bool) -> tuple[int, int]:
    """Return the required parents and rows; counts that are not declared are not checked."""
    tasks, rows = size.tasks or counts[0], size.rows or counts[1]
    return (1, rows // tasks) if one_parent else (tasks, rows)


def text_of(value: object) -> str:
    """Return a value as a key holds it.

    >>> text_of(True), text_of(5), text_of("all")
    ('yes', '5', 'all')
    """
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
