"""Tables of published rows: all of them, or split by whether a run was measured alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Any

import pandas as pd

from parsers import Average
from reports.grid import Field, described
from reports.load import RunLike, open_runs
from reports.published.keys import Matcher, what_differs
from reports.published.source import UNSTATED, Keys, Published, key_names, published_rows

_FIRST = (
    Field("source", "text", "source"),
    Field("model", "text", "model"),
    Field("split", "text", "split"),
)
_SPREAD = Field("spread", "percent", "SD")
_LAST = (
    Field("inferred", kind="str"),
    Field("paper", kind="str"),
    Field("table", kind="str"),
)
ALIKE = Field("alike", "text", "as in")
DIFFERS = Field("differs", "text", "differs in")

NOTHING = "No published result."
NEVER_RANKED = "In the order of their sources; rows with different keys must not be ranked."
UNTOLD = "Of settings that a source leaves unstated, a run must have the usual value."
LANDMARKS = (
    "Landmarks are shown, never compared: their source does not say what decides about the figure, "
    "or the parts that it prints do not give it."
)


def published_table() -> pd.DataFrame:
    """Return all published rows, with the keys that decide what compares."""
    rows = published_rows()
    return described(
        (_record(row, {}) for row in rows),
        _fields(rows),
        title="Published results",
        notes=_notes(rows, rows, {}),
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
    The second table names the keys that set each other row apart from each run. `Matcher` says
    when a row was measured alike, and what `invalid` and `f1` are. Raises `RunError` for runs that
    cannot be read.
    """
    opened = open_runs(runs).items()
    matchers = {label: Matcher(run, average, invalid, f1) for label, run in opened}
    about = [row for row in published_rows() if any(one.covers(row) for one in matchers.values())]
    level = by if any(row.level == by for row in about) else ""
    rows = [row for row in about if row.level == level]
    records, fields = [_record(row, matchers) for row in rows], _fields(rows)
    alike = [bool(record["alike"]) for record in records]
    shown = list(compress(rows, alike))
    first = described(
        compress(records, alike),
        (*fields, ALIKE),
        title="Published results measured in the same way",
        notes=(*_sources(shown), *_unverified(matchers, shown)) if shown else (NOTHING,),
    )
    second = described(
        compress(records, map(not_, alike)),
        (*fields, DIFFERS),
        title="Published results measured in another way; do not compare them with the runs",
        notes=_notes(rows, list(compress(rows, map(not_, alike))), matchers),
    )
    return first, second


def _fields(rows: Sequence[Published]) -> tuple[Field, ...]:
    """Return the columns, with one for every key; those of keys are for programs."""
    scopes = dict.fromkeys(row.scope for row in rows)
    measures = (measure for scope in scopes for measure in scope.measures.items())
    return (
        *_FIRST,
        *(Field(name, "percent", head) for name, (head, text) in measures),
        _SPREAD,
        *(Field(name, kind="str") for name in key_names(scopes)),
        *_LAST,
    )


def _record(row: Published, matchers: Mapping[str, Matcher]) -> dict[str, Any]:
    differing = {label: run.apart(row) for label, run in matchers.items()}
    distinct = {", ".join(names) for names in differing.values()}
    by_run = "; ".join(f"{', '.join(names)} ({label})" for label, names in differing.items())
    return {
        "source": row.source,
        "model": row.model,
        "split": row.split,
        **row.values,
        "spread": row.spread,
        **dict.fromkeys(key_names([row.scope]), UNSTATED),
        **row.keys,
        "inferred": ", ".join(row.inferred),
        "paper": row.paper,
        "table": row.table,
        "alike": ", ".join(label for label, names in differing.items() if not names),
        "differs": by_run if len(distinct) > 1 else "".join(distinct),
    }


def _notes(
    rows: Sequence[Published], shown: Sequence[Published], matchers: Mapping[str, Matcher]
) -> Iterator[str]:
    """Return the notes on the rows that a table shows; keys are those that any of `rows` states."""
    if not rows:
        yield NOTHING
        return
    yield f"Per cent. {NEVER_RANKED}"
    if matchers:
        yield UNTOLD
    stated = {name for row in rows for name in (*row.keys, *row.scope.needed)}
    names = [name for name in key_names(row.scope for row in rows) if name in stated]
    for label, run in matchers.items():
        keys = run.keys()
        unusual = what_differs(keys, dict.fromkeys(names, UNSTATED), names)
        shown_keys = {name: keys[name] for name in (*names, *unusual) if name in keys}
        yield f"{label} has {_text(shown_keys)}."
    yield from _sources(shown)


def _unverified(matchers: Mapping[str, Matcher], rows: Sequence[Published]) -> Iterator[str]:
    for label, run in matchers.items():
        if run.unverified and not all(map(run.apart, rows)):
            yield f"{label}: deployment not verified (vlm-eval verify)."


def _sources(rows: Sequence[Published]) -> Iterator[str]:
    if any(row.landmark for row in rows):
        yield LANDMARKS
    by_source: dict[str, list[Published]] = {}
    for row in rows:
        by_source.setdefault(row.source, []).append(row)
    for source, listed in by_source.items():
        first = listed[0]
        inferred = f" Inferred: {', '.join(first.inferred)}." if first.inferred else ""
        yield f"{source}: {first.paper}, {first.table}.{inferred} {first.note}".rstrip()
        yield from (f"{source} ({row.model}): {row.flag}." for row in listed if row.flag)
        models: dict[str, dict[str, None]] = {}
        for row in listed:
            models.setdefault(_text(row.keys), {})[row.model] = None
        for keys, names in models.items():
            which = f" ({'; '.join(names)})" if len(models) > 1 else ""
            yield f"{source}{which} has {keys}."


def _text(keys: Keys) -> str:
    return ", ".join(f"{name}: {value}" for name, value in keys.items())
