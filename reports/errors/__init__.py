"""Error analysis: one class for every unit, the first that applies, and labels given by people.

    from reports.errors import classify_run
    classify_run(open_run(Path("runs/a")))        # a UnitError per row

`UnitErrors` has the classes that every kind of unit has; a kind with other classes derives
from it and is registered in `reports.kind`.

| module | content |
|---|---|
| `table` | the classes of the units of runs as a frame, and their counts |
| `labels` | what people say went wrong, kept in `labels.jsonl` in the run's directory |
| `command` | `vlm-eval errors` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.runs import Run, Unit
from harness.tables import clean
from parsers import Declaration, Measure, Status
from reports.frames.units import Column
from reports.kind import reports_of

if TYPE_CHECKING:
    import pandas as pd

INVALID, UNSETTLED, UNMEASURED = "invalid", "unanswered", "unmeasured"
SUCCESS, TRUNCATED, REFUSED, NO_ANSWER = "success", "truncated", "refused", "no_answer"
MISSED, PARTIAL, FAILED = "missed", "partial", "failed"


class ClassInfo(NamedTuple):
    """A class of units.

    Attributes:
        error_class: its name.
        title: its name in tables.
        group: the kind of outcome it belongs to. Shares leave out those that are not counted.
        meaning: its definition.
    """

    error_class: str
    title: str
    group: str
    meaning: str

    @property
    def counted(self) -> bool:
        """Return True if its units have an outcome that counts."""
        return self.group != "not counted"

    @property
    def is_error(self) -> bool:
        """Return True if its units failed."""
        return self.counted and self.group != "success"


NOT_ANSWERED = ClassInfo(
    UNSETTLED,
    "not answered",
    "not counted",
    "not asked yet, or its calls failed; the detail is the error",
)
CUT_OFF = ClassInfo(
    TRUNCATED,
    "truncated",
    "no answer",
    "the reply ran into the output limit before a complete answer",
)
DECLINED = ClassInfo(
    REFUSED, "refused", "no answer", "the model declined, or its provider refused the prompt"
)
FAILURE = ClassInfo(FAILED, "failed", "wrong", "none of the above")


def general_classes(declared: Declaration) -> tuple[ClassInfo, ...]:
    """Return the classes that any benchmark has, in order of precedence.

    After success and what ended without an answer come the measures that the main one needs, then
    whether the main one was reached in part.
    """
    main = declared.main_of_units
    missed = (declared[name] for name in main.needs)
    return (
        ClassInfo(
            INVALID,
            "invalid row",
            "not counted",
            "the row has no right answer; the detail is the reason",
        ),
        NOT_ANSWERED,
        ClassInfo(
            UNMEASURED,
            "not measured",
            "not counted",
            f"the outcome has no {main.meaning or main.title}",
        ),
        ClassInfo(SUCCESS, "success", "success", "a success by the run's own rules"),
        CUT_OFF,
        DECLINED,
        ClassInfo(
            NO_ANSWER,
            "no answer",
            "no answer",
            "no answer could be read; the detail is the parser's status",
        ),
        *(
            ClassInfo(
                f"{MISSED}.{one.name}",
                f"{one.meaning or one.title} missed",
                "wrong",
                "the first measure that success needs and the answer does not reach",
            )
            for one in missed
        ),
        *(
            ClassInfo(one.name, one.title.lower(), "wrong", one.meaning or one.title)
            for one in map(declared.__getitem__, declared.errors)
        ),
        ClassInfo(PARTIAL, "in part", "wrong", f"some of the {main.meaning or main.title}"),
        FAILURE,
    )


CUT = 80
ENDED = {Status.TRUNCATED: TRUNCATED, Status.REFUSAL: REFUSED, Status.PROVIDER_REFUSED: REFUSED}
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

    columns: of frames, with what a kind has to say of an error beyond its class, and how each is
        read from an error.
    shown: the facts that are shown with an example.
    wrong: the classes of answers that miss the main measure, in order of precedence.
    """

    columns: tuple[tuple[Column, Callable[[Any], Any]], ...] = ()
    shown: tuple[str, ...] = ()
    wrong: tuple[ClassInfo, ...] = (FAILURE,)

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        """Return all classes, in order of precedence."""
        return (*general_classes(declared)[:-1], *self.wrong)

    def classify(
        self, run: Run, records: Sequence[Unit[Any]], *, pages: bool = True
    ) -> Sequence[UnitError]:
        """Return the class of each of some rows of a run, in their order.

        Without `pages`, no data beyond the run's own are read. Raises `RunError` for lines that
        cannot be read.
        """
        declared = run.manifest.declaration
        return [self.refined(run, one, by_outcome(one, declared)) for one in records]

    def refined(self, run: Run, record: Unit[Any], found: UnitError) -> UnitError:
        """Return the class of a row, given its general one."""
        return found

    def beside(self, rows: pd.DataFrame) -> tuple[Mapping[str, int], Sequence[str]]:
        """Return further counts over the rows of a run's frame, and the same in words."""
        return {}, ()


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


def by_outcome(record: Unit[Any], declared: Declaration) -> UnitError:
    """Return the general class of a row, from its line alone.

    Where the prediction leaves the main measure open, those that it needs decide, as far as they
    were measured.
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
        return None if open_ else scores.get(measure.name)

    main = declared.main_of_units
    reached = value_of(main)
    if reached == 1:
        return bare
    if prediction.status is not Status.ANSWERED:
        error_class = ENDED.get(prediction.status, NO_ANSWER)
        return replace(bare, error_class=error_class, detail=str(prediction.status))
    declared_class = next((m for m in declared.errors if value_of(declared[m]) == 1), None)
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


def short(text: object, most: int = CUT) -> str:
    """Return a text as one line of at most so many characters."""
    line = clean(text)
    return line if len(line) <= most else line[: most - 1] + "…"
