"""Reports on steps on screens."""

from __future__ import annotations

from collections.abc import Mapping

from harness.runs import Run
from reports.kind import KindReports
from reports.kinds.screen.errors import ScreenErrors
from reports.kinds.screen.page import ScreenPage


def screen_keys(run: Run, values: Mapping[str, object]) -> dict[str, str]:
    """Return what a published result must share: the rule, and how the steps were asked about."""
    options: Mapping[str, object] = run.manifest.config.get("protocol_options") or {}
    return {
        "rule": run.manifest.declaration.main.name,
        "level": str(options.get("level") or "high"),
    }


SCREEN_REPORTS = KindReports(
    errors=ScreenErrors(),
    published_keys=screen_keys,
    page=ScreenPage(),
    status_note="What cannot be read is wrong under every rule.",
)
