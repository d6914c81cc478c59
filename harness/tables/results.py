"""The table of results: numbers of a run (`parsers.estimates`) as cells, and what explains them.

The benchmark declares the measures, and the words for units and parents. The table after a run,
`vlm-eval report` and the HTML page print by these functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from harness.tables.grid import ABSENT, Cell, Heading, Row, interval_text, percent
from parsers.counting import Rule
from parsers.declaration import Average, Declaration, Level, Measure
from parsers.estimates import (
    PARENTS,
    QUARTILES,
    SD,
    SD_BETWEEN,
    SD_WITHIN,
    SHARE,
    Estimate,
    Results,
)

POOLED = "all splits pooled"
AVERAGES: tuple[Average, ...] = get_args(Average)
LINES: tuple[Rule, ...] = ("valid", "strict")
"""Rows without a right answer are left out, or count as failures."""


def cell_of(row: Estimate | None, results: Results) -> str | Cell:
    """Print a number with its interval; with its number of units if it is not over all."""
    if row is None:
        return ""
    if row.average == QUARTILES:
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


def _rounded(value: float) -> str:
    """Write a number of any size.

    >>> _rounded(1234.56), _rounded(12.345), _rounded(3.0)
    ('1,235', '12.3', '3')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def shown_rows(listed: Iterable[Results]) -> Iterator[tuple[Results, Estimate]]:
    """Yield the rows of measures in tables of results."""
    for results in listed:
        shown = {one.name for one in (*results.declared.in_tables, *results.declared.of_parents)}
        for row in results.rows:
            if row.measure in shown and row.rule in LINES and row.average in (*AVERAGES, PARENTS):
                yield results, row


def has_few(listed: Iterable[Results]) -> bool:
    """Return whether an interval in a table of results is marked."""
    return any(row.interval and row.interval.few for _, row in shown_rows(listed))


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


def rate_cells(results: Results, rule: Rule, average: Average) -> tuple[str | Cell, ...]:
    """Return the rates of a line, see `rates_shown`."""
    shown = rates_shown(average, results.declared)
    return tuple(cell_of(results.row(one.name, of, rule), results) or Cell("") for one, of in shown)


def parent_cells(results: Results, rule: Rule) -> tuple[str | Cell, ...]:
    """Return a line's measures of parents with their counts; empty if groups split parents."""
    cells = []
    for measure in results.declared.of_parents:
        row = results.row(measure.name, PARENTS, rule)
        cell = cell_of(row, results)
        # Averaged within something, it is not the share of all of them, as a count would say.
        if row and row.number is not None and not measure.within and isinstance(cell, Cell):
            cell = Cell(f"{cell.text} ({row.won}/{row.n})", cell.interval)
        cells.append(cell)
    return tuple(cells)


def result_row(results: Results, rule: Rule, group: str, average: Average) -> Row:
    """Return a line for readers: its group (or how it treats invalid rows), counts and rates."""
    headline, declared = rule == results.rules.headline, results.declared
    parents, units = results.counts.behind[rule]
    spread = [results.row(m.name, "", rule) for m in declared.spread if m.head]
    return Row(
        (
            group if headline else invalid_label(rule),
            f"{parents:,}",
            f"{units:,}",
            *rate_cells(results, rule, average),
            *parent_cells(results, rule),
            *(ABSENT if row is None else cell_of(row, results) for row in spread),
        ),
        parent="" if headline else group,
    )


def coverage(measured: int | None, of: int | None) -> str:
    """Write the number of units that a rate is over; "" if it is over all of them.

    >>> coverage(210, 349), coverage(349, 349)
    ('(210 of 349)', '')
    """
    if measured is None or of is None or measured == of:
        return ""
    return f"({int(measured):,} of {int(of):,})"


def coverage_notes(listed: Iterable[Results], declared: Declaration) -> list[str]:
    """Return the footnote on rates that are not over all units, if there is one."""
    rows = [(of.counts.behind[row.rule][1], row) for of, row in shown_rows(listed)]
    if all(row.average == PARENTS or coverage(row.units, units) == "" for units, row in rows):
        return []
    return [f"(n of N): over n of the N {declared.units}; the others have no score of it."]


def average_of(measure: Measure, average: Average) -> Average:
    """Return the shown average of a measure: the wanted one, if the measure has it."""
    return average if average in measure.averages else measure.averages[0]


def quartiles_notes(declared: Declaration) -> list[str]:
    """Return the footnote on measures without an average, if tables show one."""
    named = [f"{one.head} ({one.meaning})" for one in declared.spread if one.head]
    return [f"Median and [quartiles]: {', '.join(named)}."] if named else []


def result_columns(key: str, average: Average, declared: Declaration) -> tuple[Heading, ...]:
    """Return the columns for rows of `result_row`, by group."""
    counts = (declared.innermost.many, declared.units)
    rates = rate_heads(average, declared)
    return (Heading(key, "left"), *(Heading(head) for head in (*counts, *rates)))


def rate_heads(average: Average, declared: Declaration) -> tuple[str, ...]:
    """Return the heads of the columns with rates."""
    return (
        *(
            f"{measure.head} {one}" if measure.cells else measure.head
            for measure, one in rates_shown(average, declared)
        ),
        *(measure.head for measure in declared.of_parents),
        *(measure.head for measure in declared.spread if measure.head),
    )


def invalid_label(line: Rule) -> str:
    """Return the label of a line that treats invalid rows differently from the headline."""
    return "invalid rows as 0" if line == "strict" else "valid rows only"


def rates_note(
    average: Average, declared: Declaration, listed: Sequence[Results], cluster: str = ""
) -> str:
    """Return the footnote on the rates of a table of results, which shows `listed`."""
    exact = {
        row.measure
        for _, row in shown_rows(listed)
        if row.interval and row.interval.method == "clopper-pearson" and row.average == PARENTS
    }
    heads = [measure.head for measure in declared.of_parents if measure.name in exact]
    clusters = cluster_note(declared, cluster) + (
        f" {', '.join(heads)}: Clopper-Pearson." * bool(heads)
    )
    return f"Per cent; {mean_note(average, declared)}. {clusters}"


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


Values = Mapping[str, str | Cell]
"""Cells by the names of measures."""


def repeat_rows(results: Results) -> Iterator[tuple[str, Values]]:
    """Yield the label and the values of each row: pass@k, pass^k and the spread."""
    labels = {SD: f"SD over {results.repeats} repeats"}
    labels |= {row.average: row.average for row in results.rows if row.average.startswith("pass")}
    labels |= {SD_WITHIN: "SD within", SD_BETWEEN: "SD between"}
    for average, label in labels.items():
        found = results.over_repeats(average)
        if found:
            plain = average.startswith("sd")
            yield (
                label,
                {
                    name: percent(row.number) if plain else cell_of(row, results)
                    for name, row in found.items()
                },
            )


def repeat_notes(
    measures: Collection[str], declared: Declaration, *, spread: bool
) -> Iterator[str]:
    """Explain the signs of these rows, for the measures that have any."""
    if spread:
        main = declared.main
        average = "" if main.all_of else f"{main.averages[0]} "
        yield f"SD: standard deviation of {average}{main.head} between repeats."
    if measures:
        things = {
            declared.level(one.over).many if one.all_of else declared.units
            for one in declared.measures
            if one.name in measures
        }
        yield (
            "pass@k: at least one of k repeats succeeds; pass^k: all of k do. SD within: over "
            f"repeats of the same; SD between: of the rates of different "
            f"{' or '.join(sorted(things))}."
        )


def repeats_text(results: Results) -> str:
    """Say how often any, and how often all of the repeats succeed; "" without repeats."""
    k, texts = results.repeats, []
    for name in results.over_repeats(SHARE):
        any_, all_ = (
            cell_of(results.row(name, f"{sign}{k}"), results) for sign in ("pass@", "pass^")
        )
        texts.append(f"{results.declared[name].head} pass@{k} {any_}, pass^{k} {all_}")
    return "; ".join(texts)
