"""What reports have for recorded steps, whose target is one of the listed choices."""

from __future__ import annotations

from reports.errors.steps import StepErrors
from reports.kinds import KindReports

STEP_REPORTS = KindReports(errors=StepErrors(), analyses=("ceiling", "distractors", "positions"))
