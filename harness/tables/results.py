"""The table of results: measures with their intervals, as numbers and as rows for readers.

Which measures there are, and the words for units and parents, the benchmark declares. All results
are computed by `result_records` and printed by `rate_cells`: in the table after a run,
`vlm-eval report` and the HTML page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from harness.tables.grid import Cell, Column, Row, interval_record
from harness.tables.numbers import ABSENT, bounds, percent
from parsers.declaration import Average, Declaration, Level, Measure
from parsers.metrics import Metrics, ParentRate, UnitMetrics

POOLED = "all splits pooled"

Record = Mapping[Any, Any]
"""A line of results by column name; None where a number is missing."""


def result_records(metrics: Metrics) -> Iterator[dict[str, Any]]:
    """Two lines of results: `valid` without invalid rows, `strict` with invalid rows as 0.

    Rates are shares between 0 and 1, each with its `interval_record`. `headline` marks the line
    that the rules of the metrics ask for, `few` lines with a marked interval. How many units have a
    score of a measure stands under `measured_name`.
    """
    strict = metrics.rules.invalid == "fail"
    parents = metrics.parents
    defaults = {name: rates.default for name, rates in parents.items()}
    stricter = {name: rates.strict for name, rates in parents.items()}
    yield _record("valid", not strict, metrics.valid, defaults, metrics.declared)
    yield _record("strict", strict, metrics.strict, stricter, metrics.declared)


def _record(
    line: str,
    headline: bool,
    metrics: UnitMetrics,
    of_parents: Mapping[str, ParentRate],
    declared: Declaration,
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "line": line,
        "headline": headline,
        declared.innermost.many: metrics.n_parents,
        declared.units: metrics.n_units,
    }
    intervals = []
    for measure in declared.in_tables:
        values[measured_name(measure)] = metrics.partial.get(measure.name, metrics.n_units)
        for average, estimate in metrics.rates[measure.name].items():
            name = f"{measure.result}_{average}"
            values |= {name: estimate.value, **interval_record(name, estimate.interval)}
            intervals.append(estimate.interval)
    for measure in declared.of_parents:
        rate = of_parents.get(measure.name)
        intervals.append(rate.interval if rate else None)
        values |= {
            measure.result: rate.value if rate else None,
            **interval_record(measure.result, intervals[-1]),
            f"{measure.key}_succeeded": rate.successes if rate else None,
            f"{measure.key}_complete": rate.complete if rate else None,
            f"{measure.key}_total": rate.total if rate else None,
        }
    return values | {"few": any(one is not None and one.few for one in intervals)}


def rates_shown(average: Average, declared: Declaration) -> list[tuple[Measure, Average]]:
    """The rates of a line: every measure in an average, or else in its own headline's.

    A measure that can be averaged over cells is told in all of its averages, that one first: papers
    print either without a word.
    """
    shown = []
    for measure in declared.in_tables:
        first = average_of(measure, average)
        others = (one for one in measure.averages if measure.cells and one != first)
        shown += [(measure, one) for one in (first, *others)]
    return shown


def rate_cells(record: Record, average: Average, declared: Declaration) -> tuple[Cell, ...]:
    """The rates of a line, see `rates_shown`."""
    return tuple(
        rate_cell(record, measure, one, declared) for measure, one in rates_shown(average, declared)
    )


def rate_cell(record: Record, measure: Measure, average: Average, declared: Declaration) -> Cell:
    """A measure of units on a line; with what it is over, unless it is over all units."""
    cell = _cell(record, f"{measure.result}_{average}")
    of = coverage(record.get(measured_name(measure)), record[declared.units])
    return Cell(f"{cell.text} {of}".rstrip(), cell.interval)


def measured_name(measure: Measure) -> str:
    """The column that says how many units have a score of a measure."""
    return f"{measure.result}_measured"


def coverage(measured: int | None, of: int | None) -> str:
    """How many units a rate is over, "" if it is over all of them.

    >>> coverage(210, 349), coverage(349, 349)
    ('(210 of 349)', '')
    """
    if measured is None or of is None or measured == of:
        return ""
    return f"({int(measured):,} of {int(of):,})"


def partly_measured(records: Sequence[Record], declared: Declaration) -> list[Measure]:
    """The measures that are not over all units on some of these lines."""
    return [
        measure
        for measure in declared.in_tables
        for name in [measured_name(measure)]
        if any(coverage(record.get(name), record.get(declared.units)) for record in records)
    ]


def coverage_notes(records: Sequence[Record], declared: Declaration) -> list[str]:
    """The footnote on rates that are not over all units, if there is one."""
    if not partly_measured(records, declared):
        return []
    return [f"(n of N): over n of the N {declared.units}; the others have no score of it."]


def average_of(measure: Measure, average: Average) -> Average:
    """The average in which a measure is shown where one is asked for."""
    return average if average in measure.averages else measure.averages[0]


def _cell(record: Record, name: str) -> Cell:
    return Cell(percent(record[name]), record_bounds(record, name))


def record_bounds(record: Record, name: str) -> str:
    """The interval of a rate in a line of results, as `bounds` writes it."""
    few = bool(record[f"{name}_few"])
    return bounds(record[f"{name}_low"], record[f"{name}_high"], few=few)


def parent_cells(record: Record, declared: Declaration) -> tuple[Cell, ...]:
    """The measures of parents on a line, with their counts; empty where groups split parents."""
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


def result_row(record: Record, group: str, average: Average, declared: Declaration) -> Row:
    """A line for readers: its group (or how it treats invalid rows), counts and rates."""
    headline = bool(record["headline"])
    return Row(
        (
            group if headline else invalid_label(record["line"]),
            f"{int(record[declared.innermost.many]):,}",
            f"{int(record[declared.units]):,}",
            *rate_cells(record, average, declared),
            *parent_cells(record, declared),
        ),
        parent="" if headline else group,
    )


def result_columns(key: str, average: Average, declared: Declaration) -> tuple[Column, ...]:
    """The columns of `result_row`s by group."""
    counts = (declared.innermost.many, declared.units)
    rates = rate_heads(average, declared)
    return (Column(key, "left"), *(Column(head) for head in (*counts, *rates)))


def rate_heads(average: Average, declared: Declaration) -> tuple[str, ...]:
    """The heads of the columns of `result_row`s with rates."""
    return (
        *(
            f"{measure.head} {one}" if measure.cells else measure.head
            for measure, one in rates_shown(average, declared)
        ),
        *(measure.head for measure in declared.of_parents),
    )


def heads(declared: Declaration) -> tuple[str, ...]:
    """The heads of measures, those of parents last."""
    return tuple(measure.head for measure in (*declared.in_tables, *declared.of_parents))


def invalid_label(line: Literal["valid", "strict"]) -> str:
    """The label of a line that treats invalid rows differently from the headline."""
    return "invalid rows as 0" if line == "strict" else "valid rows only"


def rates_note(
    average: Average, variants: Sequence[str], declared: Declaration, cluster: str = ""
) -> str:
    """The footnote on the rates of a table of results."""
    measure = next((one for one in declared.measures if one.variants), None)
    variant = f" {measure.head} variant: {', '.join(variants)}." if measure else ""
    return f"Per cent; {mean_note(average, declared)}. {cluster_note(declared, cluster)}{variant}"


def mean_note(average: Average, declared: Declaration) -> str:
    """What an average is the mean of, and the averages of measures that have no such one.

    Measures that are averaged by the same word over other parents are named.
    """
    told: dict[str, list[Measure]] = {}
    for measure, one in rates_shown(average, declared):
        told.setdefault(mean_text(one, measure, declared), []).append(measure)
    words = [text.partition(":")[0] for text in told]
    notes = []
    for text, measures in told.items():
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
    """What a measure of parents is the mean of."""
    inside = declared.level(measure.over).many
    if not measure.within:
        return f"share of {inside}"
    return f"mean over {declared.level(measure.within).many} of the share of each one's {inside}"


def main_column(declared: Declaration, average: Average) -> str:
    """The column of the main measure in a line of results."""
    main = declared.main
    return main.result if main.all_of else f"{main.result}_{average_of(main, average)}"


def main_text(declared: Declaration, average: Average) -> str:
    """What the main measure is the mean of."""
    main = declared.main
    if main.all_of:
        return parents_text(main, declared)
    return mean_text(average_of(main, average), main, declared)


def mean_text(average: Average, measure: Measure, declared: Declaration) -> str:
    """What an average of a measure is the mean of."""
    if average == "micro":
        return f"micro: mean over {declared.units}"
    if average == "cells":
        return f"cells: mean over {' x '.join(measure.cells)} of each cell's mean"
    level = declared.level(measure.over)
    return f"macro: mean over {level.many} of each {level.one}'s mean over {declared.units}"


def cluster_note(declared: Declaration, cluster: str = "") -> str:
    """What the intervals generalise to."""
    level = declared.level(cluster or declared.clusters[0])
    others = [name for name in declared.clusters if declared.rank(name) > declared.rank(level.name)]
    wider = f" (new ones: --cluster {others[0]})" if others else ""
    return f"95 % intervals with {level.many} as clusters: for new {level.extent}{wider}."


def finer_clusters(declared: Declaration, cluster: str = "") -> list[Level]:
    """The declared clusters that are smaller than those that intervals take as independent.

    Where those are few, as the applications of a set of pictures, results are told with both.
    """
    used = declared.rank(cluster or declared.clusters[0])
    return [declared.level(name) for name in declared.clusters if declared.rank(name) < used]


def repeats_note(measure: Measure, declared: Declaration) -> str:
    """What a measure of parents is where units were asked about several times."""
    level = declared.level(measure.over)
    within = f"{declared.level(measure.within).many} of that over " if measure.within else ""
    return (
        f"{measure.meaning.capitalize()} over repeats: mean over {within}{level.many} of the share "
        f"of repeats in which all {declared.units} succeed."
    )


def open_notes(left_open: Collection[str], declared: Declaration) -> list[str]:
    """Why measures are not known that the predictions of a run leave open."""
    flags = {one.unmeasured for one in declared.measures if one.name in left_open}
    return [f"{ABSENT}: {meaning}." for flag, meaning in declared.flags if flag in flags]
