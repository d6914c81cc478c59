"""Reports of recorded steps, whose target is one of the listed choices."""

from __future__ import annotations

from reports.kind import KindReports
from reports.kinds.step.columns import STEP_COLUMNS
from reports.kinds.step.groups import STEP_GROUPS

STEP_REPORTS = KindReports(
    errors="reports.kinds.step.errors:STEP_ERRORS",
    analyses=("ceiling", "distractors", "positions"),
    published_keys="reports.published.candidates:candidate_keys",
    place="reports.kinds.step.place:target_place",
    page="reports.kinds.step.page:STEP_PAGE",
    columns=STEP_COLUMNS,
    groups=STEP_GROUPS,
    status_note="An unreadable element counts as wrong; its operation still scores if it can be "
    "read.",
)
