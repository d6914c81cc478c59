"""What reports have for units of one kind, beyond what they have for all.

Of every unit, reports tell success, status and measures, as its benchmark declares them. A kind can
bring more. It is registered here by the name of the kind, or as an entry point of
`vlm_eval.reports`; without an entry, units of a kind are reported by what all units have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.registry import Registry
from harness.runs import Run, RunError, UnitRecord

PublishedKeys = Callable[[Run, Mapping[str, Any]], Mapping[str, str]]
Place = Callable[[UnitRecord[Any]], tuple[float, str]]
RunFacts = Callable[[Any], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class KindReports:
    """What a kind of unit brings.

    Attributes:
        errors: its classes of errors, a `reports.errors.UnitErrors`; None for those of all units.
        analyses: the commands of `vlm-eval analyse` that suit its units, among those that not all
            do.
        published_keys: from a run and its settings to what published results have to share with it,
            beyond the keys of all results.
        place: where in its picture the target of a unit is, as a number to sort by and in words.
        page: what the page shows of its units, a `reports.view.parts.UnitPage`; None for what all
            have.
        columns: columns of frames of its units, a `reports.frames.units.KindColumns`.
        groups: what its units can be grouped by, beside what their benchmark declares: a
            `reports.keys.Key` by name.
        facts: from the rows of a run (`reports.frames.rows.RunRows`) to what stands beside its
            results, by name, in words.
        status_note: what a status of its units means for their measures, a sentence.
    """

    errors: Any = None
    analyses: tuple[str, ...] = ()
    published_keys: PublishedKeys | None = None
    place: Place | None = None
    page: Any = None
    columns: Any = None
    groups: Mapping[str, Any] = field(default_factory=dict)
    facts: RunFacts | None = None
    status_note: str = ""


REPORTS: Registry[KindReports] = Registry(
    "kind of unit with reports", "vlm_eval.reports", has=("errors", "analyses")
)
REPORTS.add("episode", "reports.episodes:EPISODE_REPORTS", "turns with a live page")
REPORTS.add("grounding", "reports.grounding:GROUNDING_REPORTS", "instructions about pictures")
REPORTS.add("step", "reports.steps:STEP_REPORTS", "recorded steps, with a target among choices")
REPORTS.add("prompt", "reports.prompts:PROMPT_REPORTS", "finished prompts, answered by an action")


def reports_of(run: Run) -> KindReports:
    """What the kind of a run's units brings. Raises `UnknownName` if it cannot be loaded."""
    return reports_on(run.manifest.declaration.kind)


def reports_on(kind: str) -> KindReports:
    """What a kind of units brings. Raises `UnknownName` if it cannot be loaded."""
    return REPORTS.make(kind) if kind in REPORTS.names() else KindReports()


def suited(runs: Mapping[str, Run], analysis: str) -> tuple[dict[str, Run], tuple[str, ...]]:
    """The runs, by label, whose units an analysis suits, and a line for each of the others.

    Raises `RunError` with these lines if there is none that it suits.
    """
    kept = {label: run for label, run in runs.items() if analysis in reports_of(run).analyses}
    lines = tuple(
        f"{label}: no {analysis} for {run.manifest.declaration.units}, only for units with choices"
        for label, run in runs.items()
        if label not in kept
    )
    if runs and not kept:
        raise RunError("; ".join(lines))
    return kept, lines
