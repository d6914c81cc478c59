"""Tables of published rows: all of them, or split by whether a run was measured alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harness.runs import Run
from harness.tables.results import average_of
from parsers import Average
from parsers.declaration import SPLIT
from reports.frames.steps import steps_frame
from reports.grid import Field, described
from reports.load import RunLike, open_runs
from reports.published.keys import UNSTATED, Keys, keys_of, usual_text, what_differs
from reports.published.source import Published, key_names, published_rows

_FIRST = (
    Field("source", "str", "text", "source", "where it was published; see the notes"),
    Field("model", "str", "text", "model", "the model, in the words of the source"),
    Field("split", "str", "text", "split", "the split, or the parent that it is about"),
)
_SPREAD = Field("spread", "float64", "percent", "SD", "of the last measure, over repetitions")
_LAST = (
    Field(
        "inferred",
        "str",
        "hidden",
        "inferred",
        "keys inferred because the source does not state them",
    ),
    Field("paper", "str", "hidden", "paper", "the paper"),
    Field("table", "str", "hidden", "table", "its table"),
)
ALIKE = Field("alike", "str", "text", "as in", "the runs that were measured alike")
DIFFERS = Field("differs", "str", "text", "differs in", "keys in which no run equals it")

NOTHING = "No published result."
NEVER_RANKED = "In the order of their sources; rows with different keys must not be ranked."
UNTOLD = "Of settings that a source leaves unstated, a run must have the usual value."
LANDMARKS = (
    "Landmarks are shown, never compared: their source does not say what decides about the figure, "
    "or the parts that it prints do not give it."
)


def published_table(
    runs: RunLike | Iterable[RunLike] = (), *, average: Average = "macro"
) -> pd.DataFrame:
    """Return all published rows; with runs, also which were measured alike and what differs.

    With runs, only rows with a measure that one of them has.
    """
    measured = _measured(runs, average) if runs else {}
    rows = _about(measured)
    return described(
        (_record(row, measured) for row in rows),
        (*_fields(rows), *((ALIKE, DIFFERS) if measured else ())),
        title="Published results",
        notes=(f"Per cent. {NEVER_RANKED}", *_key_notes(measured, rows), *_sources(rows))
        if rows
        else (NOTHING,),
    )


def published_beside(
    runs: RunLike | Iterable[RunLike],
    *,
    average: Average = "macro",
    by: str = "",
    invalid: str | None = None,
    f1: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the published rows measured like one of the runs, and all others.

    Where there are rows about the parents of the level `by`, these; else those about whole splits.

    A row is measured like a run that holds the whole of its split and equals it in all keys that
    the source states (see `reports.published.keys`). The second table names the keys that set each
    other row apart from each run. `invalid` and `f1` replace the runs' own rules: how invalid
    rows count, and the variant of the measure that has several. Raises `RunError` for runs that
    cannot be read.
    """
    measured = _measured(runs, average, invalid, f1)
    about = _about(measured)
    level = by if any(row.level == by for row in about) else ""
    rows = [(row, _record(row, measured)) for row in about if row.level == level]
    alike = [(row, record) for row, record in rows if record["alike"]]
    apart = [(row, record) for row, record in rows if not record["alike"]]
    fields = _fields([row for row, _ in rows])
    first = described(
        (record for _, record in alike),
        (*fields, ALIKE),
        title="Published results measured in the same way",
        notes=_sources([row for row, _ in alike]) if alike else (NOTHING,),
    )
    second = described(
        (record for _, record in apart),
        (*fields, DIFFERS),
        title="Published results measured in another way; do not compare them with the runs",
        notes=(
            f"Per cent. {NEVER_RANKED}",
            *_key_notes(measured, [row for row, _ in rows]),
            *_sources([row for row, _ in apart]),
        )
        if rows
        else (NOTHING,),
    )
    return first, second


def what_sets_apart(
    run: RunLike, row: Published, average: Average = "macro", *, on: str = ""
) -> dict[str, str]:
    """Return the keys in which a run differs from a published row, with both values in words.

    {} if they compare. Why a row compares with nothing is a key as well. `on` is the split of the
    run that is compared with a row whose source does not name one. Raises `RunError` for runs
    that cannot be read.
    """
    (opened,) = open_runs([run]).values()
    measured = _Measured(opened, average, None, None)
    named = replace(row, split=on or row.split)
    keys = measured.keys(named.level, named.split)
    apart = {
        name: f"{keys.get(name, UNSTATED)} here, {row.keys.get(name) or usual_text(name)} there"
        if name in row.scope.keys
        else ""
        for name in _apart(named, measured)
    }
    return apart if named.split == row.split else {**apart, SPLIT: f"{on} here, {row.split} there"}


class _Measured:
    """A run, what its benchmark declares, and its keys by split or parent."""

    def __init__(self, run: Run, average: Average, invalid: str | None, f1: str | None) -> None:
        self.declared = run.manifest.declaration
        self.benchmark = str(run.manifest.config.get("benchmark"))
        self._run, self._average = run, average_of(self.declared.main, average)
        rules = {measure.setting: f1 for measure in self.declared.measures if measure.variants}
        self._rules = {"invalid": invalid, **rules}
        self._steps = steps_frame(run)
        self._columns = {"": SPLIT} | {one.name: one.column for one in self.declared.levels}
        self._names = {
            level: frozenset(self._steps[column].dropna().astype("str"))
            for level, column in self._columns.items()
        }
        self._keys: dict[tuple[str, str] | None, Keys] = {}

    def holds(self, level: str, name: str) -> bool:
        """Return True if it has a split, or a parent of a level, of that name."""
        return name in self._names.get(level, ())

    def keys(self, level: str = "", name: str = "") -> Keys:
        """Return the keys of one split or parent, of the whole run for one that it does not
        have."""
        within = (self._columns[level], name) if self.holds(level, name) else None
        if within not in self._keys:
            self._keys[within] = keys_of(
                self._run, self._average, self._rules, within=within, steps=self._steps
            )
        return self._keys[within]


def _measured(
    runs: RunLike | Iterable[RunLike],
    average: Average,
    invalid: str | None = None,
    f1: str | None = None,
) -> dict[str, _Measured]:
    return {label: _Measured(run, average, invalid, f1) for label, run in open_runs(runs).items()}


def _about(runs: Mapping[str, _Measured]) -> list[Published]:
    """Return the rows with a measure that one of the runs has, or all rows without runs."""
    rows = published_rows()
    return [row for row in rows if not runs or any(_covers(row, run) for run in runs.values())]


def _covers(row: Published, run: _Measured) -> bool:
    return row.scope.covers(run.declared, run.benchmark)


def _fields(rows: Iterable[Published]) -> tuple[Field, ...]:
    """Return the columns, with one for every key; those of keys are for programs."""
    listed = list(rows)
    measures = {
        name: Field(name, "float64", "percent", head, meaning)
        for scope in dict.fromkeys(row.scope for row in listed)
        for name, head, meaning in scope.measures
    }
    keys = (
        Field(name, "str", "hidden", name, f"{name}: one of the keys that decide what compares")
        for name in key_names(listed)
    )
    return (*_FIRST, *measures.values(), _SPREAD, *keys, *_LAST)


def _stated(rows: Sequence[Published]) -> list[str]:
    """Return the keys that some row states, in order."""
    stated = {name for row in rows for name in row.keys}
    needed = {name for row in rows for name in row.scope.needed}
    return [name for name in key_names(rows) if name in needed | stated]


def _record(row: Published, runs: Mapping[str, _Measured]) -> dict[str, Any]:
    differing = {label: _apart(row, run) for label, run in runs.items()}
    distinct = dict.fromkeys(", ".join(names) for names in differing.values())
    by_run = "; ".join(f"{', '.join(names)} ({label})" for label, names in differing.items())
    return {
        "source": row.source,
        "model": row.model,
        "split": row.split,
        **row.values,
        "spread": row.spread,
        **dict.fromkeys(row.scope.keys, UNSTATED),
        **row.keys,
        "inferred": ", ".join(row.inferred),
        "paper": row.paper,
        "table": row.table,
        "alike": ", ".join(label for label, names in differing.items() if not names),
        "differs": next(iter(distinct), "") if len(distinct) < 2 else by_run,
    }


def _apart(row: Published, run: _Measured) -> tuple[str, ...]:
    """In what a run differs from a row, or why it is compared with none."""
    if row.landmark:
        return (f"a landmark: {row.landmark}",)
    return (
        *what_differs(run.keys(row.level, row.split), row.keys, row.scope.needed),
        *(() if run.holds(row.level, row.split) else (row.level or SPLIT,)),
        *(() if _covers(row, run) else ("measures",)),
    )


def _key_notes(runs: Mapping[str, _Measured], rows: Sequence[Published]) -> list[str]:
    """Return a line per run with its keys that are unusual or stated by some row."""
    names = _stated(rows)
    lines = [UNTOLD] if runs else []
    for label, run in runs.items():
        keys = run.keys()
        unusual = what_differs(keys, dict.fromkeys(names, UNSTATED), names)
        shown = {name: keys[name] for name in dict.fromkeys((*names, *unusual)) if name in keys}
        lines.append(f"{label} has {_text(shown)}.")
    return lines


def _text(keys: Keys) -> str:
    return ", ".join(f"{name}: {value}" for name, value in keys.items())


def _sources(rows: Iterable[Published]) -> list[str]:
    """Return a line per source and set of keys."""
    models: dict[tuple[str, str], list[str]] = {}
    heads: dict[str, str] = {}
    counts: dict[str, set[str]] = {}
    flags: dict[str, list[str]] = {}
    landmarks = False
    for row in rows:
        keys = _text(row.keys)
        names = models.setdefault((row.source, keys), [])
        if row.model not in names:
            names.append(row.model)
        counts.setdefault(row.source, set()).add(keys)
        inferred = f" Inferred: {', '.join(row.inferred)}." if row.inferred else ""
        heads[row.source] = f"{row.paper}, {row.table}.{inferred} {row.note}".rstrip()
        if row.flag:
            flags.setdefault(row.source, []).append(f"{row.source} ({row.model}): {row.flag}.")
        landmarks |= bool(row.landmark)
    lines = [LANDMARKS] if landmarks else []
    for source, head in heads.items():
        lines += [f"{source}: {head}", *flags.get(source, ())]
        for (name, keys), names in models.items():
            if name == source:
                which = f" ({'; '.join(names)})" if len(counts[source]) > 1 else ""
                lines.append(f"{source}{which} has {keys}.")
    return lines
