"""The lines above a table: what the runs share, what differs, what is unfinished or damaged."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from harness.runs import Run
from reports.differences import difference_lines
from reports.load import corrupt_lines, unfinished_lines
from reports.settings import Setting, compare, heading


def about(attrs: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """The settings as lines: what the runs share, what replaces it here, every difference."""
    constants: Mapping[str, Setting] = attrs["constants"]
    shared = [f"{name}={value}" for name, value in heading(constants).items()]
    lines = [f"settings: {', '.join(shared)}"] if shared else []
    given = [f"{name}={value}" for name, value in attrs["given"].items()]
    lines += [f"given for this table: {', '.join(given)}"] if given else []
    lines += difference_lines(attrs["differences"])
    if _shows_answers(attrs):
        lines.append(
            "upper bounds only: an image_policy that begins with oracle- shows where the answer is"
        )
    beside = (attrs.get(name, ()) for name in ("unranked", "unfinished", "corrupt"))
    return (*lines, *(line for told in beside for line in told))


def _shows_answers(attrs: Mapping[Hashable, Any]) -> bool:
    """Whether the pictures of a run depend on the right answers."""
    name = "image_policy"
    policies = [attrs["constants"].get(name), *attrs["differences"].get(name, {}).values()]
    return any(str(policy).startswith("oracle-") for policy in policies)


def about_runs(runs: dict[str, Run], *, own_rules: bool = False) -> tuple[str, ...]:
    """The same of runs, which of them are unfinished, and which lines could not be read.

    For tables that take all settled valid rows: where a run's rules do not, that is said. Tables
    that go by the `own_rules` of each run have nothing to say there.
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
    """Whether the headline of a run is not over its settled valid rows."""
    rules = run.manifest.config
    return "fail" in (rules.get("invalid"), rules.get("unattempted")) or bool(
        rules.get("exclude_statuses")
    )
