"""Declares the results of grounding benchmarks: one set of measures for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from parsers.declaration import Average, Declaration, Group, Level, Measure
from parsers.grounding import KIND, POINTING, measures

PICTURE = Level("picture", shared=True)
"""The picture of an item. The same one may be in several splits, with other instructions."""


def declaration(
    *,
    levels: Sequence[Level] = (PICTURE,),
    clusters: Sequence[str] = (),
    groups: Sequence[Group] = (),
    cells: Sequence[str] = (),
    headline: Average = "micro",
    classes: Mapping[str, str] = MappingProxyType({}),
    absent: bool = False,
    shared: bool = False,
) -> Declaration:
    """Return the declaration of a set.

    Args:
        levels: of parents, from the inside out.
        clusters: those that intervals can take as independent, the usual one first; the innermost
            level unless given.
        groups: breakdowns of the results, in addition to the split.
        cells: the groups whose combinations are the cells of the average `cells`; none without it.
        headline: the average that the authors of the set publish. The other one is shown, too.
        classes: classes that an item may have several of, each with its meaning. They are measures,
            since no group could tell results by them.
        absent: whether some instructions fit nothing on their picture.
        shared: whether splits ask about the same items in other words.
    """
    averages: tuple[Average, ...] = ("micro", "cells") if cells else ("micro",)
    averages = tuple(sorted(averages, key=lambda average: average != headline))
    of_classes = (
        Measure(
            name, name.replace("_", " "), f"hits in {meaning}", averages=("micro",), partial=True
        )
        for name, meaning in classes.items()
    )
    return Declaration(
        measures=(*measures(averages, cells, absent=absent), *of_classes),
        levels=tuple(levels),
        groups=(Group("split", "the split", whole=levels[0].name), *groups),
        clusters=tuple(clusters),
        shared=shared,
        kind=KIND,
        unit="item",
        actions=POINTING,
    )
