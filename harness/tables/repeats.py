"""The rows and notes of a result that only runs with repeats have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from harness.tables.grid import Cell, percent
from harness.tables.results import cell_of
from parsers.declaration import Declaration
from parsers.estimates import SD, SD_BETWEEN, SD_WITHIN, SHARE, Results

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
