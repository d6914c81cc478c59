"""What reports have for recorded steps, whose target is one of the listed choices."""

from __future__ import annotations

from reports.analyses.places import target_place
from reports.errors.steps import StepErrors
from reports.frames.recorded import STEP_COLUMNS
from reports.kinds import KindReports
from reports.published.candidates import candidate_keys
from reports.recorded import STEP_GROUPS
from reports.view.steps import StepPage

STEP_REPORTS = KindReports(
    errors=StepErrors(),
    analyses=("ceiling", "distractors", "positions"),
    published_keys=candidate_keys,
    place=target_place,
    page=StepPage(),
    columns=STEP_COLUMNS,
    groups=STEP_GROUPS,
    status_note="An unreadable element counts as wrong; its operation still scores if it can be "
    "read.",
)
