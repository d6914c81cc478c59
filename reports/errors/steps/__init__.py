"""The error classes of recorded steps.

`classes` defines them and their order, `relations` how the chosen element relates to the right one
on the page, `described` whether round 1 described the target.
"""

from reports.errors.steps.classifying import StepErrors

__all__ = ["StepErrors"]
