"""The lines above a table: shared settings, differences, unfinished and damaged runs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from harness.runs import Run
from reports.load import corrupt_lines, unfinished_lines
from reports.settings import Setting, compare, difference_lines, heading


def about(attrs: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """Describe the settings in lines: shared ones, ones replaced for this table, differences."""
    constants: Mapping[str, Setting] = attrs["constants"]
    shared = [f"{name}={value}" for name, value in heading(constants).items()]
    lines = [f"settings: {', '.join(shared)}"] if shared else []
    overrides = [f"{name}={value}" for name, value in attrs["given"].items()]
    lines += [f"given for this table: {', '.join(overrides)}"] if overrides else []
    lines += difference_lines(attrs["differences"])
    if _shows_answers(attrs):
        lines.append(
            "upper bounds only: an image_policy that begins with oracle- shows where the answer is"
        )
    warnings = (attrs.get(name, ()) for name in ("common", "unranked", "unfinished", "corrupt"))
    return (*lines, *(line for listed in warnings for line in listed))


def _shows_answers(attrs: Mapping[Hashable, Any]) -> bool:
    """Return True if a run's pictures reveal the right answers (image policies `oracle-*`)."""
    name = "image_policy"
    policies = [attrs["constants"].get(name), *attrs["differences"].get(name, {}).values()]
    return any(str(policy).startswith("oracle-") for policy in policies)


def about_runs(runs: dict[str, Run], *, own_rules: bool = False) -> tuple[str, ...]:
    """Describe the settings of runs, unfinished runs and unreadable lines.

    Unless the table applies each run's `own_rules`, a line says so if a run's headline is not over
    its settled valid rows.
    """
    settings = compare(runs)
    known: dict[Hashable, Any] = {
        "constants": settings.constants,
        "differences": settings.differences,
        "given": {},
    }
    lines = about(known)
    if not own_rules and any(_counts_otherwise(run) for run in runs.values()):
        lines += (
            "rates here are of settled valid rows, whatever the runs themselves count as failures",
        )
    return (*lines, *unfinished_lines(runs), *corrupt_lines(runs))


def _counts_otherwise(run: Run) -> bool:
    """Return True if the headline of a run is not over its settled valid rows."""
    rules = run.manifest.config
    return "fail" in (rules.get("invalid"), rules.get("unattempted")) or bool(
        rules.get("exclude_statuses")
    )
