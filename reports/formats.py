"""Frames as text, Markdown, CSV, LaTeX, JSON or HTML, each with the note on test data.

Text, Markdown, LaTeX and HTML are for readers (per cent, one average); CSV and JSON hold every
column of the frame, with shares between 0 and 1. Every table is first arranged as a
`harness.tables.Grid`, whose renderers write all formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harness import tables
from harness.settings import written
from harness.tables import FORMATS as FORMATS
from harness.tables import TEST_DATA_NOTE as TEST_DATA_NOTE
from harness.tables import Cell, Data, Grid, Heading, Section, few_notes, percent, rows_of
from harness.tables import clean as clean
from harness.tables.results import (
    LINES,
    coverage_notes,
    has_few,
    open_notes,
    rate_cells,
    rate_heads,
    rates_note,
    rates_shown,
    repeats_note,
    result_columns,
    result_row,
)
from parsers import Average, Declaration, Results
from parsers.declaration import SPLIT
from reports.frames.rows import VARIANT, varied
from reports.grid import benchmarks_of, cell, described_grid, frame_data, plain_records
from reports.load import widest
from reports.settings import about

FOR_PROGRAMS = ("csv", "json")
"""Formats that hold one table, with every column of the frame."""


def render(
    table: pd.DataFrame, form: str = "text", average: Average = "macro", *, width: int | None = None
) -> str:
    """Write a table made by `reports.tables` or `reports.grid`, ending in a newline.

    `width` is the width of `text` in characters. Raises `ValueError` for an unknown format.
    """
    return tables.render(arranged(table, form, average), form, width=width)


def arranged(table: pd.DataFrame, form: str, average: Average = "macro") -> list[Grid]:
    """Arrange a table for a format: in one grid if it is `FOR_PROGRAMS`."""
    return [grid(table, average)] if form in FOR_PROGRAMS else grids(table, average)


def grid(table: pd.DataFrame, average: Average = "macro") -> Grid:
    """Arrange a table for readers, with the frame as its data.

    Of runs whose benchmarks declare different measures it shows the first; `grids` shows all.
    """
    if "fields" in table.attrs:
        return described_grid(table)
    if "leaderboard" in table.attrs:
        return leaderboard_grid(table, average)
    parts = blocks(table)
    if len(parts) < 2:
        return results_grid(table, average)
    every = [results_grid(block, average) for block in parts]
    notes = dict.fromkeys(note for one in every for note in one.footnotes)
    return replace(every[0], data=_data(table, tuple(notes)))


def grids(table: pd.DataFrame, average: Average = "macro") -> list[Grid]:
    """Arrange a table for readers, in one grid for all runs whose benchmarks declare the same.

    Of several benchmarks, the table by model follows (`reports.board`).
    """
    of_models = []
    if _is_by_split(table):
        from reports.board import board

        of_models = [described_grid(board(table, average))]
    parts = blocks(table)
    if len(parts) < 2:
        return [grid(table, average), *of_models]
    first, *others = (results_grid(block, average) for block in parts)
    return [first, *(replace(one, above=()) for one in (*others, *of_models))]


def _is_by_split(table: pd.DataFrame) -> bool:
    """Return True if it is a table by split of runs on several benchmarks."""
    return table.attrs.get("key") == SPLIT and bool(benchmarks_of(table))


def blocks(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of the runs whose benchmarks declare the same, for every such declaration."""
    declared = table.attrs.get("declarations", {})
    found: list[list[str]] = []
    for label, one in declared.items():
        known = next((block for block in found if one.is_like(declared[block[0]])), None)
        if known is None:
            found.append([label])
        else:
            known.append(label)
    return [_block(table, labels) for labels in found] if len(found) > 1 else [table]


def _block(table: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return the rows of runs whose benchmarks declare the same."""
    block = table[table["run"].isin(labels)]
    attrs = table.attrs
    block.attrs = {
        **attrs,
        "declared": widest(attrs["declarations"][label] for label in labels),
        "cluster": attrs["clusters"][labels[0]],
        "runs": [fact for fact in attrs["runs"] if fact["run"] in labels],
        **{name: {label: attrs[name][label] for label in labels} for name in _BY_RUN},
    }
    return block


_BY_RUN = ("clusters", "declarations", "results", "variants")


def results_grid(table: pd.DataFrame, average: Average = "macro") -> Grid:
    """Arrange a table of results: a section per run, with the headline of each group.

    With `details` in `attrs`, the line with the other treatment of invalid rows follows if the
    group has invalid rows.
    """
    attrs, key, declared = table.attrs, table.attrs["key"], table.attrs["declared"]
    sections = []
    for fact in attrs["runs"]:
        rows = []
        for group in dict.fromkeys(table.loc[table["run"] == fact["run"], key]):
            results = replace(attrs["results"][fact["run"]][group], declared=declared)
            rules, behind = results.rules, results.counts.behind
            lines = [rules.headline]
            # Rows whose environment failed are invalid, and count in neither line.
            if attrs["details"] and behind["valid"][1] != behind["strict"][1]:
                lines += [line for line in LINES if line != rules.headline]
            rows += [result_row(results, line, group, average) for line in lines]
        facts = "; ".join(f"{name}: {text}" for name, text in fact_texts(fact, declared))
        sections.append(Section(tuple(rows), str(fact["run"]), below=(facts,)))
    footnotes = _footnotes(table, average)
    return Grid(
        title=f"Results by {key}",
        columns=result_columns(key, average, declared),
        sections=tuple(sections),
        above=about(attrs),
        footnotes=footnotes,
        section_head="run",
        data=_data(table, footnotes),
    )


def leaderboard_grid(table: pd.DataFrame, average: Average = "macro") -> Grid:
    """Arrange a `reports.tables.leaderboard`: a row per run, with the splits pooled, and of the
    intervals only that of the main measure."""
    from reports.spending import AMOUNTS, STYLES, SUCCESS_NOTE

    attrs, declared = table.attrs, table.attrs["declared"]
    facts = {fact["run"]: fact for fact in attrs["runs"]}
    spending: dict[str, dict[str, float | None]] = attrs["spending"]
    amounts = [name for name in AMOUNTS if any(name in of_run for of_run in spending.values())]
    rates = [one for one, _ in rates_shown(average, declared)]
    rows: list[list[str | Cell]] = []
    for one in plain_records(table):
        label, fact = one["run"], facts[one["run"]]
        results: Results = attrs["results"][label][one[attrs["key"]]]
        parents, units = results.counts.behind[results.rules.headline]
        cells = rate_cells(results, results.rules.headline, average)
        whole = [results.row(measure.name) for measure in declared.of_parents]
        share = fact["parse_failure_rate"]
        rows.append(
            [
                f"{label}{'' if one['complete'] else ' (unfinished)'}",
                str(fact["model"]),
                f"{parents:,}",
                f"{units:,}",
                *(
                    str(shown) if rate.main or isinstance(shown, str) else shown.text
                    for rate, shown in zip(rates, cells, strict=True)
                ),
                *(percent(row.number if row else None) for row in whole),
                "" if share is None else percent(share),
                *(cell(spending[label], name, STYLES[name]) for name in amounts),
            ]
        )
    takes = [f"{AMOUNTS[name]}/success" for name in amounts]
    counts = (declared.innermost.many, declared.units)
    named = (*counts, *rate_heads(average, declared), "unreadable", *takes)
    footnotes = (
        "A run's splits are pooled; report without --compact shows each, with all intervals.",
        *([SUCCESS_NOTE] if amounts else []),
        *_footnotes(table, average),
    )
    return Grid(
        title="Results by run",
        columns=(Heading("run", "left"), Heading("model", "left"), *map(Heading, named)),
        sections=rows_of(rows),
        above=about(attrs),
        footnotes=footnotes,
        data=_data(table, footnotes),
    )


def _data(table: pd.DataFrame, footnotes: tuple[str, ...]) -> Data:
    """Return the table of results for programs."""
    attrs = table.attrs
    facts = {
        "settings": {name: attrs[name] for name in ("constants", "differences", "given")},
        "key": attrs["key"],
        "cluster": attrs["cluster"],
        **{
            f"{measure.name}_variants": attrs["variants"]
            for variant in sorted({*attrs["variants"].values()} - {""})[:1]
            if (measure := varied(attrs["declared"], variant))
        },
        "runs": attrs["runs"],
        **({"common": list(attrs["common"])} if attrs["common"] else {}),
        "unranked": list(attrs["unranked"]),
        "changed": list(attrs["changed"]),
        "corrupt": list(attrs["corrupt"]),
        "notes": list(footnotes),
    }
    return frame_data(table, facts, (*about({**attrs, "details": True}), *footnotes))


def fact_texts(fact: Mapping[str, Any], declared: Declaration) -> tuple[tuple[str, str], ...]:
    """Return the facts of a run (`reports.frames.runs.FACTS`) by name, in words."""
    state = "complete" if fact["complete"] else "INCOMPLETE"
    if "waiting" in fact:
        state += f", waits for {fact['waiting']} of its provider"
    if fact["unreached"]:
        state += f", {fact['unreached']:,} rows not reached"
    if not fact["complete"] and fact["rows"]:
        done = (fact["rows"] - fact["unsettled"]) / (fact["rows"] + fact["unreached"])
        state += f", {percent(done)}% done"
    rate = fact["parse_failure_rate"]
    share = "" if rate is None else f" ({percent(rate)}%)"
    texts = [
        ("state", state),
        ("answered", f"{fact['settled']:,} of {fact['valid']:,} valid rows"),
        ("invalid rows", f"{fact['invalid']:,}"),
        *([("left out by status", fact["excluded"])] if fact["excluded"] else []),
        ("unreadable", f"{fact['parse_failures']:,}{share}"),
        ("statuses", fact["statuses"] or f"no {declared.unit} answered"),
        *fact.get("beside", {}).items(),
    ]
    if fact["input_tokens"] is not None:
        texts.append(("tokens", f"{fact['input_tokens']:,} in, {fact['output_tokens'] or 0:,} out"))
    if fact["dates"]:
        texts.append(("dates", fact["dates"]))
    if fact["replies"]:
        texts.append(("replies", fact["replies"]))
    if fact["cost"]:
        texts.append(("cost", f"${fact['cost']:.4f} billed"))
    if fact["repeat_sd"] is not None:
        texts.append((f"{declared.main.head} between repeats", f"SD {100 * fact['repeat_sd']:.1f}"))
    if fact["over_repeats"]:
        texts.append(("over repeats", fact["over_repeats"]))
    if fact["agreement"] is not None:
        texts.append(("agreement of samples", f"{percent(fact['agreement'])}%"))
    return tuple(texts)


def _footnotes(table: pd.DataFrame, average: Average) -> tuple[str, ...]:
    declared: Declaration = table.attrs["declared"]
    listed = [one for of_run in table.attrs["results"].values() for one in of_run.values()]
    cluster = table.attrs["cluster"]
    lines = [rates_note(average, declared, listed, cluster)]
    variants = sorted(set(table.attrs["variants"].values()) - {""})
    if variants and (measure := varied(declared, variants[0])):
        lines[0] += f" {measure.head} variant: {', '.join(variants)}."
        if len(variants) > 1:
            lines.append(
                f"The runs were scored with different {measure.head} variants; choose one with "
                f"{written(VARIANT)}."
            )
    lines += open_notes({name for one in listed for name in one.left_open}, declared)
    lines += coverage_notes(listed, declared)
    if has_few(listed):
        lines += few_notes(rates=True, clusters=declared.level(cluster).many)
    if any(fact["repeats"] > 1 for fact in table.attrs["runs"]):
        lines += [repeats_note(measure, declared) for measure in declared.of_parents]
    if any(not fact["complete"] for fact in table.attrs["runs"]):
        lines.append(f"Unfinished runs: only the {declared.units} answered so far are counted.")
    return tuple(lines)
