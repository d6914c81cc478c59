"""The keys that two results must share to be comparable.

A result is described by a mapping from keys to texts: which units (`population`), the `average`,
what results on units of its kind have to share beyond that, and every declared setting that forbids
a ranking and that none of these tells (`reports.comparability`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from harness.runs import Run
from harness.tables.results import average_of
from parsers import Average
from parsers.declaration import SPLIT
from reports.comparability import BY_OWN_NAME, CANDIDATES, OF_PROTOCOL, POPULATION, TABLE, row_of
from reports.frames.rows import VARIANT
from reports.frames.units import steps_frame
from reports.kind import reports_of
from reports.names import id_column, level_column
from reports.published.source import (
    ANY,
    AVERAGE,
    UNSTATED,
    Keys,
    Published,
    key_names,
    setting_keys,
    text_of,
)
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
    benchmark without a row may be filters.

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


class Matcher:
    """A run, and its keys by split or parent.

    `invalid` and `f1` replace the run's own rules: how invalid rows count, and the variant of the
    measure that has several. Raises `RunError` if the run cannot be read.
    """

    def __init__(
        self, run: Run, average: Average, invalid: str | None = None, f1: str | None = None
    ) -> None:
        declared = run.manifest.declaration
        self._run, self._average = run, average_of(declared.main, average)
        self._rules = {"invalid": invalid, VARIANT: f1}
        self._steps = steps_frame(run)
        self._columns = {"": SPLIT} | {one.name: level_column(one) for one in declared.levels}
        self._names = {
            level: frozenset(self._steps[column].dropna().astype("str"))
            for level, column in self._columns.items()
        }
        self._keys: dict[tuple[str, str] | None, Keys] = {}

    def keys(self, level: str = "", name: str = "") -> Keys:
        """Return the keys of a split, or of a parent of a level; else of the whole run."""
        within = (self._columns[level], name) if self._holds(level, name) else None
        if within not in self._keys:
            self._keys[within] = keys_of(
                self._run, self._average, self._rules, within=within, steps=self._steps
            )
        return self._keys[within]

    def covers(self, row: Published) -> bool:
        """Return True if the run has one of the measures of a row."""
        manifest = self._run.manifest
        return row.scope.covers(manifest.declaration, str(manifest.config.get("benchmark")))

    @property
    def broken(self) -> tuple[str, ...]:
        """Parts of the deployment that a verification found broken; no row compares with such."""
        found = (self._run.manifest.deployment or {}).get("broken")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def unverified(self) -> bool:
        """True if a model answered whose deployment was not verified."""
        manifest = self._run.manifest
        return bool(manifest.model) and not manifest.of_policy and manifest.deployment is None

    def apart(self, row: Published) -> tuple[str, ...]:
        """Return the keys where the run differs from a row, or why the row compares with no run.

        () if they compare: the run holds the whole of the row's split or parent, and equals it in
        all keys that the source states.
        """
        if row.landmark:
            return (f"a landmark: {row.landmark}",)
        return (
            *what_differs(self.keys(row.level, row.split), row.keys, row.scope.needed),
            *(() if self._holds(row.level, row.split) else (row.level or SPLIT,)),
            *(() if self.covers(row) else ("measures",)),
            *(f"the deployment ({name} is broken)" for name in self.broken),
        )

    def apart_in_words(self, row: Published, on: str) -> dict[str, str]:
        """Return what sets the split `on` of the run apart from a row, with both values."""
        named, known = replace(row, split=on), key_names([row.scope])
        keys = self.keys(named.level, on)
        apart = {
            name: f"{keys.get(name, UNSTATED)} here, {row.keys.get(name) or usual_text(name)} there"
            if name in known
            else ""
            for name in self.apart(named)
        }
        return apart if on == row.split else {**apart, SPLIT: f"{on} here, {row.split} there"}

    def _holds(self, level: str, name: str) -> bool:
        return name in self._names.get(level, ())


def what_differs(run: Keys, published: Keys, needed: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the keys where a run differs, or may differ, from a published result.

    Of a setting that the source says nothing about the run must have the usual value; `unstated`
    equals nothing, and `any` everything. The `needed` keys have to be stated.

    >>> keys = {"population": "all", "average": "macro"}
    >>> what_differs(keys, keys, keys), what_differs(keys, {**keys, "average": UNSTATED}, keys)
    ((), ('average',))
    >>> what_differs({**keys, "repeats": "3"}, keys, keys)
    ('repeats',)
    """
    stated = tuple(needed)
    return tuple(
        name
        for name in dict.fromkeys((*stated, *setting_keys()))
        if not _alike(name, run.get(name), published.get(name), name in stated)
    )


def _alike(name: str, value: str | None, stated: str | None, needed: bool) -> bool:
    if stated == ANY:
        return True
    if needed or stated is not None:
        return value == stated and stated != UNSTATED
    # Left to the protocol, and its default is not known here.
    open_to_all = name in OF_PROTOCOL and row_of(name).usual is None
    return value is None or open_to_all or value == usual_text(name)


def usual_text(name: str) -> str:
    """Return the value that a run must have of a setting about which a source says nothing.

    >>> usual_text("repeats")
    '1'
    """
    return text_of(row_of(name).usual)
