"""Results over several benchmarks as papers print them: a row per model, a column per benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.tables.results import POOLED, cluster_note, coverage, main_text
from parsers import Average, Declaration
from parsers.declaration import SPLIT
from reports.comparability import FACTS, row_of
from reports.grid import Field, benchmarks_of, described, interval, plain_records
from reports.names import main_column, measured_name
from reports.settings import Differences, about, unranked
from reports.spending import AMOUNTS, STYLES, SUCCESS_NOTE, success_fields

ORDER = "Per cent, in the order of the runs. Whether two models differ says `vlm-eval compare`."
_ASKED = ("question", "model", "scoring")


def board(table: pd.DataFrame, average: Average = "macro") -> pd.DataFrame:
    """Return the headlines of a table by split: a row per model, a column per benchmark.

    A benchmark with several splits has a column for each. Each column is averaged as its own
    benchmark publishes, or by `average` where that has it. Runs of one model that were asked in
    different ways have separate rows, named by the settings that differ. A table with spending
    adds what a success takes on each benchmark.
    """
    of_run = benchmarks_of(table)
    facts = {str(fact["run"]): fact for fact in table.attrs["runs"]}
    headlines = [one for one in plain_records(table) if one["headline"] and one[SPLIT] != POOLED]
    splits = {(of_run[one["run"]], one[SPLIT]) for one in headlines}
    several = {benchmark for benchmark, times in Counter(b for b, _ in splits).items() if times > 1}
    named = _row_names(table, of_run, facts)
    rows: dict[str, dict[str, Any]] = {}
    columns: dict[str, list[str]] = {}
    partial: list[str] = []
    for one in headlines:
        label = one["run"]
        declared: Declaration = table.attrs["declarations"][label]
        column = of_run[label]
        if column in several:
            column += f" {one[SPLIT]}"
        row = named[label]
        if column in rows.get(row, {}):
            row = f"{row} ({label})"
        result = main_column(declared, average)
        values = rows.setdefault(row, {"model": row, "runs": []})
        values["runs"] += [] if label in values["runs"] else [label]
        columns.setdefault(column, []).append(label)
        if of := coverage(one.get(measured_name(declared.main, declared)), one[declared.units]):
            partial.append(f"{row} on {column} {of}")
        values |= {
            f"{column}{end}": one[f"{result}{end}"]
            for end in ("", "_low", "_high", "_method", "_few")
        }
        spent = table.attrs["spending"].get(label, {})
        values |= {f"{of_run[label]} {name}": value for name, value in spent.items()}
    takes = tuple(_takes(table, of_run))
    notes = [*_notes(table, columns, average)]
    if partial:
        notes.append(f"Over n of N only, as the others have no score: {', '.join(partial)}.")
    if takes:
        notes.append(SUCCESS_NOTE)
    clusters = dict.fromkeys(
        table.attrs["declarations"][label].level(table.attrs["clusters"][label]).many
        for label, *_ in columns.values()
    )
    return described(
        ({**row, "runs": ", ".join(row["runs"])} for row in rows.values()),
        (
            Field("model", "text", "model"),
            *(f for one in columns for f in (Field(one, "percent", one), *interval(one))),
            Field("runs", kind="str"),
            *takes,
        ),
        title="Results by model",
        about=about({**table.attrs, "unranked": _unranked(table, columns)}),
        notes=notes,
        marks={"clusters": " or ".join(clusters)},
    )


def _row_names(
    table: pd.DataFrame, of_run: Mapping[str, str], facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the row of each run: its model, with what tells its runs on the same benchmark
    apart."""
    names: dict[str, str] = {}
    models: dict[str, list[str]] = {}
    for label, fact in facts.items():
        models.setdefault(str(fact["model"]), []).append(label)
    for model, labels in models.items():
        telling: dict[str, None] = {}
        for benchmark in dict.fromkeys(of_run[label] for label in labels):
            same = [label for label in labels if of_run[label] == benchmark]
            telling |= dict.fromkeys(_asked(_among(table, same)))
        settings = table.attrs["differences"]
        for label in labels:
            values = {name.rpartition(".")[2]: settings[name][label] for name in telling}
            text = ", ".join(
                f"{name}={value}" for name, value in values.items() if value is not None
            )
            names[label] = f"{model} ({text})" if text else model
    return names


def _asked(differences: Iterable[str]) -> Iterator[str]:
    """Yield the settings that say how a model was asked or scored, not on which data."""
    for name in differences:
        if name not in FACTS and row_of(name).about in _ASKED:
            yield name


def _among(table: pd.DataFrame, labels: Sequence[str]) -> Differences:
    """Return the settings that differ between these runs."""
    return {
        name: {label: values[label] for label in labels}
        for name, values in table.attrs["differences"].items()
        if len({(type(values[label]), values[label]) for label in labels}) > 1
    }


def _takes(table: pd.DataFrame, of_run: Mapping[str, str]) -> Iterator[Field]:
    """Yield what a success takes on each benchmark: shown in dollars, or in tokens without any."""
    spending = table.attrs["spending"]
    in_dollars = any("price" in spent for spent in spending.values())
    for benchmark in dict.fromkeys(of_run[label] for label in spending):
        known = {
            name
            for label, spent in spending.items()
            if of_run[label] == benchmark
            for name in spent
        }
        for name in (one for one in AMOUNTS if one in known):
            shown = name == ("price" if in_dollars else "tokens")
            column, head = f"{benchmark} {name}", f"{benchmark} {AMOUNTS[name]}/success"
            style = STYLES[name] if shown else "hidden"
            yield from success_fields(column, style, head)


def _unranked(table: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Why the figures of a column must not be ranked."""
    lines = []
    for column, labels in columns.items():
        lines += [f"{column}: {line}" for line in unranked(_among(table, labels))]
    return lines


def _notes(
    table: pd.DataFrame, columns: Mapping[str, Sequence[str]], average: Average
) -> tuple[str, ...]:
    """Describe the average of each column, equal ones in one line."""
    alike: dict[str, list[str]] = {}
    for column, (label, *_) in columns.items():
        declared, cluster = table.attrs["declarations"][label], table.attrs["clusters"][label]
        mean = main_text(declared, average)
        note = f"{declared.main.head}, {mean}. {cluster_note(declared, cluster)}"
        alike.setdefault(note, []).append(column)
    return (ORDER, *(f"{', '.join(named)}: {note}" for note, named in alike.items()))
