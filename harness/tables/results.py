"""The table of results: measures with their intervals, as numbers and as rows for readers.

The benchmark declares the measures, and the words for units and parents. All results
are computed by `result_records` and printed by `rate_cells`: in the table after a run,
`vlm-eval report` and the HTML page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from harness.tables.grid import (
    ABSENT,
    Cell,
    Column,
    Row,
    bounds,
    interval_record,
    interval_text,
    percent,
)
from parsers.declaration import Average, Declaration, Level, Measure
from parsers.estimates import PARENTS, Estimate, Results
from parsers.estimates import QUARTILES as QUARTILE_ROW

POOLED = "all splits pooled"

QUARTILES = ("median", "lower", "upper")
"""What columns of a measure without an average hold."""

Record = Mapping[Any, Any]
"""A line of results by column name; None where a number is missing."""


def result_records(results: Results) -> Iterator[dict[str, Any]]:
    """Yield two lines of results: `valid` without invalid rows, `strict` with invalid rows as 0.

    Rates are shares between 0 and 1, each with its `interval_record`. `headline` marks the line
    chosen by the rules, `few` lines with a marked interval. `measured_name` is the column of the
    number of units with a score of a measure.
    """
    rules: tuple[Literal["valid", "strict"], ...] = ("valid", "strict")
    for rule in rules:
        yield _record(results, rule)


def _record(results: Results, rule: Literal["valid", "strict"]) -> dict[str, Any]:
    declared = results.declared
    parents, units = results.counts.behind[rule]
    values: dict[str, Any] = {
        "line": rule,
        "headline": rule == results.rules.headline,
        declared.innermost.many: parents,
        declared.units: units,
    }
    intervals = []
    for measure in declared.in_tables:
        for average in measure.averages:
            row = results.row(measure.name, average, rule)
            assert row is not None  # Measures of units always have one.
            name = f"{measure.result}_{average}"
            values |= {measured_name(measure): row.units, name: row.number}
            values |= interval_record(name, row.interval)
            intervals.append(row.interval)
    for measure in declared.of_parents:
        row = results.row(measure.name, PARENTS, rule)
        intervals.append(row.interval if row else None)
        values |= {
            measure.result: row.number if row else None,
            **interval_record(measure.result, intervals[-1]),
            f"{measure.key}_succeeded": row.won if row else None,
            f"{measure.key}_complete": row.complete if row else None,
            f"{measure.key}_total": row.n if row else None,
        }
    for measure in declared.spread:
        row = results.row(measure.name, QUARTILE_ROW, rule)
        ends = row.interval if row else None
        found = (row and row.number, ends and ends.low, ends and ends.high)
        for name, value in zip(QUARTILES, found, strict=True):
            values[f"{measure.result}_{name}"] = value
    return values | {"few": any(one is not None and one.few for one in intervals)}


def cell_of(row: Estimate | None, results: Results) -> str | Cell:
    """Print a number with its interval; with its number of units if it is not over all."""
    if row is None:
        return ""
    if row.average == QUARTILE_ROW:
        ends = row.interval
        assert row.number is not None and ends is not None
        return Cell(_rounded(row.number), f"[{_rounded(ends.low)}, {_rounded(ends.high)}]")
    if row.complete is not None and row.number is None:
        return Cell(f"{ABSENT} ({row.complete} of {row.n})")
    shown = percent(row.number)
    if row.average in AVERAGES:
        _, units = results.counts.behind[row.rule]
        shown = f"{shown} {coverage(row.units, units)}".rstrip()
    return Cell(shown, interval_text(row.interval))


AVERAGES: tuple[Average, ...] = get_args(Average)


def rates_shown(average: Average, declared: Declaration) -> list[tuple[Measure, Average]]:
    """Return the rates of a line: every measure in an average, or else in its own headline's.

    A measure that can be averaged over cells is shown in all its averages, that one first: papers
    print either without saying which.
    """
    shown = []
    for measure in declared.in_tables:
        first = average_of(measure, average)
        others = (one for one in measure.averages if measure.cells and one != first)
        shown += [(measure, one) for one in (first, *others)]
    return shown


def rate_cells(record: Record, average: Average, declared: Declaration) -> tuple[Cell, ...]:
    """Return the rates of a line, see `rates_shown`."""
    cells = []
    for measure, one in rates_shown(average, declared):
        cell = _cell(record, f"{measure.result}_{one}")
        of = coverage(record.get(measured_name(measure)), record[declared.units])
        cells.append(Cell(f"{cell.text} {of}".rstrip(), cell.interval))
    return tuple(cells)


def measured_name(measure: Measure) -> str:
    """Return the column that says how many units have a score of a measure."""
    return f"{measure.result}_measured"


def coverage(measured: int | None, of: int | None) -> str:
    """Write the number of units that a rate is over; "" if it is over all of them.

    >>> coverage(210, 349), coverage(349, 349)
    ('(210 of 349)', '')
    """
    if measured is None or of is None or measured == of:
        return ""
    return f"({int(measured):,} of {int(of):,})"


def partly_measured(records: Sequence[Record], declared: Declaration) -> list[Measure]:
    """Return the measures that are not over all units on some of these lines."""
    return [
        measure
        for measure in declared.in_tables
        for name in [measured_name(measure)]
        if any(coverage(record.get(name), record.get(declared.units)) for record in records)
    ]


def coverage_notes(records: Sequence[Record], declared: Declaration) -> list[str]:
    """Return the footnote on rates that are not over all units, if there is one."""
    if not partly_measured(records, declared):
        return []
    return [f"(n of N): over n of the N {declared.units}; the others have no score of it."]


def average_of(measure: Measure, average: Average) -> Average:
    """Return the shown average of a measure: the wanted one, if the measure has it."""
    return average if average in measure.averages else measure.averages[0]


def _cell(record: Record, name: str) -> Cell:
    return Cell(percent(record[name]), record_bounds(record, name))


def record_bounds(record: Record, name: str) -> str:
    """Format the interval of a rate in a line of results by `bounds`."""
    few = bool(record[f"{name}_few"])
    return bounds(record[f"{name}_low"], record[f"{name}_high"], few=few)


def parent_cells(record: Record, declared: Declaration) -> tuple[Cell, ...]:
    """Return a line's measures of parents with their counts; none if groups split parents."""
    return tuple(_parent_cell(record, measure) for measure in declared.of_parents)


def _parent_cell(record: Record, measure: Measure) -> Cell:
    total, value = record[f"{measure.key}_total"], record[measure.result]
    if total is None:
        return Cell("")
    if value is None:
        return Cell(f"{ABSENT} ({int(record[f'{measure.key}_complete'])} of {int(total)})")
    cell = _cell(record, measure.result)
    if measure.within:
        return cell  # Not the share of all of them, as a count would say.
    won = int(record[f"{measure.key}_succeeded"])
    return Cell(f"{cell.text} ({won}/{int(total)})", cell.interval)


def quartile_cells(record: Record, declared: Declaration) -> Iterator[Cell]:
    """Yield a line's measures without an average: the median, and the quartiles in brackets."""
    for measure in (one for one in declared.spread if one.in_tables):
        values = [record.get(f"{measure.result}_{name}") for name in QUARTILES]
        median, *ends = [_rounded(value) for value in values if value is not None] or [ABSENT]
        yield Cell(median, f"[{', '.join(ends)}]" if ends else "")


def _rounded(value: float) -> str:
    """Write a number of any size.

    >>> _rounded(1234.56), _rounded(12.345), _rounded(3.0)
    ('1,235', '12.3', '3')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def quartiles_notes(declared: Declaration) -> list[str]:
    """Return the footnote on measures without an average, if tables show one."""
    named = [f"{one.head} ({one.meaning})" for one in declared.spread if one.in_tables]
    return [f"Median and [quartiles]: {', '.join(named)}."] if named else []


def result_row(record: Record, group: str, average: Average, declared: Declaration) -> Row:
    """Return a line for readers: its group (or how it treats invalid rows), counts and rates."""
    headline = bool(record["headline"])
    return Row(
        (
            group if headline else invalid_label(record["line"]),
            f"{int(record[declared.innermost.many]):,}",
            f"{int(record[declared.units]):,}",
            *rate_cells(record, average, declared),
            *parent_cells(record, declared),
            *quartile_cells(record, declared),
        ),
        parent="" if headline else group,
    )


def result_columns(key: str, average: Average, declared: Declaration) -> tuple[Column, ...]:
    """Return the columns for rows of `result_row`, by group."""
    counts = (declared.innermost.many, declared.units)
    rates = rate_heads(average, declared)
    return (Column(key, "left"), *(Column(head) for head in (*counts, *rates)))


def rate_heads(average: Average, declared: Declaration) -> tuple[str, ...]:
    """Return the heads of the columns with rates."""
    return (
        *(
            f"{measure.head} {one}" if measure.cells else measure.head
            for measure, one in rates_shown(average, declared)
        ),
        *(measure.head for measure in declared.of_parents),
        *(measure.head for measure in declared.spread if measure.in_tables),
    )


def heads(declared: Declaration) -> tuple[str, ...]:
    """Return the heads of measures: averaged ones, those of parents, those without an average."""
    return tuple(measure.head for measure in declared.shown)


def invalid_label(line: Literal["valid", "strict"]) -> str:
    """Return the label of a line that treats invalid rows differently from the headline."""
    return "invalid rows as 0" if line == "strict" else "valid rows only"


def rates_note(
    average: Average,
    variants: Sequence[str],
    declared: Declaration,
    records: Sequence[Record],
    cluster: str = "",
) -> str:
    """Return the footnote on the rates of a table of results, which shows `records`."""
    measure = next((one for one in declared.measures if one.variants), None)
    variant = f" {measure.head} variant: {', '.join(variants)}." if measure else ""
    exact = [
        measure.head
        for measure in declared.of_parents
        if any(record[f"{measure.result}_method"] == "clopper-pearson" for record in records)
    ]
    clusters = cluster_note(declared, cluster) + (
        f" {', '.join(exact)}: Clopper-Pearson." * bool(exact)
    )
    return f"Per cent; {mean_note(average, declared)}. {clusters}{variant}"


def mean_note(average: Average, declared: Declaration) -> str:
    """Describe an average, and the averages of measures that lack it.

    Measures that are averaged by the same word over other parents are named.
    """
    by_text: dict[str, list[Measure]] = {}
    for measure, one in rates_shown(average, declared):
        by_text.setdefault(mean_text(one, measure, declared), []).append(measure)
    words = [text.partition(":")[0] for text in by_text]
    notes = []
    for text, measures in by_text.items():
        named = words.count(text.partition(":")[0]) > 1
        of = f" ({', '.join(measure.head for measure in measures)})" if named else ""
        notes.append(f"{text}{of}")
    notes += [
        f"{measure.head}: {parents_text(measure, declared)}"
        for measure in declared.of_parents
        if measure.within
    ]
    return "; ".join(notes)


def parents_text(measure: Measure, declared: Declaration) -> str:
    """Describe a measure of parents as a share or mean."""
    inside = declared.level(measure.over).many
    if not measure.within:
        return f"share of {inside}"
    return f"mean over {declared.level(measure.within).many} of the share of each one's {inside}"


def main_column(declared: Declaration, average: Average) -> str:
    """Return the column of the main measure in a line of results."""
    main = declared.main
    return main.result if main.all_of else f"{main.result}_{average_of(main, average)}"


def main_text(declared: Declaration, average: Average) -> str:
    """Describe the average of the main measure."""
    main = declared.main
    if main.all_of:
        return parents_text(main, declared)
    return mean_text(average_of(main, average), main, declared)


def mean_text(average: Average, measure: Measure, declared: Declaration) -> str:
    """Describe an average of a measure."""
    if average == "micro":
        return f"micro: mean over {declared.units}"
    if average == "cells":
        return f"cells: mean over {' x '.join(measure.cells)} of each cell's mean"
    level = declared.level(measure.over)
    return f"macro: mean over {level.many} of each {level.one}'s mean over {declared.units}"


def cluster_note(
    declared: Declaration, cluster: str = "", method: Literal["Wilson", ""] = "Wilson"
) -> str:
    """Describe the intervals: their method and their population."""
    level = declared.level(cluster or declared.clusters[0])
    others = [name for name in declared.clusters if declared.rank(name) > declared.rank(level.name)]
    wider = f" (new ones: --cluster {others[0]})" if others else ""
    intervals = f"{method} intervals".strip()
    return f"95 % {intervals} with {level.many} as clusters: for new {level.extent}{wider}."


def finer_clusters(declared: Declaration, cluster: str = "") -> list[Level]:
    """Return the declared clusters that are smaller than those of the intervals.

    If these are few, such as the applications of a set of pictures, results show both.
    """
    used = declared.rank(cluster or declared.clusters[0])
    return [declared.level(name) for name in declared.clusters if declared.rank(name) < used]


def repeats_note(measure: Measure, declared: Declaration) -> str:
    """Describe a measure of parents in a run with repeats."""
    level = declared.level(measure.over)
    within = f"{declared.level(measure.within).many} of that over " if measure.within else ""
    return (
        f"{measure.meaning.capitalize()} over repeats: mean over {within}{level.many} of the share "
        f"of repeats in which all {declared.units} succeed."
    )


def open_notes(left_open: Collection[str], declared: Declaration) -> list[str]:
    """Explain why a run's predictions leave measures unknown."""
    flags = {one.unmeasured for one in declared.measures if one.name in left_open}
    return [f"{ABSENT}: {meaning}." for flag, meaning in declared.flags if flag in flags]
