"""Classify the rows of a run: one class for every row, the first that applies.

`UnitErrors` has what holds for every kind of unit; a kind with classes of its own derives from it
and is registered in `reports.kind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from harness.runs import Run, Unit
from harness.tables import clean
from parsers import Declaration, Measure, Status
from reports.errors.classes import (
    FAILED,
    INVALID,
    MISSED,
    NO_ANSWER,
    PARTIAL,
    REFUSED,
    SUCCESS,
    TRUNCATED,
    UNMEASURED,
    UNSETTLED,
    ClassInfo,
    general_classes,
)
from reports.frames.units import Column
from reports.kind import reports_of

CUT = 80
ENDED = {
    Status.TRUNCATED: TRUNCATED,
    Status.REFUSAL: REFUSED,
    Status.PROVIDER_REFUSED: REFUSED,
}
"""Statuses with a separate class."""


@dataclass(frozen=True, slots=True)
class UnitError:
    """The class of a row. Texts come from data and models; each is one line, not escaped.

    unit_id, repeat: the row.
    error_class: its class, one of `UnitErrors.classes`.
    detail: the evidence for the class, in words.
    flags: short names of what else was found.
    """

    unit_id: str
    repeat: int
    error_class: str
    detail: str = ""
    flags: tuple[str, ...] = ()


class UnitErrors:
    """The classes of errors of every kind of unit, and what a kind may replace.

    columns: of frames, with what a kind has to say of an error beyond its class.
    shown: the facts that are shown with an example.
    """

    columns: tuple[Column, ...] = ()
    shown: tuple[str, ...] = ()

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        """Return all classes, in order of precedence."""
        return general_classes(declared)

    def classify(
        self, run: Run, records: Sequence[Unit[Any]], *, pages: bool = True
    ) -> Sequence[UnitError]:
        """Return the class of each of some rows of a run, in their order.

        Without `pages`, no data beyond the run's own are read. Raises `RunError` for lines that
        cannot be read.
        """
        manifest = run.manifest
        return [by_outcome(one, manifest.declaration, manifest.config) for one in records]

    def facts(self, error: UnitError) -> Mapping[str, Any]:
        """Return the values of `columns`."""
        return {}

    def beside(self, rows: pd.DataFrame) -> Mapping[str, int]:
        """Further counts over the rows of a run's frame."""
        return {}

    def remarks(self, beside: Mapping[str, Any]) -> Sequence[str]:
        """These counts in words."""
        return ()


def errors_of(run: Run) -> UnitErrors:
    """Return the classes of errors of a run: those that the kind of its units brings, or the
    general."""
    brought: UnitErrors | None = reports_of(run).part("errors")
    return brought or UnitErrors()


def classes_of(runs: Iterable[Run]) -> tuple[ClassInfo, ...]:
    """Return the classes that rows of some runs can have, in order of precedence, each once."""
    found: dict[str, ClassInfo] = {}
    for run in runs:
        for info in errors_of(run).classes(run.manifest.declaration):
            found.setdefault(str(info.error_class), info)
    return tuple(found.values())


def classify_run(run: Run, *, pages: bool = True) -> list[UnitError]:
    """Classify every row of a run, in the order of `Run.records`.

    The kind of units decides which data is read to classify errors; without `pages`,
    nothing is. Raises `RunError` for lines that cannot be read.
    """
    return list(errors_of(run).classify(run, run.records(), pages=pages))


def by_outcome(record: Unit[Any], declared: Declaration, config: Mapping[str, Any]) -> UnitError:
    """Return the general class of a row, from its line alone.

    Where the prediction leaves the main measure open, those that it needs decide, as far as they
    were measured. `config` holds the settings of the run, which choose among variants.
    """
    bare = UnitError(record.unit_id, record.repeat, SUCCESS)
    if record.invalid is not None:
        return replace(bare, error_class=INVALID, detail=short(record.error or record.invalid))
    scores, prediction = record.scores, record.prediction
    if not record.settled or prediction is None or scores is None:
        reason = record.error or ("no outcome on record" if record.asked else "not asked yet")
        return replace(bare, error_class=UNSETTLED, detail=short(reason))

    def value_of(measure: Measure) -> float | None:
        open_ = measure.unmeasured and measure.unmeasured in prediction.flags
        variant = str(config.get(measure.setting, ""))
        return None if open_ else scores.get(measure.score(variant))

    main = declared.main_of_units
    reached = value_of(main)
    if reached == 1:
        return bare
    if prediction.status is not Status.ANSWERED:
        error_class = ENDED.get(prediction.status, NO_ANSWER)
        return replace(bare, error_class=error_class, detail=str(prediction.status))
    declared_class = next((m.name for m in declared.measures if m.error and value_of(m) == 1), None)
    if declared_class is not None:
        return replace(bare, error_class=declared_class, detail=short(prediction.action or ""))
    needed = {name: value_of(declared[name]) for name in main.needs}
    missed = next((name for name, value in needed.items() if value is not None and value < 1), None)
    if missed is not None:
        return replace(bare, error_class=f"{MISSED}.{missed}")
    if reached is None:
        known = [name for name, value in needed.items() if value is not None]
        if not known:
            return replace(bare, error_class=UNMEASURED)
        return replace(bare, detail=f"only measured: {', '.join(known)}")
    if reached > 0:
        return replace(bare, error_class=PARTIAL, detail=f"{reached:g}")
    return replace(bare, error_class=FAILED)


def short(text: object) -> str:
    """Return a text as one line of at most `CUT` characters."""
    line = clean(text)
    return line if len(line) <= CUT else line[: CUT - 1] + "…"
