"""The error classes of recorded steps.

`classes` defines them and their order, `relations` how the chosen element relates to the right one
on the page, `described` whether round 1 described the target.
"""

from reports.kinds.step.errors.classes import CLASSES, ErrorClass, Relation
from reports.kinds.step.errors.classifying import StepError, StepErrors, classify

__all__ = [
    "CLASSES",
    "STEP_ERRORS",
    "ErrorClass",
    "Relation",
    "StepError",
    "StepErrors",
    "classify",
]

STEP_ERRORS = StepErrors()
