"""Reports on grounding: instructions about pictures, answered by a point."""

from __future__ import annotations

from reports.kind import KindReports
from reports.kinds.grounding.columns import GROUNDING_COLUMNS
from reports.kinds.grounding.errors import GroundingErrors
from reports.kinds.grounding.facts import grounding_facts
from reports.kinds.grounding.groups import GROUNDING_GROUPS
from reports.kinds.grounding.page import GroundingPage
from reports.kinds.grounding.published import grounding_keys

GROUNDING_REPORTS = KindReports(
    errors=GroundingErrors(),
    published_keys=grounding_keys,
    page=GroundingPage(),
    columns=GROUNDING_COLUMNS,
    groups=GROUNDING_GROUPS,
    facts=grounding_facts,
    status_note="Where a target is absent, only 'none' is right; what cannot be read is wrong.",
)
