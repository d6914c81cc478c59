"""Check whether a run was measured like a published row.

Published tables and reproductions both ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.runs import Run
from harness.tables.results import average_of
from parsers import Average
from parsers.declaration import SPLIT
from reports.comparability import OF_PROTOCOL, row_of
from reports.frames.rows import VARIANT
from reports.frames.steps import steps_frame
from reports.names import level_column
from reports.published.keys import ANY, UNSTATED, Keys, keys_of, setting_keys, text_of
from reports.published.source import Published, key_names


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
        """What a verification found broken of the run's deployment, which no row compares with."""
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
