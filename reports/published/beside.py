"""Tables of published rows: all of them, or split by whether a run was measured alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from reports.grid import Field, described
from reports.load import RunLike, open_runs
from reports.published.keys import KEY_NAMES, Keys, keys_of, what_differs
from reports.published.source import Published, published_rows

_FIRST = (
    Field("source", "str", "text", "source", "where it was published; see the notes"),
    Field("model", "str", "text", "model", "the model, in the words of the source"),
    Field("split", "str", "text", "split", "the split"),
    Field("element", "float64", "percent", "Ele. Acc", "element accuracy"),
    Field("operation_f1", "float64", "percent", "Op. F1", "operation F1"),
    Field("step_success", "float64", "percent", "Step SR", "step success"),
    Field("task_success", "float64", "percent", "Task SR", "task success"),
    Field("recall", "float64", "percent", "recall", "recall of a ranker"),
    Field("spread", "float64", "percent", "SD", "of step success, over repetitions"),
)
_KEYS = tuple(
    Field(name, "str", "hidden", name, f"{name}: one of the keys that decide what compares")
    for name in KEY_NAMES
)
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
FIELDS = (*_FIRST, *_KEYS, *_LAST)
ALIKE = Field("alike", "str", "text", "as in", "the runs that were measured alike")
DIFFERS = Field("differs", "str", "text", "differs in", "keys in which no run equals it")

NEVER_RANKED = "In the order of their sources; rows with different keys must not be ranked."


def published_table(
    runs: RunLike | Iterable[RunLike] = (), *, average: str = "macro"
) -> pd.DataFrame:
    """Return all published rows; with runs, also which were measured alike and what differs."""
    opened = open_runs(runs) if runs else {}
    run_keys = {label: keys_of(run, average) for label, run in opened.items()}
    splits = {label: _splits(run.manifest.dataset) for label, run in opened.items()}
    fields = (*FIELDS, *((ALIKE, DIFFERS) if run_keys else ()))
    rows = published_rows()
    return described(
        (_record(row, run_keys, splits) for row in rows),
        fields,
        title="Published results",
        notes=(f"Per cent. {NEVER_RANKED}", *_key_notes(run_keys), *_sources(rows)),
    )


def published_beside(
    runs: RunLike | Iterable[RunLike],
    *,
    average: str = "macro",
    invalid: str | None = None,
    f1: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the published rows measured like one of the runs, and all others.

    A row is measured like a run if it has the same population, candidates, rule for invalid rows,
    average and F1 variant, and the run has its split. The second table names the keys in which
    each other row differs from each run. Raises `RunError` for runs that cannot be read.
    """
    opened = open_runs(runs)
    run_keys = {label: keys_of(run, average, invalid, f1) for label, run in opened.items()}
    splits = {label: _splits(run.manifest.dataset) for label, run in opened.items()}
    rows = [(row, _record(row, run_keys, splits)) for row in published_rows()]
    alike = [(row, record) for row, record in rows if record["alike"]]
    apart = [(row, record) for row, record in rows if not record["alike"]]
    first = described(
        (record for _, record in alike),
        (*FIELDS, ALIKE),
        title="Published results measured in the same way",
        notes=_sources(row for row, _ in alike) if alike else ("None.",),
    )
    second = described(
        (record for _, record in apart),
        (*FIELDS, DIFFERS),
        title="Published results measured in another way; do not compare them with the runs",
        notes=(
            f"Per cent. {NEVER_RANKED}",
            *_key_notes(run_keys),
            *_sources(row for row, _ in apart),
        ),
    )
    return first, second


def _record(
    row: Published, run_keys: Mapping[str, Keys], splits: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    differing = {
        label: (*what_differs(keys, row.keys), *(() if row.split in splits[label] else ("split",)))
        for label, keys in run_keys.items()
    }
    distinct = dict.fromkeys(", ".join(names) for names in differing.values())
    by_run = "; ".join(f"{', '.join(names)} ({label})" for label, names in differing.items())
    return {
        "source": row.source,
        "model": row.model,
        "split": row.split,
        **row.values,
        "spread": row.spread,
        **row.keys._asdict(),
        "inferred": ", ".join(row.inferred),
        "paper": row.paper,
        "table": row.table,
        "alike": ", ".join(label for label, names in differing.items() if not names),
        "differs": next(iter(distinct), "") if len(distinct) < 2 else by_run,
    }


def _splits(dataset: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(split) for split in dataset.get("splits") or ())


def _key_notes(run_keys: Mapping[str, Keys]) -> list[str]:
    return [f"{label} has {keys}." for label, keys in run_keys.items()]


def _sources(rows: Iterable[Published]) -> list[str]:
    """A line per source and set of keys."""
    models: dict[tuple[str, Keys], list[str]] = {}
    heads: dict[str, str] = {}
    counts: dict[str, set[Keys]] = {}
    for row in rows:
        names = models.setdefault((row.source, row.keys), [])
        if row.model not in names:
            names.append(row.model)
        counts.setdefault(row.source, set()).add(row.keys)
        inferred = f" Inferred: {', '.join(row.inferred)}." if row.inferred else ""
        heads[row.source] = f"{row.paper}, {row.table}.{inferred} {row.note}".rstrip()
    lines = []
    for source, head in heads.items():
        lines.append(f"{source}: {head}")
        for (name, keys), names in models.items():
            if name == source:
                which = f" ({'; '.join(names)})" if len(counts[source]) > 1 else ""
                lines.append(f"{source}{which} has {keys}.")
    return lines
