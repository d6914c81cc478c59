"""Reports for units of one kind, beyond what all kinds have.

Every unit has success, status and measures, as its benchmark declares them; the kinds of this
package have more (`REPORTS`). All others are reported by what all units have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.entry_points import load
from harness.runs import Run, RunError, Unit

PublishedKeys = Callable[[Run, Mapping[str, Any]], Mapping[str, str]]
Place = Callable[[Unit[Any]], tuple[float, str]]
RunFacts = Callable[[Any], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class KindReports:
    """The reports of one kind of unit.

    Parts that only some commands need may be names, "module:attribute", which `part` imports.

    Attributes:
        errors: its error classes, a `reports.errors.UnitErrors`; None for those of all units.
        analyses: the commands of `vlm-eval analyse` that suit its units and not all others.
        published_keys: maps a run and its settings to the keys that a published result must share
            with it, beyond those of all results.
        place: the place of a unit's target in its picture, as a number to sort by and in words.
        page: the parts of a unit's page, a `reports.view.parts.UnitPage`; None for the general one.
        columns: columns of frames of its units, a `reports.frames.units.KindColumns`.
        groups: further keys to group its units by, a `reports.keys.Key` by name.
        facts: maps the rows of a run (`reports.frames.rows.RunRows`) to facts about its results, by
            name, in words.
        status_note: one sentence on what a status means for the measures.
    """

    errors: Any = None
    analyses: tuple[str, ...] = ()
    published_keys: PublishedKeys | str | None = None
    place: Place | str | None = None
    page: Any = None
    columns: Any = None
    groups: Mapping[str, Any] = field(default_factory=dict)
    facts: RunFacts | None = None
    status_note: str = ""

    def part(self, name: str) -> Any:
        """Return a part, imported if it is given by name. Raises ImportError."""
        value = getattr(self, name)
        return load(value) if isinstance(value, str) else value


REPORTS: dict[str, KindReports | str] = {
    "episode": "reports.kinds.episode:EPISODE_REPORTS",
    "grounding": "reports.kinds.grounding:GROUNDING_REPORTS",
    "question": "reports.kinds.question:QUESTION_REPORTS",
    "screen-step": "reports.kinds.screen:SCREEN_REPORTS",
    "step": "reports.kinds.step:STEP_REPORTS",
    "prompt": "reports.kinds.prompt:PROMPT_REPORTS",
}
"""The reports of a kind of unit, or where they are."""


def reports_of(run: Run) -> KindReports:
    """Return the reports of a run's kind."""
    return reports_on(run.manifest.declaration.kind)


def reports_on(kind: str) -> KindReports:
    """Return the reports of a kind of units."""
    known = REPORTS.get(kind, KindReports())
    reports: KindReports = load(known) if isinstance(known, str) else known
    return reports


def suited(runs: Mapping[str, Run], analysis: str) -> tuple[dict[str, Run], tuple[str, ...]]:
    """Return the runs, by label, whose units an analysis suits, and a line for each of the others.

    Raises `RunError` with these lines if there is none that it suits.
    """
    kept = {label: run for label, run in runs.items() if analysis in reports_of(run).analyses}
    lines = tuple(
        f"{label}: no {analysis} for {run.manifest.declaration.units}, only where there are choices"
        for label, run in runs.items()
        if label not in kept
    )
    if runs and not kept:
        raise RunError("; ".join(lines))
    return kept, lines
