"""Error classes, and those that every kind of unit has."""

from __future__ import annotations

from typing import NamedTuple

from parsers import Declaration

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
        ClassInfo(
            UNSETTLED,
            "not answered",
            "not counted",
            "not asked yet, or its calls failed; the detail is the error",
        ),
        ClassInfo(
            UNMEASURED,
            "not measured",
            "not counted",
            f"the outcome has no {main.meaning or main.head}",
        ),
        ClassInfo(SUCCESS, "success", "success", "a success by the run's own rules"),
        ClassInfo(
            TRUNCATED,
            "truncated",
            "no answer",
            "the reply ran into the output limit before a complete answer",
        ),
        ClassInfo(
            REFUSED,
            "refused",
            "no answer",
            "the model declined, or its provider refused the prompt",
        ),
        ClassInfo(
            NO_ANSWER,
            "no answer",
            "no answer",
            "no answer could be read; the detail is the parser's status",
        ),
        *(
            ClassInfo(
                f"{MISSED}.{one.name}",
                f"{one.meaning or one.head} missed",
                "wrong",
                "the first measure that success needs and the answer does not reach",
            )
            for one in missed
        ),
        *(
            ClassInfo(one.name, one.head.lower(), "wrong", one.meaning or one.head)
            for one in declared.measures
            if one.error
        ),
        *(
            ()
            if main.binary
            else (
                ClassInfo(PARTIAL, "in part", "wrong", f"some of the {main.meaning or main.head}"),
            )
        ),
        ClassInfo(FAILED, "failed", "wrong", "none of the above"),
    )
