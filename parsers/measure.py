"""A measure of a benchmark: its names, its averages and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Average = Literal["macro", "micro", "cells"]
"""Averages of a measure: `macro` is the mean over parents of each parent's mean, `micro` the
mean over units, `cells` the mean over cells (combinations of groups) of each cell's mean."""


def fill(record: object, **usual: object) -> None:
    """Give fields of a frozen record that were left empty their usual values."""
    for name, value in usual.items():
        if not getattr(record, name):
            object.__setattr__(record, name, value)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that units are scored with, between 0 and 1.

    Attributes:
        name: its key in `scores`, in metrics and in `summary.json`.
        head: head of its column in tables.
        meaning: what it says, in words.
        explained: what it says, for readers who do not know the field's words; `meaning` unless
            given.
        binary: whether it is 0 or 1 for every unit.
        main: whether rankings, verdicts, power analyses and error classes use it; one measure is.
        averages: how it is averaged, the headline's first. Without any it may be any finite number,
            and is reported as median and quartiles; where it is 0 or 1, the ones are counted.
        in_tables: whether tables of results show it. Frames and `summary.json` hold every measure.
        over: the level of parents of `macro` and `all_of`; the innermost unless given.
        cells: the groups whose combinations are the cells of `cells`.
        all_of: makes it a measure of parents: 1 for a parent where the measure of this name is 1
            for every valid unit (task success). It is withheld while a parent is incomplete.
        within: the level above for the average of such a measure: the mean over its parents of
            the share of theirs (turns of a conversation) that succeed. The share of all of them if
            "".
        needs: measures that must all be 1 for it to be 1; they decide it again where a
            report asks for another variant. That stands only under the usual value of the setting
            `rule`.
        error: whether units that fail and have 1 of it are an error class of this name.
        partial: whether it is about some units only; the others have None for it. A unit without an
            outcome is then left out of it where it counts as failed in the measures of all units,
            as nothing says which of both it is.
        unmeasured: flag of predictions that leave it open. It is not measured where every answer of
            a run has that flag.
        variants: ways to compute it, the usual one first. Their scores are named
            `name.variant`; one of them is the headline.
        setting: the setting that chooses this variant.
        result: begins the names of its columns in tables of results, and the key by which published
            rows give it; `name` unless given.
        column: its column in frames of units (of parents for `all_of`); `name` unless given.
        key: its key in `summary.json`; `name` unless given.
    """

    name: str
    head: str = ""
    meaning: str = ""
    binary: bool = True
    main: bool = False
    averages: tuple[Average, ...] = ("macro", "micro")
    in_tables: bool = True
    over: str = ""
    cells: tuple[str, ...] = ()
    all_of: str = ""
    within: str = ""
    needs: tuple[str, ...] = ()
    rule: str = ""
    partial: bool = False
    unmeasured: str = ""
    variants: tuple[str, ...] = ()
    setting: str = ""
    result: str = ""
    column: str = ""
    key: str = ""
    explained: str = ""
    error: bool = False

    def __post_init__(self) -> None:
        fill(self, head=self.name, result=self.name, column=self.name, key=self.name)

    @property
    def scores(self) -> tuple[str, ...]:
        """The names of its scores on the line of a unit; () for a measure of parents."""
        if self.all_of:
            return ()
        return tuple(f"{self.name}.{one}" for one in self.variants) or (self.name,)

    def score(self, variant: str = "") -> str:
        """Return the name of its headline score, where `variant` may have been chosen.

        Examples:
            >>> Measure("f1", variants=("a", "b")).score("b"), Measure("hit").score("b")
            ('f1.b', 'hit')
        """
        if not self.variants:
            return self.name
        return f"{self.name}.{variant if variant in self.variants else self.variants[0]}"
