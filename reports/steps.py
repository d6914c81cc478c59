"""What reports have for recorded steps, whose target is one of the listed choices."""

from __future__ import annotations

from reports.errors.steps import StepErrors
from reports.kinds import KindReports
from reports.published.candidates import candidate_keys
from reports.view.steps import StepPage

STEP_REPORTS = KindReports(
    errors=StepErrors(),
    analyses=("ceiling", "distractors", "positions"),
    keys=candidate_keys,
    page=StepPage(),
)
