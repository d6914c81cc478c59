"""The rows and notes of a result that only runs with repeats have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from harness.tables.grid import Cell, estimate_cell, percent
from parsers.declaration import Declaration
from parsers.repeats import OverRepeats

Over = Mapping[str, OverRepeats]
"""Success over the repeats by the names of measures."""
Values = Mapping[str, str | Cell]
"""Cells by the names of measures."""


def repeat_rows(
    over: Over, spread: float | None, repeats: int, declared: Declaration
) -> Iterator[tuple[str, Values]]:
    """Yield the label and the values of each row: pass@k, pass^k and the spread.

    `spread` is that of the main measure's headline between repeats.
    """
    if spread is not None:
        yield f"SD over {repeats} repeats", {declared.main.name: percent(spread)}
    for sign, found in (
        ("pass@", {name: one.pass_at for name, one in over.items()}),
        ("pass^", {name: one.pass_all for name, one in over.items()}),
    ):
        for k in sorted({k for by_k in found.values() for k in by_k}):
            yield f"{sign}{k}", {name: estimate_cell(by_k[k]) for name, by_k in found.items()}
    if over:
        yield "SD within", {name: percent(one.within) for name, one in over.items()}
        between = {name: one.between for name, one in over.items() if one.between is not None}
        yield "SD between", {name: percent(value) for name, value in between.items()}


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


def repeats_text(over: Over, declared: Declaration) -> str:
    """Say how often any, and how often all of the repeats succeed; "" without repeats."""
    texts = []
    for name, one in over.items():
        k = one.repeats
        any_, all_ = estimate_cell(one.pass_at[k]), estimate_cell(one.pass_all[k])
        texts.append(f"{declared[name].head} pass@{k} {any_}, pass^{k} {all_}")
    return "; ".join(texts)
