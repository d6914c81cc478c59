"""A measure of a benchmark: its name, its averages and what it says."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

Average = Literal["macro", "micro", "cells", "quartiles"]
"""Averages of a measure: `macro` is the mean over parents of each parent's mean, `micro` the
mean over units, `cells` the mean over cells (combinations of groups) of each cell's mean.
`quartiles`, alone, are the median with the quartiles of any finite numbers."""

SPREAD: tuple[Average, ...] = ("quartiles",)
"""Averages of a measure that can be any number, such as a distance."""

OF_ALL_UNITS: Set[str] = {
    *("run", "repeat", "benchmark", "index", "invalid", "asked", "settled", "error", "source"),
    *("prompt_tokens", "input_tokens", "cached_tokens", "output_tokens", "calls", "cost"),
    *("status", "flags"),
}
"""Columns that frames have of all units: no measure or group can have these names."""

PREDICTED: Set[str] = {"letter", "element", "operation", "value", "point", "action", "arguments"}
"""Columns of frames with the parts of a prediction: a measure of this name says whether that part
is right, a group has the right one (`harness.runs.columns`)."""

TAKEN: Set[str] = {
    *(*OF_ALL_UNITS, *PREDICTED, "kind", "trial", "unit_id", "split", "total", "goal", "task"),
    *("history", "pictures", "point_x", "point_y", "position", "parents", "labels", "digests"),
    *("detail", "prediction", "scores", "usage"),
}
"""Columns of frames, and fields of units."""


def fill(record: object, **usual: object) -> None:
    """Give fields of a frozen record that were left empty their usual values."""
    for name, value in usual.items():
        if not getattr(record, name):
            object.__setattr__(record, name, value)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that units are scored with: 0, 1 or in between, unless it has quartiles.

    Attributes:
        name: its key in `scores`, in `summary.json` and in frames.
        head: head of its column in tables of results, which leave it out without one, except
            the main measure and those of parents. Frames and `summary.json` hold every measure.
        meaning: what it says, in words.
        averages: how it is averaged over units, the headline's first; () for what is 0 or 1 and
            only counted.
        over: the level of parents of `macro` and `all_of`; the innermost unless given.
        all_of: makes it a measure of parents: 1 for a parent where the measure of this name is 1
            for every valid unit (task success). It is withheld while a parent is incomplete.
        unmeasured: flag of predictions that leave it open. It is not measured where every answer of
            a run has that flag.
        main: whether rankings, verdicts, power analyses and error classes use it; one measure is.
        cells: the groups whose combinations are the cells of `cells`. Of a measure of parents, the
            level above them: the mean over its parents of the share of theirs (turns of a
            conversation) that succeed.
        needs: measures that must all be 1 for it to be 1. They decide it again where a report
            takes another variant of one of them (`Declaration.variants`).
        rule: a further rule by which the protocol reads replies (`Prediction.by_rule`): the measure
            `NAME.RULE` is the measure `NAME` of what that reads. "" is the run's own rule.
    """

    name: str
    head: str = ""
    meaning: str = ""
    averages: tuple[Average, ...] = ("macro", "micro")
    over: str = ""
    all_of: str = ""
    unmeasured: str = ""
    main: bool = False
    cells: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    rule: str = ""

    def __post_init__(self) -> None:
        if self.main or self.all_of:
            fill(self, head=self.name)

    @property
    def within(self) -> str:
        """Of a measure of parents, the level that it is averaged within first; "" for none."""
        return self.cells[0] if self.all_of and self.cells else ""

    @property
    def plain(self) -> str:
        """The name of the measure that it is of what another rule reads; its own name otherwise."""
        return self.name.removesuffix(f".{self.rule}") if self.rule else self.name

    @property
    def title(self) -> str:
        """Its head, or its name where tables leave it out."""
        return self.head or self.name
