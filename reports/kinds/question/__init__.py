"""Reports on questions about pictures."""

from __future__ import annotations

from collections.abc import Mapping

from harness.runs import Run
from reports.kind import KindReports


def question_keys(run: Run, values: Mapping[str, object]) -> dict[str, str]:
    """Return what a published result must share: the measure of its headline, how options are
    listed, how replies are read and which words around answers are removed."""
    options: Mapping[str, object] = run.manifest.config.get("protocol_options") or {}
    main = run.manifest.declaration.main
    return {
        "metric": main.variants[0] if main.variants else main.name,
        "options": str(options.get("options") or "lettered"),
        "reader": str(options.get("reader") or "strict"),
        "frames": str(options.get("frames") or "known"),
        "input": "pictures",
    }


QUESTION_REPORTS = KindReports(
    published_keys=question_keys,
    status_note="What cannot be read, is refused or is beyond the options is 0 and stays in.",
)
