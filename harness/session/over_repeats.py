"""The rows and notes of a result that only runs with repeats have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.session.summary import Part
from harness.tables import Cell, estimate_cell, percent
from parsers import Declaration

Values = Mapping[str, str | Cell]
"""Cells by the names of measures."""


def repeat_rows(group: Part, declared: Declaration) -> Iterator[tuple[str, Values]]:
    """Yield the label and the values of each row: spread, pass@k and pass^k."""
    over = group.over_repeats
    if group.repeat_sd is not None:
        yield (
            f"SD over {group.repeats} repeats",
            {declared.main.name: percent(group.repeat_sd)},
        )
    for sign, found in (
        ("pass@", {name: one.pass_at for name, one in over.items()}),
        ("pass^", {name: one.pass_all for name, one in over.items()}),
    ):
        for k in sorted({k for by_k in found.values() for k in by_k}):
            yield f"{sign}{k}", {name: estimate_cell(by_k[k]) for name, by_k in found.items()}
    if over:
        yield "SD within", {name: percent(one.within) for name, one in over.items()}
        yield (
            "SD between",
            {name: percent(one.between) for name, one in over.items() if one.between is not None},
        )


def repeat_notes(shown: Sequence[Part], declared: Declaration) -> Iterator[str]:
    """Explain the signs of these rows."""
    if any(group.repeat_sd is not None for group in shown):
        main = declared.main
        average = "" if main.all_of else f"{main.averages[0]} "
        yield f"SD: standard deviation of {average}{main.head} between repeats."
    names = {name for group in shown for name in group.over_repeats}
    if names:
        things = dict.fromkeys(_things(declared, name) for name in sorted(names))
        yield (
            "pass@k: at least one of k repeats succeeds; pass^k: all of k do. SD within: over "
            f"repeats of the same; SD between: of the rates of different {' or '.join(things)}."
        )


def repeat_line(group: Part, declared: Declaration) -> Iterator[str]:
    """Say in a line how often any, and how often all of the repeats succeed."""
    for name, one in group.over_repeats.items():
        k = one.repeats
        any_, all_ = estimate_cell(one.pass_at[k]), estimate_cell(one.pass_all[k])
        yield f"{declared[name].head} over {k} repeats: pass@{k} {any_}, pass^{k} {all_}"


def _things(declared: Declaration, name: str) -> str:
    measure = declared[name]
    return declared.level(measure.over).many if measure.all_of else declared.units
